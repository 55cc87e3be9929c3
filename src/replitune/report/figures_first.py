"""The pictures of the first screen for a page without JavaScript: the difference of two systems by
each metric, and each of many systems against the best or the baseline. Both show answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replitune.report.drawing import COLUMN, PAGE, Figure, Figures, of_each_cell, style
from replitune.report.material import Material
from replitune.report.planning import detectable
from replitune.report.tables_scores import anchor
from replitune.results.answer import AHEAD, Answer
from replitune.results.numbers import score
from replitune.results.result import Result
from replitune.results.wording import listed

BAND = "#e8edf1"


def forest(material: Material) -> Figures:
    """Two systems: a row for each metric, on its own scale but with 0 at the same place. A difference is
    on the side of the system that is better."""
    by_testset: dict[str, list[tuple[Result, Answer]]] = {}
    for cell in material.cells:
        if len(cell.systems) == 2 and cell.answers:
            by_testset.setdefault(cell.testset, []).append((cell, cell.answers[0]))
    return {testset: _forest(material, testset, rows) for testset, rows in by_testset.items()}


def _forest(material: Material, testset: str, rows: Sequence[tuple[Result, Answer]]) -> Figure:
    a, b = rows[0][1].a, rows[0][1].b

    def draw(panels: Any) -> None:
        for axes, (cell, one) in zip(panels, rows, strict=True):
            test = cell.lead_test((a, b))
            turn = cell.sign
            base = cell.systems[a].avg
            of_b = list(cell.systems[b].scores.values())
            runs = [turn * (x - base) for x in of_b] if len(of_b) > 1 else []
            single = test is None or one.state == "these-outputs"
            missed = 0.0 if single or test is None else detectable(material, cell, test) or 0.0
            x, ends = _place(one, b)
            scale = max((abs(value) for value in (x, missed, *ends, *runs)), default=0.0) or 1.0
            axes.axvspan(-missed, missed, color=BAND, lw=0)
            axes.plot(runs, [-0.25] * len(runs), ls="none", ms=2.5, alpha=0.6, **style(1, "marker"))
            _mark(axes, one, 0, x, ends)
            axes.axvline(0, color="black", linewidth=0.8)
            axes.set_yticks([0], [cell.name])
            axes.set_ylim(-0.6, 0.6)
            axes.set_xlim(-1.1 * scale, 1.1 * scale)
            axes.xaxis.get_major_locator().set_params(nbins=5, symmetric=True)
            axes.set_title(one.by_text, loc="right")
        panels[-1].set_xlabel(f"← {a} better      {b} better →")

    return Figure(
        f"How far {b} and {a} are apart on {testset}, with {_intervals(rows)}, filled where surely better "
        f"at {material.alpha:g}; each metric on its own scale; small marks are {rows[0][0].kind}s "
        f"of {b} against the mean of {a}; shaded: differences that would have been missed more than once "
        "in five.",
        draw,
        size=(COLUMN, 0.4 + 0.55 * len(rows)),
        panels=len(rows),
        stacked="own",
    )


@of_each_cell
def ranking(material: Material, cell: Result) -> Figure | None:
    """Every system against the best, or the baseline: the difference with its interval, by the test
    that leads; better is to the right."""
    if len(cell.systems) < 3:
        return None
    first, turn = anchor(cell, material), cell.sign
    base = cell.systems[first].avg
    told = {name: cell.answer((first, name)) for name in cell.ranked}

    def draw(axes: Any) -> None:
        for y, name in enumerate(cell.ranked):
            system, one = cell.systems[name], told[name]
            if system.n > 1:
                runs = [turn * (x - base) for x in system.scores.values()]
                axes.plot(
                    runs, [y - 0.22] * len(runs), ls="none", marker="|", ms=4, alpha=0.6, color="black"
                )
            text = f"{score(cell.mean(name), cell.decimals)} {cell.name}" if name == first else "not tested"
            if one is not None and name != first:
                x, ends = _place(one, name)
                _mark(axes, one, y, x, ends)
                text = one.by_text
            elif name == first:
                axes.plot(0, y, ls="none", marker="o", ms=5, color="black")
            axes.text(1.01, y, text, va="center", size=7, transform=axes.get_yaxis_transform())
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(cell.ranked)), cell.ranked)
        axes.set_ylim(len(cell.ranked) - 0.5, -0.5)
        axes.set_xlabel(f"{cell.name} {'more' if cell.neutral else 'better'} than {first} →")

    rows = [(cell, one) for name, one in told.items() if one is not None and name != first]
    return Figure(
        f"Every system against {first} by {cell.name} on {cell.testset}: the difference with "
        f"{_intervals(rows)}, filled where surely better at {material.alpha:g}; strokes are {cell.kind}s.",
        draw,
        size=(PAGE, 0.6 + 0.24 * len(cell.ranked)),
    )


def _place(one: Answer, system: str) -> tuple[float, list[float]]:
    """How much better a system is, and the ends of the interval."""
    ends = [] if one.low is None or one.high is None else [one.low, one.high]
    return (-one.size, [-x for x in reversed(ends)]) if one.behind == system else (one.size, ends)


def _mark(axes: Any, one: Answer, y: float, x: float, ends: Sequence[float]) -> None:
    """An interval and a size: blue where better, orange where worse, grey where it is not sure."""
    sure = one.state in AHEAD
    ink = style(0 if x > 0 else 1)["color"] if sure else "#55626e"
    if ends:
        dashes = ":" if one.state == "these-outputs" else "-"
        axes.plot(ends, [y, y], lw=1.8, color=ink, linestyle=dashes)
    marker = ("^" if x > 0 else "v") if sure else "o"
    axes.plot(x, y, ls="none", ms=6, marker=marker, mew=1.4, mec=ink, mfc=ink if sure else "white")


def _intervals(rows: Sequence[tuple[Result, Answer]]) -> str:
    names = dict.fromkeys(one.interval for _, one in rows if one.interval)
    methods = dict.fromkeys(one.method for _, one in rows)
    return f"{listed([*names]) or 'no interval'} by {listed([*methods])}"
