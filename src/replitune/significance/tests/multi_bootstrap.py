"""Crossed bootstrap of segments and replicas (Sellam et al. 2022; pigeonhole bootstrap, Owen 2007).

Segments are drawn with replacement, the same for A and B; replicas of A and of B are drawn with
replacement, independently (jointly where replicas share their seeds). Each drawn replica is
scored on the drawn segments:

    c = #{abs(delta_b - delta) >= abs(delta)}      p = (c + 1) / (R + 1)

A small p generalises to new segments and new runs at once. The test is conservative where segments and
replicas interact (the interaction is counted up to three times), and liberal for few replicas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.notes import note
from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.counting import few_replicas_note, zero_variance
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.tests.fu_bootstrap import replica_counts
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True)
class MultiBootstrap(SignificanceTest):
    """All replicas of A against all of B; if `paired`, replicas with the same id are drawn jointly."""

    name = "multi-bootstrap"
    cited = "the multi-bootstrap over segments and replicas (Sellam et al., 2022)"

    alternative: iv.Alternative = "two-sided"
    aggregation: iv.Aggregation = "mean"
    unit: iv.Unit = "segment"
    strata: iv.Strata = "groups"
    paired: iv.Paired = False

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        a, b, samples, rng = comparison.a, comparison.b, context.samples, context.rng
        iv.strata_of(a, b, self.strata)
        segments = context.draws.segments
        drawn_a = replica_counts(a, self.strata, samples, rng)
        drawn_b = (
            drawn_a[:, iv.matched(b, a)] if self.paired else replica_counts(b, self.strata, samples, rng)
        )

        def scores(system: SystemStatistics, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
            """drawn (samples, n) -> (samples,)."""
            metric, documents = comparison.metric, comparison.documents
            if self.aggregation == "mean":
                each = segments.scores(metric, system, documents, unit=self.unit, samples=samples)
                return (each * drawn).sum(axis=1) / system.n
            pooled = np.empty(samples)
            for rows, sums in segments.sums(iv.in_units(system.statistics, documents, self.unit), samples):
                together = (sums * drawn[rows][:, :, np.newaxis]).sum(axis=1)
                pooled[rows] = iv.pooled_score(metric, together, system.n)
            return pooled

        deltas = scores(b, drawn_b) - scores(a, drawn_a)
        contrast = context.contrast(self, self.unit, self.aggregation, scope="both")
        p: float | None = contrast.p(deltas - contrast.delta)
        unvaried = None
        if zero_variance(deltas, contrast.slack) and abs(contrast.delta) > contrast.slack:
            p, unvaried = None, note("zero-variance")
        return contrast.bootstrap_row(
            deltas,
            contrast.delta,
            p,
            unvaried,
            few_replicas_note(a.n, b.n),
            alpha=context.alpha,
            pairing="id" if self.paired else None,
        )
