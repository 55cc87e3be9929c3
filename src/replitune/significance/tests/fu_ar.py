"""Approximate randomization of whole test sets (Fu et al. 2016, Table 4).

Replica m of X and replica m of Y exchange all their outputs with probability 1/2; the statistic
is the absolute difference of the mean replica scores. With M pairs there are 2^M arrangements,
and they come in mirror images: no p below 2/2^M.

A small p speaks of new tuner runs translating *this* test set.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, Note, TestResult
from replitune.significance.counting import oriented, p_value, result, smallest_p, tolerance


def fu_ar(
    comparison: Comparison,
    *,
    rng: np.random.Generator,
    samples: int = 10_000,
    alternative: str = "two-sided",
    strata: str = "groups",
) -> TestResult:
    """Test A against B by their replica scores; needs n_A = n_B.

    Replicas are paired by id where both systems have the same ids, otherwise in stored order
    (within each group unless `strata` is "none"); the note says so.
    """
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.one_of("strata", strata, iv.STRATA)
    iv.comparison_iv(comparison)
    a, b, metric = comparison.a, comparison.b, comparison.metric
    score_a, score_b = iv.aggregate_scores(comparison, "mean")
    row = {
        "method": "fu-ar",
        "alternative": alternative,
        "unit": "replica",
        "aggregation": "mean",
        "generalises_to": "new tuner runs",
        "pairing": "index",
    }
    if a.n != b.n:
        text = (
            f"replicas cannot be paired: {a.n} of {a.name}, {b.n} of {b.name}; "
            "use replica-permutation"
        )
        notes = (Note("not-paired", text),)
        return result(comparison, score_a, score_b, p=None, notes=notes, **row)
    in_a, in_b, how = iv.pair_replicas(a, b, strata)
    differences = comparison.scores_b[in_b] - comparison.scores_a[in_a]
    log_arrangements = a.n * math.log(2)
    exact = a.n < 63 and 2**a.n <= samples
    deltas = signs(a.n, samples, exact, rng) @ differences / a.n
    p = p_value(
        oriented(deltas, alternative, metric),
        float(oriented(score_b - score_a, alternative, metric)),
        tolerance(score_a, score_b),
        exact,
    )
    return result(
        comparison,
        score_a,
        score_b,
        p=p,
        p_min=smallest_p(samples, exact, log_arrangements, mirrored=alternative == "two-sided"),
        exact=exact,
        samples=len(deltas),
        notes=(Note("paired", f"replicas paired {'by' if how == 'replica id' else 'in'} {how}"),),
        distribution=deltas,
        **row,
    )


def signs(pairs: int, samples: int, exact: bool, rng: np.random.Generator) -> NDArray[np.float64]:
    """(C, pairs) of +1 and -1: all 2^pairs when exact, else `samples` random rows."""
    if exact:
        swapped = (np.arange(2**pairs)[:, np.newaxis] >> np.arange(pairs)) & 1
    else:
        swapped = rng.integers(0, 2, size=(samples, pairs), dtype=np.int8)
    return np.where(swapped == 1, -1.0, 1.0)
