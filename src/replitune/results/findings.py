"""Whether results are significant at a level, and which system is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replitune.results.result import Result
    from replitune.significance.base import TestResult


def adjusted(result: TestResult | None) -> float | None:
    """p after correction where there was one."""
    if result is None:
        return None
    return result.p if result.p_adjusted is None else result.p_adjusted


def significant(result: TestResult | None, alpha: float) -> bool:
    p = adjusted(result)
    return p is not None and p <= alpha


def difference(cell: Result, pair: tuple[str, str]) -> float:
    """B's mean score minus A's."""
    a, b = (cell.systems[system].avg for system in pair)
    return b - a


def best(cell: Result) -> str | None:
    """The system with the best mean, when there are several to compare."""
    return None if cell.neutral or len(cell.systems) < 2 else cell.ranked[0]


def interval_methods(cell: Result) -> list[str]:
    """Of the confidence intervals of its systems."""
    return list(dict.fromkeys(m for system in cell.systems.values() for m in system.ci))
