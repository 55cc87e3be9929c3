"""Figures of tuners: spread over runs by tuner, convergence of the tuning runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from replitune.replicas import Replica
from replitune.report.drawing import Figure, Figures, add_legend, look, of_each_cell, style
from replitune.report.material import Material
from replitune.results.result import Result


@of_each_cell
def tuners(material: Material, cell: Result) -> Figure | None:
    """Scores of the runs by the tuner that they came from; the bar is the mean. No test."""
    scores = {system: cell.tuner_scores(system) for system in cell.systems}
    if not any(len(groups) > 1 for groups in scores.values()):
        return None
    tuners = list(dict.fromkeys(t for groups in scores.values() for t in groups))
    width = 0.8 / len(tuners)

    def draw(axes: Any) -> None:
        for index, tuner in enumerate(tuners):
            places, points, bars = [], [], []
            for x, groups in enumerate(scores.values()):
                values = sorted(groups.get(tuner, ()))
                if not values:
                    continue
                at = x + width * (index - (len(tuners) - 1) / 2)
                # spread sideways in order of the score, so that equal scores do not hide each other
                side = np.linspace(-0.25, 0.25, len(values)) * width if len(values) > 1 else [0.0]
                places += [at + s for s in side]
                points += values
                bars.append((float(np.mean(values)), at - 0.4 * width, at + 0.4 * width))
            axes.plot(places, points, ls="none", ms=3, alpha=0.8, label=tuner, **look(index, "marker"))
            axes.hlines(*zip(*bars, strict=True), color="black", lw=1.2)
        axes.set_xticks(range(len(scores)), list(scores), rotation=30 if len(scores) > 4 else 0)
        axes.set_ylabel(cell.name)
        add_legend(axes)

    sizes = {
        tuner: dict.fromkeys(str(len(g[tuner])) for g in scores.values() if tuner in g) for tuner in tuners
    }
    counts = ", ".join(f"{tuner}: n = {'/'.join(numbers)}" for tuner, numbers in sizes.items())
    return Figure(
        f"{cell.name} on {cell.testset} of each run by the tuner it came from ({counts} per "
        "system); the bar is the mean. No test; the spread of a column is what one run of that "
        "tuner hides.",
        draw,
    )


def convergence(material: Material) -> Figures:
    """Score on the dev set at each iteration of every tuning run. No test."""
    histories = material.histories
    if not histories:
        return {}
    groups = {
        (system, Replica(replica).prefix): None for system, runs in histories.items() for replica in runs
    }

    def draw(axes: Any) -> None:
        systems, kinds = [*histories], list(dict.fromkeys(tuner for _, tuner in groups))
        for system, tuner in groups:
            line = style(kinds.index(tuner), "ls", "marker") | style(systems.index(system))
            label: str | None = f"{system}, {tuner}"
            for replica, scores in histories[system].items():
                if Replica(replica).prefix != tuner:
                    continue
                axes.plot(
                    np.arange(len(scores)), scores, **line, ms=2, linewidth=0.8, alpha=0.75, label=label
                )
                label = None
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("iteration")
        axes.set_ylabel("score on dev")
        add_legend(axes)

    runs = ", ".join(f"{system}: n = {len(replicas)}" for system, replicas in histories.items())
    figure = Figure(
        f"Score on the dev set at each iteration of every tuning run or training ({runs}). Where "
        "curves of one system end apart, tuning itself is a source of chance. No test.",
        draw,
    )
    return {"tuning": figure}
