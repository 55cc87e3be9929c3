"""Approximate randomization, one replica of each system (Riezler and Maxwell 2005, Fig. 1).

For each resample, the outputs of A and B for each segment change places with probability 1/2;
p is the share of resamples with abs(delta_r) >= abs(delta).

A small p speaks of new segments translated by these two runs. Another pair of replicas can
say the opposite: `replica="every"` shows how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, Note, TestResult
from replitune.significance.counting import Contrast, Exchanged, one_each
from replitune.significance.kernels.random import resample_keys


@iv.significance_test
def riezler(
    comparisons: Sequence[Comparison],
    *,
    rng: np.random.Generator,
    samples: int = 10_000,
    alternative: iv.Alternative = "two-sided",
    replica: Annotated[
        str,
        about(
            "The replica with the median score (`median`), of that id, or each pair of replicas in "
            "turn (`every`): then p is min(1, 2 median p), valid however the pairs depend on each "
            "other (Rueger 1978)."
        ),
    ] = "median",
    replica_a: iv.ReplicaOfA = None,
    replica_b: iv.ReplicaOfB = None,
    unit: iv.Unit = "segment",
) -> list[TestResult]:
    """One replica of A against one of B, with the same exchanges under all metrics.

    `details` of "every" has the distribution of p. With `unit` document, documents change places
    as a whole.
    """
    from replitune.significance.exchange import Sides, paired_exchange

    keys = resample_keys(rng, samples)
    if replica == "every":
        return [_every_pair(c, keys, alternative, unit) for c in comparisons]
    contrasts, sides = [], []
    for c in comparisons:
        r, s = iv.select_replicas(c, replica_a or replica, replica_b or replica)
        contrasts.append(Contrast("riezler", c, alternative, unit, replicas=(r, s)))
        a = iv.in_units(c.a.statistics[[r]], c.documents, unit)
        b = iv.in_units(c.b.statistics[[s]], c.documents, unit)
        sides.append(Sides(c.metric, a, b))
    found = paired_exchange(sides, keys=keys, aggregation="mean")
    return [
        _row(contrast, exchanged, samples)
        for contrast, exchanged in zip(contrasts, found, strict=True)
    ]


def _row(contrast: Contrast, exchanged: Exchanged, samples: int) -> TestResult:
    return contrast.of_exchange(exchanged, samples, one_each(contrast.comparison), pairing="index")


def _every_pair(
    comparison: Comparison, keys: NDArray[np.uint64], alternative: str, unit: str
) -> TestResult:
    """All n_A n_B pairs of replicas, with the same exchanges."""
    from replitune.significance.exchange import Sides, paired_exchange

    metric, a, b = comparison.metric, comparison.a, comparison.b
    units_a = iv.in_units(a.statistics, comparison.documents, unit)
    units_b = iv.in_units(b.statistics, comparison.documents, unit)
    p = np.empty((a.n, b.n))
    middle = None
    medians = iv.select_replicas(comparison, "median", "median")
    for r in range(a.n):
        for first in range(0, b.n, 4):  # a few pairs share the random words
            sides = [
                Sides(metric, units_a[[r]], units_b[[s]]) for s in range(first, min(first + 4, b.n))
            ]
            found = paired_exchange(sides, keys=keys, aggregation="mean")
            for s, exchanged in enumerate(found, start=first):
                contrast = Contrast("riezler", comparison, alternative, unit, replicas=(r, s))
                one = _row(contrast, exchanged, len(keys))
                p[r, s] = one.p
                if (r, s) == medians:
                    middle = one
    assert middle is not None
    low, median, high = np.percentile(p, [2.5, 50, 97.5])
    score_a, score_b = iv.aggregate_scores(comparison, "mean")
    text = (
        f"p of {p.size} pairs of replicas: median {median:.4f}, "
        f"2.5% {low:.4f}, 97.5% {high:.4f}; p is twice the median"
    )
    return replace(
        middle,
        p=min(1.0, 2 * float(median)),
        replica_a=None,
        replica_b=None,
        score_a=score_a,
        score_b=score_b,
        delta=score_b - score_a,
        p_min=None if middle.p_min is None else min(1.0, 2 * middle.p_min),
        notes=(Note("every-pair", text),),
        details={"p_median": float(median), "p_low": float(low), "p_high": float(high)},
        p_values=p,
    )
