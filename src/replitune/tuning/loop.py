"""The outer loop of tuning: decode, pool, optimise, until the dev score stops improving."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.running.checkpoint import Checkpoint, fingerprint, opened
from replitune.settings import plain
from replitune.tuning.forest import Forests
from replitune.tuning.history import Iteration
from replitune.tuning.interface import (
    Hypotheses,
    Tuner,
    TuningResult,
    WordStatistics,
    l1_normalised,
    together,
)
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool
from replitune.tuning.settings import LoopSettings


@dataclass(frozen=True)
class Decoded(Hypotheses):
    """n-best lists of all segments under one weight vector; rows of a segment best first."""

    lattices: Forests | None = None
    """Search graphs, for tuners that need them."""
    word_statistics: WordStatistics | None = None
    """Statistics of the lattices' paths."""


Decode = Callable[[NDArray[np.float64], int], Decoded]
"""A decoder with its dev set: n-best lists under weights (F,) in an iteration; the same for the
same arguments."""

Streams = Callable[..., np.random.Generator]
"""A replica's random streams by name: ``partial(stream, seed, "tune", system, "mert", 3)``."""


@dataclass(frozen=True)
class LoopResult:
    """The weights with the best dev score, and how they were reached."""

    weights: NDArray[np.float64]
    dev_score: float
    iteration: int
    """The iteration that decoded with the best weights."""
    history: tuple[Iteration, ...]


def run_loop(
    decode: Decode,
    tuner: Tuner,
    objective: Objective,
    start: NDArray[np.float64],
    n_segments: int,
    streams: Streams,
    settings: LoopSettings | None = None,
    *,
    folder: str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    finish: Callable[[LoopResult], None] = lambda result: None,
    log: Callable[[str], None] = lambda line: None,
    threads: int = 1,
) -> LoopResult:
    """Tune from `start` (F,).

    With `folder`, a killed run resumes at the iteration it was in and ends with the same
    weights; `inputs` are the hashes and settings, besides the loop's own, that decide the
    result. `finish` saves the result before the folder is removed.
    """
    settings = settings or LoopSettings()
    loop = _Loop(decode, tuner, objective, start, n_segments, streams, settings, log, threads)
    mark = fingerprint(
        {
            "inputs": dict(inputs or {}),
            "settings": plain(settings),
            "tuner": [tuner.name, plain(tuner)],
            "metric": objective.metric.signature(),
            "start": start.tolist(),
            "segments": n_segments,
            "stream": int(streams("fingerprint").integers(2**62)),
        }
    )
    with nullcontext() if folder is None else opened(folder, mark) as checkpoint:
        result = loop.run(checkpoint)
        finish(result)
        return result


@dataclass
class _State:
    """What the next iteration needs besides the pool."""

    weights: list[float]
    best_weights: list[float]
    best_score: float | None
    best_iteration: int
    stale: int
    history: list[dict[str, Any]]

    @property
    def iteration(self) -> int:
        return len(self.history)


