"""What the report is made from: test rows, system rows and metric metadata of an experiment.

Every number that people read comes from these rows, so tables, report and JSON agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from replitune.results import SystemRow, read_system_rows, read_tests
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

    def value(self, system: str, statistic: str) -> float | None:
        row = self.row(system, statistic)
        return None if row is None else row.value

    def row(self, system: str, statistic: str) -> SystemRow | None:
        for row in self.systems:
            if row.system == system and row.statistic == statistic:
                return row
        return None

    def replica_scores(self, system: str) -> dict[str, float]:
        """Score of each replica."""
        return {
            str(row.replica): row.value
            for row in self.systems
            if row.system == system and row.statistic == "score" and row.value is not None
        }

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
        for result in self.tests:
            if (result.a, result.b) == pair and result.method == method:
                return result
        return None

    @property
    def lead_method(self) -> str:
        """The test that the verdict speaks for."""
        return "crossed" if "crossed" in self.methods else self.methods[0]


def load_cell(folder: Path, testset: str, metric: str, system_names: Sequence[str]) -> Cell:
    """Read one (test set, metric) of the experiment in `folder`."""
    from replitune.stats.store import find_files, read_metadata

    described = [
        read_metadata(path)
        for path in find_files(folder / "stats" / testset / metric)
        if path.stem in system_names
    ]
    metadata = next(item for item in described if item is not None)
    return Cell(
        testset=testset,
        metric=metric,
        signature=metadata.signature,
        higher_is_better=metadata.higher_is_better,
        system_names=tuple(system_names),
        tests=tuple(read_tests(folder / "tests" / testset / f"{metric}.parquet")),
        systems=tuple(read_system_rows(folder / "tests" / testset / f"{metric}.systems.parquet")),
    )
