"""Drawing SVG and PNG: the same bytes from the same numbers, readable in greyscale."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from replitune.running.files import atomic_open

STYLE: dict[str, Any] = {
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.fonttype": "path",
    "text.parse_math": False,
}
# dark to light, so that order survives greyscale; hatching and markers tell neighbours apart.
# Of different lengths, so that no two of many look the same.
COLOURS = ("#1b4965", "#e07a1f", "#5fa8d3", "#a23b72", "#6a994e", "#8d99ae", "#f2c14e")
HATCHES = ("", "///", "\\\\\\", "xx", "---", "||", "++", "/")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2, 2, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h", ">")


@dataclass(frozen=True)
class Figure:
    """What is to be drawn, and what it shows."""

    name: str
    """File name without suffix."""
    caption: str
    draw: Callable[[Any], None]
    """Draws into one matplotlib axes."""
    size: tuple[float, float] = (6.4, 3.4)
    """Inches."""
    panels: int = 1
    """Axes beside each other with a common y axis; `draw` is given as many."""


def pick(choices: tuple[Any, ...], index: int) -> Any:
    return choices[index % len(choices)]


def nothing(name: str) -> Figure:
    """A figure that was asked for and has no data."""

    def draw(axes: Any) -> None:
        axes.set_axis_off()
        text = f"{name}: these systems and replicas leave nothing to draw"
        axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes)

    return Figure(name, "", draw, size=(6.4, 1.2))


def render(figure: Figure, suffixes: tuple[str, ...] = ("svg",)) -> dict[str, bytes]:
    """Bytes of the figure by suffix."""
    # glyphs that the font lacks are drawn as boxes; the names stand in the tables
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    drawn: dict[str, bytes] = {}
    with plt.rc_context({**STYLE, "svg.hashsalt": figure.name}):
        canvas, axes = plt.subplots(
            ncols=figure.panels, sharey=True, layout="constrained", figsize=figure.size
        )
        try:
            figure.draw(axes)
            for suffix in suffixes:
                metadata = {"svg": {"Date": None}, "png": {"Software": None}}[suffix]
                buffer = io.BytesIO()
                canvas.savefig(buffer, format=suffix, metadata=metadata)
                drawn[suffix] = buffer.getvalue()
        finally:
            plt.close(canvas)
    return drawn


def save(figure: Figure, folder: Path) -> str:
    """Write folder/name.svg and .png; returns the SVG."""
    drawn = render(figure, ("svg", "png"))
    for suffix, content in drawn.items():
        with atomic_open(folder / f"{figure.name}.{suffix}", "wb") as handle:
            handle.write(content)
    return drawn["svg"].decode("utf-8")
