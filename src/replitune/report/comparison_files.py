"""What `compare` writes beside its table: the page, LaTeX, ranked hypotheses, sentence scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import TestSet
from replitune.report import contents
from replitune.report.document_scores import document_scores
from replitune.report.material import Material
from replitune.report.segment_browser import Output, Segments, sentence_scores
from replitune.report.wording import named
from replitune.results.comparing import Results
from replitune.results.result import Result
from replitune.running.files import atomic_open
from replitune.statistics.outputs import Outputs
from replitune.statistics.store import SegmentStatistics


@dataclass(frozen=True)
class ComparisonFiles:
    """Writes what a comparison, and the texts and statistics that it was made from, say."""

    comparison: Results
    stores: Sequence[SegmentStatistics]
    """Of each metric."""
    testset: TestSet
    outputs: Mapping[str, Outputs]
    """By system."""
    baseline: str | None

    @cached_property
    def cells(self) -> list[tuple[Result, SegmentStatistics]]:
        return list(zip(named([*self.comparison.metrics.values()]), self.stores, strict=True))

    @cached_property
    def material(self) -> Material:
        settings, (lead, store) = self.comparison.settings, self.cells[0]
        documents = []
        if store.document_names is not None:
            names = store.document_names
            documents.append(
                (lead, document_scores(store.metric, store.systems, store.documents, names))
            )
        return Material(
            experiment=lead.testset,
            seed=self.comparison.seed,
            alpha=settings.alpha,
            family=settings.family,
            samples=settings.samples,
            cells=[cell for cell, _ in self.cells],
            baseline=self.baseline,
            methods={entry.id: entry.name for entry in settings.methods},
            segments=[self.segments(lead, store)],
            documents=documents,
        )

    def segments(self, cell: Result, store: SegmentStatistics) -> Segments:
        """The median runs under one metric."""
        outputs = []
        for name, summary in cell.systems.items():
            replica, system = summary.median_replica, store.systems[name]
            lines = self.outputs[name][system.replicas.index(replica)]
            scores = sentence_scores(store.metric, system, replica)
            outputs.append(Output(name, replica, lines, scores))
        return Segments.of(cell, self.testset, outputs)

    def html(self, path: str | Path) -> None:
        """The page of an experiment, for a comparison."""
        from replitune.report.drawing import render
        from replitune.report.page import page

        figures = {
            name: (figure, render(name, figure)["svg"].decode("utf-8"))
            for name, figure in contents.figures(self.material).items()
        }
        with atomic_open(path) as handle:
            handle.write(page(self.material, contents.tables(self.material), figures, {}))

    def latex(self, path: str | Path) -> None:
        """Overview, spread and differences as booktabs tables."""
        tables = [contents.TABLES[name](self.material) for name in ("overview", "systems", "pairs")]
        with atomic_open(path) as handle:
            handle.write("\n".join(table.latex() for table in tables if table))

    def ranking(self, folder: str | Path) -> None:
        """DIR/<metric>/<B>-over-<A>.{improved,declined}.tsv: outputs of the median runs of each
        tested pair, the largest change of the segment's score first, as multeval ranks them."""
        for cell, store in self.cells:
            segments = self.segments(cell, store)
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

    def sentence_scores(self, folder: str | Path) -> None:
        """DIR/<metric>/<system>.tsv: the score of every segment alone, one column per run."""
        for store in self.stores:
            for name, system in store.systems.items():
                scores = store.metric.score(system.statistics)
                rows: list[list[object]] = [
                    [i, *map(float, scores[:, i])] for i in range(system.segments)
                ]
                with atomic_open(Path(folder) / store.metric.id / f"{name}.tsv") as handle:
                    handle.write(_tsv(["segment", *system.replicas], rows))


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


def _tsv(head: list[str], rows: list[list[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return buffer.getvalue()
