"""Minimum error rate training on n-best lists (Och 2003).

From each start, exact line searches along the feature axes and random directions are repeated
until none helps. Starts: the given weights, and random ones (Bertoldi, Haddow & Fouet 2009).
Random directions, and averaging over neighbouring intervals, are those of Cer, Jurafsky &
Manning (2008): the first rounds climb the averaged metric, which has fewer narrow peaks to be
caught on; the last rounds climb the metric itself.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.tuning.interface import TuningResult, l1_normalised
from replitune.tuning.linesearch import Line, Step, Workspace, best_step, sweep
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool, combine, segment_argmax, segment_ends

_Climbed = tuple[NDArray[np.float64], float, int]
"""Weights, their utility, and how many line searches it took."""


@dataclass(frozen=True)
class Mert:
    """MERT and its settings."""

    restarts: int = 20
    """Random starts beside the given one."""
    directions: int = 5
    """Random directions in each round, beside the axes: each element uniform in (-1, 1), the
    whole normalised, as in cdec."""
    restart_range: tuple[float, float] | NDArray[np.float64] = (-1.0, 1.0)
    """Random starts are uniform in this range, or in the rows of an (F, 2) array, as in Moses."""
    averaging: tuple[float, ...] = (0.1, 0.04, 0.015, 0.005)
    """Widths of the averaging window on either side, as fractions of the intervals on a line,
    one phase each, before the phase without. () is Och's algorithm."""
    averaged_rounds: int = 1
    """Most rounds in an averaged phase."""
    survivors: float = 0.3
    """Share of the starts, those with the best scores, that go on after each averaged phase. The
    default is for a run of decodings, each of which continues the search."""
    tolerance: float = 0.01
    """A phase ends when a round gains no more than this, in the metric's units."""
    max_rounds: int = 100
    """Most rounds in the last phase."""
    frozen: NDArray[np.bool_] | None = field(default=None, compare=False)
    """(F,) true for features whose weights stay at the start's."""
    name: str = field(default="mert", init=False)

    def __post_init__(self) -> None:
        for what, value, least in (
            ("restarts", self.restarts, 0),
            ("directions", self.directions, 0),
            ("averaged_rounds", self.averaged_rounds, 1),
            ("max_rounds", self.max_rounds, 1),
        ):
            if value < least:
                raise ReplituneError(
                    f"mert: {what} is out of range", found=str(value), expected=f"{least} or more"
                )
        if not all(0 < fraction < 1 for fraction in self.averaging):
            raise ReplituneError(
                "mert: averaging is out of range",
                found=str(self.averaging),
                expected="fractions of the intervals, between 0 and 1",
            )
        if not 0 < self.survivors <= 1:
            raise ReplituneError(
                "mert: survivors is out of range",
                found=str(self.survivors),
                expected="above 0, at most 1",
            )
        if not self.tolerance >= 0:
            raise ReplituneError("mert: tolerance is out of range", found=str(self.tolerance))

    def tune(
        self,
        pool: Pool,
        objective: Objective,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """The best of all starts; of equally good ones the first."""
        pool.require_lists()
        objective.require_choice(pool)
        search = PoolSearch(pool, objective)
        return self.optimise(search, start, rng, threads)

    def optimise(
        self,
        search: Search,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """`tune` on anything that can sweep a line."""
        free = self._free(len(start))
        # One stream per start, so that threads cannot change which start draws what.
        streams = rng.spawn(1 + self.restarts)
        starts = [start.astype(np.float64)]
        for stream in streams[1:]:
            low, high = self._range(len(start))
            drawn = stream.uniform(low, high)
            starts.append(np.where(free, drawn, start))

        utilities = np.full(len(starts), -np.inf)
        lines = np.zeros(len(starts), dtype=int)
        alive = list(range(len(starts)))
        with ThreadPoolExecutor(threads) as executor:
            for fraction in (*self.averaging, 0.0):

                def climb(i: int, fraction: float = fraction) -> _Climbed:
                    return self._climb(search, starts[i], free, streams[i], fraction)

                mapped = executor.map(climb, alive) if threads > 1 else map(climb, alive)
                for i, (weights, utility, used) in zip(alive, mapped, strict=True):
                    starts[i], utilities[i] = weights, utility
                    lines[i] += used
                if fraction:
                    alive.sort(key=lambda i: (-utilities[i], i))
                    alive = alive[: math.ceil(self.survivors * len(alive))]
        best = int(np.argmax(utilities))
        sign = search.objective.sign
        history: list[dict[str, Any]] = [
            {
                "start": i,
                "score": float(sign * utilities[i]),
                "converged": i in alive,
                "line_searches": int(lines[i]),
            }
            for i in range(len(starts))
        ]
        return TuningResult(starts[best], float(sign * utilities[best]), tuple(history))

    def _free(self, n_features: int) -> NDArray[np.bool_]:
        free = np.ones(n_features, dtype=bool) if self.frozen is None else ~self.frozen
        if len(free) != n_features or not free.any():
            raise ReplituneError("mert: all features are frozen")
        return free

    def _range(self, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        bounds = np.broadcast_to(np.asarray(self.restart_range, float), (n_features, 2))
        if not (np.isfinite(bounds).all() and (bounds[:, 0] <= bounds[:, 1]).all()):
            raise ReplituneError(
                "mert: restart_range is not a range", found=str(self.restart_range)
            )
        return bounds[:, 0], bounds[:, 1]

    def _climb(
        self,
        search: Search,
        weights: NDArray[np.float64],
        free: NDArray[np.bool_],
        rng: np.random.Generator,
        fraction: float,
    ) -> _Climbed:
        """One phase from one start."""
        point = search.at(self._scaled(weights, free))
        lines = 0
        for _ in range(self.averaged_rounds if fraction else self.max_rounds):
            gain = 0.0
            for direction in self._directions(free, rng):
                step = point.search(direction, fraction)
                lines += 1
                gain += step.best - step.here
            # Scaling the weights changes no choice, and keeps steps comparable.
            point = search.at(self._scaled(point.weights, free))
            if gain <= self.tolerance:
                break
        sums = search.sums(point.weights)
        return point.weights, float(search.objective.utility(sums)), lines

    def _scaled(self, weights: NDArray[np.float64], free: NDArray[np.bool_]) -> NDArray[np.float64]:
        return l1_normalised(weights) if free.all() else weights

    def _directions(
        self, free: NDArray[np.bool_], rng: np.random.Generator
    ) -> list[NDArray[np.float64]]:
        """One round's axes and random directions, in random order."""
        axes = list(np.eye(len(free))[free])
        for _ in range(self.directions):
            drawn = np.where(free, rng.uniform(-1.0, 1.0, len(free)), 0.0)
            axes.append(drawn / np.linalg.norm(drawn))
        return [axes[i] for i in rng.permutation(len(axes))]


class Point(Protocol):
    """Weights that move along lines."""

    weights: NDArray[np.float64]

    def search(self, direction: NDArray[np.float64], fraction: float = 0.0) -> Step:
        """Go to the best place along `direction` (F,), with values averaged over `fraction`
        of the intervals on either side."""
        ...


class Search(Protocol):
    """Where lines are searched: a pool, or lattices."""

    objective: Objective

    def at(self, weights: NDArray[np.float64]) -> Point:
        """The point of these weights (F,)."""
        ...

    def sums(self, weights: NDArray[np.float64]) -> NDArray:
        """(K,) summed statistics of the model's choices."""
        ...


class PoolSearch:
    """Line searches on a pool of n-best lists."""

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
