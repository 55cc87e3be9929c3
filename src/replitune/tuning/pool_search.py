"""Line searches on a pool of n-best lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replitune.tuning.linesearch import Line, Step, Workspace, best_step, sweep
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool, combine, segment_argmax, segment_ends


class PoolSearch:
    """Exact line searches; what an axis needs is kept."""

    def __init__(self, pool: Pool, objective: Objective) -> None:
        self.pool = pool
        self.objective = objective
        self._ends: list[NDArray[np.int64]] = [
            segment_ends(column, pool.offsets) for column in pool.features
        ]

    def at(self, weights: NDArray[np.float64]) -> PoolPoint:
        return PoolPoint(self, weights)

    def sums(self, weights: NDArray[np.float64]) -> NDArray:
        """(K,) summed statistics of the model's choices."""
        return self.objective.sums(self.pool, weights)

    def slopes(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """(H,) direction . features."""
        moving = np.flatnonzero(direction)
        if len(moving) == 1 and direction[moving[0]] == 1.0:
            return self.pool.features[moving[0]].astype(np.float64)
        return combine(direction, self.pool.features)

    def ends(
        self, direction: NDArray[np.float64], slopes: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """(2, N) rows of least and greatest slope along `direction`; kept for the axes."""
        moving = np.flatnonzero(direction)
        if len(moving) == 1 and direction[moving[0]] > 0:
            return self._ends[moving[0]]
        return segment_ends(slopes, self.pool.offsets)


class PoolPoint:
    """Weights that move along lines, with the scores of all hypotheses kept up to date."""

    def __init__(self, search: PoolSearch, weights: NDArray[np.float64]) -> None:
        self.space = search
        self.weights = weights
        pool = search.pool
        self.values = combine(weights, pool.features)
        self.tops = segment_argmax(self.values, pool.offsets)
        kind = pool.statistics.dtype.kind
        self.workspace = Workspace(len(pool), pool.statistics.shape[1], kind == "i")

    def line(self, direction: NDArray[np.float64], slopes: NDArray[np.float64]) -> Line:
        """The metric along `direction` (F,), in which the hypotheses have `slopes` (H,)."""
        pool = self.space.pool
        return sweep(
            self.values, slopes, self.tops, self.space.ends(direction, slopes),
            pool.statistics, pool.offsets, self.space.objective, self.workspace,
        )  # fmt: skip

    def search(self, direction: NDArray[np.float64], fraction: float = 0.0) -> Step:
        """Go to the best place along `direction` (F,)."""
        slopes = self.space.slopes(direction)
        line = self.line(direction, slopes)
        step = best_step(line, round(fraction * len(line.utilities)))
        if step.gamma:
            self.weights = self.weights + step.gamma * direction
            self.values += step.gamma * slopes
            self.tops = segment_argmax(self.values, self.space.pool.offsets)
        return step
