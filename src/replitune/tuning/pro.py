"""Pairwise ranking optimisation (Hopkins & May 2011).

Pairs of hypotheses of a segment are sampled; those whose sentence scores differ most train a
linear classifier of their feature differences, whose weights are the new ones. The sentence
score of BLEU is BLEU+1 (Lin & Och 2004), with the repairs of Nakov, Guzmán & Vogel (2012) as
options; of another metric, its score on the segment alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.tuning.interface import TuningResult, l1_normalised
from replitune.tuning.mert import PoolSearch
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool


@dataclass(frozen=True)
class Pro:
    """PRO and its settings; names in the paper: Gamma, Xi, alpha's threshold, and psi."""

    samples: int = 5000
    """Pairs drawn per segment (Gamma)."""
    kept: int = 50
    """Pairs kept per segment, those with the largest differences (Xi)."""
    threshold: float = 0.05
    """Pairs whose sentence scores (0 .. 1) differ by less are not used."""
    l2: float = 1.0
    """Penalty: l2 / 2 times the squared weights, beside the summed log loss."""
    interpolation: float | str = "line"
    """Share of the new weights (psi), the rest being the start's, both with L1 norm 1: a number
    (1 for the classifier's alone, the paper has 0.1), or "line", where an exact line search
    between and beyond the two finds the best corpus score."""
    smooth_brevity: float = 0.5
    """Added to the reference length, 1 in Nakov et al., 4.1: without it PRO's outputs are short."""
    unclipped_brevity: bool = False
    """Let the brevity penalty reward long outputs (4.4)."""
    grounded: bool = False
    """Subtract from the precision part what BLEU+1 gives without any match (4.3)."""
    name: str = field(default="pro", init=False)

    def __post_init__(self) -> None:
        for what, good, expected in (
            ("samples", self.samples >= 1, "1 or more"),
            ("kept", self.kept >= 1, "1 or more"),
            ("threshold", 0 <= self.threshold < 1, "from 0, below 1"),
            ("l2", self.l2 >= 0, "0 or more"),
            (
                "interpolation",
                self.interpolation == "line"
                or (not isinstance(self.interpolation, str) and 0 < self.interpolation <= 1),
                "line, or a number above 0, at most 1",
            ),
            ("smooth_brevity", 0 <= self.smooth_brevity < np.inf, "0 or more"),
        ):
            if not good:
                raise ReplituneError(
                    f"pro: {what} is out of range",
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
        """Weights of the classifier, interpolated with the start's."""
        pool.require_lists()
        objective.require_choice(pool)
        worth = self.sentence_scores(pool, objective)
        pairs = _sample(
            worth, pool.offsets, np.uint64(rng.integers(2**64, dtype=np.uint64)),
            self.samples, self.kept, self.threshold,
        )  # fmt: skip
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
        self,
        pool: Pool,
        objective: Objective,
        fitted: NDArray[np.float64],
        start: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        if isinstance(self.interpolation, str):
            point = PoolSearch(pool, objective).at(fitted)
            point.search(start - fitted)
            return l1_normalised(point.weights)
        return l1_normalised(self.interpolation * fitted + (1.0 - self.interpolation) * start)

    def sentence_scores(self, pool: Pool, objective: Objective) -> NDArray[np.float64]:
        """(H,) sentence scores, 0 .. 1, larger is better."""
        if not objective.bleu_order:
            return objective.utility(pool.statistics) / 100.0
        return bleu_plus_one(
            pool.statistics, objective.bleu_order, smooth_brevity=self.smooth_brevity,
            unclipped_brevity=self.unclipped_brevity, grounded=self.grounded,
        )  # fmt: skip


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
    precision = np.prod(matches / totals, axis=1) ** (1.0 / order)
    if grounded:
        # Unigrams are not smoothed, so what is left without a match is that of one unigram.
        nothing = np.prod(np.maximum(one, 1.0) / totals, axis=1) ** (1.0 / order)
        precision = np.maximum(precision - nothing, 0.0)
    brevity = 1.0 - words / length
    if not unclipped_brevity:
        brevity = np.minimum(brevity, 0.0)
    return precision * np.exp(brevity)


def fit_logistic(
    differences: NDArray[np.float64], l2: float
) -> tuple[NDArray[np.float64], float, int]:
    """Weights (F,) of the logistic regression on which each row of (M, F) is a positive
    example (and its negative a negative one), the loss per row, and evaluations used."""
    from scipy.optimize import minimize

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = _logistic(differences, weights)
        return value + 0.5 * l2 * float(weights @ weights), gradient + l2 * weights

    found = minimize(
        loss, np.zeros(differences.shape[1]), jac=True, method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-9, "gtol": 1e-5},
    )  # fmt: skip
    return found.x, float(found.fun) / len(differences), int(found.nfev)


@njit(cache=True, nogil=True)
def _logistic(differences, weights):
    """Summed log loss log(1 + exp(-w.x)) of rows x, and its gradient."""
    F = len(weights)
    gradient = np.zeros(F)
    loss = 0.0
    for i in range(len(differences)):
        margin = 0.0
        for f in range(F):
            margin += weights[f] * differences[i, f]
        small = np.exp(-abs(margin))
        loss += np.log(1.0 + small) + max(-margin, 0.0)
        slope = -small / (1.0 + small) if margin > 0 else -1.0 / (1.0 + small)
        for f in range(F):
            gradient[f] += slope * differences[i, f]
    return loss, gradient


@njit(cache=True, nogil=True)
def _sample(worth, offsets, key, samples, kept, threshold):
    """(M, 2) rows (better, worse) of the kept pairs of all segments, of each segment those
    with the largest differences; of equal ones those drawn first.

    Draw j of segment s is a hash of (key, s, j), so a segment's pairs depend on no other's.
    """
    N = len(offsets) - 1
    out = np.empty((N * kept, 2), dtype=np.int64)
    gaps = np.empty(kept)
    m = 0
    for s in range(N):
        lo = offsets[s]
        n = np.uint64(offsets[s + 1] - lo)
        state = _mix(key ^ _mix(np.uint64(s)))
        count = 0
        least = threshold
        for _ in range(samples if n > 1 else 0):
            state += np.uint64(0x9E3779B97F4A7C15)
            bits = _mix(state)
            i = lo + np.int64(((bits >> np.uint64(32)) * n) >> np.uint64(32))
            j = lo + np.int64(((bits & np.uint64(0xFFFFFFFF)) * n) >> np.uint64(32))
            gap = worth[i] - worth[j]
            if abs(gap) <= least:
                continue
            # insertion into the kept pairs, largest difference first
            place = min(count, kept - 1)
            while place > 0 and gaps[place - 1] < abs(gap):
                gaps[place] = gaps[place - 1]
                out[m + place] = out[m + place - 1]
                place -= 1
            gaps[place] = abs(gap)
            out[m + place, 0] = i if gap > 0 else j
            out[m + place, 1] = j if gap > 0 else i
            if count < kept:
                count += 1
            if count == kept:
                least = gaps[kept - 1]
        m += count
    return out[:m].copy()


@njit(cache=True, inline="always")
def _mix(h):
    """The finaliser of splitmix64."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))
