"""Drawing SVG and PNG: the same bytes from the same numbers, readable in greyscale."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.report.material import Material
from replitune.results.result import Result
from replitune.running.files import atomic_open

STYLE: dict[str, Any] = {
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "font.size": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7.5,
    "axes.titlepad": 2,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "hatch.linewidth": 0.6,
    "pdf.fonttype": 42,
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
COLUMN, PAGE = 3.3, 6.9
"""Inches of a column of a two-column page, and of both: letters stay 7 points high or more."""
ON_PAGES = 1.5
"""How much larger a figure is on a web page than on paper."""
# dark to light, so that order survives greyscale; dashes and markers tell neighbours apart.
# Of different lengths, so that no two of many look the same. No red beside green.
STYLES: dict[str, tuple[Any, ...]] = {
    "color": ("#1b4965", "#e07a1f", "#5fa8d3", "#a23b72", "#7f5539", "#8d99ae", "#f2c14e"),
    "hatch": ("", "///", "\\\\\\", "xx", "---", "||", "++", "/"),
    "ls": ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2, 2, 2))),
    "marker": ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h", ">"),
}
INKS = ("#222222", "#9a7b4f", "#777777", "#c9a66b", "#4f4436", "#aaaaaa")
"""Of what is no system."""


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
    size: tuple[float, float] = (COLUMN, 1.9)
    """Inches, without the legend."""
    panels: int = 1
    """Axes beside each other with a common y axis; `draw` is given as many."""
    stacked: Literal["", "common", "own"] = ""
    """The panels stand above each other, with a common x axis or each with its own."""

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
    """The colour, and what else is named, of the system with this number in its experiment."""
    return {name: STYLES[name][index % len(STYLES[name])] for name in ("color", *names)}


def look(index: int, *names: str) -> dict[str, Any]:
    """The same of a test, a tuner or a plan, in none of the colours of systems."""
    return {**style(index, *names), "color": INKS[index % len(INKS)]}


def add_legend(axes: Any, **options: Any) -> None:
    """The whole legend above the axes, in as many columns as there is room for."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    letters = int(15 * axes.figure.bbox.width / axes.figure.dpi)
    labels = [fill(label, letters - 9) for label in labels]
    columns = letters // (9 + max(len(line) for label in labels for line in label.split("\n")))
    options = {"ncols": min(max(columns, 1), len(labels)), "columnspacing": 1.2, **options}
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        borderaxespad=0.3,
        alignment="left",
        **options,
    )


LONGEST = 24
"""Letters of a line of a name beside an axis."""


def _break_lines(canvas: Any) -> float:
    """Break long names into lines, so that they leave room for the picture; returns the inches that rows
    of several lines take."""
    from matplotlib.ticker import FuncFormatter

    more = 0
    for axis in (axis for axes in canvas.axes for axis in (axes.xaxis, axes.yaxis)):
        axis.set_label_text(fill(axis.get_label_text(), int(14 * canvas.get_figwidth())))
        if isinstance(axis.get_major_formatter(), FuncFormatter):  # labels that were given
            names = [fill(label.get_text(), LONGEST) for label in axis.get_majorticklabels()]
            if any("\n" in name for name in names):
                axis.set_ticklabels(names)
                more += (axis.axis_name == "y") * len(names) * max(name.count("\n") for name in names)
    return 0.11 * more


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
        if figure.stacked:
            panels = canvas.subplots(nrows=figure.panels, sharex=figure.stacked == "common", squeeze=False)
            figure.draw(panels[:, 0])
        else:
            figure.draw(canvas.subplots(ncols=figure.panels, sharey=True))
        more = _break_lines(canvas)
        legends = [legend for axes in canvas.axes if (legend := axes.get_legend()) is not None]
        above = max((legend.get_window_extent().height for legend in legends), default=0.0)
        canvas.set_figheight(figure.size[1] + above / canvas.dpi + more)
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
    if "svg" in drawn:
        drawn["svg"] = re.sub(
            rb'(width|height)="([\d.]+)pt"',
            lambda size: b'%s="%gpt"' % (size[1], ON_PAGES * float(size[2])),
            drawn["svg"],
            count=2,
        )
    return drawn
