"""Bootstrap of the segment x replica pool ("Clark, Bootstrap" in Fu et al. 2016, Table 8).

N n_A outputs are drawn with replacement from all outputs of A, N n_B from those of B,
independently of each other; the differences are shifted to the null hypothesis as in `graham`.

Drawing outputs from all segments and replicas together treats the N n outputs as independent. It
ignores that the systems were tested on the same segments, and that outputs of one run, or of one
segment, are correlated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.counting import expected_shift, folded_iv, identical, one_each
from replitune.significance.interface import Context, SignificanceTest


@dataclass(frozen=True)
class ClarkBootstrap(SignificanceTest):
    """All replicas of A against all of B."""

    name = "clark-bootstrap"
    cited = "the bootstrap over the segment and replica pool (Clark et al., 2011)"

    alternative: iv.Alternative = "two-sided"
    aggregation: Annotated[
        Literal["mean", "pooled"],
        about("Score of all drawn statistics together, or mean score of n outputs of N draws each."),
    ] = "pooled"
    unit: iv.Unit = "segment"
    strata: iv.Strata = "groups"
    compat: iv.Folded = None

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        folded_iv(self.compat, self.alternative)
        iv.strata_of(comparison.a, comparison.b, self.strata)
        shared = context.draws
        sides = [
            shared.pools(system.name).scores(
                comparison.metric,
                system,
                comparison.documents,
                aggregation=self.aggregation,
                strata=self.strata,
                unit=self.unit,
                samples=context.samples,
            )
            for system in (comparison.a, comparison.b)
        ]
        contrast = context.contrast(self, self.unit, self.aggregation, scope="outputs")
        deltas = sides[1] - sides[0]
        shift = expected_shift(comparison, deltas, contrast.delta, self.unit)
        return contrast.shift_row(
            deltas, shift, self.compat, identical(comparison), one_each(comparison), alpha=context.alpha
        )
