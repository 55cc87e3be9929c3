"""Drawing SVG and PNG: the same bytes from the same numbers, readable in greyscale."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any, Literal

from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.report.material import Material
from replitune.report.shapes import OF_SYSTEMS, PALETTE, Drawing
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
"""Width in inches of a column and of a two-column page, so that letters stay 7 points high or more."""
ON_PAGES = 1.5
"""How much larger a figure is on a web page than on paper."""
# From dark to light, so that the order survives greyscale; dashes and markers tell neighbours apart.
# The lists differ in length, so that no two of many systems look the same. No red beside green. The
# colours are those of the page (report.css).
STYLES: dict[str, tuple[Any, ...]] = {
    "color": tuple(PALETTE[name][0] for name in OF_SYSTEMS),
    "hatch": ("", "///", "\\\\\\", "xx", "---", "||", "++", "/"),
    "ls": ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2, 2, 2))),
    "marker": ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h", ">"),
}
INKS = ("#222222", "#9a7b4f", "#777777", "#c9a66b", "#4f4436", "#aaaaaa")
"""Colours of what is not a system."""


METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}
"""Kinds of files, and the metadata that would make their bytes differ."""


@dataclass(frozen=True)
class Figure:
    """What is to be drawn, and what it shows."""

    caption: str
    draw: Callable[[Any], None]
    """Draws into one matplotlib axes."""
    size: tuple[float, float] = (COLUMN, 1.9)
    """Inches, without the legend."""
    panels: int = 1
    """Number of axes side by side, with a common y axis; `draw` is given all of them."""
    stacked: Literal["", "common", "own"] = ""
    """Whether panels are above each other, with a common x axis or each with its own."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What is written instead of long names."""
    drawing: Drawing | None = None
    """The whole of it, if it is made without matplotlib."""

    def save(self, path: str | Path) -> None:
        """Write it as SVG, PNG or PDF, by the suffix of the name."""
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
"""Figures by what they are about: ``test1.bleu``, ``test1``, ``tuning``."""


def of_each_cell(figure: Callable[[Material, Result], Figure | None]) -> Callable[[Material], Figures]:
    """A kind of figure with at most one for each (test set, metric)."""

    @wraps(figure)
    def figures(material: Material) -> Figures:
        by_cell = {f"{c.testset}.{c.metric}": figure(material, c) for c in material.cells}
        return {about: drawn for about, drawn in by_cell.items() if drawn is not None}

    return figures


def style(index: int, *names: str) -> dict[str, Any]:
    """The colour, and what else is named, for the system with this number in its experiment."""
    return {name: STYLES[name][index % len(STYLES[name])] for name in ("color", *names)}


def look(index: int, *names: str) -> dict[str, Any]:
    """The same for a test, a tuner or a plan, in a colour that no system has."""
    return {**style(index, *names), "color": INKS[index % len(INKS)]}


