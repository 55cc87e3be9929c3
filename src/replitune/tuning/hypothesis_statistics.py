"""Statistics of hypotheses, each distinct (segment, text) computed once in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric


class Statistics:
    """n-best lists of neighbouring iterations are much alike, so rows are kept."""

    def __init__(self, metric: Metric, references: Sequence[Sequence[str]]) -> None:
        self.metric = metric
        self._prepared = metric.prepare(references)
        self._known: dict[tuple[int, str], int] = {}
        kind = np.int32 if metric.integer_statistics else np.float64
        self._rows: NDArray[Any] = np.empty((0, len(metric.statistic_names)), kind)

    def __call__(self, texts: Sequence[str], segments: NDArray[Any]) -> NDArray[Any]:
        """(M, K) statistics of texts against the references of their segments."""
        known = self._known
        first_new = len(known)
        which = np.empty(len(texts), np.int64)
        for i, key in enumerate(zip(segments.tolist(), texts, strict=True)):
            which[i] = known.setdefault(key, len(known))
        new = list(known)[first_new:]
        if new:
            rows = self.metric.segment_statistics(
                [text for _, text in new], np.array([s for s, _ in new]), self._prepared
            )
            self._rows = np.concatenate([self._rows, rows])
        return self._rows[which]
