"""One test set under one metric: all results of the tests, from memory or from disk.

Everything that people read comes from here, and what they read about a pair from `answers`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from replitune.metrics.base import Direction
from replitune.notes import Note, note_text
from replitune.replicas import Replica
from replitune.results.answer import Answer, answers_of, verdict_word
from replitune.results.document import (
    FRAMES,
    SCHEMA,
    Cell,
    Document,
    Method,
    Order,
    Pair,
    System,
    read_document,
    rows_of,
    write_document,
)
from replitune.results.numbers import decimals_of, score, signed, signed_range
from replitune.results.wording import base_name, title, word_of
from replitune.significance.base import TestResult
from replitune.significance.multiple import Ranking, rank_systems
from replitune.significance.one_system import SystemSummary
from replitune.significance.run import histogram
from replitune.statistics.findings import Finding

if TYPE_CHECKING:
    import pandas as pd

    from replitune.results.rows import Histogram

SAME = sorted({*Cell.__struct_fields__} - {"lead", "systems", "pairs", "rankings"})
"""Fields of a cell that are those of a result."""


@dataclass(frozen=True)
class Overlap:
    """How far the intervals of two systems overlap."""

    a: str
    b: str
    method: str
    """The interval's: riezler, clark, fu."""
    ratio: float | None
    notes: tuple[Note, ...] = ()

    @property
    def note(self) -> str | None:
        return note_text(self.notes)


@dataclass(frozen=True)
class Seen:
    """The answer about a system and a reference, in the sign of its score minus that of the reference."""

    answer: Answer
    word: str
    """``better``, ``open``, ``same`` ...: of the system."""
    delta: float
    low: float | None
    high: float | None
    text: str
    """``-0.62 (-1.11 to -0.13)``"""

    @property
    def decided(self) -> bool:
        return self.answer.decided


