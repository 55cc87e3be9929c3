"""Drawing SVG and PNG: the same bytes from the same numbers, readable in greyscale."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.report.material import Material
from replitune.results.result import Result
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
STYLES: dict[str, tuple[Any, ...]] = {
    "color": ("#1b4965", "#e07a1f", "#5fa8d3", "#a23b72", "#6a994e", "#8d99ae", "#f2c14e"),
    "hatch": ("", "///", "\\\\\\", "xx", "---", "||", "++", "/"),
    "ls": ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2, 2, 2))),
    "marker": ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h", ">"),
}


METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}
"""Kinds of figures, and what would make their bytes differ."""


@dataclass(frozen=True)
class Figure:
    """What is to be drawn, and what it shows."""

    caption: str
    draw: Callable[[Any], None]
    """Draws into one matplotlib axes."""
    size: tuple[float, float] = (6.4, 3.4)
    """Inches."""
    panels: int = 1
    """Axes beside each other with a common y axis; `draw` is given as many."""

    def save(self, path: str | Path) -> None:
        """Write it as SVG, PNG or PDF, by the end of the name."""
        suffix = Path(path).suffix[1:].lower()
        if suffix not in METADATA:
            raise ReplituneError(
                "no such kind of figure",
                file=path,
                found=suffix or "no suffix",
                expected=", ".join(METADATA),
            )
        with atomic_open(path, "wb") as handle:
            handle.write(render("figure", self, (suffix,))[suffix])

    def _repr_svg_(self) -> str:
        """For notebooks."""
        return render("figure", self)["svg"].decode("utf-8")


Figures = dict[str, Figure]
"""By what they are about: ``test1.bleu``, ``test1``, ``tuning``."""


def of_each_cell(figure: Callable[[Material, Result], Figure | None]) -> Callable[[Material], Figures]:
    """A kind of figure of which each (test set, metric) has one, or none."""

    @wraps(figure)
    def figures(material: Material) -> Figures:
        by_cell = {f"{c.testset}.{c.metric}": figure(material, c) for c in material.cells}
        return {about: drawn for about, drawn in by_cell.items() if drawn is not None}

    return figures


def style(index: int, *names: str) -> dict[str, Any]:
    """The colour, and what else is named, of the system or test with this number."""
    return {name: STYLES[name][index % len(STYLES[name])] for name in ("color", *names)}


def add_legend(axes: Any, **options: Any) -> None:
    """The legend to the right of the axes."""
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), **options)


LONGEST = 24
"""Characters of a name in a picture; longer ones are cut, and end in `…`."""


def _shorten(canvas: Any) -> None:
    """Shorten names that would leave no room for the picture."""
    from matplotlib.ticker import FuncFormatter

    def short(text: str) -> str:
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

    for axes in canvas.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), FuncFormatter):  # labels that were given
                names = [label.get_text() for label in axis.get_majorticklabels()]
                if any(len(name) > LONGEST for name in names):
                    axis.set_ticklabels([short(name) for name in names])
        legend = axes.get_legend()
        for text in () if legend is None else legend.get_texts():
            text.set_text(short(text.get_text()))


def render(name: str, figure: Figure, suffixes: tuple[str, ...] = ("svg",)) -> dict[str, bytes]:
    """Bytes of the figure by suffix."""
    needs("plots")
    import matplotlib
    from matplotlib.backend_bases import get_registered_canvas_class
    from matplotlib.figure import Figure as Canvas

    # glyphs that the font lacks are drawn as boxes; the names stand in the tables
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    drawn: dict[str, bytes] = {}
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        # without pyplot, which would choose how a notebook shows the figures of others
        canvas = Canvas(layout="constrained", figsize=figure.size)
        figure.draw(canvas.subplots(ncols=figure.panels, sharey=True))
        _shorten(canvas)
        engine = canvas.get_layout_engine()
        assert engine is not None
        engine.execute(canvas)  # places everything, once for all kinds of files
        canvas.set_layout_engine("none")
        for suffix in suffixes:
            # not `savefig`, which draws everything once more for the layout that there is already
            buffer, page = io.BytesIO(), get_registered_canvas_class(suffix)(canvas)
            canvas.dpi = matplotlib.rcParams["savefig.dpi"]
            getattr(page, f"print_{suffix}")(buffer, metadata=METADATA[suffix])
            drawn[suffix] = buffer.getvalue()
    return drawn
