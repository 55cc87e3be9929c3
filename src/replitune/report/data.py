"""What the report is made from: test rows, system rows and metric metadata of an experiment.

Every number that people read comes from these rows, so tables, report and JSON agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.replicas import Replica
from replitune.report.names import base_name, display_name, display_names
from replitune.results.comparing import Compared
from replitune.results.rows import (
    OverlapRow,
    SystemRow,
    read_histograms,
    read_rows,
    read_system_rows,
    read_tests,
)
from replitune.significance.base import TestResult

Histogram = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Edges (bins + 1,) and counts (bins,)."""


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
    histograms: dict[tuple[str, str, str], Histogram] | None = None
    """Distributions of the tests, by (a, b, method)."""
    missing: dict[str, dict[str, str]] = field(default_factory=dict)
    """Why replicas are missing, by system and replica."""
    overlaps: tuple[OverlapRow, ...] = ()

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
    from replitune.statistics.store import find_files, read_metadata

    described = [
        read_metadata(path)
        for path in find_files(folder / "stats" / testset / metric)
        if path.stem in system_names
    ]
    metadata = next(item for item in described if item is not None)
    tests = folder / "tests" / testset
    return Cell(
        testset=testset,
        metric=metric,
        signature=metadata.signature,
        higher_is_better=metadata.higher_is_better,
        system_names=tuple(system_names),
        tests=tuple(read_tests(tests / f"{metric}.parquet")),
        systems=tuple(read_system_rows(tests / f"{metric}.systems.parquet")),
        word=metadata.metric,
        missing={
            system: reasons
            for item in described
            if item is not None
            for system, reasons in item.missing.items()
        },
        histograms=_histograms(tests / f"{metric}.null.parquet"),
        overlaps=tuple(read_rows(tests / f"{metric}.overlaps.parquet", OverlapRow)),
    )


def _histograms(path: Path) -> dict[tuple[str, str, str], Histogram]:
    found: dict[tuple[str, str, str], list[dict]] = {}
    for row in read_histograms(path):
        key = (str(row["a"]), str(row["b"]), str(row["method"]))
        found.setdefault(key, []).append(row)
    return {
        key: (
            np.array([row["left"] for row in rows] + [rows[-1]["right"]], dtype=np.float64),
            np.array([row["count"] for row in rows], dtype=np.int64),
        )
        for key, rows in found.items()
    }


def compared_cell(testset: str, id: str, compared: Compared, word: str, alpha: float) -> Cell:
    """The same from a comparison in memory."""
    from replitune.significance.run import histogram

    histograms: dict[tuple[str, str, str], Histogram] = {}
    for result in compared.tests:
        counts, edges = histogram(result)
        if len(counts):
            histograms[result.a, result.b, result.method] = (edges, counts)
    return Cell(
        testset=testset,
        metric=id,
        signature=compared.signature,
        higher_is_better=compared.metric.higher_is_better,
        system_names=tuple(compared.systems),
        tests=tuple(compared.tests),
        systems=tuple(compared.system_rows()),
        word=word,
        histograms=histograms,
        overlaps=tuple(compared.overlap_rows(alpha)),
    )


def with_names(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with the names under which their metrics are printed."""
    names = display_names(list(dict.fromkeys((cell.word, cell.metric) for cell in cells)))
    return [replace(cell, shown=names[cell.metric]) for cell in cells]
