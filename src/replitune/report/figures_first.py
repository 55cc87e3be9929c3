"""The pictures of the first screen as they stand there without JavaScript: differences of two
systems by metric, and many systems by score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replitune.report.drawing import Figure, Figures, of_each_cell, style
from replitune.report.findings import adjusted
from replitune.report.material import Material
from replitune.report.numbers import interval, p_equation, score, signed
from replitune.report.planning import detectable
from replitune.report.ranks import places, rank_text
from replitune.report.wording import INTERVALS
from replitune.results.result import Result
from replitune.significance.base import TestResult


def forest(material: Material) -> Figures:
    """The difference of two systems by every metric, each on a scale of its own with 0 at one
    place: interval of the test of the verdicts, runs, and what would have been missed (shaded)."""
    testsets: dict[str, list[tuple[Result, TestResult]]] = {}
    for cell in material.cells:
        test = cell.lead_test(cell.pairs[0]) if len(cell.pairs) == 1 else None
        if test is not None:
            testsets.setdefault(cell.testset, []).append((cell, test))
    return {testset: _forest(material, testset, rows) for testset, rows in testsets.items()}


def _forest(material: Material, testset: str, rows: Sequence[tuple[Result, TestResult]]) -> Figure:
    def draw(axes: Any) -> None:
        for y, (cell, test) in enumerate(rows):
            turn = 1 if cell.higher_is_better else -1
            of_b = list(cell.systems[test.b].scores.values())
            runs = [turn * (x - test.score_a) for x in of_b] if len(of_b) > 1 else []
            missed = detectable(material, cell, test) or 0.0
            ends = () if test.ci_low is None else (turn * test.ci_low, turn * (test.ci_high or 0.0))
            reach = [turn * test.delta, missed, *ends, *runs]
            scale = max((abs(x) for x in reach), default=0.0) or 1.0
            axes.fill_betweenx([y - 0.4, y + 0.4], -missed / scale, missed / scale, color="#e8edf1", lw=0)
            if ends:
                axes.plot([x / scale for x in ends], [y, y], lw=2.5, **style(0))
            axes.plot(
                [x / scale for x in runs],
                [y - 0.25] * len(runs),
                ls="none",
                ms=3,
                alpha=0.6,
                **style(1, "marker"),
            )
            p = adjusted(test)
            sure = p is not None and p <= cell.alpha
            ink = style(0)["color"]
            axes.plot(
                turn * test.delta / scale,
                y,
                ls="none",
                ms=8,
                marker="o",
                mew=2,
                mec=ink,
                mfc=ink if sure else "white",
            )
            label = f"{signed(test.delta, cell.decimals)} "
            label += f"{interval(test.ci_low, test.ci_high, cell.decimals)}  {p_equation(p)}"
            axes.text(1.12, y, label, va="center", size=9, transform=axes.get_yaxis_transform())
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(rows)), [cell.name for cell, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(-1.1, 1.1)
        axes.set_xticks([0])
        _, test = rows[0]
        axes.set_xlabel(f"← {test.a} better      {test.b} better →")

    _, test = rows[0]
    return Figure(
        f"{test.b} − {test.a} on {testset}, each metric on its own scale: difference and interval, "
        f"filled where significant at {material.alpha:g}; small marks are runs of {test.b} against "
        f"the mean of {test.a}; shaded: differences that would have been missed more than once in "
        "five.",
        draw,
        size=(7.2, 1.0 + 0.6 * len(rows)),
    )


@of_each_cell
def ranking(material: Material, cell: Result) -> Figure | None:
    """Systems by score, with intervals; bands are clusters, each of whose systems beats all of the
    clusters below, beside the ranks that a system may have."""
    if len(cell.systems) < 3:
        return None
    standing = places(cell)
    names = list(standing) or cell.ranked
    methods = [m for m in ("clark", "riezler", "fu") if any(s.ci.get(m) for s in cell.systems.values())]

    def draw(axes: Any) -> None:
        intervals = [
            (y, *(cell.systems[name].ci.get(methods[0]) or ())) if methods else (y,)
            for y, name in enumerate(names)
        ]
        known = [row for row in intervals if len(row) == 3]
        if known:
            axes.hlines(*zip(*known, strict=True), lw=2, **style(0))
        clusters = [standing[name].cluster for name in names] if standing else []
        for cluster in {*clusters}:
            first, size = clusters.index(cluster), clusters.count(cluster)
            if cluster % 2:
                axes.axhspan(first - 0.5, first + size - 0.5, color="#e8edf1", lw=0)
        for y, name in enumerate(names):
            system, at = cell.systems[name], standing.get(name)
            label = score(system.avg, cell.decimals)
            label += f"   {rank_text(at.ranks)}" if at is not None else ""
            axes.text(1.01, y, label, va="center", size=8, transform=axes.get_yaxis_transform())
        runs = [
            (x, y)
            for y, name in enumerate(names)
            if cell.systems[name].n > 1
            for x in cell.systems[name].scores.values()
        ]
        if runs:
            axes.plot(*zip(*runs, strict=True), ls="none", marker="|", ms=6, alpha=0.6, color="black")
        means = [cell.systems[name].avg for name in names]
        axes.plot(means, range(len(names)), ls="none", ms=6, **style(0, "marker"))
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(f"{cell.name} on {cell.testset}")
        if not cell.higher_is_better:
            axes.invert_xaxis()

    bands = (
        " Bands are clusters: each system beats all of the clusters below; right: score, and "
        "the ranks that a system may have, all together."
        if standing
        else ""
    )
    how = f", {INTERVALS[methods[0]]} intervals" if methods else ""
    return Figure(
        f"{cell.name} on {cell.testset}, best first{how}; strokes are runs.{bands}",
        draw,
        size=(7.2, 1.0 + 0.3 * len(names)),
    )
