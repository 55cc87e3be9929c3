"""Tables of scores: the overview, spread and intervals of each system, documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from replitune.report.material import Material
from replitune.report.ranks import Place, Ranks, by_people, places, rank_text
from replitune.report.specification import Column, Table, limits
from replitune.results.answer import AHEAD
from replitune.results.findings import adjusted, at_the_top, best_is_tested, interval_methods
from replitune.results.numbers import p_value, score, signed
from replitune.results.result import Result
from replitune.results.wording import INTERVALS, corrected, listed
from replitune.significance.base import TestResult
from replitune.significance.one_system import SystemSummary

T = TypeVar("T")

TESTSET = Column("test set", "testset", lambda cell, *_: cell.testset, left=True)
CELL = (
    TESTSET,
    Column(None, "metric", lambda cell, *_: cell.metric),
    Column("metric", None, lambda cell, *_: cell.name, left=True),
)
"""The first columns of rows about a (test set, metric)."""


def overview(material: Material) -> Table:
    """Systems, best first by the first metric: cluster and ranks by the test that leads, and
    by people; mean score over runs, standard deviation over runs (``s_test``), and the
    adjusted p of the difference from the baseline, or from the best system."""
    cells, baseline = material.cells, material.baseline
    by_testset: dict[str, dict[str, Result]] = {}
    for cell in cells:
        by_testset.setdefault(cell.testset, {})[cell.metric] = cell
    rows = []
    for testset, group in by_testset.items():
        first = lead_cell(group.values(), material)
        every = dict.fromkeys([*first.ranked, *(s for cell in group.values() for s in cell.systems)])
        rows += [(testset, system, group) for system in every]
    lead = next((cell.lead_method for cell in cells if cell.tests), None)
    against = f"the baseline ({baseline})" if baseline else "the best system of the column"
    replicated = (
        "" if not _replicated(material) else f" ± standard deviation over n {material.kind}s (s_test)"
    )
    caption = f"Mean score{replicated}; {bold(material)}"
    if lead:
        caption += (
            f"; †: differs from {against} at {material.alpha:g} by the {lead} test "
            f"({corrected(cells, material.family)})"
        )
    by_metric = {cell.metric: cell for cell in cells}
    standing = _standing(by_testset, material)
    if any(column.heading == "cluster" for column in standing):
        caption += (
            f". Clusters and possible ranks, with joint confidence {100 * (1 - material.alpha):g}%, by "
            f"{cells[0].name}"
        )
    return Table(
        title="Overview",
        said=material.sentences,
        caption=f"{caption}. ↑ higher, ↓ lower is better.",
        columns=(
            Column("test set", "testset", lambda testset, *_: testset, left=True),
            *standing,
            Column("system", "system", lambda _, system, __: system, left=True),
            Column("n", "n", _runs, show=str),
            *(c for cell in by_metric.values() for c in _overview_columns(cell, material)),
        ),
        rows=rows,
    )


def bold(material: Material) -> str:
    """What is bold in a column."""
    tested = all(best_is_tested(cell) for cell in material.cells if not cell.neutral and cell.systems)
    return "bold: the best" + (", and what is not shown to differ from it" if tested else "")


def lead_cell(cells: Iterable[Result], material: Material) -> Result:
    """The result of the first metric for which more, or less, is better, other than people's judgements."""
    every = list(cells)
    return next((c for c in every if not c.neutral and c.metric not in material.people), every[0])


def _standing(by_testset: Mapping[str, Mapping[str, Result]], material: Material) -> list[Column]:
    """The columns of clusters and ranks, if there are any."""
    known = {t: places(lead_cell(group.values(), material)) for t, group in by_testset.items()}
    people = by_people(material)

    def place(testset: str, system: str, _: object) -> Place | None:
        return known[testset].get(system)

    def ranks(testset: str, system: str, _: object) -> Ranks | None:
        return people.get(testset, {}).get(system)

    def end(ranks_of: Callable[..., Ranks | None], which: int) -> Callable[..., int | None]:
        return lambda *row: None if (both := ranks_of(*row)) is None else both[which]

    def by_tests(*row: Any) -> Ranks | None:
        at = place(*row)
        return None if at is None else at.ranks

    columns: list[Column] = []
    if any(known.values()):
        columns += [
            Column("cluster", "cluster", lambda *row: None if (at := place(*row)) is None else at.cluster),
            Column("ranks", None, by_tests, rank_text),
            Column(None, "rank_best", end(by_tests, 0)),
            Column(None, "rank_worst", end(by_tests, 1)),
        ]
    if people:
        columns += [
            Column("by people", None, ranks, rank_text),
            Column(None, "people_best", end(ranks, 0)),
            Column(None, "people_worst", end(ranks, 1)),
        ]
    return columns


