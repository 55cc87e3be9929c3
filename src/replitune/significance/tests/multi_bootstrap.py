"""Crossed bootstrap of segments and replicas (Sellam et al. 2022; pigeonhole bootstrap, Owen 2007).

Segments are drawn with replacement, the same for A and B; replicas of A and of B are drawn with
replacement, independently (jointly where replicas share their seeds). Each drawn replica is
scored on the drawn segments:

    c = #{abs(delta_b - delta) >= abs(delta)}      p = (c + 1) / (R + 1)

A small p speaks of new segments and new tuner runs at once. It is conservative where segments
and replicas interact (their variance is counted up to three times), and liberal for few replicas.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, TestResult, some
from replitune.significance.counting import (
    ZERO_VARIANCE_NOTE,
    few_replicas,
    oriented,
    p_value,
    percentile_interval,
    result,
    tolerance,
    zero_variance,
)
from replitune.significance.draws import Draws, SegmentDraws, draws_of
from replitune.significance.tests.fu_bootstrap import replica_counts
from replitune.statistics.systems import SystemStatistics


def multi_bootstrap(
    comparison: Comparison,
    *,
    rng: np.random.Generator,
    segment_rng: np.random.Generator | None = None,
    draws: Draws | None = None,
    samples: int = 10_000,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    aggregation: str = "mean",
    unit: str = "segment",
    strata: str = "groups",
    paired: bool = False,
) -> TestResult:
    """Test A against B, all replicas.

    Parameters
    ----------
    aggregation : {"mean", "pooled"}
        Mean score of the drawn replicas, or score of their pooled statistics.
    unit : {"segment", "document"}
        What is drawn along with replicas.
    strata : {"groups", "none"}
        "groups": as many draws from each group of replicas as it has members.
    paired : bool
        Replicas with the same id share their seed: draw them jointly.
    """
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.between_0_and_1("alpha", alpha)
    iv.one_of("aggregation", aggregation, iv.AGGREGATIONS)
    iv.one_of("unit", unit, iv.UNITS)
    iv.one_of("strata", strata, iv.STRATA)
    iv.comparison_iv(comparison)
    a, b, metric = comparison.a, comparison.b, comparison.metric
    iv.strata_of(a, b, strata)
    segments = draws_of(rng, segment_rng, draws).segments
    drawn_a = replica_counts(a, strata, samples, rng)
    drawn_b = drawn_a[:, _partners(a, b)] if paired else replica_counts(b, strata, samples, rng)
    score = _mean_scores if aggregation == "mean" else _pooled_scores
    deltas = score(comparison, b, drawn_b, segments, unit) - score(
        comparison, a, drawn_a, segments, unit
    )
    score_a, score_b = iv.aggregate_scores(comparison, aggregation)
    delta, slack = score_b - score_a, tolerance(score_a, score_b)
    constant = zero_variance(deltas, slack)
    p: float | None = p_value(
        oriented(deltas - delta, alternative, metric),
        float(oriented(delta, alternative, metric)),
        slack,
    )
    note = None
    if constant and abs(delta) > slack:
        p, note = None, ZERO_VARIANCE_NOTE
    low, high = (None, None) if constant else percentile_interval(deltas, 1 - alpha)
    return result(
        comparison,
        score_a,
        score_b,
        method="multi-bootstrap",
        p=p,
        alternative=alternative,
        unit=f"replica+{unit}",
        aggregation=aggregation,
        generalises_to=f"new {unit}s and new tuner runs",
        ci_low=low,
        ci_high=high,
        p_min=1 / (samples + 1),
        pairing="id" if paired else None,
        samples=samples,
        notes=some(note, few_replicas(a.n, b.n)),
        distribution=deltas,
    )


def _partners(a: SystemStatistics, b: SystemStatistics) -> list[int]:
    """For each replica of B, the place in A of the replica with the same id."""
    if set(a.replicas) != set(b.replicas) or len(set(a.replicas)) != a.n or a.n != b.n:
        different = sorted(set(a.replicas) ^ set(b.replicas))
        raise ReplituneError(
            f"replicas of {a.name} and {b.name} do not pair by id",
            found=f"in one system only: {', '.join(different) or 'none; ids repeat'}",
            expected="the same replica ids in both systems",
            fix="leave `paired` off, or give both systems the same replicas",
        )
    return [a.replicas.index(replica) for replica in b.replicas]


def _mean_scores(
    comparison: Comparison,
    system: SystemStatistics,
    drawn: NDArray[np.float64],
    segments: SegmentDraws,
    unit: str,
) -> NDArray[np.float64]:
    """drawn (samples, n) -> (samples,)."""
    scores = segments.scores(
        comparison.metric, system, comparison.documents, unit=unit, samples=len(drawn)
    )
    return (scores * drawn).sum(axis=1) / system.n


def _pooled_scores(
    comparison: Comparison,
    system: SystemStatistics,
    drawn: NDArray[np.float64],
    segments: SegmentDraws,
    unit: str,
) -> NDArray[np.float64]:
    statistics = iv.in_units(system.statistics, comparison.documents, unit)
    found = np.empty(len(drawn))
    for rows, sums in segments.sums(statistics, len(drawn)):
        pooled = (sums * drawn[rows][:, :, np.newaxis]).sum(axis=1)
        found[rows] = iv.pooled_score(comparison.metric, pooled, system.n)
    return found
