"""The settings of an experiment's tests. Kept light, because the Snakefile imports it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Literal

import msgspec

from replitune.errors import ReplituneError, did_you_mean
from replitune.registry import Entry, Name, Named
from replitune.replicas import Design
from replitune.settings import Settings, about
from replitune.significance.registry import INTERVALS, PEOPLE, TESTS, leading


class Baseline(Settings, frozen=True):
    """Every system against one."""

    baseline: Annotated[str, about("The system that all others are compared with.")]


Pairs = Literal["all"] | Baseline | tuple[tuple[str, str], ...]

Weight = Annotated[float, about(gt=0)]
"""Weight of a test set in a suite; weights need not sum to 1."""

PlainCorrection = Literal["holm", "bh", "none"]
Correction = Literal["max-t", "holm", "bh", "none"]

Family = Literal["pairs", "pairs x metrics", "all"]

Rule = Literal["better", "not-worse", "same"]
"""What a program that decides may require of a system."""

File = Annotated[str, about(min_length=1)]


class HumanSettings(Settings, frozen=True):
    """People's judgements, sharpened by metrics of all segments."""

    judgements: Annotated[
        File | dict[str, File],
        about(
            "File of judgements of the first test set, or a mapping from test set to file; docs/meta.md."
        ),
    ]
    metrics: Annotated[
        Literal["all"] | tuple[str, ...], about("Ids of the metrics that sharpen judgements.", min_length=1)
    ] = "all"
    score_column: Annotated[File | None, about("Column of the scores.")] = None
    first_segment: Annotated[
        Literal[0, 1] | None,
        about("Number of the first segment; by default 1 if the largest is the number of segments."),
    ] = None


Methods = tuple[Annotated[Entry, Named(TESTS)], ...]


class TestSettings(Settings, frozen=True):
    """The significance tests."""

    __test__ = False  # not a test case for pytest

    alpha: Annotated[float, about("Level of the tests; confidence is 1 - alpha.", gt=0, lt=1)] = 0.05
    samples: Annotated[int, about("Resamples of each resampling test.", ge=1, le=1_000_000_000)] = 10_000
    pairs: Annotated[Pairs, about("`all`, `baseline: NAME`, or a list of [A, B].", min_length=1)] = "all"
    methods: Annotated[
        Methods,
        about(
            "The tests; `crossed` is recommended. Its first entry, whatever its `id`, leads: it decides "
            "verdicts, ranks and looks. Without one, the first test leads.",
            min_length=1,
        ),
    ] = (Entry("crossed"), Entry("clark"))
    intervals: Annotated[
        tuple[Annotated[Entry, Named(INTERVALS)], ...],
        about(
            "Intervals of each system's score: `riezler` (segments of the median run), "
            "`clark` (segments of the pool of runs), `fu` (whole test sets). "
            "An empty list: none, which saves most of the time on very large test sets."
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
    suites: Annotated[
        dict[Name, Literal["all"] | tuple[str, ...] | dict[str, Weight]],
        about(
            "One verdict over several test sets, under a name of its own: `all` of them, a list, or "
            "`TEST SET: WEIGHT`. The difference is the weighted mean of those on the test sets; "
            "runs are the same on all of them, and `crossed` accounts for that."
        ),
    ] = msgspec.field(default_factory=dict)
    paired_replicas: Annotated[bool, about("Run k of every system shares its seed.")] = False
    human: Annotated[
        HumanSettings | None,
        about(
            "Which system people prefer, from few judgements and metrics of all segments: docs/judging.md."
        ),
    ] = None

    def suite(self, name: str, testsets: Sequence[str]) -> dict[str, float]:
        """The weights of a suite's test sets, which sum to 1; testsets: all that there are."""
        given = self.suites[name]
        if given == "all":
            given = tuple(testsets)
        weights = given if isinstance(given, dict) else dict.fromkeys(given, 1.0)
        total = sum(weights.values())
        return {testset: weight / total for testset, weight in weights.items()}

    def families(self, metrics: int, testsets: int) -> int:
        """How many families of all pairs are corrected together."""
        return {"pairs": 1, "pairs x metrics": metrics, "all": metrics * testsets}[self.family]

    @property
    def lead(self) -> Entry:
        """The test that leads."""
        return leading(self.tests())

    def of_people(self, judged: Sequence[str]) -> TestSettings:
        """The settings of tests of people's judgements, on the pairs of judged systems; `all` if none."""
        own = tuple(entry for entry in self.methods if entry.name == PEOPLE) or (Entry(PEOPLE),)
        pairs = self.pairs
        if isinstance(pairs, tuple):
            pairs = tuple(pair for pair in pairs if {*pair} <= {*judged}) or "all"
        elif isinstance(pairs, Baseline) and pairs.baseline not in judged:
            pairs = "all"
        return msgspec.structs.replace(self, methods=own, pairs=pairs, intervals=())

    def tests(self) -> list[Entry]:
        """The tests of metrics; if replicas are paired, those that can use it are told so."""
        entries = TESTS.entries(self.methods)
        entries = [entry for entry in entries if entry.name != PEOPLE] or entries
        if not self.paired_replicas:
            return entries
        return [
            Entry(entry.name, {"paired": True, **entry.options}, entry.id)
            if "paired" in TESTS.settings(entry.name)
            else entry
            for entry in entries
        ]


class ReplicaDesign(Settings):
    """What replicas are; given beside their numbers."""

    design: Annotated[
        Design,
        about(
            "Replicas are `runs` (of a tuner, of a training), or `samples`: outputs drawn for each "
            "segment independently, as from a language model at a temperature. Samples have no run "
            "effect, so the tests ask about new segments and new samples; whether the data agree "
            "is tested. `nested`: the replicas of one kind are samples of one run, such as a prompt. "
            "By default, an experiment goes by the kinds of its replicas, a table by its columns."
        ),
    ] = "runs"


def pairs_of_systems(pairs: Pairs, names: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs (A, B), in their order; a baseline is always A."""
    if isinstance(pairs, str):
        return list(combinations(names, 2))
    if isinstance(pairs, Baseline):
        require_system(pairs.baseline, names)
        return [(pairs.baseline, name) for name in names if name != pairs.baseline]
    for pair in pairs:
        for name in pair:
            require_system(name, names)
        if pair[0] == pair[1]:
            raise ReplituneError(f"system {pair[0]} cannot be compared with itself")
    return [(a, b) for a, b in pairs]


def require_system(name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise ReplituneError(
            f"no system is called {name!r}",
            expected="one of " + ", ".join(names),
            fix=did_you_mean(name, names, "{!r}"),
        )
