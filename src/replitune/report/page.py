"""report.html: one file that works offline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import jinja2

from replitune import __version__
from replitune.report.segments import Segments, page_data
from replitune.report.table import Table
from replitune.report.verdict import VerdictGroup
from replitune.report.warnings import Warning

SIZE = 4_900_000
"""Bytes of a page, when segments can be left out to keep to it."""

WIDE = 600
"""Points; a wider figure has a row of its own."""


@dataclass(frozen=True)
class Page:
    """Everything that the page shows."""

    experiment: str
    seed: int
    verdicts: Sequence[VerdictGroup]
    warnings: Sequence[Warning]
    tables: Sequence[Table]
    """The first is the overview."""
    figures: Sequence[tuple[str, str, str]]
    """Name, caption and SVG."""
    methods: Sequence[str]
    segments: Sequence[Segments]
    links: dict[str, str]
    """By test set, the file with all its segments."""
    missing: Sequence[str]
    """What this experiment has no data for."""
    plans: Sequence[tuple[str, str, str]] = ()
    """Test set, pair, and what this experiment would detect."""


def html(page: Page) -> str:
    """Fill the template; everything from data is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("replitune.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    glyphs: dict[str, str] = {}
    figures = [
        (name, caption, _inline_svg(svg, name, glyphs), _points(svg) > WIDE)
        for name, caption, svg in page.figures
    ]
    text = environment.get_template("report.html").render(
        page=page,
        figures=figures,
        glyphs="".join(glyphs.values()),
        version=__version__,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    budget = max(SIZE - len(text.encode("utf-8")), 200_000)
    data, _ = page_data(page.segments, budget, page.links)
    return text.replace("<!--segments-->", data, 1)  # nothing escaped can look like it


def _points(svg: str) -> float:
    """Width of a figure."""
    found = re.search(r'<svg[^>]*? width="([\d.]+)pt"', svg)
    return float(found[1]) if found else 0.0


GLYPH = re.compile(r'<path id="(DejaVu[^"]+)"[^>]*/>\s*')


def _inline_svg(svg: str, name: str, glyphs: dict[str, str]) -> str:
    """The <svg> element alone, short, with ids that no other figure of the page has.

    Its letters go to `glyphs`, which stand in the page once for all figures.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bd="([^"]+)"', lambda path: f'd="{_short(path[1])}"', svg)
    for glyph in GLYPH.finditer(svg):
        glyphs[glyph[1]] = glyph[0].strip()
    svg = GLYPH.sub("", svg)
    prefix = re.sub(r"[^A-Za-z0-9]", "-", name)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'(xlink:href|href)="#(?!DejaVu)([^"]+)"', rf'\1="#{prefix}-\2"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)


def _short(path: str) -> str:
    """A path of one line, in hundredths of a point."""
    return " ".join(re.sub(r"(\.\d\d)\d+", r"\1", path).split())
