"""The settings of an experiment's studies. Kept light, because the Snakefile imports it."""

from __future__ import annotations

from typing import Annotated, Literal

from replitune.registry import Entry
from replitune.settings import Settings, about
from replitune.significance.settings import Methods

StudyMetrics = Annotated[
    Literal["first", "all"] | tuple[str, ...],
    about(
        "The metrics that it looks at: the `first` of the experiment, `all`, or a list of ids.",
        min_length=1,
    ),
]
Samples = Annotated[int, about("Resamples of each resampling test.", ge=1)]


class PowerSettings(Settings, frozen=True):
    """What n replicas and N segments would detect."""

    metrics: StudyMetrics = "first"
    replicas: Annotated[
        tuple[Annotated[int, about(ge=2)], ...], about("Numbers of runs of each system.", min_length=1)
    ] = (3, 5, 10, 20)
    segments: Annotated[
        tuple[Annotated[int, about(ge=2)], ...],
        about(
            "Numbers of segments; by default those at hand, twice and four times as many, and "
            "more than anybody has."
        ),
    ] = ()
    delta: Annotated[
        Annotated[float, about(gt=0)] | None,
        about("A difference to be found: how many segments would each number of runs need?"),
    ] = None
    power: Annotated[float, about("The wanted probability of finding a difference.", gt=0, lt=1)] = 0.8
    unit: Annotated[
        Literal["auto", "segment", "document"],
        about(
            "What is new in a new test set: segments, or documents of the size at hand. `auto`: "
            "documents where 6 effective ones are known."
        ),
    ] = "auto"


class PlanningSettings(Settings, frozen=True):
    """What the command takes in addition: a margin, and prices."""

    margin: Annotated[
        Annotated[float, about(gt=0)] | None,
        about(
            "A difference that counts as the same: how probable is it that two equal systems are "
            "shown to be the same within it?"
        ),
    ] = None
    cpu_per_run: Annotated[
        Annotated[float, about(ge=0)] | None,
        about("CPU seconds of one run of one system: its tuning or training."),
    ] = None
    cpu_per_segment: Annotated[
        Annotated[float, about(ge=0)] | None,
        about("CPU seconds of one segment by one run: its decoding and scoring."),
    ] = None


class ReplicationSettings(Settings, frozen=True):
    """What a paper with fewer tuning runs could have reported."""

    metrics: StudyMetrics = "first"
    sizes: Annotated[
        tuple[Annotated[int, about(ge=1)], ...],
        about(
            "Runs that a small experiment draws, as far as the smaller pool of a pair goes.", min_length=1
        ),
    ] = (1, 3, 5, 10, 50)
    repeats: Annotated[int, about("Small experiments of each size.", ge=2)] = 250
    methods: Annotated[Methods, about("The tests that they use.", min_length=1)] = (Entry("clark"),)
    samples: Samples = 1000


class CalibrateSettings(Settings, frozen=True):
    """How often each test finds a difference where there is none."""

    metrics: StudyMetrics = "first"
    sizes: Annotated[
        tuple[Annotated[int, about(ge=1)], ...], about("Runs of each side of a trial.", min_length=1)
    ] = (3, 5)
    methods: Annotated[Methods, about("The tests; by default those of the experiment.")] = ()
    trials: Annotated[int, about("Trials of each kind and size.", ge=1)] = 300
    samples: Samples = 999
    unit: Annotated[
        Literal["segment", "document"], about("The unit for which the coin is flipped (next test set).")
    ] = "segment"
