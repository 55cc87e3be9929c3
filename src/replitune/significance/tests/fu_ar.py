"""Approximate randomisation of whole test sets (Fu et al. 2016, Table 4).

Replica m of X and replica m of Y exchange all their outputs with probability 1/2; the statistic
is the absolute difference of the mean replica scores. With M pairs there are 2^M arrangements,
and they come in mirror images: no p below 2/2^M.

A small p generalises to new runs translating *this* test set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import product
from replitune.notes import note
from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.counting import Exchanged, not_paired
from replitune.significance.interface import Context, SignificanceTest


@dataclass(frozen=True)
class FuAr(SignificanceTest):
    """A against B by their replica scores; needs n_A = n_B.

    Replicas are paired by id where both systems have the same ids, otherwise in stored order
    (within each group unless `strata` is "none"); the note says so.
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
