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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.settings import about
from replitune.tuning.interface import Tuner, TuningResult, l1_normalised

if TYPE_CHECKING:
    from replitune.tuning.layout import Layout
    from replitune.tuning.objective import Objective
    from replitune.tuning.pool import Pool
    from replitune.tuning.pool_search import PoolSearch

_Climbed = tuple[NDArray[np.float64], float, int]
"""Weights, their utility, and how many line searches it took."""


Restarts = Annotated[int, about("Random starts beside the given one.", ge=0)]


@dataclass(frozen=True)
class Mert(Tuner):
    """Minimum error rate training on n-best lists."""

    name = "mert"
    on_files = {"survivors": 0.7}  # noqa: RUF012

    restarts: Restarts = 20
    directions: Annotated[
        int,
        about(
            "Random directions in each round, beside the axes: each element uniform in (-1, 1), "
            "the whole normalised, as in cdec.",
            ge=0,
        ),
    ] = 5
    restart_range: Annotated[
        tuple[float, float], about("Random starts are uniform in this range.")
    ] = (-1.0, 1.0)
    averaging: Annotated[
        tuple[Annotated[float, about(gt=0, lt=1)], ...],
        about(
            "Widths of the averaging window on either side, as fractions of the intervals on a "
            "line, one phase each, before the phase without. [] is Och's algorithm."
        ),
    ] = (0.1, 0.04, 0.015, 0.005)
    averaged_rounds: Annotated[int, about("Most rounds in an averaged phase.", ge=1)] = 1
    survivors: Annotated[
        float,
        about(
            "Share of the starts, those with the best scores, that go on after each averaged "
            "phase. The default is for a run of decodings, each of which continues the search; on "
            "n-best files it is 0.7.",
            gt=0,
            le=1,
        ),
    ] = 0.3
    tolerance: Annotated[
        float,
        about("A phase ends when a round gains no more than this, in the metric's units.", ge=0),
    ] = 0.01
    max_rounds: Annotated[int, about("Most rounds in the last phase.", ge=1)] = 100
    frozen: Annotated[
        tuple[str, ...],
        about("Features whose weights stay at the start's; `NAME[2]` is one value of several."),
    ] = ()
    fixed: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)
    """(F,) true at the values of `frozen`, once the features are known."""

    def __post_init__(self) -> None:
        if not self.restart_range[0] <= self.restart_range[1]:
            raise ReplituneError(
                f"{self.name}: restart_range is not a range",
                found=str(list(self.restart_range)), expected="low, high",
            )  # fmt: skip

    def for_features(self, layout: Layout) -> Self:
        return replace(self, fixed=layout.mask(self.frozen)) if self.frozen else self

    def tune(
        self,
        pool: Pool,
        objective: Objective,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """The best of all starts; of equally good ones the first."""
        from replitune.tuning.pool_search import PoolSearch

        objective.require_choice(pool)
        return self.optimise(PoolSearch(pool, objective), start, rng, threads)

    def optimise(
        self,
        search: PoolSearch,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """`tune` by the line searches of `search`."""
        free = self._free(len(start))
        # One stream per start, so that threads cannot change which start draws what.
        streams = rng.spawn(1 + self.restarts)
        starts = [start.astype(np.float64)]
        for stream in streams[1:]:
            drawn = stream.uniform(*self.restart_range, len(start))
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
        if self.frozen and self.fixed is None:
            raise ReplituneError("frozen features need the features' names")
        free = np.ones(n_features, dtype=bool) if self.fixed is None else ~self.fixed
        if len(free) != n_features or not free.any():
            raise ReplituneError(f"{self.name}: all features are frozen")
        return free

    def _climb(
        self,
        search: PoolSearch,
        weights: NDArray[np.float64],
        free: NDArray[np.bool_],
        rng: np.random.Generator,
        fraction: float,
    ) -> _Climbed:
        """One phase from one start."""
        axes = np.flatnonzero(free)
        lines = 0
        for _ in range(self.averaged_rounds if fraction else self.max_rounds):
            # Scaling the weights changes no choice, and keeps steps comparable.
            point = search.at(self._scaled(weights, free))
            drawn = self._drawn(free, rng)
            gain = 0.0
            for i in rng.permutation(len(axes) + len(drawn)):
                at = i - len(axes)
                direction = search.axis(axes[i]) if at < 0 else search.along(drawn[at])
                step = point.search(direction, fraction)
                lines += 1
                gain += step.best - step.here
            weights = point.weights
            if gain <= self.tolerance:
                break
        utility = float(search.objective.utility(point.sums()))
        return self._scaled(weights, free), utility, lines

    def _scaled(self, weights: NDArray[np.float64], free: NDArray[np.bool_]) -> NDArray[np.float64]:
        return l1_normalised(weights) if free.all() else weights

    def _drawn(
        self, free: NDArray[np.bool_], rng: np.random.Generator
    ) -> list[NDArray[np.float64]]:
        """One round's random directions."""
        drawn = [
            np.where(free, rng.uniform(-1.0, 1.0, len(free)), 0.0) for _ in range(self.directions)
        ]
        return [direction / np.linalg.norm(direction) for direction in drawn]
