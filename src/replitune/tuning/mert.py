"""Minimum error rate training on n-best lists (Och 2003).

From each start, exact line searches along the feature axes and random directions are repeated
until none helps. Starts: the given weights, and random ones (Bertoldi, Haddow & Fouet 2009).
Random directions, and averaging over neighbouring intervals, are those of Cer, Jurafsky &
Manning (2008): the first rounds climb the averaged metric, which has fewer narrow peaks to get
stuck on; the last rounds climb the metric itself. Most random starts lead nowhere and are given
up early, as in successive halving (Jamieson & Talwalkar 2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot
from replitune.errors import ReplituneError
from replitune.settings import about
from replitune.tuning.interface import Tuner, TuningResult, Vector, l1_normalised

if TYPE_CHECKING:
    from replitune.tuning.linesearch import PoolSearch
    from replitune.tuning.objective import Objective
    from replitune.tuning.pool import Pool
    from replitune.tuning.weights import Layout

_Direction = int | NDArray[np.float64]
"""An axis by its number, or a vector (F,)."""

RUNGS = ((0.2, 0.35), (0.25, 0.7), (0.55, 1.0))
"""The first phase, as (part of its round, exponent x): after each part, the best n * survivors ** x of
n starts go on."""


Restarts = Annotated[int, about("Random starts, besides the given one.", ge=0)]


@dataclass(frozen=True)
class Mert(Tuner):
    """Minimum error rate training on n-best lists."""

    name = "mert"
    on_files = {"survivors": 0.7}  # noqa: RUF012

    restarts: Restarts = 20
    directions: Annotated[
        int,
        about(
            "Random directions in each round, besides the axes: elements uniform in (-1, 1), then "
            "normalised, as in cdec.",
            ge=0,
        ),
    ] = 5
    restart_range: Annotated[tuple[float, float], about("Random starts are uniform in this range.")] = (
        -1.0,
        1.0,
    )
    averaging: Annotated[
        tuple[Annotated[float, about(gt=0, lt=1)], ...],
        about(
            "Widths of the averaging window on either side, as fractions of the number of intervals on a "
            "line: one phase for each, then a last phase without averaging. [] is Och's algorithm."
        ),
    ] = (0.1, 0.04, 0.015, 0.005)
    averaged_rounds: Annotated[
        int, about("Most rounds in an averaged phase; the first phase has one.", ge=1)
    ] = 1
    survivors: Annotated[
        float,
        about(
            "Share of the starts, those with the best scores, that go on after each averaged phase; in "
            "the first phase, starts are dropped in steps. The default is for repeated decodings, where "
            "each continues the search; on n-best files it is 0.7.",
            gt=0,
            le=1,
        ),
    ] = 0.2
    tolerance: Annotated[
        float, about("A phase ends when a round gains no more than this, in the metric's units.", ge=0)
    ] = 0.01
    max_rounds: Annotated[int, about("Most rounds in the last phase.", ge=1)] = 100
    frozen: Annotated[
        tuple[str, ...],
        about("Features whose weights stay as at the start; `NAME[2]`: only the third value of a feature."),
    ] = ()
    fixed: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)
    """(F,) true at the values of `frozen`, once the features are known."""

    def __post_init__(self) -> None:
        if not self.restart_range[0] <= self.restart_range[1]:
            raise ReplituneError(
                f"{self.name}: restart_range is not a range",
                found=str(list(self.restart_range)),
                expected="low, high",
            )

    def for_features(self, layout: Layout) -> Self:
        return replace(self, fixed=layout.mask(self.frozen)) if self.frozen else self

    def tune(
        self, pool: Pool, objective: Objective, start: Vector, rng: np.random.Generator, threads: int = 1
    ) -> TuningResult:
        """The best of all starts; of equally good ones the first."""
        from replitune.tuning.linesearch import PoolSearch

        objective.require_choice(pool)
        return self.optimise(PoolSearch(pool, objective), start, rng, threads)

    def optimise(
        self, search: PoolSearch, start: NDArray[np.float64], rng: np.random.Generator, threads: int = 1
    ) -> TuningResult:
        """As `tune`, with the line searches of `search`."""
        free = self._free(len(start))
        # One stream per start, so that threads cannot change which start draws what.
        streams = rng.spawn(1 + self.restarts)
        climbers = [_Climber(0, start.astype(np.float64), streams[0])]
        for number, stream in enumerate(streams[1:], start=1):
            drawn = stream.uniform(*self.restart_range, len(start))
            climbers.append(_Climber(number, np.where(free, drawn, start), stream))

        alive = climbers
        with ThreadPoolExecutor(threads) as executor:

            def each(work: Callable[[_Climber], object]) -> None:
                list(executor.map(work, alive) if threads > 1 else map(work, alive))

            for fraction in self.averaging[:1]:
                for climber in climbers:
                    climber.ahead = self._directions(free, climber.rng)
                for part, exponent in RUNGS:
                    each(partial(self._climb_on, search, free, fraction, part))
                    alive = _best(alive, self.survivors**exponent * len(climbers))
            for fraction in self.averaging[1:]:
                each(partial(self._climb, search, free, fraction, self.averaged_rounds))
                alive = _best(alive, self.survivors * len(alive))
            each(partial(self._climb, search, free, 0.0, self.max_rounds))
        (best,) = _best(climbers, 1)
        sign = search.objective.sign
        history: list[dict[str, Any]] = [
            {
                "start": climber.number,
                "score": float(sign * climber.utility),
                "converged": climber in alive,
                "line_searches": climber.lines,
            }
            for climber in climbers
        ]
        return TuningResult(best.weights, float(sign * best.utility), tuple(history))

    def _free(self, n_features: int) -> NDArray[np.bool_]:
        if self.frozen and self.fixed is None:
            raise ReplituneError("frozen features need the features' names")
        free = np.ones(n_features, dtype=bool) if self.fixed is None else ~self.fixed
        if len(free) != n_features or not free.any():
            raise ReplituneError(f"{self.name}: all features are frozen")
        return free

    def _climb_on(
        self, search: PoolSearch, free: NDArray[np.bool_], fraction: float, part: float, climber: _Climber
    ) -> None:
        """The next part, a share `part`, of a start's first round."""
        count = math.ceil(part * (int(free.sum()) + self.directions))
        directions, climber.ahead = climber.ahead[:count], climber.ahead[count:]
        self._search(search, free, fraction, directions, climber)

    def _climb(
        self, search: PoolSearch, free: NDArray[np.bool_], fraction: float, rounds: int, climber: _Climber
    ) -> None:
        """Rounds from one start, until one gains nothing."""
        for _ in range(rounds):
            directions = self._directions(free, climber.rng)
            if self._search(search, free, fraction, directions, climber) <= self.tolerance:
                break

    def _search(
        self,
        search: PoolSearch,
        free: NDArray[np.bool_],
        fraction: float,
        directions: list[_Direction],
        climber: _Climber,
    ) -> float:
        """Do line searches one after the other; returns what they gain."""
        # Scaling the weights changes no choice, and keeps steps comparable.
        point = search.at(self._scaled(climber.weights, free))
        gain = 0.0
        for direction in directions:
            along = search.axis if isinstance(direction, int) else search.along
            step = point.search(along(direction), fraction)  # type: ignore[arg-type]
            gain += step.best - step.here
        climber.weights = self._scaled(point.weights, free)
        climber.utility = float(search.objective.utility(point.sums()))
        climber.lines += len(directions)
        return gain

    def _scaled(self, weights: NDArray[np.float64], free: NDArray[np.bool_]) -> NDArray[np.float64]:
        return l1_normalised(weights) if free.all() else weights

    def _directions(self, free: NDArray[np.bool_], rng: np.random.Generator) -> list[_Direction]:
        """The directions of one round, in random order."""
        directions: list[_Direction] = [*np.flatnonzero(free).tolist()]
        for _ in range(self.directions):
            drawn = np.where(free, rng.uniform(-1.0, 1.0, len(free)), 0.0)
            directions.append(drawn / np.sqrt(dot(drawn, drawn)))
        return [directions[i] for i in rng.permutation(len(directions))]


@dataclass(eq=False)
class _Climber:
    """The search from one start."""

    number: int
    weights: NDArray[np.float64]
    rng: np.random.Generator
    utility: float = -np.inf
    lines: int = 0
    """Line searches so far."""
    ahead: list[_Direction] = field(default_factory=list)
    """What remains of its first round."""


def _best(climbers: list[_Climber], count: float) -> list[_Climber]:
    """The best `count` climbers, rounded up; of equally good ones the first."""
    ordered = sorted(climbers, key=lambda climber: (-climber.utility, climber.number))
    return ordered[: math.ceil(count)]
