"""The tables of the papers, from the rows of the tests."""

from __future__ import annotations

from collections.abc import Sequence

from replitune.report.data import Cell, adjusted, significant
from replitune.report.names import CORRECTIONS
from replitune.report.numbers import MISSING, interval, p_value, score, signed
from replitune.report.table import Table
from replitune.results.rows import COUNTED
from replitune.significance.base import TestResult


def systems_table(cells: Sequence[Cell]) -> Table:
    """Clark et al. (2011), Table 1: average and the three standard deviations."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    for cell in cells:
        for system in cell.present:
            avg = cell.row(system, "avg")
            assert avg is not None
            s_sel, s_dev, s_test = (
                cell.value(system, name) for name in ("s_sel", "s_dev", "s_test")
            )
            median = cell.row(system, "median_replica")
            median_id = median.replica if median else None
            head = (cell.testset, cell.metric, system)
            if system == cell.best:
                marks[len(text), 4] = "best"
            text.append(
                (
                    cell.testset,
                    cell.name,
                    system,
                    str(avg.n),
                    score(avg.value),
                    score(s_sel),
                    score(s_dev),
                    score(s_test),
                    median_id or MISSING,
                )
            )
            values.append((*head, avg.n, avg.value, s_sel, s_dev, s_test, median_id))
    return Table(
        name="systems",
        caption="Mean score of each system over its n replicas (Avg), standard deviation from "
        "the choice of the test set (s_sel, bootstrap), over replicas on the dev set (s_dev) "
        "and on the test set (s_test), and the median replica; the best mean is bold.",
        header=("test set", "metric", "system", "n", "Avg", "s_sel", "s_dev", "s_test", "median"),
        text=tuple(text),
        columns=(
            "testset",
            "metric",
            "system",
            "n",
            "avg",
            "s_sel",
            "s_dev",
            "s_test",
            "median_replica",
        ),
        values=tuple(values),
        title="Scores and their spread",
        marks=marks,
        filters=2,
    )


PAIR_COLUMNS = (
    "a", "b", "method", "score_a", "score_b", "delta", "ci_low", "ci_high", "se", "df", "p",
    "p_adjusted", "p_min", "exact", "alternative", "unit", "aggregation", "pairing", "replica_a",
    "replica_b", "n_a", "n_b", "segments", "documents", "samples", "seed", "generalises_to", "note",
)  # fmt: skip


def pairs_table(cells: Sequence[Cell], alpha: float, correction: str) -> Table:
    """Every pair by every test."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    counted = any(result.details.get("won") is not None for c in cells for result in c.tests)
    for cell in cells:
        for result in cell.tests:
            if significant(result, alpha):
                marks[len(text), 8 if counted else 7] = "sign"
            text.append(
                (
                    cell.testset,
                    cell.name,
                    f"{result.b} − {result.a}",
                    result.method,
                    signed(result.delta),
                    interval(result.ci_low, result.ci_high),
                    *([_counted(result)] if counted else []),
                    p_value(result.p),
                    p_value(adjusted(result)),
                    result.generalises_to,
                )
            )
            values.append(
                (
                    cell.testset,
                    cell.metric,
                    *(getattr(result, name) for name in PAIR_COLUMNS),
                    *(result.details.get(name) for name in COUNTED),
                )
            )
    return Table(
        name="pairs",
        caption="Differences between systems: p by each test, p adjusted for all pairs "
        f"({CORRECTIONS[correction]}; † at or below {alpha:g}), and what a small p generalises to.",
        header=(
            "test set",
            "metric",
            "pair",
            "test",
            "delta",
            "CI",
            *(["won / tied / lost"] if counted else []),
            "p",
            "p adj.",
            "generalises to",
        ),
        text=tuple(text),
        columns=("testset", "metric", *PAIR_COLUMNS, *COUNTED),
        values=tuple(values),
        left=4,
        title="Differences and their tests",
        marks=marks,
        filters=4,
    )


def _counted(result: TestResult) -> str:
    """Shares of the test sets drawn that B won, tied and lost, in percent."""
    shares = [result.details.get(name) for name in ("won", "tied", "lost")]
    return MISSING if None in shares else " / ".join(f"{100 * (s or 0):.1f}" for s in shares)
