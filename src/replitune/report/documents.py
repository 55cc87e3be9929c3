"""Scores by document, and by part of a joined test set: where a difference comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.report.data import Cell
from replitune.report.numbers import score, signed
from replitune.report.table import Table
from replitune.statistics.systems import SystemStatistics

DocumentScores = dict[str, NDArray[np.float64]]
"""By system: (G,) mean over replicas of the score of each document alone."""

Scored = tuple[DocumentScores, list[str], list[int]]
"""Scores, names and sizes of documents, or of parts."""


def document_scores(
    metric: Metric, systems: Mapping[str, SystemStatistics], documents: NDArray[np.int32]
) -> DocumentScores:
    """`documents` (N,) numbers the documents in order of first appearance."""
    found: DocumentScores = {}
    starts = np.flatnonzero(np.r_[True, documents[1:] != documents[:-1]])
    for name, system in systems.items():
        sums = np.add.reduceat(system.statistics.astype(np.float64), starts, axis=1)
        found[name] = metric.score(sums).mean(axis=0)
    return found


def load_documents(folder: Path, cell: Cell) -> list[Scored]:
    """The documents, where segments are in documents; the parts, where the test set has parts."""
    from replitune.corpus.testset import codes, read_prepared
    from replitune.statistics.store import read_systems

    systems: dict[str, SystemStatistics] = {}
    store = None
    for name in cell.present:
        path = folder / "stats" / cell.testset / cell.metric / f"{name}.parquet"
        store = read_systems([path])
        systems[name] = store.systems[name]
    if store is None:
        return []
    groupings = []
    if store.document_names is not None:
        groupings.append((store.documents, list(store.document_names)))
    parts = read_prepared(folder / "corpus" / f"{cell.testset}.jsonl").parts
    if parts is not None:
        groupings.append((codes(parts), list(dict.fromkeys(parts))))
    return [
        (document_scores(store.metric, systems, numbers), names, np.bincount(numbers).tolist())
        for numbers, names in groupings
    ]


def documents_table(
    found: Sequence[tuple[Cell, DocumentScores, list[str], list[int]]], baseline: str | None
) -> Table:
    """Score of every document or part by system, and each system's difference from the first;
    without either a table without rows."""
    systems = list(dict.fromkeys(s for cell, *_ in found for s in cell.present))
    measure = found[0][0].name if found else "Score"
    first = baseline if baseline in systems else next(iter(systems), "score")
    others = [s for s in systems if s != first]
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for cell, scores, names, sizes in found:
        for g, name in enumerate(names):
            of = {s: float(scores[s][g]) if s in scores else None for s in systems}
            base = of[first]
            deltas = [
                None if of[s] is None or base is None else float(scores[s][g]) - base
                for s in others
            ]
            head = (cell.testset, name)
            text.append((*head, str(sizes[g]), score(base), *map(signed, deltas)))
            values.append((*head, cell.metric, sizes[g], *of.values(), *deltas))
    return Table(
        name="documents",
        title="Documents and parts",
        caption=f"{measure} of each document or part of a test set alone, mean over replicas: of "
        f"{first}, and the difference of the other systems from it.",
        header=(
            "test set", "document or part", "segments", first, *(f"{s} − {first}" for s in others),
        ),
        text=tuple(text),
        columns=(
            "testset", "document", "metric", "segments", *systems,
            *(f"delta_{s}" for s in others),
        ),
        values=tuple(values),
        left=2,
        filters=1,
    )  # fmt: skip