@dataclass(frozen=True)
class Result:
    """All systems on one test set under one metric."""

    testset: str
    metric: str
    """The metric's id."""
    word: str
    """The metric as it is given on a command line: ``ter:id=ter-norm,normalized=true``."""
    signature: str
    direction: Direction
    alpha: float
    """Level of the tests; intervals have confidence 1 - alpha."""
    lead_method: str
    """The test that leads (`significance.registry.leading`): it decides verdicts, ranks and looks."""
    systems: Mapping[str, SystemSummary]
    """The systems with outputs on this test set, by name, in order."""
    tests: tuple[TestResult, ...]
    """Pair by pair and, within a pair, method by method."""
    overlaps: tuple[Overlap, ...] = ()
    suite: Mapping[str, float] = field(default_factory=dict)
    """Weights of the test sets, if `testset` is the name of a suite."""
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Why replicas are missing, by system and replica."""
    findings: tuple[Finding, ...] = ()
    """What is wrong with the texts of the systems, and matters to the metric."""
    judged: bool = False
    """Whether people judged the outputs: they can say which is better of single outputs, too."""
    name: str = ""
    """The metric's name in print; by default what papers call it, or its id."""
    read_histograms: Mapping[tuple[str, str, str], Histogram] | None = field(
        default=None, repr=False, compare=False
    )
    """Of a result from disk, whose tests have no distributions; see `histograms`."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", title(base_name(self.word)) or self.metric)

    # ---- pairs and tests

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The tested pairs (A, B)."""
        return list(dict.fromkeys((result.a, result.b) for result in self.tests))

    @cached_property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(result.method for result in self.tests))

    @cached_property
    def _tests(self) -> dict[tuple[tuple[str, str], str], TestResult]:
        return {((result.a, result.b), result.method): result for result in self.tests}

    def test(self, pair: tuple[str, str], method: str) -> TestResult | None:
        """The test of B against A, whichever way round the pair was tested."""
        found = self._tests.get((pair, method))
        turned = None if found else self._tests.get((pair[::-1], method))
        return turned.swapped() if turned else found

    def lead_test(self, pair: tuple[str, str]) -> TestResult | None:
        """What the lead test says about B against A."""
        return self.test(pair, self.lead_method)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answer about each pair."""
        return answers_of(self)

    def answer(self, pair: tuple[str, str]) -> Answer | None:
        """The answer about a pair, given in either order."""
        return self._answers.get(frozenset(pair))

    @cached_property
    def _answers(self) -> dict[frozenset[str], Answer]:
        return {frozenset((one.a, one.b)): one for one in self.answers}

    def seen(self, system: str, reference: str) -> Seen | None:
        """The answer about a system and a reference, seen from the system; None if they were not
        compared."""
        one = self.answer((system, reference))
        if one is None:
            return None
        ahead = system == (one.b if one.ahead is None else one.ahead)
        turn = self.better_by(1.0 if ahead else -1.0)
        delta, word = turn * one.size, verdict_word(one, system, turn * one.size)
        # of single runs the interval says nothing about others, and without p it says nothing
        low, high = (one.low, one.high) if not one.single and one.state != "cannot" else (None, None)
        if low is not None and high is not None:
            low, high = (low, high) if turn > 0 else (-high, -low)
        text = signed(delta, self.decimals) if delta else score(0.0, self.decimals)
        if low is not None and high is not None:
            text += f" ({signed_range(low, high, self.decimals)})"
        return Seen(one, word, delta, low, high, text)

    def ahead_last(self, pair: tuple[str, str]) -> tuple[str, str]:
        """The pair, with the system that is ahead by its answer as B."""
        one = self.answer(pair)
        return pair if one is None or one.ahead != pair[0] else (pair[1], pair[0])

    def better_by(self, delta: float) -> float:
        """By how much B is better, given the difference B - A."""
        return self.sign * delta

    @property
    def closest(self) -> tuple[str, str] | None:
        """The pair with most to see: its p by the lead test is nearest to .05."""

        def distance(pair: tuple[str, str]) -> float:
            result = self.lead_test(pair)
            p = None if result is None else result.p
            return 100.0 if p is None else abs(math.log(max(p, 1e-6) / 0.05))

        return min(self.pairs, key=distance, default=None)

    @cached_property
    def histograms(self) -> Mapping[tuple[str, str, str], Histogram]:
        """Distributions of the tests that have one, by (a, b, method)."""
        if self.read_histograms is not None:
            return self.read_histograms
        by_pair: dict[tuple[str, str, str], Histogram] = {}
        for result in self.tests:
            counts, edges = histogram(result)
            if len(counts):
                by_pair[result.a, result.b, result.method] = (edges, counts)
        return by_pair

    def overlap(self, pair: tuple[str, str], method: str) -> float | None:
        """Overlap ratio of the two systems' intervals by one interval method."""
        return self._overlaps.get((frozenset(pair), method))

    @cached_property
    def _overlaps(self) -> dict[tuple[frozenset[str], str], float | None]:
        return {(frozenset((item.a, item.b)), item.method): item.ratio for item in self.overlaps}

    def doubts(self, systems: Collection[str]) -> list[Finding]:
        """Why nothing can be said about some of these systems."""
        return [one for one in self.findings if one.is_doubt and one.system in systems]

    @property
    def neutral(self) -> bool:
        """Whether neither more nor less is better."""
        return self.direction is None

    @property
    def sign(self) -> int:
        """-1 if lower is better."""
        return self.direction or 1

    def rankings(self) -> dict[str, Ranking]:
        """Order, wins and clusters of the systems by each method; none if more is not better, for
        single runs that nobody judged, or where nothing can be said about some system."""
        if self.neutral or self.doubts(self.systems):
            return {}
        return {
            method: rank_systems(
                [result for result in self.tests if result.method == method],
                self.standing,
                alpha=self.alpha,
                sign=self.sign,
            )
            for method in self.methods
            if self.judged
            or any(min(test.n_a, test.n_b) > 1 for test in self.tests if test.method == method)
        }

    # ---- systems

    @property
    def kind(self) -> str:
        """What one output of a system is: run, prompt, sample."""
        for test in self.tests:
            return "sample" if "samples_low_a" in test.details else word_of(test)
        return "run"

    @cached_property
    def one_mean(self) -> bool:
        """Whether each system has one mean that all its lead tests compare. Where people judged other
        segments of each system, each pair has means of its own."""
        if not self.judged and not any("judged" in test.details for test in self.tests):
            return True
        lead = [test for test in self.tests if test.method == self.lead_method]
        means = [pair for test in lead for pair in ((test.a, test.score_a), (test.b, test.score_b))]
        return all(math.isclose(self.systems[name].avg, mean, abs_tol=1e-9) for name, mean in means)

    def mean(self, system: str) -> float | None:
        """The mean score that tests compare; None if that differs from pair to pair."""
        return self.systems[system].avg if self.one_mean else None

    @cached_property
    def standing(self) -> dict[str, float]:
        """What systems are ranked by: their means; or else their mean advantage over the others."""
        if self.one_mean:
            return {name: summary.avg for name, summary in self.systems.items()}
        gains: dict[str, list[float]] = {name: [0.0] for name in self.systems}
        for test in self.tests:
            if test.method == self.lead_method:
                gains[test.b].append(test.delta)
                gains[test.a].append(-test.delta)
        return {name: math.fsum(own) / len(own) for name, own in gains.items()}

    def difference(self, pair: tuple[str, str]) -> float:
        """B's mean score minus A's, as the lead test has it where there is no one mean."""
        a, b = pair
        test = None if self.one_mean else self.lead_test(pair)
        return self.systems[b].avg - self.systems[a].avg if test is None else test.delta

    @cached_property
    def decimals(self) -> int:
        """How many decimals its scores and differences are printed with, everywhere."""
        systems = self.systems.values()
        return decimals_of(
            [summary.avg for summary in systems],
            s_sel=[summary.s_sel for summary in systems],
            s_test=[summary.s_test for summary in systems],
            se=[test.se for test in self.tests if test.method == self.lead_method],
        )

    @cached_property
    def ranked(self) -> list[str]:
        """The systems, best first."""
        return sorted(self.systems, key=lambda name: -self.sign * self.standing[name])

    def tuner_scores(self, system: str) -> dict[str, list[float]]:
        """Scores of the replicas by the tuner they came from; replicas of none, and samples of prompts,
        are left out."""
        scores: dict[str, list[float]] = {}
        if self.kind == "sample":
            return scores
        for id, value in self.systems[system].scores.items():
            group = Replica(id).group
            if group:
                scores.setdefault(group, []).append(value)
        return scores

    # ---- as something else

    @property
    def cell(self) -> Cell:
        """What is written about it."""
        overlaps = {pair: [one for one in self.overlaps if (one.a, one.b) == pair] for pair in self.pairs}
        return Cell(
            **{name: getattr(self, name) for name in SAME},
            lead=self.lead_method,
            systems={
                name: System(**{field: getattr(one, field) for field in System.__struct_fields__})
                for name, one in self.systems.items()
            },
            pairs=tuple(
                Pair(
                    a,
                    b,
                    self.difference((a, b)),
                    {one.method: one.ratio for one in own},
                    {one.method: one.notes for one in own if one.notes},
                    {
                        test.method: Method(**{n: getattr(test, n) for n in Method.__struct_fields__})
                        for test in self.tests
                        if (test.a, test.b) == (a, b)
                    },
                )
                for (a, b), own in overlaps.items()
            ),
            rankings={
                method: Order(one.systems, one.wins.tolist(), one.clusters, one.ranks, one.notes)
                for method, one in self.rankings().items()
            },
        )

    @property
    def document(self) -> Document:
        """`tests/<testset>/<metric>.json`."""
        return Document(schema=SCHEMA, answers=self.answers, metrics={self.metric: self.cell})

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables of `results.document.FRAMES`."""
        import pandas as pd

        tables = {name: rows_of(self.document, name) for name in FRAMES}
        return {name: pd.DataFrame(rows, columns=columns) for name, (columns, rows) in tables.items()}

    def write(self, folder: str | Path) -> None:
        """``<metric>.json``, and the distributions of its tests, in a folder ``tests/<testset>``."""
        from replitune.results import rows

        write_document(Path(folder) / f"{self.metric}.json", self.document)
        rows.write_histograms(Path(folder) / f"{self.metric}.null.parquet", self.histograms)

    @classmethod
    def read(cls, folder: str | Path, metric: str) -> Result:
        """What `write` wrote."""
        from replitune.results import rows

        path = Path(folder) / f"{metric}.json"
        cell = read_document(path).metrics[metric]
        return cls(
            **{name: getattr(cell, name) for name in SAME},
            lead_method=cell.lead,
            systems={
                name: SystemSummary(name, **{f: getattr(one, f) for f in System.__struct_fields__})
                for name, one in cell.systems.items()
            },
            tests=tuple(
                TestResult(method=name, a=pair.a, b=pair.b, **msgspec.structs.asdict(method))
                for pair in cell.pairs
                for name, method in pair.methods.items()
            ),
            overlaps=tuple(
                Overlap(pair.a, pair.b, method, ratio, pair.overlap_notes.get(method, ()))
                for pair in cell.pairs
                for method, ratio in pair.overlaps.items()
            ),
            read_histograms=rows.read_histograms(path.with_suffix(".null.parquet")),
        )
