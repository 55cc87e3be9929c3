"""Figures of scores over runs: Clark et al. (2011), Fig. 1; Fu et al. (2016), Fig. 4."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from replitune.arithmetic import exp
from replitune.report.drawing import COLUMN, Figure, add_legend, look, of_each_cell, style
from replitune.report.material import Material
from replitune.results.findings import interval_methods
from replitune.results.numbers import score
from replitune.results.result import Result
from replitune.results.wording import INTERVALS, count

Draw = Callable[[Any, str, int, int], str]

MOST = 12
"""Most systems in a figure."""
TOGETHER = 3
"""Up to so many systems are drawn over each other; of more, each has a panel of its own."""


def _others(cell: Result) -> str:
    more = len(cell.systems) - MOST
    return f" The best {MOST} systems; {more} more are in the tables." if more > 0 else ""


def _of_systems(cell: Result, names: Sequence[str], caption: str, draw: Draw, y: str) -> Figure:
    """Systems drawn over each other, or each in its panel; `draw` is given axes, the name and number of a
    system, and its place among those that share the axes."""
    apart = len(names) > TOGETHER
    numbers = [*cell.systems]

    def draw_all(axes: Any) -> None:
        panels = axes if apart else [axes] * len(names)
        for place, (panel, name) in enumerate(zip(panels, names, strict=True)):
            label = draw(panel, name, numbers.index(name), 0 if apart else place)
            if apart:
                panel.set_title(label, loc="left")
                panel.grid(visible=False, axis="x")
                panel.xaxis.set_visible(panel is panels[-1])  # one scale for all
        panels[-1].set_xlabel(_axis(cell))
        panels[len(panels) // 2].set_ylabel(y)
        if not apart:
            add_legend(axes)

    if not apart:
        return Figure(caption, draw_all)
    return Figure(caption, draw_all, (COLUMN, 0.5 + 0.55 * len(names)), len(names), "common")


@of_each_cell
def replicas(material: Material, cell: Result) -> Figure | None:
    """Clark et al. (2011), Fig. 1: score of each run; the line is the mean of the system.
    Where systems overlap, one run of each can show either order. No test; it shows these runs
    only."""
    scores = {name: _scores(cell, name) for name in cell.ranked[:MOST]}
    if all(len(values) < 2 for values in scores.values()):
        return None
    every = np.concatenate(list(scores.values()))
    low, high = float(every.min()), float(every.max())
    margin = 0.05 * (high - low) or 0.5
    edges = np.linspace(low - margin, high + margin, 21)
    most = max(np.histogram(values, edges)[0].max() for values in scores.values())

    def draw(axes: Any, name: str, number: int, place: int) -> str:
        values, label = scores[name], f"{name} (n = {len(scores[name])})"
        heights = np.histogram(values, edges)[0]
        axes.stairs(heights, edges, fill=True, alpha=0.35, **style(number))
        axes.stairs(heights, edges, label=label, **style(number, "ls"))
        axes.axvline(float(np.mean(values)), **style(number, "ls"), linewidth=1.6)
        axes.set_ylim(0, 1.08 * most)
        axes.yaxis.get_major_locator().set_params(integer=True, nbins=3)
        return label

    counts = ", ".join(f"{name}: n = {len(values)}" for name, values in scores.items())
    caption = (
        f"{cell.name} on {cell.testset} of each {cell.kind} ({counts}); the line is the system's "
        f"mean. Where the systems overlap, one {cell.kind} of each can show either order "
        f"(Clark et al. 2011, Fig. 1). No test; it holds for these {cell.kind}s on this test set."
        f"{_others(cell)}"
    )
    return _of_systems(cell, [*scores], caption, draw, f"{cell.kind}s")


@of_each_cell
def intervals(material: Material, cell: Result) -> Figure | None:
    """Intervals of each system's score by method (Fu et al. 2016, Table 7). Riezler draws segments
    of the median run, Clark segments of all runs: both are about new segments. Test-set draws scores
    of runs, and is about new runs."""
    systems = cell.ranked[::-1]
    methods = interval_methods(cell)
    if not any(limits for system in cell.systems.values() for limits in system.ci.values()):
        return None
    step = 0.7 / max(len(methods), 1)

    def draw(axes: Any) -> None:
        for index, method in enumerate(methods):
            rows = [
                (y + step * ((len(methods) - 1) / 2 - index), cell.systems[system].avg, *ends)
                for y, system in enumerate(systems)
                if (ends := cell.systems[system].ci.get(method)) is not None
            ]
            if rows:
                at, means, low, high = zip(*rows, strict=True)
                axes.hlines(at, low, high, **look(index, "ls"))
                label = INTERVALS.get(method, method)
                axes.plot(means, at, **look(index, "marker"), ms=3, ls="none", label=label)
        axes.set_yticks(range(len(systems)), systems)
        axes.set_ylim(-0.6, len(systems) - 0.4)
        axes.set_xlabel(_axis(cell))
        add_legend(axes)

    runs = ", ".join(f"{s}: n = {len(cell.systems[s].scores)}" for s in cell.ranked)
    return Figure(
        f"{100 * (1 - material.alpha):g}% bootstrap intervals of {cell.name} on {cell.testset}, "
        f"best system on top ({runs}), as Fu et al. (2016), Table 7. Riezler draws segments of the "
        f"median {cell.kind} and Clark segments of all {cell.kind}s: both hold for new segments. Test-set "
        f"draws {cell.kind} scores and holds for new {cell.kind}s on this test set.",
        draw,
        size=(COLUMN, 0.6 + 0.3 * len(systems)),
    )


@of_each_cell
def fits(material: Material, cell: Result) -> Figure | None:
    """Normal distribution fitted to the scores of each system's runs (Fu et al. 2016, Fig. 4).
    No test; it is about new runs on this test set."""
    scores = {s: v for s in cell.ranked[:MOST] if np.ptp(v := _scores(cell, s)) > 0}
    if not scores:
        return None
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    spreads = {name: float(np.std(values, ddof=1)) for name, values in scores.items()}
    low = min(means[name] - 3.5 * spreads[name] for name in scores)
    high = max(means[name] + 3.5 * spreads[name] for name in scores)
    x = np.linspace(low, high, 400)
    highest = 1 / (min(spreads.values()) * np.sqrt(2 * np.pi))

    def draw(axes: Any, name: str, number: int, place: int) -> str:
        values, where = scores[name], axes.get_xaxis_transform()
        density = exp(-0.5 * ((x - means[name]) / spreads[name]) ** 2) / (
            spreads[name] * np.sqrt(2 * np.pi)
        )
        numbers = (score(number, cell.decimals) for number in (means[name], spreads[name]))
        label = f"{name} ({', '.join(numbers)}, n = {len(values)})"
        axes.plot(x, density, **style(number, "ls"), label=label)
        at = np.full(len(values), 0.06 * (place + 1))
        axes.plot(values, at, ls="none", ms=3, alpha=0.7, transform=where, **style(number, "marker"))
        axes.set_ylim(0, 1.08 * highest)
        axes.yaxis.get_major_locator().set_params(nbins=3)
        return label

    left_out = [name for name in cell.ranked[:MOST] if name not in scores]
    note = _others(cell)
    note += f" Left out, as their {cell.kind}s do not vary: {', '.join(left_out)}." if left_out else ""
    caption = (
        f"Normal distribution fitted to the {cell.name} scores of each system's {cell.kind}s on "
        f"{cell.testset} (mean, standard deviation), and the scores "
        f"({count(sum(map(len, scores.values())), cell.kind)} in all; Fu et al. 2016, Fig. 4). No test; it "
        f"holds for new {cell.kind}s on this test set.{note}"
    )
    return _of_systems(cell, [*scores], caption, draw, "density")


def _scores(cell: Result, system: str) -> np.ndarray:
    """(n,) scores of the runs."""
    return np.array(list(cell.systems[system].scores.values()), dtype=np.float64)


def _axis(cell: Result) -> str:
    direction = "" if cell.sign > 0 else ", lower is better"
    return f"{cell.name} on {cell.testset}{direction}"