def _runs(testset: str, system: str, group: dict[str, Result]) -> int:
    """Replicas under the last metric that has the system."""
    return [cell.systems[system].n for cell in group.values() if system in cell.systems][-1]


def _overview_columns(shown: Result, material: Material) -> Sequence[Column]:
    """The columns of one metric; each row takes the cell of its test set."""
    metric = shown.metric
    arrow = "" if shown.neutral else " ↑" if shown.sign > 0 else " ↓"

    def in_cell(value: Callable[[Result, str], T]) -> Callable[..., T | None]:
        """None where the system has no score."""

        def value_of(testset: str, system: str, group: dict[str, Result]) -> T | None:
            cell = group[metric]
            return value(cell, system) if system in cell.systems else None

        return value_of

    def tested(cell: Result, system: str) -> TestResult | None:
        return against_anchor(cell, system, material)

    def against(cell: Result, system: str) -> str | None:
        return None if tested(cell, system) is None else anchor(cell, material)

    def p(cell: Result, system: str) -> float | None:
        return adjusted(tested(cell, system))

    def text(cell: Result, system: str) -> str:
        spread = cell.systems[system].s_test
        more = f" ± {score(spread, cell.decimals)}" if spread is not None else ""
        return score(cell.mean(system), cell.decimals) + more

    def mark(cell: Result, system: str) -> str:
        words = ["best"] if at_the_top(cell, system) else []
        one = cell.answer((anchor(cell, material), system))
        words += ["sign"] if one is not None and one.state in (*AHEAD, "different") else []
        return " ".join(words)

    return (
        Column(f"{shown.name}{arrow}", None, in_cell(text), mark=lambda *row: in_cell(mark)(*row) or ""),
        Column(None, f"{metric}_avg", in_cell(Result.mean)),
        Column(None, f"{metric}_s_test", in_cell(lambda cell, system: cell.systems[system].s_test)),
        Column(None, f"{metric}_against", in_cell(against)),
        Column(None, f"{metric}_p_adjusted", in_cell(p)),
    )


def mean(cell: Result, system: SystemSummary) -> float | None:
    """The mean score that tests compare."""
    return cell.mean(system.name)


def anchor(cell: Result, material: Material) -> str:
    """The baseline, or the best system: what the others are compared with."""
    baseline = material.baseline
    return baseline if baseline is not None and baseline in cell.systems else cell.ranked[0]


def against_anchor(cell: Result, system: str, material: Material) -> TestResult | None:
    first = anchor(cell, material)
    return None if system == first else cell.lead_test((first, system))


def multeval(material: Material) -> Table:
    """The table that multeval prints: by metric and system the mean score, ``s_sel``, ``s_test``,
    and p of the difference from the baseline, or from the best system."""
    baseline = material.baseline
    against = f"from {baseline}" if baseline else "from the best system"
    lead = next((cell.lead_method for cell in material.cells if cell.tests), None)
    tested = (
        ""
        if lead is None
        else (f", p of the difference {against} ({lead}, {corrected(material.cells, material.family)})")
    )
    return Table(
        title="Metric by system",
        caption=f"Mean score over n {material.kind}s, standard deviations from the choice of the test set "
        f"(s_sel) and over {material.kind}s (s_test){tested}; {bold(material)}.",
        columns=(
            TESTSET,
            *CELL[1:],
            SYSTEM,
            *_standing_of_rows(material),
            Column("n", "n"),
            Column(
                "score",
                "avg",
                mean,
                show=score,
                in_units=True,
                mark=lambda cell, system: "best" * at_the_top(cell, system.name),
            ),
            Column("s_sel", "s_sel", show=score, in_units=True),
            *_spreads(material, "s_test"),
            Column(
                "p",
                "p_adjusted",
                lambda cell, system: adjusted(against_anchor(cell, system.name, material)),
                p_value,
            ),
        ),
        rows=[(cell, cell.systems[name]) for cell in material.cells for name in cell.ranked],
        filters=2,
    )


def _standing_of_rows(material: Material) -> list[Column]:
    """The column of ranks for rows of (result, summary), if there are any."""
    known = {(c.testset, c.metric): places(c) for c in material.cells}
    if not any(known.values()):
        return []

    def ranks(cell: Result, system: SystemSummary) -> Ranks | None:
        at = known[cell.testset, cell.metric].get(system.name)
        return None if at is None else at.ranks

    return [Column("ranks", None, ranks, rank_text)]


