"""Williams' test: does one metric correlate better with humans than another?

Both correlations share the human scores, and the metrics correlate with each other, so the two
are dependent (Williams 1959; Steiger 1980; Graham and Baldwin 2014). Index 1 is human, 2 and 3
are the metrics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import stdtr

from replitune.errors import ReplituneError


@dataclass(frozen=True)
class WilliamsResult:
    """H0: the two metrics correlate equally with humans in the population."""

    t: float | None = None
    df: int | None = None
    p: float | None = None
    note: str | None = None


def williams(r12: float | None, r13: float | None, r23: float | None, n: int) -> WilliamsResult:
    """Test whether r12 is larger than r13, measured on the same n items.

        t_{n-3} = (r12 - r13) sqrt((n - 1)(1 + r23))
                  / sqrt(2 K (n - 1)/(n - 3) + (r12 + r13)^2 (1 - r23)^3 / 4)
        K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23

    p is None for n <= 3, where a correlation is None, and where the metrics are the same up to
    scale.
    """
    for r in (r12, r13, r23):
        if r is not None and not abs(r) <= 1:
            raise ReplituneError("a correlation is not between -1 and 1", found=repr(r))
    if r12 is None or r13 is None or r23 is None:
        return WilliamsResult(note="a correlation is not defined")
    if n <= 3:
        return WilliamsResult(note=f"{n} items: Williams' test needs at least 4")
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if 1 - r23 < 1e-12:
        return WilliamsResult(note="the metrics are the same up to scale")
    if k < -1e-9:
        return WilliamsResult(note="no data can have these three correlations")
    square = 2 * max(k, 0.0) * (n - 1) / (n - 3) + (r12 + r13) ** 2 * (1 - r23) ** 3 / 4
    if square <= 1e-24:
        return WilliamsResult(note="zero variance of the difference between the correlations")
    t = (r12 - r13) * math.sqrt((n - 1) * max(1 + r23, 0.0)) / math.sqrt(square)
    return WilliamsResult(t, n - 3, float(stdtr(n - 3, -t)))
