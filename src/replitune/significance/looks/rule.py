"""Would all the runs that may be made give the same verdict on this test set?

All looks share one test set: the noise of segments is common to all of them, and only that of runs
shrinks. So an interim look asks whether a difference would be significant in the end, not whether it
is so now. With V_k the parts of Var(delta) that runs add at n_k of at most N_k replicas,
F_k = V_k n_k / N_k is what would be left of them in the end, and L_k = V_k - F_k is the variance of
how far delta may still move:

    reach(q) = C({F_k, W}, q) sqrt(V - sum V_k + sum F_k)    half the last interval at level q
    rejected at q:   |delta| >= reach(q) + C({L_k}, doubt q) sqrt(sum L_k)
    futile at q:     |delta| + C({L_k}, 2 futility) sqrt(sum L_k) < reach(q)

C is the two-sided critical value of `critical`, W the test set's own part. With all replicas this
is the ordinary test. docs/adaptive.md shows what is gained; `benchmarks/adaptive` measures it.

A one-sided test at q is half of the two-sided one at 2q: |delta| is replaced by delta times the sign
that the test asks for, and q by 2q.

Arrays may have leading axes, of pairs or of simulated experiments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replitune.arithmetic import exp
from replitune.significance.critical import Parts, layers, tails
from replitune.significance.looks.settings import RuleSettings

Array = NDArray[np.float64]
STEPS = 60
"""Bisections of log p: more than it has digits."""
LOWEST = -230.0
"""log of the smallest p."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """One difference at a look, and what it may become."""

    delta: Array
    """(...)"""
    now: Parts
    """Var(delta) at this look."""
    last: Parts
    """Var(delta) with all the replicas that there may be, as estimated at this look."""
    left: Array
    """(..., R) L_k: the variance of what more runs add to delta."""
    nus: Array
    """(..., R) their degrees of freedom."""
    rule: RuleSettings
    sign: float = 0.0
    """Sign of the delta that a one-sided test asks for; 0 for a two-sided one."""

    @property
    def size(self) -> Array:
        """(...) how far delta is from 0, on the side that the test asks for."""
        size: Array = self.sign * self.delta if self.sign else np.abs(self.delta)
        return size

    def two_sided(self, level: ArrayLike) -> Array:
        """The level of the two-sided test of which this one, at `level`, is one side, or all."""
        return np.asarray(level, np.float64) * (2 if self.sign else 1)

    @property
    def movement(self) -> Array:
        """(...) standard deviation of what more runs add to delta."""
        return np.sqrt(self.left.sum(axis=-1))

    def reach(self, level: ArrayLike) -> Array:
        """Half the width of the interval with all replicas."""
        c = critical(self.last.values, self.last.nus, self.two_sided(level))
        return c * np.sqrt(np.maximum(self.last.variance, 0.0))

    def needed(self, level: ArrayLike) -> Array:
        """The smallest size that settles that delta is not 0; half the width of the rule's interval."""
        beyond = critical(self.left, self.nus, self.rule.doubt * self.two_sided(level))
        return self.reach(level) + beyond * self.movement

    def futile(self, level: ArrayLike) -> NDArray[np.bool_]:
        """Whether more runs would hardly lead to a rejection at this level."""
        gain = critical(self.left, self.nus, 2 * self.rule.futility) * self.movement
        return self.size + gain < self.reach(level)

    def shares(self) -> Array:
        """(..., R) shares of what runs leave open."""
        total = self.left.sum(axis=-1, keepdims=True)
        return np.divide(self.left, total, out=np.zeros_like(self.left), where=total > 0)

    def p(self) -> Array:
        """(...) the level at which the size is just `needed`; with all replicas, the ordinary p."""
        size = self.size
        low, high = np.full(size.shape, LOWEST), np.zeros(size.shape)
        for _ in range(STEPS):
            middle = (low + high) / 2
            enough = size >= self.needed(exp(middle))
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.where(self.movement > 0, exp(high), self.p_now())

    def p_now(self) -> Array:
        """(...) the ordinary p of the replicas at hand, as if nobody had looked before."""
        size = np.abs(np.atleast_1d(np.asarray(self.delta, np.float64)))
        values, nus = np.broadcast_arrays(self.now.values, self.now.nus)
        varies = np.atleast_1d(np.asarray(self.now.variance) > 0)
        flat = values.reshape(-1, values.shape[-1]), nus.reshape(-1, nus.shape[-1])
        p = np.where(size.ravel() > 0, 0.0, 1.0)
        at = np.flatnonzero(varies.ravel() & (flat[0].sum(axis=1) > 0))
        if len(at):
            se = np.sqrt(np.atleast_1d(self.now.variance).ravel()[at])
            weight, df = layers(flat[0][at], flat[1][at])
            p[at] = np.minimum(1.0, 2 * tails(weight, df, size.ravel()[at] / se))
        p = p.reshape(np.shape(self.delta))
        if not self.sign:
            return p
        one_sided: Array = np.where(self.size == 0, 1.0, np.where(self.size > 0, p / 2, 1 - p / 2))
        return one_sided


