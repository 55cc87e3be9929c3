"""From cells to tables, figures and the page, for an experiment on disk and for `compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from replitune.report.data import Cell
from replitune.report.documents import DocumentScores, documents_table
from replitune.report.figure import Figure, nothing
from replitune.report.figures import score_figures
from replitune.report.figures_studies import overlap_figures, study_figures
from replitune.report.figures_tests import tested_figures
from replitune.report.figures_tuning import Histories, tuner_figures
from replitune.report.methods import methods
from replitune.report.page import Page, html
from replitune.report.segments import Segments
from replitune.report.studies import Studies
from replitune.report.table import Table
from replitune.report.tables import pairs_table, systems_table
from replitune.report.tables_fu import (
    overlaps_table,
    resampling_table,
    thresholds,
    thresholds_table,
)
from replitune.report.tables_meta import agreement_table, correlations_table, metrics_table
from replitune.report.tables_studies import (
    calibration_table,
    plan_sentences,
    power_table,
    replication_table,
)
from replitune.report.tables_tests import intervals_table, overview_table, p_table
from replitune.report.verdict import verdicts
from replitune.report.warnings import warnings
from replitune.significance.studies.replication import Threshold


@dataclass(frozen=True)
class Settings:
    """What the report needs to know beside the rows of the tests."""

    experiment: str
    seed: int
    alpha: float
    correction: str
    samples: int
    baseline: str | None = None
    methods: Mapping[str, str] = field(default_factory=dict)
    """The test behind each label."""


@dataclass(frozen=True)
class Material:
    """Everything that a report is made from."""

    settings: Settings
    cells: Sequence[Cell]
    segments: Sequence[Segments] = ()
    documents: Sequence[tuple[Cell, DocumentScores, list[str], list[int]]] = ()
    histories: Histories = field(default_factory=dict)
    corpus: Sequence[str] = ()
    """Warnings about the texts."""
    unrepeatable: Sequence[str] = ()
    """Replicas that another run would make otherwise."""
    studies: Studies = field(default_factory=Studies)

    @cached_property
    def thresholds(self) -> list[tuple[Cell, list[Threshold]]]:
        """By cell, the differences that are enough."""
        s = self.settings
        return [(cell, thresholds(cell, s.alpha, s.seed)) for cell in self.cells]


def tables(material: Material) -> list[Table]:
    """Every table, the overview first."""
    s, cells, studies = material.settings, material.cells, material.studies
    found = [
        overview_table(cells, s.alpha, s.correction, s.baseline),
        systems_table(cells),
        pairs_table(cells, s.alpha, s.correction),
        p_table(cells, s.alpha, s.correction),
        resampling_table(cells, s.alpha, s.methods),
        thresholds_table(material.thresholds, s.alpha),
        intervals_table(cells, s.alpha),
        overlaps_table(cells, s.alpha),
        documents_table(material.documents, s.baseline),
    ]
    if studies.power:
        found.append(power_table(studies.power))
    if studies.replication:
        found.append(replication_table(studies.replication))
    if studies.calibrate:
        found.append(calibration_table(studies.calibrate))
    if studies.meta:
        found += [agreement_table(studies), correlations_table(studies), metrics_table(studies)]
    return found


def figures(material: Material) -> list[Figure]:
    """Every figure for which there are data."""
    s, cells = material.settings, material.cells
    return [
        *score_figures(cells, s.alpha),
        *tested_figures(cells, s.alpha, s.correction, [fits for _, fits in material.thresholds]),
        *overlap_figures(cells, s.alpha),
        *study_figures(material.studies),
        *tuner_figures(cells, material.histories),
    ]


def without_data(names: Sequence[str], drawn: Sequence[Figure]) -> list[Figure]:
    """Figures that were promised and have nothing to show: each says so."""
    have = {figure.name for figure in drawn}
    return [nothing(name) for name in names if name not in have]


def missing(material: Material) -> list[str]:
    """What this experiment has no data for, in words."""
    cells = material.cells
    said = []
    if not any(cell.tests for cell in cells):
        said.append("one system: no differences and no tests")
    if all(len(cell.replica_scores(s)) < 2 for cell in cells for s in cell.present):
        said.append("one replica of each system: no spread over replicas (s_test)")
    if all(cell.value(s, "s_dev") is None for cell in cells for s in cell.present):
        said.append("no spread on a dev set (s_dev)")
    if not material.documents:
        said.append("no documents: each segment stands for itself")
    few = "fewer than 3 replicas of two systems, or not asked for"
    if not material.studies.power:
        said.append(f"no plan of replicas and segments (power): {few}")
    if not material.studies.replication:
        said.append(f"no experiments with fewer replicas (replication): {few}")
    if not material.studies.calibrate:
        said.append("no calibration of the tests: not asked for")
    if not material.studies.meta:
        said.append("no comparison of metrics with people: no human scores")
    if not material.histories:
        said.append("no tuning history: no convergence curves")
    return said


def page(
    material: Material,
    made: Sequence[Table],
    drawn: Sequence[Figure],
    svg: Callable[[Figure], str],
    links: dict[str, str],
) -> str:
    """report.html; `svg` draws a figure."""
    s, cells = material.settings, material.cells
    return html(
        Page(
            experiment=s.experiment,
            seed=s.seed,
            verdicts=verdicts(cells, s.alpha, s.correction, s.baseline),
            warnings=warnings(cells, s.alpha, material.corpus, material.unrepeatable),
            tables=[table for table in made if table.text],
            figures=[(figure.name, figure.caption, svg(figure)) for figure in drawn],
            methods=methods(cells, s.alpha, s.correction, s.samples),
            segments=[part for part in material.segments if part.outputs],
            links=links,
            missing=missing(material),
            plans=plan_sentences(material.studies.power),
        )
    )
