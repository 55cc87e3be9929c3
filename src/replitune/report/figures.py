"""Figures as SVG and PNG: the same bytes from the same numbers, readable in greyscale."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from replitune.files import atomic_open
from replitune.report.data import Cell

STYLE: dict[str, Any] = {
    "figure.figsize": (6.4, 3.4),
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.fonttype": "path",
}
# dark to light, so that order survives greyscale; hatching tells neighbours apart
COLOURS = ("#1b4965", "#e07a1f", "#5fa8d3", "#a23b72", "#6a994e", "#8d99ae", "#f2c14e")
HATCHES = ("", "////", "....", "\\\\\\\\", "xx", "--", "oo")


def save(name: str, folder: Path, draw: Callable[[Any], None]) -> None:
    """Draw into folder/name.svg and .png."""
    with plt.rc_context({**STYLE, "svg.hashsalt": name}):
        figure, axes = plt.subplots(layout="constrained")
        try:
            draw(axes)
            for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
                buffer = io.BytesIO()
                figure.savefig(buffer, format=suffix, metadata=metadata)
                with atomic_open(folder / f"{name}.{suffix}", "wb") as handle:
                    handle.write(buffer.getvalue())
        finally:
            plt.close(figure)


def histogram(cell: Cell) -> Callable[[Any], None]:
    """Clark et al. (2011), Fig. 1: test scores over replicas, all systems overlaid."""
    scores = {name: list(cell.replica_scores(name).values()) for name in cell.system_names}
    scores = {name: values for name, values in scores.items() if values}
    every = np.concatenate([np.asarray(values) for values in scores.values()])

    def draw(axes: Any) -> None:
        low, high = float(every.min()), float(every.max())
        margin = 0.05 * (high - low) or 0.5
        edges = np.linspace(low - margin, high + margin, 21)
        for index, (name, values) in enumerate(scores.items()):
            axes.hist(
                values,
                bins=edges,
                label=f"{name} (n = {len(values)})",
                alpha=0.55,
                color=COLOURS[index % len(COLOURS)],
                hatch=HATCHES[index % len(HATCHES)],
                edgecolor="white",
                linewidth=0.4,
            )
            axes.axvline(float(np.mean(values)), color=COLOURS[index % len(COLOURS)], linewidth=1.6)
        axes.set_xlabel(f"{cell.metric} on {cell.testset}")
        axes.set_ylabel("replicas")
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.legend(fontsize=8)

    return draw


def histogram_caption(cell: Cell) -> str:
    counts = ", ".join(
        f"{name}: n = {len(cell.replica_scores(name))}" for name in cell.system_names
    )
    return (
        f"{cell.metric} on {cell.testset} of each replica ({counts}); the line is the system's "
        "mean. Where the systems overlap, one run of each can show either order "
        "(Clark et al. 2011, Fig. 1)."
    )
