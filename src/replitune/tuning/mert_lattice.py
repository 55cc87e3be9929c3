"""MERT on search graphs (Macherey, Och, Thayer & Uszkoreit 2008).

`LatticeSearch` does every line search on the whole lattices. `MertLattice`, the tuner, is
several times faster with the same line searches at its resting points: it puts into the pool
every hypothesis that is best anywhere on the lines through the current weights, runs MERT on
the pool, and repeats this from the weights found, until the lattices know no better choice
there than the pool.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.tuning.interface import Hypotheses, TuningResult, l1_normalised
from replitune.tuning.lattice import Envelope, Lattices
from replitune.tuning.linesearch import Step, best_step, integrate
from replitune.tuning.mert import Mert
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool

WordStatistics = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]], NDArray[Any]]
"""Statistics (n, K) of n hypotheses: segments (n,), word_start (n+1,), words."""


class LatticeSearch:
    """Line searches on lattices; a hypothesis' statistics are computed once."""

    def __init__(
        self, lattices: Lattices, objective: Objective, statistics: WordStatistics
    ) -> None:
        self.lattices = lattices
        self.objective = objective
        self._statistics = statistics
        self._rows: dict[tuple[int, bytes], int] = {}
        self._table = np.empty((0, len(objective.metric.statistic_names)))
        self._lock = threading.Lock()

    def at(self, weights: NDArray[np.float64]) -> LatticePoint:
        return LatticePoint(self, weights)

    def sums(self, weights: NDArray[np.float64]) -> NDArray:
        """(K,) summed statistics of the best paths."""
        best = self.lattices.envelope(weights, np.zeros(len(weights)))
        return self.statistics(best).sum(axis=0)

    def statistics(self, envelope: Envelope) -> NDArray:
        """(L, K) statistics of an envelope's hypotheses."""
        rows, table = self.rows(envelope)
        return table[rows]

    def rows(self, envelope: Envelope) -> tuple[NDArray[np.int64], NDArray]:
        """(L,) rows of an envelope's hypotheses in a table of statistics; the table."""
        segments = envelope.segments.tolist()
        raw = envelope.words.tobytes()
        bounds = (envelope.word_start * envelope.words.itemsize).tolist()
        keys = [(s, raw[i:j]) for s, i, j in zip(segments, bounds[:-1], bounds[1:], strict=True)]
        with self._lock:
            known = len(self._rows)
            rows = np.array([self._rows.setdefault(key, len(self._rows)) for key in keys])
            new = list(self._rows)[known:] if len(self._rows) > known else []
            if new:
                lengths = [len(words) // envelope.words.itemsize for _, words in new]
                found = self._statistics(
                    np.array([s for s, _ in new], dtype=np.int64),
                    np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
                    np.frombuffer(b"".join(words for _, words in new), envelope.words.dtype),
                )
                kind = np.int64 if found.dtype.kind in "iu" else np.float64
                self._table = np.concatenate([self._table.astype(kind), found])
            return rows, self._table


class LatticePoint:
    """Weights that move along lines through lattices."""

    def __init__(self, search: LatticeSearch, weights: NDArray[np.float64]) -> None:
        self.space = search
        self.weights = weights

    def search(self, direction: NDArray[np.float64], fraction: float = 0.0) -> Step:
        """Go to the best place along `direction` (F,)."""
        envelope = self.space.lattices.envelope(self.weights, direction)
        rows, table = self.space.rows(envelope)
        first = np.zeros(len(rows), dtype=bool)
        first[envelope.offsets[:-1]] = True
        later = np.flatnonzero(~first)
        # A change of words that changes no statistic is no corner.
        later = later[(table[rows[later - 1]] != table[rows[later]]).any(axis=1)]
        gammas = envelope.begins[later]
        line = integrate(
            gammas, np.argsort(gammas), rows[later - 1].astype(np.int32),
            rows[later].astype(np.int32), table[rows[first]].sum(axis=0), table,
            self.space.objective,
        )  # fmt: skip
        step = best_step(line, round(fraction * len(line.utilities)))
        if step.gamma:
            self.weights = self.weights + step.gamma * direction
        return step


@dataclass(frozen=True)
class MertLattice:
    """MERT with line searches on lattices."""

    mert: Mert = field(default_factory=Mert)
    """Settings of the search on the pool."""
    decodings: int = 3
    """Most decodings, where the loop allows more: a search graph holds far more than a list."""
    rounds: int = 2
    """Most times that the lattices are asked for hypotheses. Rounds after the first have a
    quarter of the random starts: they continue a search."""
    directions: int = 5
    """Random lines through the weights, beside those along the axes."""
    reach: float = 0.25
    """How far from the weights (with L1 norm 1) a hypothesis must be the best on a line."""
    density: float = 10.0
    """Arcs per source word kept of a search graph, those on the best paths (Macherey et al.,
    section 5)."""
    name: str = field(default="mert-lattice", init=False)

    def __post_init__(self) -> None:
        for what, good, expected in (
            ("decodings", self.decodings >= 1, "1 or more"),
            ("rounds", self.rounds >= 1, "1 or more"),
            ("directions", self.directions >= 0, "0 or more"),
            ("reach", self.reach > 0, "above 0"),
            ("density", self.density > 0, "above 0"),
        ):
            if not good:
                raise ReplituneError(
                    f"mert-lattice: {what} is out of range",
                    found=str(getattr(self, what)),
                    expected=expected,
                )

    def tune(
        self,
        pool: Pool,
        objective: Objective,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """MERT on the pool alone, where there are no lattices."""
        return self.mert.tune(pool, objective, start, rng, threads)

    def tune_lattices(
        self,
        lattices: Lattices,
        statistics: WordStatistics,
        pool: Pool,
        objective: Objective,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """The weights, of those found in each round, with the best score on pool and lattices."""
        search = LatticeSearch(lattices, objective, statistics)
        here = np.zeros(len(start))
        weights = l1_normalised(start)
        added: list[Hypotheses] = []
        history: list[dict[str, Any]] = []
        best = (-np.inf, weights)
        for number in range(self.rounds):
            known = len(pool)
            lines = list(np.eye(len(weights)))
            lines += list(rng.uniform(-1.0, 1.0, (self.directions, len(weights))))
            found = together(
                [_hypotheses(search, lattices.envelope(weights, d, self.reach)) for d in lines]
            )
            pool = pool.extend(found.segments, found.features, found.statistics)
            added.append(found)
            if not number:
                # No worse than the start; all lines go through it, so the pool has its choices.
                best = (float(objective.utility(objective.sums(pool, weights))), weights)
            mert = replace(self.mert, restarts=self.mert.restarts // 4) if number else self.mert
            result = mert.tune(pool, objective, weights, rng, threads)
            weights = result.weights
            # Weights that are good on the pool may be bad on the lattices.
            found = _hypotheses(search, lattices.envelope(weights, here))
            pool = pool.extend(found.segments, found.features, found.statistics)
            added.append(found)
            utility = float(objective.utility(objective.sums(pool, weights)))
            history.append(
                {
                    "round": number,
                    "found": len(pool) - known,
                    "pool_score": result.score,
                    "score": objective.sign * utility,
                }
            )
            if utility > best[0]:
                best = (utility, weights)
            if utility >= objective.sign * result.score - self.mert.tolerance:
                break
        return TuningResult(best[1], objective.sign * best[0], tuple(history), together(added))


def _hypotheses(search: LatticeSearch, envelope: Envelope) -> Hypotheses:
    return Hypotheses(envelope.segments, envelope.features, search.statistics(envelope))


def together(parts: list[Hypotheses]) -> Hypotheses:
    """All hypotheses in one."""
    return Hypotheses(
        np.concatenate([part.segments for part in parts]),
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.statistics for part in parts]),
    )
