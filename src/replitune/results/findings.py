"""Whether results are significant at a level, and which system is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replitune.results.result import Result
    from replitune.significance.base import TestResult


def adjusted(result: TestResult | None) -> float | None:
    """p, corrected if there is a correction."""
    if result is None:
        return None
    return result.p if result.p_adjusted is None else result.p_adjusted


def significant(result: TestResult | None, alpha: float) -> bool:
    p = adjusted(result)
    return p is not None and p <= alpha


def next_run(cell: Result, result: TestResult, where: str = "") -> tuple[float, float, float] | None:
    """P(the next run of the system that is ahead is better than the next one of the other), and its
    90% interval: on this test set or, `where` "_new", on a new one."""
    names = (f"superior{where}", f"superior{where}_low", f"superior{where}_high")
    p, low, high = (result.details.get(name) for name in names)
    if p is None or low is None or high is None or cell.neutral:
        return None
    b_ahead = cell.better_by(result.delta) > 0
    return (p, low, high) if b_ahead else (1 - p, 1 - high, 1 - low)


def at_the_top(cell: Result, system: str) -> bool:
    """Whether the system has the best mean of several; or, where all were compared with the one that has,
    is not shown to differ from it."""
    if cell.neutral or len(cell.systems) < 2:
        return False
    answer = cell.answer((cell.ranked[0], system)) if best_is_tested(cell) else None
    alike = answer is not None and answer.state in ("same", "undecided", "these-outputs")
    return system == cell.ranked[0] or alike


def best_is_tested(cell: Result) -> bool:
    """Whether every other system was compared with the best."""
    return all(cell.answer((cell.ranked[0], name)) is not None for name in cell.ranked[1:])


def interval_methods(cell: Result) -> list[str]:
    """The methods of its systems' confidence intervals."""
    return list(dict.fromkeys(m for system in cell.systems.values() for m in system.ci))
