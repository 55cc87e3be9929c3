"""The exact null distribution of a paired exchange, for metrics that count something.

Where outputs of A and B differ in one statistic only, and by integers, their 2^m exchanges reach
few different sums. How many exchanges reach each sum follows from a product of polynomials of two
terms, one for each unit, without enumeration (Zmigrod, Vieira and Cotterell 2022, section 3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.significance.arguments import widened
from replitune.significance.exchange import Sides

MOST_SUMS = 2**22
MOST_ADDITIONS = 2**32
"""Limit of the work: a few seconds."""
LARGEST = 2.0**53
"""Integers up to here are exact as floating-point numbers."""
SAMPLE = "leave `exact` out: then exchanges are sampled"


def exact_exchange(side: Sides) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """deltas (D,) that exchanges of one replica of each system can give, the probability (D,) of
    each, and the number m of units that differ.

    The metric need not be linear: all other statistics are the same for A and B, so the scores after
    an exchange depend only on the sum of the one that differs, and are computed for each value of it.
    """
    a, b = widened(side.a[0]), widened(side.b[0])
    column, d = _counted(side, a, b)
    step = int(np.gcd.reduce(d)) if len(d) else 1
    sizes = np.abs(d) // step
    sums = float(sizes.sum(dtype=np.float64))
    if sums > MOST_SUMS or sums * len(d) > MOST_ADDITIONS or sums * step > LARGEST:
        raise ReplituneError(
            f"too many sums for an exact p of {side.metric.id}",
            found=f"{sums:.0f} in {len(d)} units",
            expected=f"at most {MOST_SUMS}, and at most {MOST_ADDITIONS} for sums times units",
            fix=SAMPLE,
        )
    probability = coin_sums(sizes)
    # A gains the differences of the outputs it takes over: from the sum of all negative ones upwards
    gains = d[d < 0].sum() + step * np.arange(len(probability))
    x, y = (np.repeat(z.sum(axis=0)[np.newaxis], len(gains), axis=0) for z in (a, b))
    x[:, column] += gains
    y[:, column] -= gains
    return side.metric.score(y) - side.metric.score(x), probability, len(d)


def coin_sums(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """(sum + 1,) probability of each sum, when each of `sizes` (m,) counts with probability 1/2.

    Fourier transforms would lose the tails. Here nothing is subtracted, and the error of each
    probability above 1e-290 is at most m units in the last place.

    >>> coin_sums(np.array([1, 2]))
    array([0.25, 0.25, 0.25, 0.25])
    """
    probabilities = np.zeros(int(sizes.sum()) + 1)
    probabilities[0], end = 1.0, 1
    for size in np.sort(sizes).tolist():  # small sizes first, while there are few sums
        probabilities[size : size + end] += probabilities[:end].copy()
        end += size
        probabilities[:end] *= 0.5
    return probabilities


def _counted(side: Sides, a: NDArray, b: NDArray) -> tuple[int, NDArray[np.int64]]:
    """The column (of K) in which outputs differ, and the differences there that are not 0."""
    names = side.metric.statistic_names
    differ = np.flatnonzero((a != b).any(axis=0)).tolist()
    if not differ:
        return 0, np.zeros(0, np.int64)
    d = (b - a)[:, differ[0]]
    d = d[d != 0]
    fractions = d[(d != np.rint(d)) | (np.abs(d) > LARGEST)]
    if len(differ) == 1 and not len(fractions):
        return differ[0], d.astype(np.int64)
    reason = f"{names[differ[0]]} differs by {fractions[0]:g}" if len(fractions) else ""
    if len(differ) > 1:
        reason = "outputs differ in " + ", ".join(names[k] for k in differ)
    raise ReplituneError(
        f"no exact p of {side.metric.id}",
        found=reason,
        expected="outputs that differ in one statistic, by integers: those of TER, of length with "
        "one reference, of external scores that are counts, or 0 and 1",
        fix=SAMPLE,
    )
