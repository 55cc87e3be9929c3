"""What the report is made from: test rows, system rows and metric metadata of an experiment.

Every number that people read comes from these rows, so tables, report and JSON agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from replitune.replicas import Replica
from replitune.report.names import base_name, display_name, display_names
from replitune.results.result import Overlap, Result
from replitune.results.rows import Histogram, SystemRow
from replitune.significance.base import TestResult


@dataclass(frozen=True)
class Cell:
    """One (test set, metric)."""

    testset: str
    metric: str
    signature: str
    higher_is_better: bool
    system_names: tuple[str, ...]
    tests: tuple[TestResult, ...]
    systems: tuple[SystemRow, ...]
    word: str = ""
    """The metric as it is given on a command line."""
    shown: str = ""
    """The metric as it is printed."""
    histograms: Mapping[tuple[str, str, str], Histogram] | None = None
    """Distributions of the tests, by (a, b, method)."""
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Why replicas are missing, by system and replica."""
    overlaps: tuple[Overlap, ...] = ()

    @property
    def name(self) -> str:
        return self.shown or display_name(self.word, self.metric)

    @property
    def base(self) -> str:
        return base_name(self.word)

    @property
    def neutral(self) -> bool:
        """Whether neither more nor less is better."""
        return self.base == "length"

    @cached_property
    def _rows(self) -> dict[tuple[str, str], SystemRow]:
        rows: dict[tuple[str, str], SystemRow] = {}
        for row in self.systems:
            rows.setdefault((row.system, row.statistic), row)
        return rows

    @cached_property
    def _tests(self) -> dict[tuple[tuple[str, str], str], TestResult]:
        return {((result.a, result.b), result.method): result for result in self.tests}

    def value(self, system: str, statistic: str) -> float | None:
        row = self.row(system, statistic)
        return None if row is None else row.value

    def row(self, system: str, statistic: str) -> SystemRow | None:
        return self._rows.get((system, statistic))

    @cached_property
    def present(self) -> list[str]:
        """Systems with outputs on this test set."""
        return [name for name in self.system_names if self.value(name, "avg") is not None]

    @cached_property
    def ranked(self) -> list[str]:
        """The same, best first."""
        sign = -1.0 if self.higher_is_better else 1.0
        return sorted(self.present, key=lambda name: sign * (self.value(name, "avg") or 0.0))

    @property
    def best(self) -> str | None:
        """The system with the best mean, when there is something to be best of."""
        return None if self.neutral or len(self.present) < 2 else self.ranked[0]

    def replica_scores(self, system: str) -> dict[str, float]:
        """Score of each replica."""
        return {
            str(row.replica): row.value
            for row in self.systems
            if row.system == system and row.statistic == "score" and row.value is not None
        }

    def tuner_scores(self, system: str) -> dict[str, list[float]]:
        """Scores of the replicas by the tuner they came from; replicas of none are left out."""
        scores: dict[str, list[float]] = {}
        for id, score in self.replica_scores(system).items():
            group = Replica(id).group
            if group:
                scores.setdefault(group, []).append(score)
        return scores

    def intervals(self, system: str) -> dict[str, SystemRow]:
        """Confidence intervals of the system's score, by method."""
        return {
            str(row.method): row
            for row in self.systems
            if row.system == system and row.statistic == "ci"
        }

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((result.a, result.b) for result in self.tests))

    @cached_property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(result.method for result in self.tests))

    def test(self, pair: tuple[str, str], method: str) -> TestResult | None:
        return self._tests.get((pair, method))

    def lead_test(self, pair: tuple[str, str]) -> TestResult | None:
        """What the lead test says about a pair, in either order."""
        if not self.tests:
            return None
        found = self.test(pair, self.lead_method)
        return found or self.test((pair[1], pair[0]), self.lead_method)

    def overlap(self, pair: tuple[str, str], method: str) -> float | None:
        """Overlap ratio of the two systems' intervals by one interval method."""
        found = (row for row in self.overlaps if (row.a, row.b) == pair and row.method == method)
        return next((row.ratio for row in found), None)

    @property
    def closest(self) -> tuple[str, str] | None:
        """The pair about which there is most to see: p of the lead test nearest to .05."""

        def distance(pair: tuple[str, str]) -> float:
            result = self.lead_test(pair)
            p = None if result is None else result.p
            return 100.0 if p is None else abs(float(np.log(max(p, 1e-6) / 0.05)))

        return min(self.pairs, key=distance, default=None)

    @property
    def lead_method(self) -> str:
        """The test that the verdict speaks for; there is none without a pair."""
        return "crossed" if "crossed" in self.methods else next(iter(self.methods), "")


def adjusted(result: TestResult) -> float | None:
    """p after correction where there was one."""
    return result.p if result.p_adjusted is None else result.p_adjusted


def significant(result: TestResult | None, alpha: float) -> bool:
    p = None if result is None else adjusted(result)
    return p is not None and p <= alpha


def load_cell(folder: Path, testset: str, metric: str, system_names: Sequence[str]) -> Cell:
    """Read one (test set, metric) of the experiment in `folder`."""
    return cell_of(Result.read(folder / "tests" / testset, metric), system_names)


def cell_of(result: Result, system_names: Sequence[str]) -> Cell:
    return Cell(
        testset=result.testset,
        metric=result.metric,
        signature=result.signature,
        higher_is_better=result.higher_is_better,
        system_names=tuple(system_names),
        tests=result.tests,
        systems=tuple(result.system_rows()),
        word=result.word,
        missing=result.missing,
        histograms=result.histograms,
        overlaps=result.overlaps,
    )


def with_names(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with the names under which their metrics are printed."""
    names = display_names(list(dict.fromkeys((cell.word, cell.metric) for cell in cells)))
    return [replace(cell, shown=names[cell.metric]) for cell in cells]
