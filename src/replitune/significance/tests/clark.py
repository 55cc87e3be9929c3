"""Stratified approximate randomization over replicas (Clark et al. 2011, section 4).

Under the null hypothesis every output of a segment, of whichever system and replica, could have
come from either system. So the n_A + n_B outputs of each segment are dealt anew, and p is the
share of deals with abs(delta_r) >= abs(delta).

What the deal must be: a *partition*. multeval indexes X with a permutation of the runs and Y with
its inverse, so that from three runs on some outputs are used twice and others never.

A small p speaks of new segments translated by *these* tuner runs. When replicas of one system
differ from each other as a whole, as tuner runs do, it is far too small for anything more.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from replitune.significance.exchange import Exchanged, Sides, free_exchange, paired_exchange
from replitune.significance.kernels.random import resample_keys

PAIRED_NOTE = Note("paired", "replicas paired in stored order")
NOT_PAIRED_NOTE = Note(
    "not-paired",
    "not as many replicas of one system as of the other: use `pairing: free`",
)


def clark(
    comparison: Comparison,
    *,
    rng: np.random.Generator,
    samples: int = 10_000,
    alternative: str = "two-sided",
    aggregation: str = "pooled",
    pairing: str = "free",
    unit: str = "segment",
    strata: str = "groups",
    compat: str | None = None,
) -> TestResult:
    """Test A against B, all replicas.

    Parameters
    ----------
    aggregation : {"pooled", "mean"}
        Score of the statistics pooled over replicas (as multeval), or mean of replica scores.
        With "mean", outputs are permuted into labelled replica slots.
    pairing : {"free", "index"}
        Deal all outputs of a segment, or exchange only A_r with B_r (needs n_A = n_B; matched by
        replica id where both systems have the same ids, else in stored order).
    unit : {"segment", "document"}
        "document": one deal for all segments of a document.
    strata : {"groups", "none"}
        "groups": replicas of one tuner are exchanged with replicas of the same tuner only.
    compat : {"multeval"}, optional
        Exchange and count as multeval does (pooled, n_A = n_B); not a valid test.
    """
    return clark_many(
        [comparison],
        rng=rng,
        samples=samples,
        alternative=alternative,
        aggregation=aggregation,
        pairing=pairing,
        unit=unit,
        strata=strata,
        compat=compat,
    )[0]


def clark_many(
    comparisons: Sequence[Comparison],
    *,
    rng: np.random.Generator,
    samples: int = 10_000,
    alternative: str = "two-sided",
    aggregation: str = "pooled",
    pairing: str = "free",
    unit: str = "segment",
    strata: str = "groups",
    compat: str | None = None,
) -> list[TestResult]:
    """The same pair under several metrics, with the same exchanges for all of them."""
    samples = iv.samples_iv(samples)
    iv.one_of("alternative", alternative, iv.ALTERNATIVES)
    iv.one_of("aggregation", aggregation, iv.AGGREGATIONS)
    iv.one_of("pairing", pairing, iv.PAIRINGS)
    iv.one_of("unit", unit, iv.UNITS)
    iv.one_of("strata", strata, iv.STRATA)
    if compat is not None:
        iv.one_of("compat", compat, ("multeval",))
        iv.one_of("aggregation", aggregation, ("pooled",))
    for comparison in comparisons:
        iv.comparison_iv(comparison)
    a, b = comparisons[0].a, comparisons[0].b
    if (pairing == "index" or compat) and a.n != b.n:
        return [_not_paired(c, alternative, aggregation, unit) for c in comparisons]
    keys = resample_keys(rng, samples)
    if compat:
        return [_as_multeval(c, keys, alternative, unit) for c in comparisons]
    # Two outputs can be dealt in two ways only: then the pairings are the same test.
    paired = pairing == "index" or a.n == b.n == 1
    how = None
    if paired:
        in_a, in_b, how = iv.pair_replicas(a, b, strata)
    else:
        in_a, in_b = np.arange(a.n), np.arange(b.n)
    sides = [
        Sides(
            c.metric,
            iv.in_units(c.a.statistics, c.documents, unit)[in_a],
            iv.in_units(c.b.statistics, c.documents, unit)[in_b],
        )
        for c in comparisons
    ]
    if paired:
        found = paired_exchange(sides, keys=keys, aggregation=aggregation)
    else:
        members = iv.strata_of(a, b, strata)
        found = free_exchange(sides, members, keys=keys, aggregation=aggregation)
    return [
        _result(c, e, samples, alternative, aggregation, pairing, unit, how)
        for c, e in zip(comparisons, found, strict=True)
    ]


def _result(
    comparison: Comparison,
    exchanged: Exchanged,
    samples: int,
    alternative: str,
    aggregation: str,
    pairing: str,
    unit: str,
    how: str | None,
) -> TestResult:
    a, b, metric = comparison.a, comparison.b, comparison.metric
    score_a, score_b = iv.aggregate_scores(comparison, aggregation)
    delta = score_b - score_a
    p = p_value(
        oriented(exchanged.deltas, alternative, metric),
        float(oriented(delta, alternative, metric)),
        tolerance(score_a, score_b),
        exchanged.exact,
    )
    return result(
        comparison,
        score_a,
        score_b,
        method="clark",
        p=p,
        alternative=alternative,
        unit=unit,
        aggregation=aggregation,
        generalises_to=f"new {unit}s",
        p_min=smallest_p(
            samples,
            exchanged.exact,
            exchanged.log_arrangements,
            mirrored=alternative == "two-sided" and a.n == b.n,
        ),
        exact=exchanged.exact,
        pairing=pairing,
        samples=len(exchanged.deltas),
        notes=some(
            ONE_REPLICA_NOTE if a.n == b.n == 1 else None,
            PAIRED_NOTE if how == "stored order" and a.n > 1 else None,
        ),
        distribution=exchanged.deltas,
    )


def _not_paired(
    comparison: Comparison, alternative: str, aggregation: str, unit: str
) -> TestResult:
    return result(
        comparison,
        *iv.aggregate_scores(comparison, aggregation),
        method="clark",
        p=None,
        alternative=alternative,
        unit=unit,
        aggregation=aggregation,
        generalises_to=f"new {unit}s",
        pairing="index",
        notes=(NOT_PAIRED_NOTE,),
    )


def _as_multeval(
    comparison: Comparison, keys: NDArray[np.uint64], alternative: str, unit: str
) -> TestResult:
    from replitune.significance.tests.clark_multeval import NOTE, multeval_deltas

    metric, documents = comparison.metric, comparison.documents
    deltas = multeval_deltas(
        metric,
        iv.in_units(comparison.a.statistics, documents, unit),
        iv.in_units(comparison.b.statistics, documents, unit),
        keys,
    )
    score_a, score_b = iv.aggregate_scores(comparison, "pooled")
    observed = float(oriented(score_b - score_a, alternative, metric))
    count = int(np.count_nonzero(oriented(deltas, alternative, metric) > observed))
    return result(
        comparison,
        score_a,
        score_b,
        method="clark",
        p=(count + 1) / (len(keys) + 1),
        alternative=alternative,
        unit=unit,
        aggregation="pooled",
        generalises_to=f"new {unit}s",
        p_min=1 / (len(keys) + 1),
        samples=len(keys),
        notes=(NOTE,),
        distribution=deltas,
    )