def outlook(delta: ArrayLike, parts: Parts, share: Array, rule: RuleSettings, sign: float = 0.0) -> Outlook:
    """The outlook from the parts of a scope with runs, the first R of them V_rep; share (..., R):
    n_k / N_k of each."""
    R = share.shape[-1]
    runs = parts.values[..., :R]
    last = runs * share
    left = runs - last
    variance = parts.variance - left.sum(axis=-1)
    values = np.concatenate([last, parts.values[..., R:]], axis=-1)
    return Outlook(
        np.asarray(delta, np.float64),
        parts,
        Parts(variance, values, parts.nus),
        left,
        np.asarray(parts.nus)[..., :R],
        rule,
        sign,
    )


def critical(values: Array, nus: Array, level: ArrayLike) -> Array:
    """Two-sided critical values (...) at levels (...) for parts (..., K). Where all parts are 0, the
    value is any number, since it is multiplied by 0."""
    from scipy.special import stdtrit

    total = values.sum(axis=-1, keepdims=True)
    weight, df = layers(np.where(total > 0, values, 1.0), nus)
    q = np.asarray(level, np.float64)[..., np.newaxis] / 2
    return (weight * -stdtrit(df, np.maximum(q, 1e-300))).sum(axis=-1)


def step_down(p: Array, alpha: float, correction: str) -> tuple[NDArray[np.bool_], Array]:
    """For families of pairs (..., m): which are rejected, and the level (...) that the next pair has
    to reach; by Holm's method, or for each pair by itself. As m is fixed and p only fall, a rejected
    pair stays rejected."""
    m = p.shape[-1]
    if correction == "none":
        return p <= alpha, np.full(p.shape[:-1], alpha)
    order = np.argsort(p, axis=-1, kind="stable")
    passed = np.take_along_axis(p, order, -1) <= alpha / (m - np.arange(m))
    rejected = np.zeros(p.shape, bool)
    np.put_along_axis(rejected, order, np.logical_and.accumulate(passed, axis=-1), axis=-1)
    return rejected, alpha / np.maximum(m - rejected.sum(axis=-1), 1)


def adjusted(p: Array, correction: str) -> Array:
    """p (m,) adjusted by Holm, or unchanged."""
    if correction == "none":
        return p
    from replitune.significance.multiple import adjust

    return np.array(adjust(p.tolist(), "holm"), dtype=np.float64)


def asks(
    rejected: NDArray[np.bool_], futile: NDArray[np.bool_], shares: Array, skip: float
) -> NDArray[np.bool_]:
    """(..., m, 2) whether each pair (..., m) asks for more runs of A, and of B; shares (..., m, 2):
    those of A and of B in what runs leave open."""
    wanted: NDArray[np.bool_] = ~(rejected | futile)[..., np.newaxis] & (shares > skip)
    return wanted
