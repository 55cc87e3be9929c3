"""Tables of scores: the overview, spread and intervals of each system, documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from replitune.report.findings import adjusted, best, interval_methods, significant
from replitune.report.material import Material
from replitune.report.numbers import score, signed
from replitune.report.specification import Column, Table, limits
from replitune.report.wording import INTERVALS, corrected
from replitune.results.result import Result
from replitune.significance.base import TestResult
from replitune.significance.one_system import SystemSummary

T = TypeVar("T")

TESTSET = Column("test set", "testset", lambda cell, *_: cell.testset, left=True)
CELL = (
    TESTSET,
    Column(None, "metric", lambda cell, *_: cell.metric),
    Column("metric", None, lambda cell, *_: cell.name, left=True),
)
"""What a row of a (test set, metric) begins with."""


def overview(material: Material) -> Table:
    """Mean score of each system over its replicas, the standard deviation over replicas
    (``s_test``), and the adjusted p of its difference from the baseline, or from the best system,
    by the test of the verdicts."""
    cells, baseline = material.cells, material.baseline
    by_testset: dict[str, dict[str, Result]] = {}
    for cell in cells:
        by_testset.setdefault(cell.testset, {})[cell.metric] = cell
    rows = []
    for testset, group in by_testset.items():
        every = dict.fromkeys(system for cell in group.values() for system in cell.systems)
        rows += [(testset, system, group) for system in every]
    lead = next((cell.lead_method for cell in cells if cell.tests), None)
    against = f"the baseline ({baseline})" if baseline else "the best system of the column"
    caption = "Mean score ± standard deviation over n replicas (s_test); the best is bold"
    if lead:
        caption += (
            f", † differs from {against} at {material.alpha:g} by the {lead} test "
            f"({corrected(cells, material.family)})"
        )
    by_metric = {cell.metric: cell for cell in cells}
    return Table(
        title="Overview",
        caption=f"{caption}. ↑ higher, ↓ lower is better.",
        columns=(
            Column("test set", "testset", lambda testset, *_: testset, left=True),
            Column("system", "system", lambda _, system, __: system, left=True),
            Column("n", "n", _runs, show=str),
            *(c for cell in by_metric.values() for c in _overview_columns(cell, material)),
        ),
        rows=rows,
        filters=1,
    )


def _runs(testset: str, system: str, group: dict[str, Result]) -> int:
    """Replicas under the last metric that has the system."""
    return [cell.systems[system].n for cell in group.values() if system in cell.systems][-1]


def _overview_columns(shown: Result, material: Material) -> Sequence[Column]:
    """The columns of one metric; of each test set its own cell is asked."""
    metric = shown.metric
    arrow = "" if shown.neutral else " ↑" if shown.higher_is_better else " ↓"

    def in_cell(value: Callable[[Result, str], T]) -> Callable[..., T | None]:
        """None where the system has no score."""

        def of(testset: str, system: str, group: dict[str, Result]) -> T | None:
            cell = group[metric]
            return value(cell, system) if system in cell.systems else None

        return of

    def anchor(cell: Result) -> str:
        baseline = material.baseline
        return baseline if baseline is not None and baseline in cell.systems else cell.ranked[0]

    def tested(cell: Result, system: str) -> TestResult | None:
        return cell.lead_test((anchor(cell), system)) if system != anchor(cell) else None

    def against(cell: Result, system: str) -> str | None:
        return None if tested(cell, system) is None else anchor(cell)

    def p(cell: Result, system: str) -> float | None:
        return adjusted(tested(cell, system))

    def text(cell: Result, system: str) -> str:
        spread = cell.systems[system].s_test
        more = f" ± {score(spread, cell.decimals)}" if spread is not None else ""
        return score(cell.systems[system].avg, cell.decimals) + more

    def mark(cell: Result, system: str) -> str:
        words = ["best"] if best(cell) == system else []
        words += ["sign"] if significant(tested(cell, system), material.alpha) else []
        return " ".join(words)

    return (
        Column(f"{shown.name}{arrow}", None, in_cell(text),
               mark=lambda *row: in_cell(mark)(*row) or ""),
        Column(None, f"{metric}_avg", in_cell(lambda cell, system: cell.systems[system].avg)),
        Column(None, f"{metric}_s_test", in_cell(lambda cell, system: cell.systems[system].s_test)),
        Column(None, f"{metric}_against", in_cell(against)),
        Column(None, f"{metric}_p_adjusted", in_cell(p)),
    )  # fmt: skip


def of_systems(material: Material) -> list[tuple[Result, SystemSummary]]:
    """A row for each system of each (test set, metric)."""
    return [(cell, system) for cell in material.cells for system in cell.systems.values()]


SYSTEM = Column("system", "system", "name", left=True)


def systems(material: Material) -> Table:
    """Clark et al. (2011), Table 1: mean over n replicas, ``s_sel`` (choice of the test set,
    bootstrap), ``s_dev`` and ``s_test`` (over replicas), and the median replica."""
    return Table(
        title="Scores and their spread",
        caption="Mean score of each system over its n replicas (Avg), standard deviation from "
        "the choice of the test set (s_sel, bootstrap), over replicas on the dev set (s_dev) "
        "and on the test set (s_test), and the median replica; the best mean is bold.",
        columns=(
            *CELL,
            SYSTEM,
            Column("n", "n"),
            Column("Avg", "avg", show=score, in_units=True,
                   mark=lambda cell, system: "best" if system.name == best(cell) else ""),
            *(
                Column(name, name, show=score, in_units=True)
                for name in ("s_sel", "s_dev", "s_test")
            ),
            Column("median", "median_replica"),
        ),
        rows=of_systems(material),
        filters=2,
    )  # fmt: skip


def intervals(material: Material) -> Table:
    """Fu et al. (2016), Table 7: intervals of each system's score by the Riezler, Clark and
    test-set methods."""
    methods = dict.fromkeys(m for cell in material.cells for m in interval_methods(cell))

    def columns(method: str) -> tuple[Column, ...]:
        def ends(cell: Result, system: SystemSummary) -> tuple[float | None, float | None]:
            return system.ci.get(method) or (None, None)

        return (
            Column(INTERVALS.get(method, method), None, ends, limits, in_units=True),
            Column(None, f"{method}_low", lambda *row: ends(*row)[0]),
            Column(None, f"{method}_high", lambda *row: ends(*row)[1]),
        )

    return Table(
        title="Intervals by method",
        caption=f"{100 * (1 - material.alpha):g}% intervals of each system's score by method (Fu "
        "et al. 2016, Table 7): Riezler, segments of the median replica; Clark, segments of the "
        "pool of replicas; test-set, replica scores.",
        columns=(
            *CELL,
            SYSTEM,
            Column("score", "avg", show=score, in_units=True),
            *(column for method in methods for column in columns(method)),
        ),
        rows=of_systems(material),
        filters=2,
    )


def documents(material: Material) -> Table:
    """Score of each document, and of each part of a joined test set, alone: mean over replicas,
    and differences between systems. Without documents and parts the table is empty."""
    found, baseline = material.documents, material.baseline
    systems = list(dict.fromkeys(s for cell, _ in found for s in cell.systems))
    measure = found[0][0].name if found else "Score"
    first = baseline if baseline in systems else next(iter(systems), "score")
    others = [s for s in systems if s != first]

    def of(system: str) -> Callable[..., float | None]:
        return lambda cell, scored, g: (
            float(scored.scores[system][g]) if system in scored.scores else None
        )

    def change(system: str) -> Callable[..., float | None]:
        def delta(*row: object) -> float | None:
            base, value = of(first)(*row), of(system)(*row)
            return None if base is None or value is None else value - base

        return delta

    return Table(
        title="Documents and parts",
        caption=f"{measure} of each document or part of a test set alone, mean over replicas: of "
        f"{first}, and the difference of the other systems from it.",
        columns=(
            TESTSET,
            Column("document or part", "document", lambda _, scored, g: scored.names[g], left=True),
            CELL[1],
            Column("segments", "segments", lambda _, scored, g: scored.sizes[g]),
            *(Column(first if s == first else None, s, of(s), score, True) for s in systems),
            *([] if systems else [Column(first, None, lambda *_: None)]),
            *(Column(f"{s} − {first}", f"delta_{s}", change(s), signed, True) for s in others),
        ),
        rows=[(cell, scored, g) for cell, scored in found for g in range(len(scored.names))],
        filters=1,
    )
