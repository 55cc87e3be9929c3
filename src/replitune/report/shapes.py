"""A drawing of lines, dots, boxes and texts, as SVG, or in matplotlib's axes for other kinds of files.

Lengths are pixels of a web page; `PER_INCH` of them are an inch of paper, so that letters of 13 are 7
points high. Colours are names of `PALETTE`: a page gives them others in the dark.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Literal
from unicodedata import east_asian_width

PER_INCH = 130

PALETTE: dict[str, tuple[str, str]] = {
    "ink": ("#1d2730", "#e4e9ee"),
    "paper": ("#ffffff", "#14191e"),
    "line": ("#d5dbe1", "#36414c"),
    "quiet": ("#55626e", "#a3b0bc"),
    "band": ("#e6ecf1", "#222c35"),
    # of systems: from dark to light, so that the order survives greyscale, and no red beside green
    "c1": ("#1b4965", "#3d85ad"),
    "c2": ("#b3530a", "#c4631a"),
    "c3": ("#3f88b5", "#a3d3f0"),
    "c4": ("#a23b72", "#d77fae"),
    "c5": ("#4d7c31", "#8fbf6f"),
    "c6": ("#6f7a94", "#a9b3cc"),
    "c7": ("#94740a", "#e3c35a"),
}
"""The colours of pictures on white paper, and on a dark screen."""
OF_SYSTEMS = [name for name in PALETTE if name[0] == "c" and name[1:].isdecimal()]


@dataclass(frozen=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    ink: str = "ink"
    width: float = 1.0
    dotted: bool = False

    def svg(self, colour: Any) -> str:
        ends = f'x1="{self.x1:.1f}" y1="{self.y1:.1f}" x2="{self.x2:.1f}" y2="{self.y2:.1f}"'
        dots = ' stroke-dasharray="2 4"' if self.dotted else ""
        return f'<line {ends} stroke="{colour(self.ink)}" stroke-width="{self.width:g}"{dots}/>'

    def draw(self, axes: Any, colour: Any) -> None:
        ends = (self.x1, self.x2), (self.y1, self.y2)
        look = {"ls": (0, (1, 2)) if self.dotted else "-", "solid_capstyle": "butt"}
        axes.plot(*ends, color=colour(self.ink), lw=points(self.width), **look)


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    r: float
    fill: str
    stroke: str = "paper"
    width: float = 1.0
    opacity: float = 1.0
    tip: str = ""
    """What a page says about it."""

    def svg(self, colour: Any) -> str:
        look = f'fill="{colour(self.fill)}" stroke="{colour(self.stroke)}" stroke-width="{self.width:g}"'
        look += f' fill-opacity="{self.opacity:g}"' if self.opacity < 1 else ""
        inside = f"><title>{escape(self.tip)}</title></circle>" if self.tip else "/>"
        return f'<circle cx="{self.x:.1f}" cy="{self.y:.1f}" r="{self.r:g}" {look}{inside}'

    def draw(self, axes: Any, colour: Any) -> None:
        from matplotlib.colors import to_rgba

        look = {"mec": colour(self.stroke), "mew": points(self.width), "ms": points(2 * self.r)}
        axes.plot(self.x, self.y, "o", mfc=to_rgba(colour(self.fill), self.opacity), **look)


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    fill: str

    def svg(self, colour: Any) -> str:
        size = f'x="{self.x:.1f}" y="{self.y:.1f}" width="{self.width:.1f}" height="{self.height:.1f}"'
        return f'<rect {size} fill="{colour(self.fill)}"/>'

    def draw(self, axes: Any, colour: Any) -> None:
        across, up = (self.x, self.x + self.width), (self.y, self.y + self.height)
        axes.fill_between(across, *up, color=colour(self.fill), lw=0)


Side = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Text:
    x: float
    y: float
    """Of the line on which letters stand."""
    text: str
    size: float = 13
    ink: str = "ink"
    side: Side = "start"
    bold: bool = False

    def svg(self, colour: Any) -> str:
        look = f'font-size="{self.size:g}" fill="{colour(self.ink)}"'
        look += "" if self.side == "start" else f' text-anchor="{self.side}"'
        look += ' font-weight="700"' if self.bold else ""
        return f'<text x="{self.x:.1f}" y="{self.y:.1f}" {look}>{escape(self.text)}</text>'

    def draw(self, axes: Any, colour: Any) -> None:
        side = {"start": "left", "middle": "center", "end": "right"}[self.side]
        look = {"color": colour(self.ink), "weight": "bold" if self.bold else "normal", "ha": side}
        axes.text(self.x, self.y, self.text, size=points(self.size), va="baseline", **look)


Shape = Line | Dot | Box | Text


@dataclass(frozen=True)
class Drawing:
    """Shapes, one over the other."""

    width: float
    height: float
    shapes: tuple[Shape, ...]

    def svg(self, label: str = "") -> str:
        """An element for a page, with the colours of its style sheet; with a label for who does not see
        it, or else for a file, on white paper."""
        box = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        if label:
            inside = "".join(shape.svg(lambda name: f"var(--{name})") for shape in self.shapes)
            return f'<svg {box} role="img" aria-label="{escape(label)}">{inside}</svg>'
        paper = Box(0, 0, self.width, self.height, "paper")
        inside = "\n".join(shape.svg(lambda name: PALETTE[name][0]) for shape in (paper, *self.shapes))
        size = f'width="{self.width:g}" height="{self.height:g}"'
        font = 'font-family="DejaVu Sans, Verdana, sans-serif"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} {font}>\n{inside}\n</svg>\n'

    def draw(self, axes: Any) -> None:
        """Draw it into axes of matplotlib."""
        axes.set_axis_off()
        axes.set(xlim=(0, self.width), ylim=(self.height, 0), aspect="equal")
        for shape in self.shapes:
            shape.draw(axes, lambda name: PALETTE[name][0])


def points(length: float) -> float:
    return length * 72 / PER_INCH


def breadth(text: str, size: float = 13) -> float:
    """About how wide a text is, in a wide font."""
    return size * sum(map(_breadth, text))


def _breadth(letter: str) -> float:
    if east_asian_width(letter) in "WF":
        return 1.0
    return 0.38 if letter in " .,:;|!'`()[]ijltfrI-" else 0.95 if letter in "mwMW@%" else 0.64
