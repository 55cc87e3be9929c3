"""From a distribution of differences to a p-value."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric

RELATIVE_TOLERANCE = 1e-10
"""Scores that differ by less are equal: the same sums added up in another order."""

ONE_REPLICA_NOTE = "one replica each: says nothing about other tuner runs"


def tolerance(score_a: float, score_b: float) -> float:
    return RELATIVE_TOLERANCE * max(abs(score_a), abs(score_b))


def oriented(deltas: NDArray | float, alternative: str, metric: Metric) -> NDArray:
    """What is large when the alternative holds: abs(delta), or the gain of B (of A)."""
    if alternative == "two-sided":
        return np.abs(deltas)
    better = 1.0 if metric.higher_is_better else -1.0
    return np.asarray(deltas) * (better if alternative == "greater" else -better)


def p_value(
    statistics: NDArray[np.float64], observed: float, slack: float, exact: bool = False
) -> float:
    """Share of statistics as large as the observed one: c/C exactly, (c + 1)/(R + 1) sampled.

    Ties count (`>=`): a rearrangement that gives the observed value is one of those that the
    observed value cannot be told from. With `>` identical systems would get p near 0.
    """
    count = int(np.count_nonzero(statistics >= observed - slack))
    return count / len(statistics) if exact else (count + 1) / (len(statistics) + 1)


def smallest_p(samples: int, exact: bool, log_arrangements: float, mirrored: bool) -> float:
    """The smallest p an exchange test could have returned.

    Of exp(log_arrangements) equally likely arrangements the observed one always counts, and when
    `mirrored` (two-sided, and A and B can change places altogether) its mirror image too.
    """
    design = math.exp(min(0.0, math.log(2.0 if mirrored else 1.0) - log_arrangements))
    return design if exact else max(1.0 / (samples + 1), design)


def percentile_interval(
    deltas: NDArray[np.float64], confidence: float = 0.95
) -> tuple[float, float]:
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(deltas, [tail, 100 - tail])
    return float(low), float(high)


def zero_variance(deltas: NDArray[np.float64], slack: float) -> bool:
    return float(np.ptp(deltas)) <= slack
