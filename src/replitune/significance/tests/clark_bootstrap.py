"""Bootstrap of the segment x replica pool ("Clark, Bootstrap" in Fu et al. 2016, Table 8).

N n_A outputs are drawn with replacement from all outputs of A, N n_B from those of B,
independently of each other; the differences are shifted to the null hypothesis as in `graham`.

Drawing outputs of all segments and replicas alike takes N n outputs for independent ones. It
ignores that the systems were tested on the same segments, and that outputs of one tuner run, or
of one segment, go together.
"""

from __future__ import annotations

import numpy as np

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, TestResult, some
from replitune.significance.counting import (
    ONE_REPLICA_NOTE,
    compat_iv,
    identical,
    percentile_interval,
    result,
    shifted_p,
    tolerance,
    zero_variance,
)
from replitune.significance.draws import Draws, draws_of


def clark_bootstrap(
    comparison: Comparison,
    *,
    rng: np.random.Generator | None = None,
    draws: Draws | None = None,
    samples: int = 10_000,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    aggregation: str = "pooled",
    unit: str = "segment",
    strata: str = "groups",
    compat: str | None = None,
) -> TestResult:
    """Test A against B, all replicas.

    Parameters
    ----------
    aggregation : {"pooled", "mean"}
        Score of all drawn statistics together, or mean score of n outputs of N draws each.
    unit : {"segment", "document"}
        What is drawn: outputs of a segment, or of a whole document.
    strata : {"groups", "none"}
        "groups": as many draws from each group of replicas as it has outputs.
    compat : {"folded"}, optional
        Count as Fu et al. 2016 do; not a valid test.
    """
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.between_0_and_1("alpha", alpha)
    iv.one_of("aggregation", aggregation, iv.AGGREGATIONS)
    iv.one_of("unit", unit, iv.UNITS)
    iv.one_of("strata", strata, iv.STRATA)
    compat_iv(compat, alternative)
    iv.comparison_iv(comparison)
    a, b, metric = comparison.a, comparison.b, comparison.metric
    iv.strata_of(a, b, strata)
    shared = draws_of(rng, None, draws)
    sides = []
    for system in (a, b):
        pool = shared.pools(system.name)
        draw = pool.pooled_scores if aggregation == "pooled" else pool.mean_scores
        sides.append(
            draw(metric, system, comparison.documents, strata=strata, unit=unit, samples=samples)
        )
    deltas = sides[1] - sides[0]
    score_a, score_b = iv.aggregate_scores(comparison, aggregation)
    slack = tolerance(score_a, score_b)
    same = identical(comparison)
    p, note = shifted_p(deltas, score_b - score_a, slack, alternative, metric, compat, same)
    interval = None if zero_variance(deltas, slack) else percentile_interval(deltas, 1 - alpha)
    return result(
        comparison,
        score_a,
        score_b,
        method="clark-bootstrap",
        p=p,
        alternative=alternative,
        unit=unit,
        aggregation=aggregation,
        generalises_to=f"new {unit}s",
        ci_low=interval[0] if interval else None,
        ci_high=interval[1] if interval else None,
        p_min=1 / (samples + 1),
        samples=samples,
        notes=some(note, ONE_REPLICA_NOTE if a.n == b.n == 1 else None),
        distribution=deltas,
    )
