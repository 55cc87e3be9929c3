"""Pairwise ranking optimisation (Hopkins & May 2011).

Pairs of hypotheses of a segment are sampled; those whose sentence scores differ most train a
linear classifier on their feature differences, and its weights are the new ones. For BLEU, the
sentence score is BLEU+1 (Lin & Och 2004), with the repairs of Nakov, Guzmán & Vogel (2012) as
options; for another metric, it is the score on the segment alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot, exp, power, solve
from replitune.errors import ReplituneError
from replitune.settings import about
from replitune.tuning.interface import Tuner, TuningResult, Vector, l1_normalised

if TYPE_CHECKING:
    from replitune.tuning.objective import Objective
    from replitune.tuning.pool import Pool

GRADIENT, GAIN, EVALUATIONS = 1e-5, 1e-9, 100
"""The classifier is fitted when no element of the gradient is larger, when a step lowers the loss by no
larger share, or after so many evaluations."""


@dataclass(frozen=True)
class Pro(Tuner):
    """Pairwise ranking optimisation. Gamma, Xi and psi are names in the paper; `threshold` is that of its
    function alpha."""

    name = "pro"

    samples: Annotated[int, about("Pairs drawn per segment (Gamma).", ge=1)] = 5000
    kept: Annotated[
        int, about("Pairs kept per segment, those with the largest differences (Xi).", ge=1)
    ] = 50
    threshold: Annotated[
        float,
        about(
            "Pairs are used only if their sentence scores (0 .. 1) differ by more than this.", ge=0, lt=1
        ),
    ] = 0.05
    l2: Annotated[
        float, about("Penalty added to the summed log loss: l2 / 2 times the sum of squared weights.", ge=0)
    ] = 1.0
    interpolation: Annotated[
        Literal["line"] | Annotated[float, about(gt=0, le=1)],
        about(
            "Share of the classifier's weights in the new ones (psi); the rest is the start's, both with "
            "L1 norm 1. A number (1: the classifier's alone; 0.1 in the paper), or `line`, where an exact "
            "line search between and beyond the two finds the best corpus score."
        ),
    ] = "line"
    smooth_brevity: Annotated[
        float,
        about(
            "Added to the reference length (1 in Nakov et al., 4.1); without it, outputs are too short.",
            ge=0,
        ),
    ] = 0.5
    unclipped_brevity: Annotated[bool, about("Let the brevity penalty reward long outputs (4.4).")] = False
    grounded: Annotated[
        bool, about("Subtract from the precision part what BLEU+1 gives without any match (4.3).")
    ] = False

    def tune(
        self, pool: Pool, objective: Objective, start: Vector, rng: np.random.Generator, threads: int = 1
    ) -> TuningResult:
        """Weights of the classifier, interpolated with the start's."""
        from replitune.tuning.pro_kernel import sample

        objective.require_choice(pool)
        worth = self.sentence_scores(pool, objective)
        pairs = sample(
            worth,
            pool.offsets,
            np.uint64(rng.integers(2**64, dtype=np.uint64)),
            self.samples,
            self.kept,
            self.threshold,
        )
        if not len(pairs):
            raise ReplituneError(
                "pro: no pair of hypotheses differs enough in its sentence score",
                expected=f"pairs that differ by more than {self.threshold}",
                fix="lower the threshold, or give longer n-best lists",
            )
        differences = pool.features[:, pairs[:, 0]] - pool.features[:, pairs[:, 1]].astype(float)
        fitted, loss, evaluations = fit_logistic(np.ascontiguousarray(differences.T), self.l2)
        weights = self._interpolated(pool, objective, l1_normalised(fitted), l1_normalised(start))
        used = len(np.unique(np.searchsorted(pool.offsets, pairs[:, 0], side="right")))
        score = objective.score(pool, weights)
        record = {
            "pairs": len(pairs),
            "segments": used,
            "segments_without_pairs": pool.n_segments - used,
            "loss": loss,
            "evaluations": evaluations,
            "score": score,
        }
        return TuningResult(weights, score, (record,))

    def _interpolated(
        self, pool: Pool, objective: Objective, fitted: NDArray[np.float64], start: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if isinstance(self.interpolation, str):
            from replitune.tuning.linesearch import PoolSearch

            search = PoolSearch(pool, objective)
            point = search.at(fitted)
            point.search(search.along(start - fitted))
            return l1_normalised(point.weights)
        return l1_normalised(self.interpolation * fitted + (1.0 - self.interpolation) * start)

    def sentence_scores(self, pool: Pool, objective: Objective) -> NDArray[np.float64]:
        """(H,) sentence scores, 0 .. 1, larger is better."""
        if not objective.bleu_order:
            return objective.utility(pool.statistics) / 100.0
        return bleu_plus_one(
            pool.statistics,
            objective.bleu_order,
            smooth_brevity=self.smooth_brevity,
            unclipped_brevity=self.unclipped_brevity,
            grounded=self.grounded,
        )


def bleu_plus_one(
    statistics: NDArray,
    order: int,
    *,
    smooth_brevity: float = 0.0,
    unclipped_brevity: bool = False,
    grounded: bool = False,
) -> NDArray[np.float64]:
    """(H,) sentence BLEU+1, 0 .. 1, of statistics (H, 2 order + 2)."""
    z = np.asarray(statistics, dtype=np.float64)
    one = np.ones(order)
    one[0] = 0.0
    matches, totals = z[:, :order] + one, np.maximum(z[:, order : 2 * order] + one, 1.0)
    length, words = np.maximum(z[:, -2], 1.0), z[:, -1] + smooth_brevity
    precision = power(np.prod(matches / totals, axis=1), 1.0 / order)
    if grounded:
        # Unigrams are not smoothed, so one unigram match stands in for no match at all.
        nothing = power(np.prod(np.maximum(one, 1.0) / totals, axis=1), 1.0 / order)
        precision = np.maximum(precision - nothing, 0.0)
    brevity = 1.0 - words / length
    if not unclipped_brevity:
        brevity = np.minimum(brevity, 0.0)
    return precision * exp(brevity)


def fit_logistic(differences: NDArray[np.float64], l2: float) -> tuple[NDArray[np.float64], float, int]:
    """Weights (F,) of the logistic regression in which each row of (M, F) is a positive example (and
    its negative a negative one), the loss per row, and the number of evaluations; by Newton's method,
    halving steps that do not lower the loss enough."""
    from replitune.tuning.pro_kernel import logistic

    size = differences.shape[1]

    def loss(weights: Vector) -> tuple[float, Vector, NDArray[np.float64]]:
        value, gradient, curvature = logistic(differences, weights)
        ridge = l2 + 1e-12 * float(curvature.trace())  # without l2 it may have no inverse
        value += 0.5 * l2 * dot(weights, weights)
        return value, gradient + l2 * weights, curvature + ridge * np.eye(size)

    weights, evaluations = np.zeros(size), 1
    value, gradient, curvature = loss(weights)
    while np.abs(gradient).max() > GRADIENT and evaluations < EVALUATIONS:
        step, part = solve(curvature, gradient), 1.0
        trial = loss(weights - step)
        evaluations += 1
        while trial[0] > value - 1e-4 * part * dot(step, gradient) and evaluations < EVALUATIONS:
            part /= 2
            trial = loss(weights - part * step)
            evaluations += 1
        gain = value - trial[0]
        if gain < 0:
            break
        weights = weights - part * step
        value, gradient, curvature = trial
        if gain <= GAIN * max(value, 1.0):
            break
    return weights, value / len(differences), evaluations
