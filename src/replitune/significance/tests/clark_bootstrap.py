"""Bootstrap of the segment x replica pool ("Clark, Bootstrap" in Fu et al. 2016, Table 8).

N n_A outputs are drawn with replacement from all outputs of A, N n_B from those of B,
independently of each other; the differences are shifted to the null hypothesis as in `graham`.

Drawing outputs from all segments and replicas together treats the N n outputs as independent. It
ignores that the systems were tested on the same segments, and that outputs of one run, or of one
segment, are correlated.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, TestResult
from replitune.significance.counting import Contrast, expected_shift, folded_iv, identical, one_each
from replitune.significance.draws import Draws, draws_of


@iv.significance_test(cited="the bootstrap over the segment and replica pool (Clark et al., 2011)")
def clark_bootstrap(
    comparison: Comparison,
    *,
    rng: np.random.Generator | None = None,
    draws: Draws | None = None,
    samples: int = 10_000,
    alternative: iv.Alternative = "two-sided",
    alpha: float = 0.05,
    aggregation: Annotated[
        Literal["mean", "pooled"],
        about("Score of all drawn statistics together, or mean score of n outputs of N draws each."),
    ] = "pooled",
    unit: iv.Unit = "segment",
    strata: iv.Strata = "groups",
    compat: iv.Folded = None,
) -> TestResult:
    """All replicas of A against all of B."""
    folded_iv(compat, alternative)
    iv.strata_of(comparison.a, comparison.b, strata)
    shared = draws_of(rng, draws)
    sides = [
        shared.pools(system.name).scores(
            comparison.metric,
            system,
            comparison.documents,
            aggregation=aggregation,
            strata=strata,
            unit=unit,
            samples=samples,
        )
        for system in (comparison.a, comparison.b)
    ]
    contrast = Contrast("clark-bootstrap", comparison, alternative, unit, aggregation, scope="outputs")
    deltas = sides[1] - sides[0]
    shift = expected_shift(comparison, deltas, contrast.delta, unit)
    return contrast.shift_row(
        deltas, shift, compat, identical(comparison), one_each(comparison), alpha=alpha
    )
