"""How many decimals scores and differences of a metric are printed with: the one place that decides."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

MOST = 8
NOTHING = 1e-9
"""Share of a score: a spread up to this is rounding error."""


def decimals_of(
    scores: Iterable[float],
    *,
    s_sel: Iterable[float | None] = (),
    s_test: Iterable[float | None] = (),
    se: Iterable[float | None] = (),
) -> int:
    """Enough to show a spread over runs (`s_test`), with a rounding error of at most a tenth of what
    another test set would change (`s_sel`) and half the standard error of a difference (`se`). Medians
    decide. At least two, or three for scores up to 1.

    >>> decimals_of([30.1, 29.4], s_test=[0.2])
    2
    >>> decimals_of([0.7412, 0.7398], s_test=[0.0008])
    4
    """
    top = max(map(abs, scores), default=0.0)
    steps = [_middle(s_sel, top) / 5, _middle(s_test, top), _middle(se, top)]
    wanted = [math.ceil(-math.log10(step)) for step in steps if step > 0]
    return min(max(3 if top <= 1 else 2, *wanted, 0), MOST)


def _middle(values: Iterable[float | None], top: float) -> float:
    """The median of the values that are not negligible beside `top`; 0 if there are none."""
    return float(np.median([v for v in values if v and v > NOTHING * top] or [0.0]))
