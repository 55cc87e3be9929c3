"""The segment statistics of one system in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric


@dataclass(frozen=True)
class SystemStatistics:
    """The segment statistics of one system on one test set under one metric."""

    name: str
    replicas: tuple[str, ...]
    """Replica ids, n of them, in stored order."""
    groups: tuple[str | None, ...]
    """The tuner each replica came from, or None."""
    statistics: NDArray
    """(n, N, K), int32 where the metric counts, float64 otherwise; C-contiguous."""

    @property
    def n(self) -> int:
        return len(self.replicas)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> SystemStatistics:
        """Only these replicas, in this order."""
        if np.array_equal(rows, np.arange(self.n)):
            return self
        return SystemStatistics(
            self.name,
            tuple(self.replicas[row] for row in rows),
            tuple(self.groups[row] for row in rows),
            self.statistics[rows],
        )

    @property
    def segments(self) -> int:
        return int(self.statistics.shape[1])

    def scores(self, metric: Metric) -> NDArray[np.float64]:
        """(n, N) score of each segment alone; one replica after the other, since scoring takes far more
        memory than the statistics."""
        return np.array([metric.score(one) for one in self.statistics])

    @cached_property
    def sums(self) -> NDArray:
        """(n, K): exact for counts."""
        kind = np.int64 if self.statistics.dtype.kind in "iu" else np.float64
        return self.statistics.sum(axis=1, dtype=kind)


def joined(parts: Sequence[SystemStatistics]) -> SystemStatistics:
    """The replicas of all parts of a system."""
    if len(parts) == 1:
        return parts[0]
    return SystemStatistics(
        parts[0].name,
        tuple(replica for part in parts for replica in part.replicas),
        tuple(group for part in parts for group in part.groups),
        np.concatenate([part.statistics for part in parts]),
    )
