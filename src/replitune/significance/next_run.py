"""What the next run would show: how often one new run of B beats one new run of A."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from replitune.significance.critical import effective_df, layers


def share_won(a: NDArray[np.float64], b: NDArray[np.float64], slack: float = 0.0) -> float:
    """U / (n_A n_B): the share of pairs of runs in which B is ahead, ties half."""
    gain = b[:, np.newaxis] - a
    return float(((gain > slack).sum() + 0.5 * (np.abs(gain) <= slack).sum()) / gain.size)


def share_interval(share: float, n_a: int, n_b: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of P(a run of B beats a run of A) from U / (n_A n_B) (Newcombe 2006, method 5).

    The limits theta solve |share - theta| = z sqrt(V(theta)), with Hanley and McNeil's variance
    at theta and both sizes replaced by their mean in its small terms:

        V(theta) = theta (1 - theta) / (n_A n_B)
                   (1 + M (1 - theta) / (2 - theta) + M theta / (1 + theta)),
        M = (n_A + n_B) / 2 - 1

    So it says something also where every run of B beats every run of A.
    """
    from scipy.special import ndtri

    z = -float(ndtri((1 - confidence) / 2))
    M = (n_a + n_b) / 2 - 1

    def outside(theta: float) -> bool:
        v = theta * (1 - theta) / (n_a * n_b)
        v *= 1 + M * (1 - theta) / (2 - theta) + M * theta / (1 + theta)
        return abs(share - theta) > z * math.sqrt(max(v, 0.0))

    return _edge(outside, share, 0.0), _edge(outside, share, 1.0)


def wilson_share(won: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share of n."""
    from scipy.special import ndtri

    z = -float(ndtri((1 - confidence) / 2))
    centre = (won + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(won * (1 - won) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def _edge(outside: object, inside: float, end: float) -> float:
    """Where a limit lies between a value inside the interval and an end of the scale."""
    assert callable(outside)
    near, far = inside, end
    if not outside(end):
        return end
    while True:
        middle = (near + far) / 2
        if middle in (near, far):
            return middle
        near, far = (near, middle) if outside(middle) else (middle, far)


def better_on_new_set(
    delta: float, values: NDArray[np.float64], nus: NDArray[np.float64], n: NDArray[np.float64]
) -> float:
    """P(a new run of B scores above a new run of A on a new test set of the same size).

    T_nu(delta / sqrt(V + sum_s (sigma2_rep,s + sigma2_int,s / N) + sigma2_d / N)): the part of V
    that n runs of one side make is n times as large for one new run, and that of the test set is
    as large for a new one. values, nus, n (K,): the parts of V, and of how many runs each is a mean
    (1: the test set). nu is that of the layers of the whole.
    """
    from scipy.special import stdtr

    whole = values * (1 + n)
    total = float(whole.sum())
    if total <= 0:
        return 0.5 if delta == 0 else float(delta > 0)
    nu = effective_df(*layers(whole, nus), 0.5)
    return float(stdtr(nu, delta / math.sqrt(total)))


def prediction_interval(
    scores: NDArray[np.float64], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Of the score of a system's next run on this test set: mean +- t(n-1) s sqrt(1 + 1/n)."""
    from scipy.special import stdtrit

    n = len(scores)
    if n < 2:
        return None
    reach = -float(stdtrit(n - 1, (1 - confidence) / 2)) * float(np.std(scores, ddof=1))
    reach *= math.sqrt(1 + 1 / n)
    mean = float(scores.mean())
    return mean - reach, mean + reach
