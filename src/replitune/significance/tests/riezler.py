"""Approximate randomization, one replica of each system (Riezler and Maxwell 2005, Fig. 1).

For each resample, the outputs of A and B for each segment change places with probability 1/2;
p is the share of resamples with abs(delta_r) >= abs(delta).

A small p speaks of new segments translated by these two tuner runs. Another pair of replicas can
say the opposite: `replica="every"` shows how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, Note, TestResult, some
from replitune.significance.counting import (
    ONE_REPLICA_NOTE,
    oriented,
    p_value,
    result,
    smallest_p,
    tolerance,
)
from replitune.significance.exchange import Exchanged, Sides, paired_exchange
from replitune.significance.kernels.random import resample_keys


def riezler(
    comparison: Comparison,
    *,
    rng: np.random.Generator,
    samples: int = 10_000,
    alternative: str = "two-sided",
    replica: str = "median",
    replica_a: str | None = None,
    replica_b: str | None = None,
    unit: str = "segment",
) -> TestResult:
    """Test one replica of A against one of B.

    Parameters
    ----------
    replica : {"median", "every", <id>}
        The replica with the median score, of that id, or each pair of replicas in turn. For
        "every", p is min(1, 2 median p), valid however the pairs depend on each other (Rueger
        1978), and `details` has the distribution of p.
    replica_a, replica_b : str, optional
        Overrule `replica` for one system.
    unit : {"segment", "document"}
        What changes places: segments, or documents as a whole.
    """
    return riezler_many(
        [comparison],
        rng=rng,
        samples=samples,
        alternative=alternative,
        replica=replica,
        replica_a=replica_a,
        replica_b=replica_b,
        unit=unit,
    )[0]


def riezler_many(
    comparisons: Sequence[Comparison],
    *,
    rng: np.random.Generator,
    samples: int = 10_000,
    alternative: str = "two-sided",
    replica: str = "median",
    replica_a: str | None = None,
    replica_b: str | None = None,
    unit: str = "segment",
) -> list[TestResult]:
    """The same pair under several metrics, with the same exchanges for all of them."""
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.one_of("unit", unit, iv.UNITS)
    for comparison in comparisons:
        iv.comparison_iv(comparison)
    keys = resample_keys(rng, samples)
    if replica == "every":
        return [_every_pair(c, keys, alternative, unit) for c in comparisons]
    chosen = [
        (
            iv.select_replica(c.metric, c.a, c.scores_a, replica_a or replica),
            iv.select_replica(c.metric, c.b, c.scores_b, replica_b or replica),
        )
        for c in comparisons
    ]
    sides = [
        Sides(
            c.metric,
            iv.in_units(c.a.statistics[[r]], c.documents, unit),
            iv.in_units(c.b.statistics[[s]], c.documents, unit),
        )
        for c, (r, s) in zip(comparisons, chosen, strict=True)
    ]
    found = paired_exchange(sides, keys=keys, aggregation="mean")
    return [
        _result(c, r, s, e, samples, alternative, unit)
        for c, (r, s), e in zip(comparisons, chosen, found, strict=True)
    ]


def _result(
    comparison: Comparison,
    r: int,
    s: int,
    exchanged: Exchanged,
    samples: int,
    alternative: str,
    unit: str,
) -> TestResult:
    a, b, metric = comparison.a, comparison.b, comparison.metric
    score_a, score_b = float(comparison.scores_a[r]), float(comparison.scores_b[s])
    delta = score_b - score_a
    p = p_value(
        oriented(exchanged.deltas, alternative, metric),
        float(oriented(delta, alternative, metric)),
        tolerance(score_a, score_b),
        exchanged.exact,
    )
    two_sided = alternative == "two-sided"
    smallest = smallest_p(samples, exchanged.exact, exchanged.log_arrangements, mirrored=two_sided)
    return result(
        comparison,
        score_a,
        score_b,
        method="riezler",
        p=p,
        alternative=alternative,
        unit=unit,
        aggregation="mean",
        generalises_to=f"new {unit}s",
        p_min=smallest,
        exact=exchanged.exact,
        pairing="index",
        replica_a=a.replicas[r],
        replica_b=b.replicas[s],
        samples=len(exchanged.deltas),
        notes=some(ONE_REPLICA_NOTE if a.n == b.n == 1 else None),
        distribution=exchanged.deltas,
    )


def _every_pair(
    comparison: Comparison, keys: NDArray[np.uint64], alternative: str, unit: str
) -> TestResult:
    """All n_A n_B pairs of replicas, with the same exchanges."""
    metric, a, b = comparison.metric, comparison.a, comparison.b
    units_a = iv.in_units(a.statistics, comparison.documents, unit)
    units_b = iv.in_units(b.statistics, comparison.documents, unit)
    p = np.empty((a.n, b.n))
    middle = None
    medians = (
        iv.median_replica(comparison.scores_a, a.replicas),
        iv.median_replica(comparison.scores_b, b.replicas),
    )
    for r in range(a.n):
        for first in range(0, b.n, 4):  # a few pairs share the random words
            sides = [
                Sides(metric, units_a[[r]], units_b[[s]]) for s in range(first, min(first + 4, b.n))
            ]
            found = paired_exchange(sides, keys=keys, aggregation="mean")
            for s, exchanged in enumerate(found, start=first):
                one = _result(comparison, r, s, exchanged, len(keys), alternative, unit)
                p[r, s] = one.p
                if (r, s) == medians:
                    middle = one
    assert middle is not None
    low, median, high = np.percentile(p, [2.5, 50, 97.5])
    return replace(
        middle,
        p=min(1.0, 2 * float(median)),
        replica_a=None,
        replica_b=None,
        score_a=float(comparison.scores_a.mean()),
        score_b=float(comparison.scores_b.mean()),
        delta=float(comparison.scores_b.mean() - comparison.scores_a.mean()),
        p_min=None if middle.p_min is None else min(1.0, 2 * middle.p_min),
        notes=(
            Note(
                "every-pair",
                f"p of {p.size} pairs of replicas: median {median:.4f}, "
                f"2.5% {low:.4f}, 97.5% {high:.4f}; p is twice the median",
            ),
        ),
        details={"p_median": float(median), "p_low": float(low), "p_high": float(high)},
        p_values=p,
    )
