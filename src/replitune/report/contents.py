"""Tables and figures by name. Each decides from the data whether it applies.

A new one is a function and a line here; other packages add theirs by entry points.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from replitune.registry import Registry

if TYPE_CHECKING:
    from replitune.report.drawing import Figure, Figures
    from replitune.report.material import Material
    from replitune.report.report import Report
    from replitune.report.specification import Table

TABLES: Registry[Callable[[Material], Table | None]] = Registry(
    "table",
    {
        "overview": "replitune.report.tables_scores:overview",
        "systems": "replitune.report.tables_scores:systems",
        "multeval": "replitune.report.tables_scores:multeval",
        "pairs": "replitune.report.tables_tests:pairs",
        "looks": "replitune.report.tables_looks:looks",
        "variances": "replitune.report.tables_tests:variances",
        "suites": "replitune.report.tables_tests:suites",
        "p": "replitune.report.tables_tests:p",
        "resampling": "replitune.report.tables_tests:resampling",
        "thresholds": "replitune.report.tables_tests:thresholds",
        "intervals": "replitune.report.tables_scores:intervals",
        "overlaps": "replitune.report.tables_tests:overlaps",
        "documents": "replitune.report.tables_scores:documents",
        "power": "replitune.report.tables_studies:power",
        "replication": "replitune.report.tables_studies:replication",
        "calibration": "replitune.report.tables_studies:calibration",
        "agreement": "replitune.report.tables_studies:agreement",
        "correlations": "replitune.report.tables_studies:correlations",
        "metrics": "replitune.report.tables_studies:metrics",
    },
    group="replitune.tables",
)
"""In the order of the page. The name of a table is also the name of its files."""

FIGURES: Registry[Callable[[Material], Figures]] = Registry(
    "figure",
    {
        "comparison": "replitune.report.picture:comparison",
        "replicas": "replitune.report.figures_scores:replicas",
        "looks": "replitune.report.figures_looks:looks",
        "runs": "replitune.report.figures_looks:runs",
        "intervals": "replitune.report.figures_scores:intervals",
        "fits": "replitune.report.figures_scores:fits",
        "heatmap": "replitune.report.figures_tests:heatmap",
        "differences": "replitune.report.figures_tests:differences",
        "distributions": "replitune.report.figures_tests:distributions",
        "overlap": "replitune.report.figures_tests:overlap",
        "power": "replitune.report.figures_studies:power",
        "detectable": "replitune.report.figures_studies:detectable",
        "replication": "replitune.report.figures_studies:replication",
        "calibration": "replitune.report.figures_studies:calibration",
        "agreement": "replitune.report.figures_studies:agreement",
        "tuners": "replitune.report.figures_tuning:tuners",
        "convergence": "replitune.report.figures_tuning:convergence",
    },
    group="replitune.figures",
)
"""The names of a figure's files end with its own: ``test1.bleu.replicas.svg``."""

LatexStyle = Literal["papers", "multeval"]
LATEX_TABLES: dict[LatexStyle, tuple[str, ...]] = {
    "papers": ("overview", "systems", "pairs"),
    "multeval": ("multeval",),
}
"""Tables in the shape of today's papers (mean ± s, best bold, daggers), or in that of multeval
(metric by system: score, s_sel, s_test, p)."""


def tables(material: Material) -> dict[str, Table]:
    """The tables that apply, by name."""
    every = {name: table_of(name, material) for name in TABLES.names}
    return {name: table for name, table in every.items() if table is not None}


def table_of(name: str, material: Material) -> Table | None:
    """One table; if it has no title or caption, these are its name and its function's docstring."""
    if (made := TABLES[name](material)) is None:
        return None
    caption = made.caption or " ".join(cleandoc(TABLES[name].__doc__ or "").split())
    return replace(made, name=name, title=made.title or name, caption=caption)


def figures(material: Material) -> dict[str, Figure]:
    """Every figure for which there are data, by the name of its files."""
    from replitune.report.drawing import elided

    names = elided(list(dict.fromkeys(name for cell in material.cells for name in cell.systems)))
    numbered = [f"{short} is {name}" for name, short in names.items() if short.startswith("system ")]
    key = f" In the figure {'; '.join(numbered)}." if numbered else ""
    return {
        f"{about}.{kind}": replace(figure, names=names, caption=figure.caption + key)
        for kind in FIGURES.names
        for about, figure in FIGURES[kind](material).items()
    }


class Captions:
    """What the results say, and what tables and figures are, in a sentence or two of reStructuredText,
    for the report of the workflow. What they need is imported when they are asked for."""

    def __init__(self, results: Path, read: Callable[[Path], Report]) -> None:
        """`read`: the function of `replitune.api`, which is above this room."""
        self.results, self.read = results, read

    @property
    def answers(self) -> list[str]:
        return [re.sub(r"([\\*_`|])", r"\\\1", line) for line in self.read(self.results).summary.lines]

    @property
    def tables(self) -> dict[str, str]:
        return {name: cleandoc(TABLES[name].__doc__ or "") for name in TABLES.names}

    @property
    def figures(self) -> dict[str, str]:
        return {kind: cleandoc(FIGURES[kind].__doc__ or "") for kind in FIGURES.names}
