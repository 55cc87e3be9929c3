"""Critical values of delta / se when se^2 is a sum of parts with few, unequal degrees of freedom.

`net_parts` defines the parts: what the runs add, with their own few degrees of freedom, and what
the test set adds *beyond* the runs' noise on single segments. That noise is part of the mean square
of segments, but the mean squares of the runs contain it already. Counted again, it would lend the
many degrees of freedom of the segments to variance that only the runs estimate.

Cochran and Cox (1950) take the mean of the parts' t quantiles, weighted by the parts. That
keeps the level when one part dominates, but wastes power when parts are alike: with two equal
variances of nu degrees of freedom each, Student's test has 2 nu. Welch and Satterthwaite
gain that power, but lose the level when one system is noisy and its variance happens to be
estimated low. Here the parts, sorted by V_k/nu_k, are cut into *layers*: what all parts have
is one layer, with the sum of all nu; what all but the smallest have above that is the next, with
the sum of their nu; and so on up to what only the largest has. The mean of the layers' t
quantiles, weighted by the layers, is the critical value. With one part it is Student's t;
with equal parts it is the pooled t; with one dominant part it is Cochran and Cox's.
`benchmarks/calibration` compares it with both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import exp, log, log1p

TINIEST = 1e-100
"""Smaller tails are reported as this: p is never 0, and t quantiles are exact this far out."""


Drawn = Literal["both", "runs", "segments"]


@dataclass(frozen=True)
class Parts:
    """Var(delta), and the parts that determine its critical value."""

    variance: NDArray[np.float64]
    """(...)"""
    values: NDArray[np.float64]
    """(..., K); a part of 0 has no weight."""
    nus: NDArray[np.float64]
    """(..., K) degrees of freedom."""


def net_parts(
    rep: NDArray[np.float64],
    nu_rep: NDArray[np.float64],
    seg: NDArray[np.float64],
    nu_seg: NDArray[np.float64],
    both: NDArray[np.float64],
    scope: Drawn = "both",
) -> Parts:
    """Var(delta) and its parts under the null hypothesis of this scope.

    rep (..., R): V_rep of each system (and tuner), nu_rep (R,). seg (..., B): V_seg of each test
    set of a suite, else B = 1, nu_seg (B,). both (..., B): the sum of V_int on each of them.

    - runs: this test set, new runs. V is the sum of `rep`.
    - segments: these runs, new segments. V is the sum of `seg`.
    - both: V = max(rep + seg - both, rep, seg). The test set's own parts are W = max(seg - both,
      0) with max(1, nu_seg W / seg) degrees of freedom: W keeps the mean square seg / nu_seg.
    """
    runs, test_sets = rep.sum(axis=-1), seg.sum(axis=-1)
    if scope == "runs":
        return Parts(runs, rep, np.broadcast_to(nu_rep, rep.shape))
    if scope == "segments":
        return Parts(test_sets, seg, np.broadcast_to(nu_seg, seg.shape))
    own = np.maximum(seg - both, 0.0)
    share = np.divide(own, seg, out=np.zeros_like(own), where=seg > 0)
    nothing = (runs + own.sum(axis=-1) == 0)[..., np.newaxis]
    own = np.where(nothing, seg, own)  # runs score alike but differ on segments: 1 degree of freedom
    variance = np.maximum(runs + test_sets - both.sum(axis=-1), np.maximum(runs, test_sets))
    nus = np.concatenate([np.broadcast_to(nu_rep, rep.shape), np.maximum(nu_seg * share, 1.0)], axis=-1)
    return Parts(variance, np.concatenate([rep, own], axis=-1), nus)


def layers(
    values: NDArray[np.float64], nus: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights (..., K) that sum to 1, and degrees of freedom (..., K), of the layers.

    `values` (..., K) are the parts of the variance, not negative and not all 0; `nus` (K,) or
    (..., K).

    >>> layers(np.array([4.0, 6.0]), np.array([4.0, 2.0]))
    (array([0.6, 0.4]), array([6., 2.]))
    """
    values, nus = np.broadcast_arrays(values, nus)
    level = values / nus
    order = np.argsort(level, axis=-1, kind="stable")
    level = np.take_along_axis(level, order, -1)
    df = np.flip(np.cumsum(np.flip(np.take_along_axis(nus, order, -1), -1), axis=-1), -1)
    weight = np.diff(level, axis=-1, prepend=0.0) * df
    return weight / weight.sum(axis=-1, keepdims=True), df


