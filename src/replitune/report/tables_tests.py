"""The overview, and the tables of Fu et al. (2016): intervals and p by method."""

from __future__ import annotations

from collections.abc import Sequence

from replitune.report.data import Cell, adjusted, significant
from replitune.report.names import CORRECTIONS
from replitune.report.numbers import MISSING, interval, p_value, score, signed
from replitune.report.table import Table
from replitune.significance.base import TestResult

INTERVALS = {
    "riezler": "Riezler",
    "clark": "Clark",
    "fu": "test-set",
}
"""Interval methods as Fu et al. (2016), Table 7, call them."""


def overview_table(
    cells: Sequence[Cell], alpha: float, correction: str, baseline: str | None
) -> Table:
    """Systems x metrics: mean ± s_test, with significance against the baseline or the best."""
    by_testset: dict[str, list[Cell]] = {}
    for cell in cells:
        by_testset.setdefault(cell.testset, []).append(cell)
    metrics = list(dict.fromkeys(cell.metric for cell in cells))
    name = {cell.metric: cell.name for cell in cells}
    arrow = {
        cell.metric: "" if cell.neutral else " ↑" if cell.higher_is_better else " ↓"
        for cell in cells
    }
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    for testset, group in by_testset.items():
        for system in [s for s in group[0].system_names if any(s in c.present for c in group)]:
            row: list[str] = []
            exact: list[object] = []
            n: int | None = None
            for column, metric in enumerate(metrics, start=3):
                cell = next(c for c in group if c.metric == metric)
                mean = cell.row(system, "avg")
                if mean is None:
                    row.append(MISSING)
                    exact += [None] * 4
                    continue
                n = mean.n
                spread = cell.value(system, "s_test")
                row.append(
                    score(mean.value) + (f" ± {score(spread)}" if spread is not None else "")
                )
                anchor = baseline if baseline in cell.present else cell.ranked[0]
                result = cell.lead_test((anchor, system)) if system != anchor else None
                words = ["best"] if cell.best == system else []
                words += ["sign"] if significant(result, alpha) else []
                if words:
                    marks[len(text), column] = " ".join(words)
                p = None if result is None else adjusted(result)
                exact += [mean.value, spread, None if result is None else anchor, p]
            text.append((testset, system, str(n), *row))
            values.append((testset, system, n, *exact))
    lead = next((cell.lead_method for cell in cells if cell.tests), None)
    against = f"the baseline ({baseline})" if baseline else "the best system of the column"
    caption = "Mean score ± standard deviation over n replicas (s_test); the best is bold"
    if lead:
        caption += (
            f", † differs from {against} at {alpha:g} by the {lead} test "
            f"({CORRECTIONS[correction]})"
        )
    columns = [f"{m}_{c}" for m in metrics for c in ("avg", "s_test", "against", "p_adjusted")]
    return Table(
        name="overview",
        title="Overview",
        caption=f"{caption}. ↑ higher, ↓ lower is better.",
        header=("test set", "system", "n", *(f"{name[m]}{arrow[m]}" for m in metrics)),
        text=tuple(text),
        columns=("testset", "system", "n", *columns),
        values=tuple(values),
        left=2,
        marks=marks,
        filters=1,
    )


def intervals_table(cells: Sequence[Cell], alpha: float) -> Table:
    """Fu et al. (2016), Table 7: intervals of each system's score by method."""
    methods = list(
        dict.fromkeys(m for cell in cells for s in cell.present for m in cell.intervals(s))
    )
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for cell in cells:
        for system in cell.present:
            rows = cell.intervals(system)
            avg = cell.value(system, "avg")
            limits = [
                (rows[m].ci_low, rows[m].ci_high) if m in rows else (None, None) for m in methods
            ]
            shown = (interval(low, high) for low, high in limits)
            text.append((cell.testset, cell.name, system, score(avg), *shown))
            flat = [limit for pair in limits for limit in pair]
            values.append((cell.testset, cell.metric, system, avg, *flat))
    return Table(
        name="intervals",
        title="Intervals by method",
        caption=f"{100 * (1 - alpha):g}% intervals of each system's score by method (Fu et al. "
        "2016, Table 7): Riezler, segments of the median replica; Clark, segments of the pool of "
        "replicas; test-set, replica scores.",
        header=("test set", "metric", "system", "score", *(INTERVALS.get(m, m) for m in methods)),
        text=tuple(text),
        columns=(
            "testset", "metric", "system", "avg",
            *(f"{m}_{end}" for m in methods for end in ("low", "high")),
        ),
        values=tuple(values),
        filters=2,
    )  # fmt: skip


def p_table(cells: Sequence[Cell], alpha: float, correction: str) -> Table:
    """Fu et al. (2016), Table 8: p of every pair by every test, disagreements marked."""
    methods = list(dict.fromkeys(m for cell in cells for m in cell.methods))
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    for cell in cells:
        for pair in cell.pairs:
            lead = cell.test(pair, cell.lead_method)
            found = [cell.test(pair, method) for method in methods]
            delta = _delta(cell, pair)
            for column, result in enumerate(found, start=4):
                words = ["sign"] if significant(result, alpha) else []
                if _decided(result) and _decided(lead):
                    differs = significant(result, alpha) != significant(lead, alpha)
                    words += ["odd"] if differs else []
                if words:
                    marks[len(text), column] = " ".join(words)
            p = [None if result is None else adjusted(result) for result in found]
            head = (f"{pair[1]} − {pair[0]}", signed(delta))
            text.append((cell.testset, cell.name, *head, *map(p_value, p)))
            values.append((cell.testset, cell.metric, *pair, delta, *p))
    return Table(
        name="p",
        title="p by test",
        caption=f"p of every pair by every test ({CORRECTIONS[correction]}), as Fu et al. (2016), "
        f"Table 8: † at or below {alpha:g}, ‡ disagrees at that level with the test of the "
        "verdicts. Tests answer different questions; see what each generalises to.",
        header=("test set", "metric", "pair", "delta", *methods),
        text=tuple(text),
        columns=("testset", "metric", "a", "b", "delta", *methods),
        values=tuple(values),
        marks=marks,
        filters=2,
    )


def _decided(result: TestResult | None) -> bool:
    return result is not None and adjusted(result) is not None


def _delta(cell: Cell, pair: tuple[str, str]) -> float | None:
    """Difference of the mean scores."""
    a, b = (cell.value(system, "avg") for system in pair)
    return None if a is None or b is None else b - a
