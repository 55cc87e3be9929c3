"""Scores by document: where a difference comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.report.data import Cell
from replitune.report.numbers import score, signed
from replitune.report.table import Table
from replitune.significance.base import SystemStatistics

DocumentScores = dict[str, NDArray[np.float64]]
"""By system: (G,) mean over replicas of the score of each document alone."""


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


def load_documents(folder: Path, cell: Cell) -> tuple[DocumentScores, list[str], list[int]] | None:
    """Scores, names and sizes of the documents; None when segments are not in documents."""
    from replitune.stats.store import read_systems

    systems: dict[str, SystemStatistics] = {}
    store = None
    for name in cell.present:
        path = folder / "stats" / cell.testset / cell.metric / f"{name}.parquet"
        store = read_systems([path])
        systems[name] = store.systems[name]
    if store is None or store.document_names is None:
        return None
    sizes = np.bincount(store.documents).tolist()
    return (
        document_scores(store.metric, systems, store.documents),
        list(store.document_names),
        sizes,
    )


def documents_table(
    found: Sequence[tuple[Cell, DocumentScores, list[str], list[int]]], baseline: str | None
) -> Table:
    """Score of every document by system, and each system's difference from the first; without
    documents a table without rows."""
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
        title="Documents",
        caption=f"{measure} of each document alone, mean over replicas: of {first}, and the "
        "difference of the other systems from it.",
        header=("test set", "document", "segments", first, *(f"{s} − {first}" for s in others)),
        text=tuple(text),
        columns=(
            "testset", "document", "metric", "segments", *systems,
            *(f"delta_{s}" for s in others),
        ),
        values=tuple(values),
        left=2,
        filters=1,
    )  # fmt: skip
