"""Batch MIRA on n-best lists (Cherry & Foster 2012, Algorithm 1).

For each segment the hope (model + metric) and the fear (model - metric) hypothesis are chosen
under the current weights, and the weights take the smallest step, at most C, that separates
them by their difference in the metric. The metric of one hypothesis is that of a pseudo-corpus
to which it is added: a decaying sum of earlier hopes (Chiang, Marton & Resnik 2008), scaled by
its length in words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.tuning.interface import TuningResult, l1_normalised
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool

TYPICAL_LENGTH = 20
"""Words of a segment, for metrics without the statistic `ref_len`."""


@dataclass(frozen=True)
class Mira:
    """Batch MIRA and its settings; the defaults are the paper's."""

    epochs: int = 60
    c: float = 0.01
    """Largest step."""
    decay: float = 0.999
    """Of the pseudo-corpus, at each segment."""
    background: str = "hope"
    """What joins the pseudo-corpus: "hope", or "model" for the model's best."""
    averaging: str = "epoch"
    """Weights are averaged over each "epoch", or from the first step of the "run" on."""
    shuffle: bool = True
    """A new random order of the segments in every epoch; else the order of the files."""
    name: str = field(default="mira", init=False)

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ReplituneError(
                "mira: epochs is out of range", found=str(self.epochs), expected="1 or more"
            )
        if not self.c > 0:
            raise ReplituneError("mira: c is out of range", found=str(self.c), expected="above 0")
        if not 0 <= self.decay < 1:
            raise ReplituneError(
                "mira: decay is out of range", found=str(self.decay), expected="from 0, below 1"
            )
        for what, value, allowed in (
            ("background", self.background, ("hope", "model")),
            ("averaging", self.averaging, ("epoch", "run")),
        ):
            if value not in allowed:
                raise ReplituneError(
                    f"mira: unknown {what}", found=value, expected=" or ".join(allowed)
                )

    def tune(
        self,
        pool: Pool,
        objective: Objective,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """The averaged weights of the epoch with the best corpus score. One thread: each step
        builds on the last."""
        pool.require_lists()
        objective.require_choice(pool)
        state = _State(pool, objective, start)
        best_weights, best_utility = start.astype(np.float64), -np.inf
        history: list[dict[str, Any]] = []
        for epoch in range(self.epochs):
            n = pool.n_segments
            order = rng.permutation(n) if self.shuffle else np.arange(n)
            if self.averaging == "epoch":
                state.forget()
            loss, updates = self._epoch(pool, objective, state, order)
            average = state.total / state.steps
            utility = float(objective.utility(objective.sums(pool, average)))
            history.append(
                {
                    "epoch": epoch,
                    "score": objective.sign * utility,
                    "loss": loss / n,
                    "updates": updates,
                }
            )
            if utility > best_utility:
                best_weights, best_utility = average, utility
        return TuningResult(
            l1_normalised(best_weights), objective.sign * best_utility, tuple(history)
        )

    def _epoch(
        self, pool: Pool, objective: Objective, state: _State, order: NDArray[np.int64]
    ) -> tuple[float, int]:
        """One pass over the segments: summed loss before each step, number of steps."""
        model_background = self.background == "model"
        if objective.bleu_order:
            loss, updates = _bleu_epoch(
                pool.features, pool.statistics, pool.offsets, order, objective.bleu_order,
                state.weights, state.total, state.background, self.c, self.decay,
                model_background,
            )  # fmt: skip
            state.steps += len(order)
            return loss, updates
        loss, updates = 0.0, 0
        for s in order:
            lo, hi = pool.offsets[s], pool.offsets[s + 1]
            gains = state.gains(objective, pool.statistics[lo:hi])
            scores = np.empty(hi - lo)
            _model_scores(pool.features, lo, hi, state.weights, scores)
            this, added = _step(
                pool.features, pool.statistics, lo, scores, gains, state.weights,
                state.background, self.c, self.decay, model_background,
            )  # fmt: skip
            state.grow(added, self.decay)
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

    def forget(self) -> None:
        """Begin a new average."""
        self.total[:] = 0.0
        self.steps = 0

    def gains(self, objective: Objective, statistics: NDArray) -> NDArray[np.float64]:
        """(n,) the metric of the pseudo-corpus with each of statistics (n, K), in words."""
        sums = self.background + statistics
        if self.length is not None:
            words = sums[:, self.length]
        else:
            words = np.full(len(sums), TYPICAL_LENGTH * (self.segments + 1.0))
        return objective.utility(sums) / 100.0 * words

    def grow(self, added: bool, decay: float) -> None:
        if added:
            self.segments = self.segments * decay + 1.0


@njit(cache=True, nogil=True)
def _model_scores(features, lo, hi, weights, out):
    """Weights . features of rows lo .. hi-1 into out."""
    for i in range(hi - lo):
        out[i] = 0.0
    for f in range(len(weights)):
        for i in range(hi - lo):
            out[i] += weights[f] * features[f, lo + i]


@njit(cache=True, nogil=True)
def _step(features, statistics, lo, scores, gains, weights, background, c, decay, model_background):
    """Hope, fear, and one step of the weights (Cherry & Foster 2012, lines 4-8). Returns the
    loss before the step, 0 without one, and whether the pseudo-corpus grew."""
    hope = 0
    fear = 0
    model = 0
    for i in range(1, len(scores)):
        if scores[i] + gains[i] > scores[hope] + gains[hope]:
            hope = i
        if scores[i] - gains[i] > scores[fear] - gains[fear]:
            fear = i
        if scores[i] > scores[model]:
            model = i
    if hope == fear:
        return 0.0, False
    norm = 0.0
    margin = 0.0
    for f in range(len(weights)):
        d = float(features[f, lo + hope]) - float(features[f, lo + fear])
        norm += d * d
        margin += weights[f] * d
    loss = gains[hope] - gains[fear] - margin
    if loss > 0.0 and norm > 0.0:
        eta = min(c, loss / norm)
        for f in range(len(weights)):
            weights[f] += eta * (float(features[f, lo + hope]) - float(features[f, lo + fear]))
    else:
        loss = 0.0
    row = lo + (model if model_background else hope)
    for k in range(len(background)):
        background[k] = background[k] * decay + statistics[row, k]
    return loss, True


@njit(cache=True, nogil=True)
def _bleu_epoch(
    features, statistics, offsets, order, bleu_order, weights, total, background, c, decay,
    model_background,
):  # fmt: skip
    """An epoch with the BLEU of the pseudo-corpus in the kernel."""
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    scores = np.empty(longest)
    gains = np.empty(longest)
    loss = 0.0
    updates = 0
    for s in order:
        lo = offsets[s]
        n = offsets[s + 1] - lo
        _model_scores(features, lo, lo + n, weights, scores)
        _background_bleu(statistics, lo, n, bleu_order, background, gains)
        this, _ = _step(
            features, statistics, lo, scores[:n], gains[:n], weights, background, c, decay,
            model_background,
        )  # fmt: skip
        for f in range(len(weights)):
            total[f] += weights[f]
        loss += this
        updates += this > 0.0
    return loss, updates


@njit(cache=True, nogil=True)
def _background_bleu(statistics, lo, n, order, background, out):
    """BLEU (0 .. 1) of the background with each of n rows, times its reference length; 0
    without a match of every order."""
    for i in range(n):
        product = 1.0
        for k in range(order):
            matches = background[k] + statistics[lo + i, k]
            product *= matches / max(background[order + k] + statistics[lo + i, order + k], 1e-9)
        length = background[2 * order] + statistics[lo + i, 2 * order]
        words = background[2 * order + 1] + statistics[lo + i, 2 * order + 1]
        value = np.sqrt(np.sqrt(product)) if order == 4 else product ** (1.0 / order)
        if length < words:
            value *= np.exp(1.0 - words / length) if length > 0 else 0.0
        out[i] = value * words
