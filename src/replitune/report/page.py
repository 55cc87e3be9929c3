"""report.html: one file that works offline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import jinja2

from replitune import __version__
from replitune.report.drawing import Figure
from replitune.report.material import Material
from replitune.report.methods_paragraph import methods
from replitune.report.segment_browser import page_data
from replitune.report.specification import Table
from replitune.report.tables_studies import plan_sentences
from replitune.report.verdict import verdicts
from replitune.report.warnings import warnings

SIZE = 4_900_000
"""Bytes of a page, when segments can be left out to keep to it."""

WIDE = 600
"""Points; a wider figure has a row of its own."""


def page(
    material: Material,
    tables: Mapping[str, Table],
    figures: Mapping[str, tuple[Figure, str]],
    links: Mapping[str, str],
) -> str:
    """report.html. `tables` begin with the overview; `figures` come with their SVG; `links` has,
    by test set, the file with all its segments. Everything from data is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("replitune.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    glyphs: dict[str, str] = {}
    drawn = [
        (name, figure.caption, _inline_svg(svg, name, glyphs), _points(svg) > WIDE)
        for name, (figure, svg) in figures.items()
    ]
    segments = [part for part in material.segments if part.outputs]
    text = environment.get_template("report.html").render(
        experiment=material.experiment,
        seed=material.seed,
        verdicts=verdicts(material),
        warnings=warnings(material),
        tables={name: table for name, table in tables.items() if table.rows},
        figures=drawn,
        methods=methods(material),
        segments=segments,
        links=links,
        missing=missing(material),
        plans=plan_sentences(material.power),
        glyphs="".join(glyphs.values()),
        version=__version__,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    budget = max(SIZE - len(text.encode("utf-8")), 200_000)
    data, _ = page_data(segments, budget, links)
    return text.replace("<!--segments-->", data, 1)  # nothing escaped can look like it


def missing(material: Material) -> list[str]:
    """What this experiment has no data for, in words."""
    cells = material.cells
    systems = [system for cell in cells for system in cell.systems.values()]
    few = "fewer than 3 replicas of two systems, or not asked for"
    said = {
        "one system: no differences and no tests": any(cell.tests for cell in cells),
        "one replica of each system: no spread over replicas (s_test)": any(
            system.n > 1 for system in systems
        ),
        "no spread on a dev set (s_dev)": any(s.s_dev is not None for s in systems),
        "no documents: each segment stands for itself": material.documents,
        f"no plan of replicas and segments (power): {few}": material.power,
        f"no experiments with fewer replicas (replication): {few}": material.replication,
        "no calibration of the tests: not asked for": material.calibrate,
        "no comparison of metrics with people: no human scores": material.meta,
        "no tuning history: no convergence curves": material.histories,
    }
    return [text for text, there in said.items() if not there]


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
