"""The figures of the paper, by the drawing code of the reports, from the CSV files."""

from __future__ import annotations

from typing import Any

from paper.type_i_error import costs, law
from paper.type_i_error.sources import EXPERIMENTS, Sources, study, where

from replitune.report.drawing import Figure, style

SIZES = (3, 5, 10, 20)
RATIOS = (0, 0.1, 1, 10)
SHOWN = ("crossed", "multi-bootstrap", "replica-permutation", "fu-bootstrap", "riezler", "clark")
SMALL = 8


def levels(sources: Sources) -> Figure:
    """Left `clark` by n, with its law; right methods by the ratio of runs to segments."""
    cells = where(law.cells(sources), null="next")
    cells = cells[(cells["segments"] == 0) | (cells["ratio"] == 0)]
    usual = study().SEGMENTS["mean"]
    five = where(
        sources.plain, metric="mean", null="next", noise="equal", shift=0, n_a=5, n_b=5, segments=0
    )
    five = five[five["ratio"] > 0]

    def draw(axes: Any) -> None:
        left, right = axes
        ns = [1 + 0.1 * k for k in range(191)]
        for index, ratio in enumerate(RATIOS):
            looks = style(index, "ls")
            curve = [law.level(n, ratio, usual, "next") for n in ns]
            left.plot(ns, curve, label=f"R/D = {ratio:g}", **looks)
            own = where(cells, ratio=ratio, n_a=[2, *SIZES])
            left.plot(
                own["n_a"],
                own["found"],
                ls="",
                color=looks["color"],
                marker=style(index, "marker")["marker"],
                ms=5,
            )
        left.axhline(0.05, color="black", lw=0.8)
        left.set_xscale("log")
        left.minorticks_off()
        left.set_xticks([1, 2, *SIZES], ["1", "2", *map(str, SIZES)])
        left.set_xlabel("runs of each system, n")
        left.set_ylabel("rejected at .05")
        left.set_ylim(0, 1)
        left.legend(fontsize=SMALL, loc="upper left")
        right.axhspan(0, 0.05, color="#dddddd", lw=0)
        right.axhline(0.05, color="black", lw=0.8)
        for index, method in enumerate(SHOWN):
            own = where(five, method=method).sort_values("ratio")
            right.plot(own["ratio"], own["rate 0.05"], label=method, ms=5, **style(index, "ls", "marker"))
        right.set_xscale("log")
        right.minorticks_off()
        right.set_xticks([0.1, 1, 3, 10], [".1", "1", "3", "10"])
        right.set_xlabel("R/D, with n = 5")
        right.legend(fontsize=SMALL, loc="upper left", ncols=2)

    return Figure("", draw, size=(8.6, 3.1), panels=2)


def spending(sources: Sources) -> Figure:
    """What is detected for what is paid."""

    def draw(axes: Any) -> None:
        for index, name in enumerate(EXPERIMENTS):
            cost = costs.cost(sources, name)
            found = costs.detectable(sources, name)
            first = costs.pair(sources, name).iloc[0]
            axes.plot(
                [2 * cost.system(n) for n in found],
                list(found.values()),
                ms=5,
                label=f"{first['a']}, {first['b']}",
                **style(index, "ls", "marker"),
            )
        axes.set_xscale("log")
        axes.minorticks_off()
        low, high = axes.get_xlim()
        ticks = [100 * 2**k for k in range(10) if low < 100 * 2**k < high]
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("CPU seconds")
        axes.set_ylabel("detectable BLEU")
        axes.legend(fontsize=SMALL)

    return Figure("", draw, size=(4.6, 2.7))


FIGURES = {"figure-law": levels, "figure-cost": spending}
