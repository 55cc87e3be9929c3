"""Batch MIRA on n-best lists (Cherry & Foster 2012, Algorithm 1).

For each segment the hope (model + metric) and the fear (model - metric) hypothesis are chosen
under the current weights, and the weights take the smallest step, at most C, that separates
them by their difference in the metric. The metric of one hypothesis is that of a pseudo-corpus
to which it is added: a decaying sum of earlier hopes (Chiang, Marton & Resnik 2008), scaled by
its length in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.settings import about
from replitune.tuning.interface import Tuner, TuningResult, Vector, l1_normalised

if TYPE_CHECKING:
    from replitune.tuning.objective import Objective
    from replitune.tuning.pool import Pool

TYPICAL_LENGTH = 20
"""Words of a segment, for metrics without the statistic `ref_len`."""


@dataclass(frozen=True)
class Mira(Tuner):
    """Batch MIRA; the defaults are the paper's."""

    name = "mira"

    epochs: Annotated[int, about("Passes over the segments.", ge=1)] = 60
    c: Annotated[float, about("Largest step.", gt=0)] = 0.01
    decay: Annotated[
        float, about("Factor by which the pseudo-corpus decays with each segment added.", ge=0, lt=1)
    ] = 0.999
    background: Annotated[
        Literal["hope", "model"],
        about("What is added to the pseudo-corpus: `hope`, or `model` for the model's best."),
    ] = "hope"
    averaging: Annotated[
        Literal["epoch", "run"],
        about("Weights are averaged over each `epoch`, or from the first step of the `run`."),
    ] = "epoch"
    shuffle: Annotated[
        bool, about("A new random order of the segments in every epoch; otherwise the order of the files.")
    ] = True

    def tune(
        self, pool: Pool, objective: Objective, start: Vector, rng: np.random.Generator, threads: int = 1
    ) -> TuningResult:
        """The averaged weights of the epoch with the best corpus score. One thread: each step
        builds on the last."""
        objective.require_choice(pool)
        state = _State(pool, objective, start)
        best_weights, best_utility = start.astype(np.float64), -np.inf
        history: list[dict[str, Any]] = []
        for epoch in range(self.epochs):
            n = pool.n_segments
            order = rng.permutation(n) if self.shuffle else np.arange(n)
            if self.averaging == "epoch":
                state.total[:], state.steps = 0.0, 0
            loss, updates = self._epoch(pool, objective, state, order)
            average = state.total / state.steps
            utility = float(objective.utility(objective.sums(pool, average)))
            history.append(
                {"epoch": epoch, "score": objective.sign * utility, "loss": loss / n, "updates": updates}
            )
            if utility > best_utility:
                best_weights, best_utility = average, utility
        return TuningResult(l1_normalised(best_weights), objective.sign * best_utility, tuple(history))

    def _epoch(
        self, pool: Pool, objective: Objective, state: _State, order: NDArray[np.int64]
    ) -> tuple[float, int]:
        """One pass over the segments: summed loss before each step, number of steps."""
        from replitune.tuning import mira_kernel as kernel

        model_background = self.background == "model"
        if objective.bleu_order:
            loss, updates = kernel.bleu_epoch(
                pool.features,
                pool.statistics,
                pool.offsets,
                order,
                objective.bleu_order,
                state.weights,
                state.total,
                state.background,
                self.c,
                self.decay,
                model_background,
            )
            state.steps += len(order)
            return loss, updates
        loss, updates = 0.0, 0
        for s in order:
            lo, hi = pool.offsets[s], pool.offsets[s + 1]
            gains = state.gains(objective, pool.statistics[lo:hi])
            scores = np.empty(hi - lo)
            kernel.model_scores(pool.features, lo, hi, state.weights, scores)
            this, added = kernel.step(
                pool.features,
                pool.statistics,
                lo,
                scores,
                gains,
                state.weights,
                state.background,
                self.c,
                self.decay,
                model_background,
            )
            if added:
                state.segments = state.segments * self.decay + 1.0
            state.total += state.weights
            state.steps += 1
            loss += this
            updates += this > 0
        return loss, updates


class _State:
    """Weights, their running sum, and the pseudo-corpus."""

    def __init__(self, pool: Pool, objective: Objective, start: NDArray[np.float64]) -> None:
        self.weights = start.astype(np.float64)
        self.total = np.zeros(len(start))
        self.steps = 0
        # One average segment of the start's choices.
        self.background = objective.sums(pool, self.weights) / pool.n_segments
        self.segments = 1.0
        names = objective.metric.statistic_names
        words = [k for k, name in enumerate(names) if name.endswith("ref_len")]
        self.length = words[0] if words else None

    def gains(self, objective: Objective, statistics: NDArray) -> NDArray[np.float64]:
        """(n,) the metric (0 .. 1) of the pseudo-corpus with each row of statistics (n, K) added, times
        its words."""
        sums = self.background + statistics
        if self.length is not None:
            words = sums[:, self.length]
        else:
            words = np.full(len(sums), TYPICAL_LENGTH * (self.segments + 1.0))
        return objective.utility(sums) / 100.0 * words
