"""Bootstrap of whole test sets (Fu et al. 2016, Table 3).

M of X's replica scores and M of Y's are drawn with replacement, independently; the differences
of their means are shifted to the null hypothesis as in `graham`.

A bootstrap of n scores has (n - 1)/n of the variance it should have. The measured level at a nominal
.05 is about .30, .19, .12, .08 at n = 2, 3, 5, 10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import product
from replitune.notes import note
from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.counting import few_replicas_note, folded_iv, identical
from replitune.significance.interface import Context, SignificanceTest
from replitune.statistics.systems import SystemStatistics

NO_VARIANCE = note("one-replica", runs="one run", what="it has no variance to draw from")


@dataclass(frozen=True)
class FuBootstrap(SignificanceTest):
    """A against B by their replica scores."""

    name = "fu-bootstrap"
    cited = "the bootstrap of whole-test-set scores (Fu et al., 2016)"

    alternative: iv.Alternative = "two-sided"
    strata: iv.Strata = "groups"
    compat: iv.Folded = None

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        folded_iv(self.compat, self.alternative)
        a, b = comparison.a, comparison.b
        iv.strata_of(a, b, self.strata)
        contrast = context.contrast(self, "replica", scope="runs")
        if min(a.n, b.n) == 1:
            return contrast.row(None, NO_VARIANCE)
        mean_a = (
            product(replica_counts(a, self.strata, context.samples, context.rng), comparison.scores_a) / a.n
        )
        mean_b = (
            product(replica_counts(b, self.strata, context.samples, context.rng), comparison.scores_b) / b.n
        )
        return contrast.shift_row(
            mean_b - mean_a,
            (contrast.delta, 0.0),
            self.compat,
            identical(comparison),
            few_replicas_note(a.n, b.n),
            alpha=context.alpha,
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
