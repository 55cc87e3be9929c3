"""What an experiment asks of its tests. Light on purpose: the Snakefile imports it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from replitune.registry import Entry, Named
from replitune.settings import Settings, about
from replitune.significance.registry import INTERVALS, TESTS


class Baseline(Settings, frozen=True):
    """Every system against one."""

    baseline: Annotated[str, about("The system that all others are compared with.")]


Pairs = Literal["all"] | Baseline | tuple[tuple[str, str], ...]

Correction = Literal["max-t", "holm", "bh", "none"]

Family = Literal["pairs", "pairs x metrics", "all"]

Methods = tuple[Annotated[Entry, Named(TESTS)], ...]


class TestSettings(Settings, frozen=True):
    """The significance tests."""

    __test__ = False  # not a test case for pytest

    alpha: Annotated[float, about("Level of the tests and of 1 - confidence.", gt=0, lt=1)] = 0.05
    samples: Annotated[int, about("Resamples of each resampling test.", ge=1, le=1_000_000_000)] = (
        10_000
    )
    pairs: Annotated[
        Pairs, about("`all`, `baseline: NAME`, or a list of [A, B].", min_length=1)
    ] = "all"
    methods: Annotated[
        Methods,
        about(
            "The tests; `crossed` is the recommended one and speaks in the report's first line.",
            min_length=1,
        ),
    ] = (Entry("crossed"), Entry("clark"))
    intervals: Annotated[
        tuple[Annotated[Entry, Named(INTERVALS)], ...],
        about(
            "Intervals of each system's score: `riezler` (segments of the median replica), "
            "`clark` (segments of the pool of replicas), `fu` (whole test sets).",
            min_length=1,
        ),
    ] = (Entry("riezler"), Entry("clark"), Entry("fu"))
    correction: Annotated[
        Correction,
        about(
            "Correction for many pairs. `max-t`: from what the pairs share, for `crossed`, with "
            "intervals that hold together; Holm's for tests that have no joint distribution."
        ),
    ] = "max-t"
    family: Annotated[
        Family,
        about(
            "What is corrected together: all pairs within one (test set, metric, method), those of "
            "all metrics, or those of all metrics and test sets (Bonferroni over metrics and test "
            "sets)."
        ),
    ] = "pairs"
    margin: Annotated[
        dict[str, Annotated[float, about(gt=0)]],
        about(
            "By metric id, the difference that counts as the same: `crossed` also tests "
            "equivalence and non-inferiority."
        ),
    ] = msgspec.field(default_factory=dict)
    paired_replicas: Annotated[bool, about("Replica k of every system shares its seed.")] = False

    def tests(self) -> list[Entry]:
        """The tests, those that can use it being told of paired replicas."""
        entries = TESTS.entries(self.methods)
        if not self.paired_replicas:
            return entries
        return [
            Entry(entry.name, {"paired": True, **entry.options}, entry.id)
            if "paired" in TESTS.settings(entry.name)
            else entry
            for entry in entries
        ]
