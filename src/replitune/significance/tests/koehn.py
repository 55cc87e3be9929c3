"""Paired bootstrap resampling, one replica of each system (Koehn 2004; Neubig, Algorithm 5).

Bootstrap test sets are drawn, the same for both systems, and the systems are compared on each.
The fraction of test sets that B wins shows how sure it is that B is better.

    p_B = (#{delta_b <= 0} + 1) / (R + 1)      p_A = (#{delta_b >= 0} + 1) / (R + 1)

p is p_B for "B better", and min(1, 2 min(p_A, p_B)) two-sided. Ties count against both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.notes import note
from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.counting import one_each, zero_variance
from replitune.significance.draws import one_replica_deltas
from replitune.significance.interface import Context, SignificanceTest


@dataclass(frozen=True)
class Koehn(SignificanceTest):
    """One replica of A against one of B; `details` has the fractions of test sets that B won,
    lost and tied."""

    name = "koehn"
    cited = "the paired bootstrap (Koehn, 2004)"

    alternative: iv.Alternative = "two-sided"
    replica: iv.ReplicaId = "median"
    replica_a: iv.ReplicaOfA = None
    replica_b: iv.ReplicaOfB = None
    unit: iv.Unit = "segment"

    def run(self, context: Context) -> TestResult:
        comparison, samples = context.comparison, context.samples
        chosen = iv.select_replicas(comparison, self.replica, self.replica_a, self.replica_b)
        contrast = context.contrast(self, self.unit, replicas=chosen)
        segments = context.draws.segments
        deltas = one_replica_deltas(comparison, chosen, segments, self.unit, samples)
        gains = comparison.metric.sign * deltas
        won = int(np.count_nonzero(gains > contrast.slack))
        lost = int(np.count_nonzero(gains < -contrast.slack))
        tied = samples - won - lost
        p_b, p_a = (lost + tied + 1) / (samples + 1), (won + tied + 1) / (samples + 1)
        p: float | None = {"greater": p_b, "less": p_a}.get(self.alternative, min(1.0, 2 * min(p_a, p_b)))
        unvaried, interval = None, _percentiles(deltas, context.alpha, self.alternative)
        if abs(contrast.delta) > contrast.slack and zero_variance(deltas, contrast.slack):
            p, unvaried, interval = None, note("zero-variance"), {}
        return contrast.row(
            p,
            unvaried,
            one_each(comparison),
            samples=samples,
            distribution=deltas,
            p_min=min(1.0, (2 if self.alternative == "two-sided" else 1) / (samples + 1)),
            details={"won": won / samples, "lost": lost / samples, "tied": tied / samples},
            **interval,
        )


def _percentiles(deltas: NDArray[np.float64], alpha: float, alternative: str) -> dict[str, Any]:
    """The percentile interval of the drawn values that p counts: it excludes 0 exactly when p is at
    most alpha (ties aside)."""
    tail = alpha / 2 if alternative == "two-sided" else alpha
    k = int(tail * (len(deltas) + 1) * (1 + 1e-12))
    if k < 1:
        return {}
    ordered = np.partition(deltas, (k - 1, len(deltas) - k))
    return {"ci_low": float(ordered[k - 1]), "ci_high": float(ordered[-k]), "ci_level": 1 - 2 * tail}