def add_legend(axes: Any, **options: Any) -> None:
    """The whole legend above the axes, in as many columns as there is room for."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    letters = int(15 * axes.figure.bbox.width / axes.figure.dpi)
    labels = [fill(axes.figure.elided(label), letters - 9) for label in labels]
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
"""Most letters in a line of a name beside an axis."""


def elided(names: Sequence[str], longest: int = LONGEST) -> dict[str, str]:
    """Short forms of long names, as on the page (pictures.js): whole words that all names begin or end
    with are cut first. A name in letters that the font lacks is shown as a number."""
    shown = [*names]
    if max(map(len, names), default=0) > longest:
        front, back = _alike(names), _alike([name[::-1] for name in names])
        cut = []
        for name in names:
            begin, end = "…" if front > 2 else name[:front], "…" if back > 2 else name[len(name) - back :]
            cut.append(begin + name[front : max(len(name) - back, front + 1)] + end)
        half = longest // 2
        fits = [name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}" for name in cut]
        shown = fits if len({*fits}) == len({*names}) else cut
    shown = [f"system {k}" if UNKNOWN.search(name) else name for k, name in enumerate(shown, start=1)]
    return {name: short for name, short in zip(names, shown, strict=True) if short != name}


UNKNOWN = re.compile("[^\u0000-\u024f\u0370-\u052f\u1e00-\u25ff]")
"""Letters that DejaVu Sans lacks, or that are not simply written one after the other, left to right."""


def _alike(names: Sequence[str]) -> int:
    """The length of the whole words that all names begin with."""
    columns = zip(*(name[:-1] for name in names), strict=False)
    k = sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, columns)) if len(names) > 1 else 0
    while k and any(name[k - 1].isalnum() and name[k].isalnum() for name in names):
        k -= 1
    return k


def _with_names(names: Mapping[str, str], text: str) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text


def _fit_texts(canvas: Any) -> float:
    """Shorten long names or break them into lines, so that they leave room for the picture; returns the
    inches that additional lines take."""
    from matplotlib.ticker import FuncFormatter

    more, width = 0, int(14 * canvas.get_figwidth())
    for axes in canvas.axes:
        for text in axes.texts:
            text.set_text(canvas.elided(text.get_text()))
        for loc in ("left", "center", "right"):
            axes.set_title(canvas.elided(axes.get_title(loc=loc)), loc=loc, y=1.0)
    for axis in (axis for axes in canvas.axes for axis in (axes.xaxis, axes.yaxis)):
        axis.set_label_text(fill(canvas.elided(axis.get_label_text()), width))
        if isinstance(axis.get_major_formatter(), FuncFormatter):  # labels that were given
            names = [fill(canvas.elided(label.get_text()), LONGEST) for label in axis.get_majorticklabels()]
            axis.set_ticklabels(names)
            more += (axis.axis_name == "y") * len(names) * max((n.count("\n") for n in names), default=0)
    return 0.11 * more


@cache
def _family(folder: TemporaryDirectory[str]) -> str:
    """DejaVu Sans without ligatures and the letters of `UNKNOWN`: embedding it in a PDF takes a fifth of
    the time."""
    from fontTools import subset
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    family = "DejaVu Sans Latin"
    options = subset.Options(legacy_kern=True, glyph_names=True, name_IDs=["*"])
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "MATH", "FFTM"]
    for weight in ("regular", "bold"):
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=[*range(0x250), *range(0x370, 0x530), *range(0x1E00, 0x2600)])
        path = Path(folder.name) / f"{weight}.ttf"
        whole = findfont(FontProperties(family="DejaVu Sans", weight=weight))
        with subset.load_font(whole, options) as font:
            subsetter.subset(font)
            for record in font["name"].names:
                if record.nameID in (1, 16):
                    record.string = family
            font.save(path)
        fontManager.addfont(path)
    return family


def _lay_out(canvas: Any, figure: Figure) -> None:
    """Lay everything out, once for all kinds of files."""
    more = _fit_texts(canvas)
    legends = [legend for axes in canvas.axes if (legend := axes.get_legend()) is not None]
    above = max((legend.get_window_extent().height for legend in legends), default=0.0)
    canvas.set_figheight(figure.size[1] + above / canvas.dpi + more)
    canvas.get_layout_engine().execute(canvas)
    canvas.set_layout_engine("none")


FONTS = TemporaryDirectory(prefix="replitune-")


def render(name: str, figure: Figure, suffixes: tuple[str, ...] = ("svg",)) -> dict[str, bytes]:
    """Bytes of the figure by suffix."""
    if figure.drawing is not None and "svg" in suffixes:
        others = tuple(suffix for suffix in suffixes if suffix != "svg")
        rest = render(name, figure, others) if others else {}
        return {"svg": figure.drawing.svg().encode("utf-8"), **rest}
    needs("plots")
    import matplotlib
    from matplotlib.backend_bases import get_registered_canvas_class
    from matplotlib.figure import Figure as Canvas

    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    drawn: dict[str, bytes] = {}
    with matplotlib.rc_context({**STYLE, "font.family": _family(FONTS), "svg.hashsalt": name}):
        # without pyplot, which would change how a notebook shows other figures
        canvas: Any = Canvas(layout="constrained", figsize=figure.size)
        canvas.elided = partial(_with_names, figure.names)
        if figure.drawing is not None:
            canvas.set_layout_engine("none")
            axes = canvas.add_axes((0, 0, 1, 1))
            figure.draw(axes)
            for text in axes.texts:
                if UNKNOWN.search(text.get_text()):
                    text.set_text(canvas.elided(text.get_text()))
        elif figure.stacked:
            panels = canvas.subplots(nrows=figure.panels, sharex=figure.stacked == "common", squeeze=False)
            figure.draw(panels[:, 0])
        else:
            figure.draw(canvas.subplots(ncols=figure.panels, sharey=True))
        if figure.drawing is None:
            _lay_out(canvas, figure)
        for suffix in suffixes:
            # not `savefig`, which would draw everything once more to lay it out
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
