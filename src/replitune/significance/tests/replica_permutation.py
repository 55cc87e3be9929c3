"""Permutation test of replica scores: `fu-ar` without its arbitrary pairing.

All C(n_A + n_B, n_A) splits of the replicas into X and Y are equally likely under the null
hypothesis, since replicas of one system have no partner in the other. Enumerated when there are
no more than samples asked for. Five replicas each have 252 splits, where pairs have 32
arrangements: p can go down to 2/252 and not just 2/32.

For n_A = n_B the statistic is the difference of means. Otherwise it is Welch's t: with unequal n
and unequal variances the difference of means does not keep its level, t does for large n (Janssen
1997); and then no split is another's mirror image, so that p can go down to 1/C.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, Note, TestResult, some
from replitune.significance.counting import oriented, p_value, result, smallest_p, tolerance
from replitune.significance.exchange import Strata


def replica_permutation(
    comparison: Comparison,
    *,
    rng: np.random.Generator,
    samples: int = 10_000,
    alternative: str = "two-sided",
    strata: str = "groups",
) -> TestResult:
    """Test A against B by their replica scores, splitting within each group of replicas."""
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.one_of("strata", strata, iv.STRATA)
    iv.comparison_iv(comparison)
    a, b, metric = comparison.a, comparison.b, comparison.metric
    score_a, score_b = iv.aggregate_scores(comparison, "mean")
    found = iv.strata_of(a, b, strata)
    splits = math.prod(math.comb(len(x) + len(y), len(x)) for x, y in found)
    exact = splits <= samples
    in_x = enumerate_splits(found, a.n) if exact else draw_splits(found, a.n, samples, rng)
    scores = np.concatenate([comparison.scores_a, comparison.scores_b])
    observed = np.zeros((1, a.n + b.n), dtype=bool)
    observed[0, : a.n] = True
    welch = a.n != b.n and min(a.n, b.n) > 1
    deltas = _differences(scores, in_x)
    if welch:
        statistics, at = _welch(scores, in_x), float(_welch(scores, observed)[0])
        slack = 1e-10 * abs(at) if math.isfinite(at) else 0.0
    else:
        statistics, at = deltas, score_b - score_a
        slack = tolerance(score_a, score_b)
    p = p_value(
        oriented(statistics, alternative, metric),
        float(oriented(at, alternative, metric)),
        slack,
        exact,
    )
    mirrored = alternative == "two-sided" and a.n == b.n
    return result(
        comparison,
        score_a,
        score_b,
        method="replica-permutation",
        p=p,
        alternative=alternative,
        unit="replica",
        aggregation="mean",
        generalises_to="new tuner runs",
        p_min=smallest_p(samples, exact, math.log(splits), mirrored),
        exact=exact,
        pairing="free",
        samples=len(deltas),
        notes=some(Note("welch", "Welch's t, since n differs") if welch else None),
        distribution=deltas,
    )


def _differences(scores: NDArray[np.float64], in_x: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(C,) mean of Y minus mean of X."""
    n_x = int(in_x[0].sum())
    n_y = len(scores) - n_x
    centre = scores - scores.mean()
    x = in_x @ centre
    return (centre.sum() - x) / n_y - x / n_x


def _welch(scores: NDArray[np.float64], in_x: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(C,) difference of means over sqrt(s_X^2 / n_X + s_Y^2 / n_Y); infinite when that is 0."""
    # Rounding must not tell one zero from another: variances are of well-scaled deviations.
    centre = scores - scores.mean()
    scale = np.abs(centre).max(initial=0)
    if scale <= 1e-10 * np.abs(scores).max(initial=0):
        return np.zeros(len(in_x))
    centre = centre / scale
    variance = np.zeros(len(in_x))
    for side in (in_x, ~in_x):
        n = int(side[0].sum())
        mean = side @ centre / n
        squares = np.where(side, (centre - mean[:, np.newaxis]) ** 2, 0).sum(axis=1)
        variance += squares / (n - 1) / n
    difference = _differences(centre, in_x)
    difference[np.abs(difference) < 1e-12] = 0
    constant = variance < 1e-24
    t = difference / np.sqrt(np.where(constant, 1, variance))
    t[constant] = np.where(difference[constant] == 0, 0, np.inf * np.sign(difference[constant]))
    return t


def enumerate_splits(strata: Strata, n_a: int) -> NDArray[np.bool_]:
    """(C, n_A + n_B) who is in X, for every split; the observed one first."""
    size = sum(len(x) + len(y) for x, y in strata)
    choices = []
    for x, y in strata:
        members = [*x.tolist(), *(n_a + y).tolist()]
        choices.append(list(itertools.combinations(members, len(x))))
    splits = list(itertools.product(*choices))
    in_x = np.zeros((len(splits), size), dtype=bool)
    for row, chosen in zip(in_x, splits, strict=True):
        row[[r for group in chosen for r in group]] = True
    return in_x


def draw_splits(
    strata: Strata, n_a: int, samples: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """(samples, n_A + n_B) who is in X, for random splits."""
    size = sum(len(x) + len(y) for x, y in strata)
    in_x = np.zeros((samples, size), dtype=bool)
    for x, y in strata:
        members = np.concatenate([x, n_a + y])
        order = rng.permuted(np.tile(members, (samples, 1)), axis=1)
        np.put_along_axis(in_x, order[:, : len(x)], True, axis=1)
    return in_x
