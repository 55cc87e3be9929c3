"""Bootstrap of whole test sets (Fu et al. 2016, Table 3).

M of X's replica scores and M of Y's are drawn with replacement, independently; the differences
of their means are shifted to the null hypothesis as in `graham`.

A bootstrap of n scores has (n - 1)/n of the variance it should have. Measured, a nominal .05 is
about .30, .19, .12, .08 at n = 2, 3, 5, 10.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, Note, TestResult, some
from replitune.significance.counting import (
    compat_iv,
    few_replicas,
    identical,
    percentile_interval,
    result,
    shifted_p,
    tolerance,
    zero_variance,
)
from replitune.statistics.systems import SystemStatistics

ONE_REPLICA_NOTE = Note("one-replica", "one replica has no variance to draw from")


def fu_bootstrap(
    comparison: Comparison,
    *,
    rng: np.random.Generator,
    samples: int = 10_000,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    strata: str = "groups",
    compat: str | None = None,
) -> TestResult:
    """Test A against B by their replica scores.

    Parameters
    ----------
    strata : {"groups", "none"}
        "groups": as many draws from each group of replicas as it has members.
    compat : {"folded"}, optional
        Count as Fu et al. 2016 do; not a valid test.
    """
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.between_0_and_1("alpha", alpha)
    iv.one_of("strata", strata, iv.STRATA)
    compat_iv(compat, alternative)
    iv.comparison_iv(comparison)
    a, b, metric = comparison.a, comparison.b, comparison.metric
    iv.strata_of(a, b, strata)
    score_a, score_b = iv.aggregate_scores(comparison, "mean")
    row = {
        "method": "fu-bootstrap",
        "alternative": alternative,
        "unit": "replica",
        "aggregation": "mean",
        "generalises_to": "new tuner runs",
    }
    if min(a.n, b.n) == 1:
        return result(comparison, score_a, score_b, p=None, notes=(ONE_REPLICA_NOTE,), **row)
    mean_a = replica_counts(a, strata, samples, rng) @ comparison.scores_a / a.n
    mean_b = replica_counts(b, strata, samples, rng) @ comparison.scores_b / b.n
    deltas = mean_b - mean_a
    slack = tolerance(score_a, score_b)
    p, note = shifted_p(
        deltas, score_b - score_a, slack, alternative, metric, compat, identical(comparison)
    )
    interval = None if zero_variance(deltas, slack) else percentile_interval(deltas, 1 - alpha)
    return result(
        comparison,
        score_a,
        score_b,
        p=p,
        ci_low=interval[0] if interval else None,
        ci_high=interval[1] if interval else None,
        p_min=1 / (samples + 1),
        samples=samples,
        notes=some(note, few_replicas(a.n, b.n)),
        distribution=deltas,
        **row,
    )


def replica_counts(
    system: SystemStatistics, strata: str, samples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(samples, n) how often each replica is drawn: n draws, n_h of them from group h."""
    counts = np.zeros((samples, system.n))
    for members in iv.own_strata(system, strata):
        drawn = members[rng.integers(0, len(members), size=(samples, len(members)))]
        for column in drawn.T:
            counts[np.arange(samples), column] += 1
    return counts
