"""The segment statistics of one system in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


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

    @property
    def segments(self) -> int:
        return int(self.statistics.shape[1])

    @cached_property
    def sums(self) -> NDArray:
        """(n, K): exact for counts."""
        kind = np.int64 if self.statistics.dtype.kind in "iu" else np.float64
        return self.statistics.sum(axis=1, dtype=kind)
