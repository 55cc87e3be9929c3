"""What `compare` writes beside its table: the page, LaTeX, ranked hypotheses, sentence scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import TestSet
from replitune.metrics.base import Metric
from replitune.report.data import Cell, cell_of, with_names
from replitune.report.segments import Output, Segments, sentence_scores
from replitune.report.tables import pairs_table, systems_table
from replitune.report.tables_tests import overview_table
from replitune.results.comparing import Results
from replitune.running.files import atomic_open
from replitune.statistics.outputs import Outputs
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True)
class Compared:
    """A comparison and the texts and statistics that it was made from."""

    comparison: Results
    metrics: Mapping[str, Metric]
    """By id."""
    testset: TestSet
    outputs: Mapping[str, Outputs]
    scored: Mapping[str, Mapping[str, SystemStatistics]]
    """By metric id and system."""
    baseline: str | None

    @property
    def cells(self) -> list[Cell]:
        results = self.comparison.metrics.values()
        return with_names([cell_of(result, tuple(result.systems)) for result in results])

    def segments(self, cell: Cell) -> Segments:
        """The median runs under one metric."""
        metric, outputs = self.metrics[cell.metric], []
        for name in cell.present:
            replica = str(self.comparison.metrics[cell.metric].systems[name].median_replica)
            system = self.scored[cell.metric][name]
            lines = self.outputs[name][system.replicas.index(replica)]
            outputs.append(Output(name, replica, lines, sentence_scores(metric, system, replica)))
        return Segments(
            cell.testset,
            cell.name,
            cell.higher_is_better,
            self.testset.references,
            self.testset.source,
            self.testset.documents,
            outputs,
        )


def write_html(path: str | Path, made: Compared) -> None:
    """The page of an experiment, for a comparison."""
    from replitune.report import build
    from replitune.report.documents import document_scores
    from replitune.report.figure import render

    cells = made.cells
    lead, settings = cells[0], made.comparison.settings
    documents = []
    if made.testset.documents is not None:
        codes = made.testset.document_codes()
        found = document_scores(made.metrics[lead.metric], made.scored[lead.metric], codes)
        names = list(dict.fromkeys(made.testset.documents))
        documents.append((lead, found, names, np.bincount(codes).tolist()))
    material = build.Material(
        settings=build.Settings(
            experiment=made.comparison.testset,
            seed=made.comparison.seed,
            alpha=settings.alpha,
            correction=settings.correction,
            samples=settings.samples,
            baseline=made.baseline,
            methods={entry.id: entry.name for entry in settings.methods},
        ),
        cells=cells,
        segments=[made.segments(lead)],
        documents=documents,
    )
    page = build.page(
        material,
        build.tables(material),
        build.figures(material),
        lambda figure: render(figure)["svg"].decode("utf-8"),
        {},
    )
    with atomic_open(path) as handle:
        handle.write(page)


def write_latex(path: str | Path, made: Compared) -> None:
    """Overview, spread and differences as booktabs tables."""
    settings, cells = made.comparison.settings, made.cells
    tables = (
        overview_table(cells, settings.alpha, settings.correction, made.baseline),
        systems_table(cells),
        pairs_table(cells, settings.alpha, settings.correction),
    )
    with atomic_open(path) as handle:
        handle.write("\n".join(table.latex() for table in tables))


def write_ranking(folder: str | Path, made: Compared) -> None:
    """DIR/<metric>/<B>-over-<A>.{improved,declined}.tsv: outputs of the median runs of each
    tested pair, the largest change of the segment's score first, as multeval ranks them."""
    for cell in made.cells:
        segments = made.segments(cell)
        outputs = {output.system: output for output in segments.outputs}
        for a, b in cell.pairs:
            change = outputs[b].scores - outputs[a].scores
            gain = change if cell.higher_is_better else -change
            for word, sign in (("improved", 1.0), ("declined", -1.0)):
                order = np.argsort(-sign * gain, kind="stable")
                chosen = [int(i) for i in order if sign * gain[i] > 0]
                name = f"{b}-over-{a}.{word}.tsv"
                with atomic_open(Path(folder) / cell.metric / name) as handle:
                    handle.write(_ranked(segments, outputs[a], outputs[b], chosen, change))


def _ranked(
    segments: Segments, a: Output, b: Output, chosen: list[int], change: NDArray[np.float64]
) -> str:
    head = ["segment", "change", a.system, b.system]
    head += ["document"] if segments.documents else []
    head += ["source"] if segments.source else []
    head += [f"reference_{r + 1}" for r in range(len(segments.references))]
    head += [f"output_{a.system}_{a.replica}", f"output_{b.system}_{b.replica}"]
    rows: list[list[object]] = []
    for i in chosen:
        row: list[object] = [i, float(change[i]), float(a.scores[i]), float(b.scores[i])]
        row += [segments.documents[i]] if segments.documents else []
        row += [segments.source[i]] if segments.source else []
        row += [stream[i] for stream in segments.references]
        rows.append([*row, a.lines[i], b.lines[i]])
    return _tsv(head, rows)


def write_sentence_scores(folder: str | Path, made: Compared) -> None:
    """DIR/<metric>/<system>.tsv: the score of every segment alone, one column per run."""
    for id, systems in made.scored.items():
        metric = made.metrics[id]
        for name, system in systems.items():
            scores = metric.score(system.statistics)
            rows: list[list[object]] = [
                [i, *map(float, scores[:, i])] for i in range(system.segments)
            ]
            with atomic_open(Path(folder) / id / f"{name}.tsv") as handle:
                handle.write(_tsv(["segment", *system.replicas], rows))


def _tsv(head: list[str], rows: list[list[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return buffer.getvalue()
