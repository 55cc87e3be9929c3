"""Crossed bootstrap of segments and replicas (Sellam et al. 2022; pigeonhole bootstrap, Owen 2007).

Segments are drawn with replacement, the same for A and B; replicas of A and of B are drawn with
replacement, independently (jointly where replicas share their seeds). Each drawn replica is
scored on the drawn segments:

    c = #{abs(delta_b - delta) >= abs(delta)}      p = (c + 1) / (R + 1)

A small p speaks of new segments and new runs at once. It is conservative where segments
and replicas interact (their variance is counted up to three times), and liberal for few replicas.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, TestResult
from replitune.significance.counting import ZERO_VARIANCE_NOTE, Contrast, few_replicas_note, zero_variance
from replitune.significance.draws import Draws, SegmentDraws, draws_of
from replitune.significance.tests.fu_bootstrap import replica_counts
from replitune.statistics.systems import SystemStatistics


@iv.significance_test(cited="the multi-bootstrap over segments and replicas (Sellam et al., 2021)")
def multi_bootstrap(
    comparison: Comparison,
    *,
    rng: np.random.Generator,
    draws: Draws | None = None,
    samples: int = 10_000,
    alternative: iv.Alternative = "two-sided",
    alpha: float = 0.05,
    aggregation: iv.Aggregation = "mean",
    unit: iv.Unit = "segment",
    strata: iv.Strata = "groups",
    paired: iv.Paired = False,
) -> TestResult:
    """All replicas of A against all of B; replicas with the same id are drawn jointly where they
    are `paired`."""
    a, b = comparison.a, comparison.b
    iv.strata_of(a, b, strata)
    segments = draws_of(rng, draws).segments
    drawn_a = replica_counts(a, strata, samples, rng)
    drawn_b = drawn_a[:, iv.matched(b, a)] if paired else replica_counts(b, strata, samples, rng)
    score = _mean_scores if aggregation == "mean" else _pooled_scores
    deltas = score(comparison, b, drawn_b, segments, unit) - score(comparison, a, drawn_a, segments, unit)
    contrast = Contrast("multi-bootstrap", comparison, alternative, f"replica+{unit}", aggregation)
    p: float | None = contrast.p(deltas - contrast.delta)
    note = None
    if zero_variance(deltas, contrast.slack) and abs(contrast.delta) > contrast.slack:
        p, note = None, ZERO_VARIANCE_NOTE
    return contrast.bootstrap_row(
        deltas,
        contrast.delta,
        p,
        note,
        few_replicas_note(a.n, b.n),
        alpha=alpha,
        pairing="id" if paired else None,
    )


def _mean_scores(
    comparison: Comparison,
    system: SystemStatistics,
    drawn: NDArray[np.float64],
    segments: SegmentDraws,
    unit: str,
) -> NDArray[np.float64]:
    """drawn (samples, n) -> (samples,)."""
    scores = segments.scores(comparison.metric, system, comparison.documents, unit=unit, samples=len(drawn))
    return (scores * drawn).sum(axis=1) / system.n


def _pooled_scores(
    comparison: Comparison,
    system: SystemStatistics,
    drawn: NDArray[np.float64],
    segments: SegmentDraws,
    unit: str,
) -> NDArray[np.float64]:
    statistics = iv.in_units(system.statistics, comparison.documents, unit)
    scores = np.empty(len(drawn))
    for rows, sums in segments.sums(statistics, len(drawn)):
        pooled = (sums * drawn[rows][:, :, np.newaxis]).sum(axis=1)
        scores[rows] = iv.pooled_score(comparison.metric, pooled, system.n)
    return scores
