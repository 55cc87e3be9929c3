"""Line searches on a pool of n-best lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.tuning.linesearch import Line, Step, best_step, corners, integrate
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool, combine, segment_argmax, segment_ends


@dataclass(frozen=True)
class PoolDirection:
    """A direction (F,) in the space of weights, and what its line searches need of the pool."""

    vector: NDArray[np.float64]
    slopes: NDArray[np.float64]
    """(H,) direction . features."""
    ends: NDArray[np.int64]
    """(2, N) rows of least and greatest slope."""


class PoolSearch:
    """Exact line searches; what those along an axis need is computed once."""

    def __init__(self, pool: Pool, objective: Objective) -> None:
        self.pool = pool
        self.objective = objective
        self._ends: list[NDArray[np.int64]] = [
            segment_ends(column, pool.offsets) for column in pool.features
        ]

    def at(self, weights: NDArray[np.float64]) -> PoolPoint:
        return PoolPoint(self, weights)

    def along(self, vector: NDArray[np.float64]) -> PoolDirection:
        """The direction `vector` (F,), for any number of searches."""
        slopes = combine(vector, self.pool.features)
        return PoolDirection(vector, slopes, segment_ends(slopes, self.pool.offsets))

    def axis(self, number: int) -> PoolDirection:
        """The direction of one weight."""
        vector = np.zeros(self.pool.n_features)
        vector[number] = 1.0
        slopes = self.pool.features[number].astype(np.float64)
        return PoolDirection(vector, slopes, self._ends[number])


class PoolPoint:
    """Weights that move along lines, with the scores of all hypotheses kept up to date."""

    def __init__(self, search: PoolSearch, weights: NDArray[np.float64]) -> None:
        self.space = search
        self.weights = weights
        pool = search.pool
        self.values = combine(weights, pool.features)
        self.tops = segment_argmax(self.values, pool.offsets)
        whole = pool.statistics.dtype.kind == "i"
        self._gammas = np.empty(len(pool))
        self._source, self._target = np.empty((2, len(pool)), np.int32)
        self._base = np.empty(pool.statistics.shape[1], np.int64 if whole else np.float64)

    def sums(self) -> NDArray:
        """(K,) summed statistics of the model's choices."""
        chosen = self.space.pool.statistics[self.tops]
        return chosen.sum(axis=0, dtype=np.int64 if chosen.dtype.kind == "i" else np.float64)

    def line(self, direction: PoolDirection) -> Line:
        """The metric along a direction."""
        pool = self.space.pool
        lines = self.values, direction.slopes, self.tops, direction.ends
        changes = self._source, self._target, self._base
        n = corners(*lines, pool.offsets, pool.statistics, self._gammas, *changes)
        gammas = self._gammas[:n]
        # sums of counts do not depend on the order of equal gammas
        order = np.argsort(gammas, kind=None if pool.statistics.dtype.kind in "iu" else "stable")
        return integrate(gammas, order, *changes, pool.statistics, self.space.objective)

    def search(self, direction: PoolDirection, fraction: float = 0.0) -> Step:
        """Go to the best place along a direction."""
        line = self.line(direction)
        step = best_step(line, round(fraction * len(line.utilities)))
        if step.gamma:
            self.weights = self.weights + step.gamma * direction.vector
            self.values += step.gamma * direction.slopes
            self.tops = segment_argmax(self.values, self.space.pool.offsets)
        return step