def _spreads(material: Material, *names: str) -> list[Column]:
    """The columns of those spreads that at least one system has."""
    systems = [system for cell in material.cells for system in cell.systems.values()]
    return [
        Column(name, name, show=score, in_units=True)
        for name in names
        if any(getattr(system, name) is not None for system in systems)
    ]


def system_rows(material: Material) -> list[tuple[Result, SystemSummary]]:
    """A row for each system of each (test set, metric)."""
    return [(cell, system) for cell in material.cells for system in cell.systems.values()]


def _replicated(material: Material) -> bool:
    return any(s.n > 1 for cell in material.cells for s in cell.systems.values())


SYSTEM = Column("system", "system", "name", left=True)
SPREADS = {
    "s_sel": "standard deviation from the choice of the test set (s_sel, bootstrap)",
    "s_dev": "standard deviation over {kind}s on the dev set (s_dev)",
    "s_test": "standard deviation over {kind}s on the test set (s_test)",
}


def systems(material: Material) -> Table:
    """Clark et al. (2011), Table 1: mean over n runs, ``s_sel`` (choice of the test set,
    bootstrap), ``s_dev`` and ``s_test`` (over runs), and the median run."""
    spreads, replicated = _spreads(material, *SPREADS), _replicated(material)
    kind = material.kind
    said = [SPREADS[str(column.key)].format(kind=kind) for column in spreads]
    said += [f"the median {kind}"] * replicated
    return Table(
        title="Scores and their spread",
        caption=f"{listed([f'Mean score of each system over its n {kind}s (Avg)', *said])}; "
        f"{bold(material)}.",
        columns=(
            *CELL,
            SYSTEM,
            Column("n", "n"),
            Column(
                "Avg",
                "avg",
                mean,
                show=score,
                in_units=True,
                mark=lambda cell, system: "best" * at_the_top(cell, system.name),
            ),
            *spreads,
            *([Column("median", "median_replica")] if replicated else []),
        ),
        rows=system_rows(material),
        filters=2,
    )


def intervals(material: Material) -> Table:
    """Fu et al. (2016), Table 7: intervals of each system's score by the Riezler, Clark and
    test-set methods."""
    methods = dict.fromkeys(
        method
        for cell in material.cells
        for method in interval_methods(cell)
        if any(system.ci.get(method) for system in cell.systems.values())
    )

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
        f"et al. 2016, Table 7): Riezler draws segments of the median {material.kind}, Clark segments of "
        f"the pool of {material.kind}s, test-set scores of {material.kind}s.",
        columns=(
            *CELL,
            SYSTEM,
            Column("score", "avg", mean, show=score, in_units=True),
            *(column for method in methods for column in columns(method)),
        ),
        rows=system_rows(material),
        filters=2,
    )


def documents(material: Material) -> Table:
    """Score of each document, and of each part of a joined test set, alone: mean over runs,
    and differences between systems. Without documents and parts the table is empty."""
    cells, baseline = material.documents, material.baseline
    systems = list(dict.fromkeys(s for cell, _ in cells for s in cell.systems))
    measure = cells[0][0].name if cells else "Score"
    first = baseline if baseline in systems else next(iter(systems), "score")
    others = [s for s in systems if s != first]

    def mean(system: str) -> Callable[..., float | None]:
        return lambda cell, scored, g: (
            float(scored.scores[system][:, g].mean()) if system in scored.scores else None
        )

    def change(system: str) -> Callable[..., float | None]:
        def delta(*row: object) -> float | None:
            base, value = mean(first)(*row), mean(system)(*row)
            return None if base is None or value is None else value - base

        return delta

    return Table(
        title="Documents and parts",
        caption=f"{measure} of each document or part of a test set, scored alone, mean over "
        f"{material.kind}s: of {first}, and the differences of the other systems from it.",
        columns=(
            TESTSET,
            Column("document or part", "document", lambda _, scored, g: scored.names[g], left=True),
            CELL[1],
            Column("segments", "segments", lambda _, scored, g: scored.sizes[g]),
            *(Column(first if s == first else None, s, mean(s), score, True) for s in systems),
            *([] if systems else [Column(first, None, lambda *_: None)]),
            *(Column(f"{s} − {first}", f"delta_{s}", change(s), signed, True) for s in others),
        ),
        rows=[(cell, scored, g) for cell, scored in cells for g in range(len(scored.names))],
        filters=1,
    )
