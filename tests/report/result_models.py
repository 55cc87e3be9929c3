"""One result made by hand, and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from replitune.metrics.base import Direction
from replitune.report.material import Material
from replitune.results.result import Result
from replitune.significance.base import TestResult
from replitune.significance.one_system import SystemSummary

RESULT = TestResult(
    method="crossed",
    a="a",
    b="b",
    score_a=40.0,
    score_b=38.0,
    delta=-2.0,
    p=0.02,
    p_adjusted=0.04,
    alternative="two-sided",
    unit="segment",
    aggregation="mean",
    n_a=3,
    n_b=3,
    segments=10,
    documents=10,
    scope="both",
    ci_low=-3.0,
    ci_high=-1.0,
    correction="max-t",
)


def summary(name: str, mean: float, runs: int = 3) -> SystemSummary:
    scores = {f"run-{i:03d}": mean for i in range(1, runs + 1)}
    return SystemSummary(name, runs, mean, scores, None, None, None, "run-001")


def result_of(
    *tests: TestResult,
    means: Mapping[str, float] = MappingProxyType({"a": 40.0, "b": 38.0}),
    word: str = "ter",
    direction: Direction = -1,
    runs: int = 3,
) -> Result:
    systems = {name: summary(name, mean, runs) for name, mean in means.items()}
    return Result("t1", "m", word, "sig", direction, 0.05, "crossed", systems, tests)


def material(*cells: Result, **more: Any) -> Material:
    return Material("small", 7, 0.05, "pairs", 99, cells, **more)
