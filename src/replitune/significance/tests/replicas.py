"""Tests of the scores of runs on this test set: whole outputs change places."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import product
from replitune.notes import note
from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.counting import Exchanged, not_paired, oriented, p_value
from replitune.significance.interface import Context, SignificanceTest


class FuAr(SignificanceTest):
    """Approximate randomisation of whole test sets (Fu et al. 2016, Table 4); needs n_A = n_B.

    Replicas are paired by id where both systems have the same ids, otherwise in stored order
    (within each group unless `strata` is "none"); the note says so.

    Replica m of X and replica m of Y exchange all their outputs with probability 1/2; the statistic
    is the absolute difference of the mean replica scores. With M pairs there are 2^M arrangements,
    and they come in mirror images: no p below 2/2^M.

    A small p generalises to new runs translating *this* test set.
    """

    name = "fu-ar"
    cited = "approximate randomisation of whole-test-set scores (Fu et al., 2016)"

    alternative: iv.Alternative = "two-sided"
    strata: iv.Strata = "groups"

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        a, b = comparison.a, comparison.b
        contrast = context.contrast(self, "replica", scope="runs")
        if a.n != b.n:
            return contrast.row(None, not_paired(a, b, "`replica-permutation`"), pairing="index")
        in_a, in_b, how = iv.pair_replicas(a, b, self.strata)
        differences = comparison.scores_b[in_b] - comparison.scores_a[in_a]
        exact = a.n < 63 and 2**a.n <= context.samples
        deltas = product(signs(a.n, context.samples, exact, context.rng), differences) / a.n
        paired = note("paired", how="by id" if how == "replica id" else f"in {how}")
        exchanged = Exchanged(deltas, exact, a.n * math.log(2))
        return contrast.exchange_row(exchanged, context.samples, paired, pairing="index")


def signs(pairs: int, samples: int, exact: bool, rng: np.random.Generator) -> NDArray[np.float64]:
    """(C, pairs) of +1 and -1: all 2^pairs when exact, else `samples` random rows."""
    if exact:
        swapped = (np.arange(2**pairs)[:, np.newaxis] >> np.arange(pairs)) & 1
    else:
        swapped = rng.integers(0, 2, size=(samples, pairs), dtype=np.int8)
    return np.where(swapped == 1, -1.0, 1.0)


Groups = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


class ReplicaPermutation(SignificanceTest):
    """Permutation test of replica scores, within each group: `fu-ar` without its arbitrary pairing.

    All C(n_A + n_B, n_A) splits of the replicas into X and Y are equally likely under the null
    hypothesis, since replicas of one system have no partner in the other. They are enumerated if there
    are no more than samples asked for. Five replicas each have 252 splits, while pairs have 32
    arrangements: p can go down to 2/252, not just 2/32.

    For n_A = n_B the statistic is the difference of means. Otherwise it is Welch's t: with unequal n
    and unequal variances the difference of means does not keep its level, but t does for large n
    (Janssen 1997). Then no split is another's mirror image, and p can go down to 1/C.
    """

    name = "replica-permutation"
    cited = "the exact permutation test over replicas"

    alternative: iv.Alternative = "two-sided"
    strata: iv.Strata = "groups"

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        a, b, metric = comparison.a, comparison.b, comparison.metric
        contrast = context.contrast(self, "replica", scope="runs")
        groups = iv.strata_of(a, b, self.strata)
        samples, rng = context.samples, context.rng
        splits = math.prod(math.comb(len(x) + len(y), len(x)) for x, y in groups)
        exact = splits <= samples
        in_x = enumerate_splits(groups, a.n) if exact else draw_splits(groups, a.n, samples, rng)
        scores = np.concatenate([comparison.scores_a, comparison.scores_b])
        exchanged = Exchanged(_differences(scores, in_x), exact, math.log(splits))
        if a.n == b.n or min(a.n, b.n) == 1:
            return contrast.exchange_row(exchanged, samples, pairing="free")
        observed = np.zeros((1, a.n + b.n), dtype=bool)
        observed[0, : a.n] = True
        t = float(_welch(scores, observed)[0])
        p = p_value(
            oriented(_welch(scores, in_x), self.alternative, metric),
            float(oriented(t, self.alternative, metric)),
            1e-10 * abs(t) if math.isfinite(t) else 0.0,
            exact,
        )
        return contrast.exchange_row(exchanged, samples, note("welch"), p=p, pairing="free")


def _differences(scores: NDArray[np.float64], in_x: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(C,) mean of Y minus mean of X."""
    n_x = int(in_x[0].sum())
    n_y = len(scores) - n_x
    centre = scores - scores.mean()
    x = product(in_x, centre)
    return (centre.sum() - x) / n_y - x / n_x


def _welch(scores: NDArray[np.float64], in_x: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(C,) difference of means over sqrt(s_X^2 / n_X + s_Y^2 / n_Y); infinite when that is 0."""
    # Deviations are scaled, so that variances that are 0 up to rounding are recognised.
    centre = scores - scores.mean()
    scale = np.abs(centre).max(initial=0)
    if scale <= 1e-10 * np.abs(scores).max(initial=0):
        return np.zeros(len(in_x))
    centre = centre / scale
    variance = np.zeros(len(in_x))
    for side in (in_x, ~in_x):
        n = int(side[0].sum())
        mean = product(side, centre) / n
        squares = np.where(side, (centre - mean[:, np.newaxis]) ** 2, 0).sum(axis=1)
        variance += squares / (n - 1) / n
    difference = _differences(centre, in_x)
    difference[np.abs(difference) < 1e-12] = 0
    constant = variance < 1e-24
    t = difference / np.sqrt(np.where(constant, 1, variance))
    t[constant] = np.where(difference[constant] == 0, 0, np.inf * np.sign(difference[constant]))
    return t


def enumerate_splits(strata: Groups, n_a: int) -> NDArray[np.bool_]:
    """(C, n_A + n_B) which replicas are in X, for every split; the observed one first."""
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


def draw_splits(strata: Groups, n_a: int, samples: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(samples, n_A + n_B) which replicas are in X, for random splits."""
    size = sum(len(x) + len(y) for x, y in strata)
    in_x = np.zeros((samples, size), dtype=bool)
    for x, y in strata:
        members = np.concatenate([x, n_a + y])
        order = rng.permuted(np.tile(members, (samples, 1)), axis=1)
        np.put_along_axis(in_x, order[:, : len(x)], True, axis=1)
    return in_x
