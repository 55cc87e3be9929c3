"""Scores by document, and by part of a joined test set: where a difference comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True)
class DocumentScores:
    """G documents of a test set, or parts of a joined one."""

    names: Sequence[str]
    sizes: Sequence[int]
    """Segments of each."""
    scores: Mapping[str, NDArray[np.float64]]
    """By system: (G,) mean over replicas of the score of each alone."""


def document_scores(
    metric: Metric,
    systems: Mapping[str, SystemStatistics],
    documents: NDArray[np.int32],
    names: Sequence[str],
) -> DocumentScores:
    """`documents` (N,) numbers the documents in order of first appearance, as `names` are."""
    scores: dict[str, NDArray[np.float64]] = {}
    starts = np.flatnonzero(np.r_[True, documents[1:] != documents[:-1]])
    for name, system in systems.items():
        sums = np.add.reduceat(system.statistics.astype(np.float64), starts, axis=1)
        scores[name] = metric.score(sums).mean(axis=0)
    return DocumentScores(names, np.bincount(documents).tolist(), scores)