def critical_values(values: NDArray[np.float64], nus: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """Critical values (...) of delta / se at upper tail q, for parts (..., K)."""
    from scipy.special import stdtrit

    weight, df = layers(values, nus)
    known, place = np.unique(df, return_inverse=True)
    return (weight * -stdtrit(known, q)[place].reshape(df.shape)).sum(axis=-1)


def tails(
    weight: NDArray[np.float64], df: NDArray[np.float64], t: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The upper tails q (M,) at critical values t (M,) >= 0, for layers (M, K): halves of two-sided p.

    Newton's method solves for log q, in which the logarithm of the critical value is almost linear.
    It stays between the tails at which the single layers reach t.
    """
    from scipy.special import gammaln, stdtr, stdtrit

    weight, df, t = np.atleast_2d(weight), np.atleast_2d(df), np.atleast_1d(t)
    weighs = weight > 0
    logs = log(np.maximum(stdtr(df, -t[:, np.newaxis]), TINIEST))
    low = np.where(weighs, logs, np.inf).min(axis=1)
    high = np.where(weighs, logs, -np.inf).max(axis=1)
    log_scale = gammaln((df + 1) / 2) - gammaln(df / 2) - log(df * np.pi) / 2
    x = np.where(weighs, weight * logs, 0).sum(axis=1)
    for _ in range(60):
        q = exp(x)
        quantiles = -stdtrit(df, q[:, np.newaxis])
        gap = (weight * quantiles).sum(axis=1) - t
        low, high = np.where(gap > 0, x, low), np.where(gap < 0, x, high)
        density = exp(log_scale - (df + 1) / 2 * log1p(quantiles**2 / df))
        slope = -(weight / density).sum(axis=1) * q
        value = np.maximum(gap + t, TINIEST)
        step = x - value * log(value / np.maximum(t, TINIEST)) / slope
        inside = (step > low) & (step < high)
        new = np.where(inside, step, (low + high) / 2)
        done = np.abs(new - x) <= 1e-14 * np.abs(x) + 1e-15
        x = new
        if done.all():
            break
    return np.maximum(exp(x), TINIEST)


@dataclass(frozen=True, eq=False)
class Layers:
    """The critical values of one pair: `layers` (K,)."""

    weight: NDArray[np.float64]
    df: NDArray[np.float64]

    def value(self, q: float) -> float:
        """The critical value of delta / se at upper tail q."""
        from scipy.special import stdtrit

        return float((self.weight * -stdtrit(self.df, q)).sum())

    def tail(self, t: float) -> float:
        """The upper tail at critical value t >= 0."""
        return float(tails(self.weight, self.df, np.array([t]))[0])

    def effective_df(self, alpha: float) -> float:
        """The degrees of freedom whose two-sided t quantile at alpha is the critical value."""
        weighs = self.weight > 0
        own = Layers(self.weight[weighs], self.df[weighs])
        return matching_df(own.value(alpha / 2), alpha, float(own.df.min()), float(own.df.max()))


def matching_df(goal: float, alpha: float, low: float, high: float) -> float:
    """The degrees of freedom, from low to high, whose two-sided t quantile at alpha is `goal`."""
    from scipy.special import stdtrit

    def gap(nu: float) -> float:
        return -float(stdtrit(nu, alpha / 2)) - goal

    if gap(low) <= 0:
        return low
    if gap(high) >= 0:
        return high
    return _root(gap, low, high)


def _root(gap: Callable[[float], float], a: float, b: float) -> float:
    """Where the decreasing `gap` crosses 0 between a and b, to the last bit, by bisection.

    Importing scipy.optimize for its brentq would take a third of a second in every command.
    """
    while a < (middle := (a + b) / 2) < b:
        a, b = (middle, b) if gap(middle) > 0 else (a, middle)
    return middle
