"""How often a test rejects when there is nothing to find."""

from __future__ import annotations

import math


def wilson(rejected: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's (1927) interval for a rate: Monte-Carlo error only.

    >>> wilson(5, 100)
    (0.02154..., 0.11175...)
    """
    from scipy.special import ndtri

    z = float(ndtri(0.5 + confidence / 2))
    rate, scale = rejected / trials, 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * math.sqrt(rate * (1 - rate) / trials + (z / (2 * trials)) ** 2) / scale
    return max(0.0, centre - half), min(1.0, centre + half)
