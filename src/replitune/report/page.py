"""report.html: one file that works offline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import jinja2

from replitune import __version__
from replitune.files import atomic_open
from replitune.report.tables import Table
from replitune.report.verdict import Verdict


@dataclass(frozen=True)
class Figure:
    """A drawn figure: its file name without suffix, and what it shows."""

    name: str
    caption: str


def write_page(
    path: Path,
    *,
    experiment: str,
    seed: int,
    verdicts: Sequence[Verdict],
    warnings: Sequence[tuple[str, list[str]]],
    tables: Sequence[Table],
    figures: Sequence[Figure],
    figure_folder: Path,
    methods: Sequence[str],
) -> None:
    """Fill the template; everything from data is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("replitune.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    inline = [
        (
            figure,
            _inline_svg((figure_folder / f"{figure.name}.svg").read_text("utf-8"), figure.name),
        )
        for figure in figures
    ]
    html = environment.get_template("report.html").render(
        experiment=experiment,
        seed=seed,
        verdicts=verdicts,
        warnings=warnings,
        tables=tables,
        figures=inline,
        methods=methods,
        version=__version__,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    with atomic_open(path) as handle:
        handle.write(html)


def _inline_svg(svg: str, name: str) -> str:
    """The <svg> element alone, with ids that no other figure of the page has."""
    svg = svg[svg.index("<svg") :]
    prefix = re.sub(r"[^A-Za-z0-9]", "-", name)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{prefix}-\2"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
