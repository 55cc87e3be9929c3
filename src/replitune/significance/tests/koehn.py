"""Paired bootstrap resampling, one replica of each system (Koehn 2004; Neubig, Algorithm 5).

Bootstrap test sets are drawn, the same for both systems, and the systems are compared on each:
the fraction of test sets that B wins says how sure one may be that B is better.

    p_B = (#{delta_b <= 0} + 1) / (R + 1)      p_A = (#{delta_b >= 0} + 1) / (R + 1)

p is p_B for "B better", and min(1, 2 min(p_A, p_B)) two-sided. Ties count against both.
"""

from __future__ import annotations

import numpy as np

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, TestResult, some
from replitune.significance.counting import (
    ONE_REPLICA_NOTE,
    ZERO_VARIANCE_NOTE,
    percentile_interval,
    result,
    tolerance,
    zero_variance,
)
from replitune.significance.draws import Draws, draws_of, one_replica_deltas


def koehn(
    comparison: Comparison,
    *,
    rng: np.random.Generator | None = None,
    segment_rng: np.random.Generator | None = None,
    draws: Draws | None = None,
    samples: int = 10_000,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    replica: str = "median",
    replica_a: str | None = None,
    replica_b: str | None = None,
    unit: str = "segment",
) -> TestResult:
    """Test one replica of A against one of B.

    `details` has the fractions of test sets that B won, lost and tied.

    Parameters
    ----------
    replica, replica_a, replica_b : {"median", <id>}
        As for `riezler`.
    unit : {"segment", "document"}
        What is drawn.
    """
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.between_0_and_1("alpha", alpha)
    iv.one_of("unit", unit, iv.UNITS)
    iv.comparison_iv(comparison)
    shared = draws_of(rng, segment_rng, draws)
    metric, a, b = comparison.metric, comparison.a, comparison.b
    r = iv.select_replica(metric, a, comparison.scores_a, replica_a or replica)
    s = iv.select_replica(metric, b, comparison.scores_b, replica_b or replica)
    deltas = one_replica_deltas(comparison, r, s, shared.segments, unit, samples)
    score_a, score_b = float(comparison.scores_a[r]), float(comparison.scores_b[s])
    slack = tolerance(score_a, score_b)
    gains = deltas if metric.higher_is_better else -deltas
    won = int(np.count_nonzero(gains > slack))
    lost = int(np.count_nonzero(gains < -slack))
    tied = samples - won - lost
    p_b, p_a = (lost + tied + 1) / (samples + 1), (won + tied + 1) / (samples + 1)
    p: float | None = {"greater": p_b, "less": p_a}.get(alternative, min(1.0, 2 * min(p_a, p_b)))
    constant = abs(score_b - score_a) > slack and zero_variance(deltas, slack)
    low, high = percentile_interval(deltas, 1 - alpha)
    return result(
        comparison,
        score_a,
        score_b,
        method="koehn",
        p=None if constant else p,
        alternative=alternative,
        unit=unit,
        aggregation="mean",
        generalises_to=f"new {unit}s",
        ci_low=None if constant else low,
        ci_high=None if constant else high,
        p_min=min(1.0, (2 if alternative == "two-sided" else 1) / (samples + 1)),
        replica_a=a.replicas[r],
        replica_b=b.replicas[s],
        samples=samples,
        notes=some(
            ZERO_VARIANCE_NOTE if constant else None,
            ONE_REPLICA_NOTE if a.n == b.n == 1 else None,
        ),
        details={"won": won / samples, "lost": lost / samples, "tied": tied / samples},
        distribution=deltas,
    )
