"""report.html: one file that works offline."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import jinja2

from replitune import __version__
from replitune.report.drawing import Figure
from replitune.report.material import Material
from replitune.report.methods_paragraph import methods
from replitune.report.page_numbers import by_segment, differences_of, numbers
from replitune.report.picture import NARROW, Picture, other_references, pictures
from replitune.report.picture import WIDE as WIDTH
from replitune.report.segment_browser import embedded, page_data
from replitune.report.shapes import PALETTE
from replitune.report.specification import Table
from replitune.report.tables_scores import anchor
from replitune.report.tables_studies import plan_sentences
from replitune.results.answer import Answer
from replitune.results.wording import as_html

SIZE = 4_899_000
"""Bytes of a page, give or take some hundreds: segments are left out to keep to it."""

WIDE = 600
"""Points; a wider figure has a row of its own."""

LARGE, FIGURES = 250_000, 1_500_000
"""Bytes of a figure, and of all figures; those beyond are only in the folder `figures`."""

REFERENCES = 24
"""Most pictures with another system as the reference."""

ROWS = 400
"""Most rows of a table in the page; files have all."""
SENTENCES = 200
"""Most sentences by one metric."""

PAPERS = ("systems", "multeval", "p", "resampling", "thresholds", "intervals", "overlaps", "replication")
"""Tables that are there because Clark et al. and Fu et al. have them."""


def page(
    material: Material,
    tables: Mapping[str, Table],
    figures: Mapping[str, tuple[Figure, str]],
    links: Mapping[str, str],
) -> str:
    """report.html. `tables` begin with the overview; `figures` come with their SVG; `links` has,
    by test set, the file with all its segments. Everything from data is escaped."""
    loader = jinja2.PackageLoader("replitune.report")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["said"] = as_html
    glyphs: dict[str, str] = {}
    shown, more = pictures(material), other_references(material, REFERENCES)
    drawn = [
        {
            "name": name,
            "kind": name.rpartition(".")[2],
            "caption": figure.caption,
            "svg": _inline_svg(svg, name, glyphs),
            "wide": _points(svg) > WIDE,
        }
        for name, (figure, svg) in figures.items()
        if figure.drawing is None
    ]
    large, room = [], FIGURES
    for one in drawn:
        size = len(str(one["svg"]))
        if size > LARGE or size > room:
            large.append(str(one["name"]))
        else:
            room -= size
    drawn = [one for one in drawn if str(one["name"]) not in large]
    segments = [part for part in material.segments if part.outputs]
    answers = answers_in_words(material)
    text = environment.get_template("report.html").render(
        experiment=material.experiment,
        seed=material.seed,
        summary=material.summary,
        where=where(material),
        settles=settles(material),
        pictures=[
            _shown(about, picture, first=picture is own)
            for about, own in shown.items()
            for picture in (own, *more.get(about, ()))
        ],
        palette=PALETTE,
        answers=answers,
        sentences=sum(map(len, answers.values())),
        tables={name: table for name, table in tables.items() if table.rows},
        papers=PAPERS,
        most_rows=ROWS,
        most_sentences=SENTENCES,
        large=large,
        folder=bool(links),
        figures=drawn,
        methods=methods(material),
        segments=segments,
        why=material.why,
        links=links,
        missing=missing(material),
        plans=plan_sentences(material.power),
        key=key,
        glyphs="".join(glyphs.values()),
        version=__version__,
    )
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in SCRIPT.findall(text))
    text = text.replace("<!--scripts-->", hashes, 1)
    differences = differences_of(material)
    text = text.replace("<!--numbers-->", embedded(numbers(material, differences)), 1)
    budget = max(SIZE - len(text.encode("utf-8")), 200_000)
    by_testset = {t: by_segment(codes for _, codes in own.values()) for t, own in differences.items()}
    data = page_data(segments, budget, links, by_testset)
    return text.replace("<!--segments-->", data, 1)  # escaped data cannot contain it


def _shown(about: str, picture: Picture, first: bool) -> dict[str, Any]:
    """A picture, and of which test set and metric it is, where it is not of all; `first`: whether its
    reference is not one of the others."""
    cells = [row.cell for row in picture.rows]
    testsets, metrics = {cell.testset for cell in cells}, {cell.metric for cell in cells}
    return {
        "about": about,
        "first": first,
        "reference": picture.reference if picture.common else None,
        "testset": testsets.pop() if len(testsets) == 1 else None,
        "metric": metrics.pop() if len(metrics) == 1 else None,
        "wide": picture.drawn(WIDTH).svg(picture.label),
        "narrow": picture.drawn(NARROW).svg(picture.label),
        "caption": picture.caption,
    }


def where(material: Material) -> str:
    """What was compared; how many systems is said once."""
    counts, cells = material.summary.counts, material.cells
    if " on " in material.experiment and cells:  # of a comparison, which has no name
        counts = counts.removeprefix(f"{len(cells[0].systems)} systems, ")
    return f"{material.experiment}: {counts}" if counts else material.experiment


def settles(material: Material) -> str:
    """Where the doubt about the pair that matters most comes from, and what to do next."""
    told = material.summary.next
    every = (one for cell in material.cells for one in cell.answers if not one.decided)
    named = (one for one in every if told in (one.next, f"for {one.a} and {one.b}, {one.next}"))
    doubt = next((f"{one.doubt.text}. " for one in named if one.doubt is not None), "")
    return f"{doubt}Next: {told}."


def key(answer: Answer) -> str:
    """Test set, metric and systems, by which the page finds an answer."""
    names = [answer.testset, answer.metric, answer.a, answer.b]
    return json.dumps(names, ensure_ascii=False, separators=(",", ":"))


def answers_in_words(material: Material) -> dict[str, list[Answer]]:
    """Answers by test set; of each metric, those about the best system or the baseline come first."""
    told: dict[str, list[Answer]] = {}
    for cell in material.cells:
        first = anchor(cell, material) if cell.answers else ""
        every = sorted(cell.answers, key=lambda one: first not in (one.a, one.b))
        told.setdefault(cell.testset, []).extend(every[:SENTENCES])
    return {testset: answers for testset, answers in told.items() if answers}


SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def _sha256(script: str) -> str:
    """The hash by which the content security policy lets our scripts run, and no others."""
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def missing(material: Material) -> list[str]:
    """What this experiment has no data for, or was not asked to do."""
    cells = material.cells
    systems = [system for cell in cells for system in cell.systems.values()]
    several = any(system.n > 1 for system in systems)
    known = {
        "differences (one system)": any(cell.tests for cell in cells),
        f"spread over {material.kind}s (one of each system)": several,
        "spread on a dev set": not several or any(s.s_dev is not None for s in systems),
        "documents": material.documents,
        "power": material.power,
        f"fewer {material.kind}s": not several or material.replication,
        "calibration": material.calibrate,
        "people": material.meta or material.people,
        "tuning": not several or material.histories,
    }
    return [text for text, there in known.items() if not there]


def _points(svg: str) -> float:
    """Width of a figure."""
    match = re.search(r'<svg[^>]*? width="([\d.]+)pt"', svg)
    return float(match[1]) if match else 0.0


GLYPH = re.compile(r'<path id="(DejaVu[^"]+)"[^>]*/>\s*')


def _inline_svg(svg: str, name: str, glyphs: dict[str, str]) -> str:
    """The <svg> element alone, shortened, with ids that no other figure of the page has.

    Its letters go to `glyphs`, which the page has once for all figures.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bd="([^"]+)"', lambda path: f'd="{_short(path[1])}"', svg)
    for glyph in GLYPH.finditer(svg):
        glyphs[glyph[1]] = glyph[0].strip()
    svg = GLYPH.sub("", svg)
    prefix = re.sub(r"[^A-Za-z0-9]", lambda sign: "-" if sign[0].isascii() else f"-{ord(sign[0]):x}", name)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'(xlink:href|href)="#(?!DejaVu)([^"]+)"', rf'\1="#{prefix}-\2"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)


def _short(path: str) -> str:
    """A path on one line, with numbers in hundredths of a point."""
    return " ".join(re.sub(r"(\.\d\d)\d+", r"\1", path).split())
