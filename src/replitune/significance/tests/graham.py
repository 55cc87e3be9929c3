"""Bootstrap shifted to the null hypothesis, one replica of each (Graham et al. 2014, Fig. 2).

Bootstrap test sets are drawn, the same for both systems. Their differences delta_b scatter about
the observed one, tau on average; taking tau away gives the distribution under the null
hypothesis of no difference:

    two-sided   c = #{abs(delta_b - tau) >= abs(delta)}      p = (c + 1) / (R + 1)
    one-sided   c = #{delta_b - tau >= delta}
"""

from __future__ import annotations

import numpy as np

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, TestResult, some
from replitune.significance.counting import (
    ONE_REPLICA_NOTE,
    compat_iv,
    percentile_interval,
    result,
    shifted_p,
    tolerance,
    zero_variance,
)
from replitune.significance.draws import Draws, draws_of, one_replica_deltas


def graham(
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
    compat: str | None = None,
) -> TestResult:
    """Test one replica of A against one of B.

    Parameters
    ----------
    replica, replica_a, replica_b : {"median", <id>}
        As for `riezler`.
    unit : {"segment", "document"}
        What is drawn.
    compat : {"folded"}, optional
        Count as sacrebleu's `--paired-bs` does; not a valid test.
    """
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.between_0_and_1("alpha", alpha)
    iv.one_of("unit", unit, iv.UNITS)
    compat_iv(compat, alternative)
    iv.comparison_iv(comparison)
    shared = draws_of(rng, segment_rng, draws)
    metric, a, b = comparison.metric, comparison.a, comparison.b
    r = iv.select_replica(metric, a, comparison.scores_a, replica_a or replica)
    s = iv.select_replica(metric, b, comparison.scores_b, replica_b or replica)
    deltas = one_replica_deltas(comparison, r, s, shared.segments, unit, samples)
    score_a, score_b = float(comparison.scores_a[r]), float(comparison.scores_b[s])
    slack = tolerance(score_a, score_b)
    same = a.statistics.dtype == b.statistics.dtype and bool(
        np.array_equal(a.statistics[r], b.statistics[s])
    )
    p, note = shifted_p(deltas, score_b - score_a, slack, alternative, metric, compat, same)
    interval = None if zero_variance(deltas, slack) else percentile_interval(deltas, 1 - alpha)
    return result(
        comparison,
        score_a,
        score_b,
        method="graham",
        p=p,
        alternative=alternative,
        unit=unit,
        aggregation="mean",
        generalises_to=f"new {unit}s",
        ci_low=interval[0] if interval else None,
        ci_high=interval[1] if interval else None,
        p_min=1 / (samples + 1),
        replica_a=a.replicas[r],
        replica_b=b.replicas[s],
        samples=samples,
        notes=some(note, ONE_REPLICA_NOTE if a.n == b.n == 1 else None),
        distribution=deltas,
    )
