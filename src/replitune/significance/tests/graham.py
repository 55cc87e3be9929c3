"""Bootstrap shifted to the null hypothesis, one replica of each (Graham et al. 2014, Fig. 2).

Bootstrap test sets are drawn, the same for both systems. Their differences delta_b scatter around
their mean tau, which is close to the observed difference; subtracting tau gives the distribution
under the null hypothesis of no difference:

    two-sided   c = #{abs(delta_b - tau) >= abs(delta)}      p = (c + 1) / (R + 1)
    one-sided   c = #{delta_b - tau >= delta}
"""

from __future__ import annotations

import numpy as np

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, TestResult
from replitune.significance.counting import Contrast, expected_shift, folded_iv, one_each
from replitune.significance.draws import Draws, draws_of, one_replica_deltas


@iv.significance_test(cited="the shifted paired bootstrap (Graham et al., 2014)")
def graham(
    comparison: Comparison,
    *,
    rng: np.random.Generator | None = None,
    draws: Draws | None = None,
    samples: int = 10_000,
    alternative: iv.Alternative = "two-sided",
    alpha: float = 0.05,
    replica: iv.ReplicaId = "median",
    replica_a: iv.ReplicaOfA = None,
    replica_b: iv.ReplicaOfB = None,
    unit: iv.Unit = "segment",
    compat: iv.Folded = None,
) -> TestResult:
    """One replica of A against one of B."""
    folded_iv(compat, alternative)
    r, s = iv.select_replicas(comparison, replica_a or replica, replica_b or replica)
    contrast = Contrast("graham", comparison, alternative, unit, replicas=(r, s))
    segments = draws_of(rng, draws).segments
    deltas = one_replica_deltas(comparison, (r, s), segments, unit, samples)
    a, b = comparison.a.statistics, comparison.b.statistics
    same = bool(np.array_equal(a[r], b[s]))
    shift = expected_shift(comparison, deltas, contrast.delta, unit)
    return contrast.shift_row(deltas, shift, compat, same, one_each(comparison), alpha=alpha)
