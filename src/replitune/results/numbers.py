"""How numbers are printed, the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

MISSING = "–"


def score(value: float | None, decimals: int = 2) -> str:
    """A score or a difference of scores; for a metric, pass `Result.decimals`."""
    return MISSING if value is None else f"{value:z.{decimals}f}"


def signed(value: float | None, decimals: int = 2) -> str:
    """A difference, with its sign."""
    return MISSING if value is None else f"{value:+.{decimals}f}"


def p_value(value: float | None) -> str:
    """A p-value as papers print it: no leading zero, `<.001` below that.

    >>> p_value(0.0234), p_value(0.00004), p_value(1.0), p_value(None)
    ('.023', '<.001', '1', '–')
    """
    if value is None:
        return MISSING
    if value >= 0.9995:
        return "1"
    if value < 0.0005:
        return "<.001"
    return f"{value:.3f}".removeprefix("0")


def probability(value: float | None) -> str:
    """A probability: `.87`; 0 and 1 only where it is exactly that."""
    if value is None:
        return MISSING
    if 0 < value < 0.005:
        return "<.01"
    if 0.995 <= value < 1:
        return ">.99"
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1"


def p_equation(value: float | None) -> str:
    """`p = .023` or `p < .001`."""
    text = p_value(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def ends(low: float, high: float, decimals: int = 2) -> tuple[str, str]:
    """The ends of an interval, with more decimals where both would look the same.

    >>> ends(0.001, 0.004), ends(-0.001, 0.3, 1)
    (('0.001', '0.004'), ('0.0', '0.3'))
    """
    apart = high - low > NOTHING * max(abs(low), abs(high))
    while apart and f"{low:.{decimals}f}" == f"{high:.{decimals}f}" and decimals < MOST:
        decimals += 1
    return f"{low:z.{decimals}f}", f"{high:z.{decimals}f}"


def signed_range(low: float, high: float, decimals: int = 2) -> str:
    """``-1.11 to +0.13``"""
    return " to ".join(end if float(end) <= 0 else f"+{end}" for end in ends(low, high, decimals))


def interval(low: float | None, high: float | None, decimals: int = 2) -> str:
    """A confidence interval."""
    if low is None or high is None:
        return MISSING
    return "[{}, {}]".format(*ends(low, high, decimals))


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
