"""Bootstrap shifted to the null hypothesis, one replica of each (Graham et al. 2014, Fig. 2).

Bootstrap test sets are drawn, the same for both systems. Their differences delta_b scatter around
their mean tau, which is close to the observed difference; subtracting tau gives the distribution
under the null hypothesis of no difference:

    two-sided   c = #{abs(delta_b - tau) >= abs(delta)}      p = (c + 1) / (R + 1)
    one-sided   c = #{delta_b - tau >= delta}
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.counting import expected_shift, folded_iv, one_each
from replitune.significance.draws import one_replica_deltas
from replitune.significance.interface import Context, SignificanceTest


@dataclass(frozen=True)
class Graham(SignificanceTest):
    """One replica of A against one of B."""

    name = "graham"
    cited = "the shifted paired bootstrap (Graham et al., 2014)"

    alternative: iv.Alternative = "two-sided"
    replica: iv.ReplicaId = "median"
    replica_a: iv.ReplicaOfA = None
    replica_b: iv.ReplicaOfB = None
    unit: iv.Unit = "segment"
    compat: iv.Folded = None

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        folded_iv(self.compat, self.alternative)
        r, s = iv.select_replicas(comparison, self.replica, self.replica_a, self.replica_b)
        contrast = context.contrast(self, self.unit, replicas=(r, s))
        segments = context.draws.segments
        deltas = one_replica_deltas(comparison, (r, s), segments, self.unit, context.samples)
        a, b = comparison.a.statistics, comparison.b.statistics
        same = bool(np.array_equal(a[r], b[s]))
        shift = expected_shift(comparison, deltas, contrast.delta, self.unit)
        return contrast.shift_row(
            deltas, shift, self.compat, same, one_each(comparison), alpha=context.alpha
        )