@dataclass
class _Loop:
    decode: Decode
    tuner: Tuner
    objective: Objective
    start: NDArray[np.float64]
    n_segments: int
    streams: Streams
    settings: LoopSettings
    log: Callable[[str], None]
    threads: int

    def __post_init__(self) -> None:
        n, metric = self.n_segments, self.objective.metric
        most = self.settings.iterations
        self.iterations = min(most, self.tuner.decodings or most)
        self.sample: NDArray[np.int64] | None = None
        if self.settings.resample_dev:
            self.sample = self.streams("dev-sample").integers(n, size=n)
        self.pool = Pool.empty(
            n, len(self.start), len(metric.statistic_names), integer=metric.integer_statistics
        )

    def run(self, checkpoint: Checkpoint | None) -> LoopResult:
        saved = checkpoint.load() if checkpoint else None
        if saved is not None and checkpoint is not None:
            state = _State(**saved)
            for i in range(state.iteration):
                arrays = checkpoint.load_arrays(f"iteration-{i:03d}")
                self._extend(Hypotheses(**arrays))
            self.log(f"resuming at iteration {state.iteration}")
        else:
            weights = self._first_weights()
            state = _State(weights.tolist(), weights.tolist(), None, 0, 0, [])
        while not self._finished(state):
            gathered = self._iterate(state)
            if checkpoint:
                # The state is saved last, so that it names only complete files.
                checkpoint.save_arrays(f"iteration-{state.iteration - 1:03d}", vars(gathered))
                checkpoint.save_state(asdict(state))
        assert state.best_score is not None
        return LoopResult(
            np.array(state.best_weights),
            state.best_score,
            state.best_iteration,
            tuple(Iteration(**row) for row in state.history),
        )

    def _first_weights(self) -> NDArray[np.float64]:
        if self.settings.init == "given":
            return self.start.astype(np.float64)
        low, high = self.settings.init_range
        return self.streams("init").uniform(low, high, len(self.start))

    def _finished(self, state: _State) -> bool:
        if not state.history:
            return False
        last, least = state.history[-1], self.settings.min_promise
        if state.iteration >= self.iterations or self._impatient(state) or last["change"] == 0.0:
            return True
        if least is None or state.best_iteration == 0 or last["pool_score"] is None:
            return False
        assert state.best_score is not None
        return bool(self.objective.sign * (last["pool_score"] - state.best_score) < least)

    def _impatient(self, state: _State) -> bool:
        # As long as nothing beats the start, patience does not run out.
        return state.stale >= self.settings.patience and state.best_iteration > 0

    def _iterate(self, state: _State) -> Hypotheses:
        """Decode, pool and optimise once; updates `state`. Returns what was added to the pool."""
        began = time.perf_counter()
        i = state.iteration
        weights = np.array(state.weights)
        decoded = self.decode(weights, i)
        dev_score = self._dev_score(decoded)
        known = len(self.pool)
        self._extend(decoded)
        sign = self.objective.sign
        if state.best_score is None or sign * dev_score > sign * state.best_score + self.settings.min_gain:
            state.best_score, state.best_weights = dev_score, state.weights
            state.best_iteration, state.stale = i, 0
        else:
            state.stale += 1
        tuning = time.perf_counter()
        gathered = Hypotheses(decoded.segments, decoded.features, decoded.statistics)
        pool_score = change = None
        if i + 1 < self.iterations and not self._impatient(state):
            pool = self.pool if self.sample is None else self.pool.select(self.sample)
            result = self._tune(pool, self._better_start(pool, state), decoded, i)
            if result.added is not None:
                self._extend(result.added)
                gathered = together([gathered, result.added])
            pool_score = result.score
            change = float(np.abs(l1_normalised(result.weights) - l1_normalised(weights)).max())
            state.weights = result.weights.tolist()
        now = time.perf_counter()
        row = Iteration(
            i,
            dev_score,
            pool_score,
            len(self.pool),
            len(self.pool) - known,
            change,
            now - began,
            now - tuning,
        )
        state.history.append(asdict(row))
        self.log(
            f"iteration {i}: dev {self.objective.metric.id} {dev_score:.2f}"
            + (" (best)" if state.best_iteration == i else "")
            + f", pool {len(self.pool):,} (+{row.new_hypotheses:,})"
            + (f", promises {pool_score:.2f}" if pool_score is not None else "")
            + (f", change in weights {change:.4f}" if change is not None else "")
            + f", {row.seconds:.1f} s"
        )
        return gathered

    def _tune(
        self, pool: Pool, start: NDArray[np.float64], decoded: Decoded, iteration: int
    ) -> TuningResult:
        rng = self.streams("optimise", iteration)
        if not self.tuner.needs_lattices:
            return self.tuner.tune(pool, self.objective, start, rng, self.threads)
        if decoded.lattices is None or decoded.word_statistics is None:
            raise ReplituneError(f"{self.tuner.name} needs a decoder that gives search graphs")
        return self.tuner.tune_lattices(
            decoded.lattices, decoded.word_statistics, pool, self.objective, start, rng, self.threads
        )

    def _better_start(self, pool: Pool, state: _State) -> NDArray[np.float64]:
        """The last weights or the best so far, whichever does better on the pool, so that after
        a collapse the tuner does not start from the collapsed weights."""
        last, best = np.array(state.weights), np.array(state.best_weights)
        if state.weights == state.best_weights:
            return last
        sign = self.objective.sign
        better = sign * self.objective.score(pool, best) > sign * self.objective.score(pool, last)
        return best if better else last

    def _dev_score(self, decoded: Decoded) -> float:
        _, first = np.unique(decoded.segments, return_index=True)
        if len(first) != self.pool.n_segments:
            raise ReplituneError(
                "the decoder gave no translation of some segments",
                found=f"{len(first)} of {self.pool.n_segments} segments",
            )
        statistics = decoded.statistics[first]
        if self.sample is not None:
            statistics = statistics[self.sample]
        return float(self.objective.metric.score(statistics.sum(axis=0)))

    def _extend(self, hypotheses: Hypotheses) -> None:
        self.pool = self.pool.absorb(hypotheses.segments, hypotheses.features, hypotheses.statistics)
