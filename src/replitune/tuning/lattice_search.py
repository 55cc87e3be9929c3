"""Line searches on whole lattices (Macherey, Och, Thayer & Uszkoreit 2008)."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from replitune.tuning.interface import Hypotheses, WordStatistics
from replitune.tuning.lattice import Envelope, Lattices
from replitune.tuning.linesearch import Step, best_step, integrate
from replitune.tuning.objective import Objective


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

    def hypotheses(self, envelope: Envelope) -> Hypotheses:
        """An envelope's hypotheses as a pool takes them."""
        return Hypotheses(envelope.segments, envelope.features, self.statistics(envelope))

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
