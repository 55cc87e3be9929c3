"""What the next run would show: how often one new run of B beats one new run of A.

In the normal model this is theta = Phi(Delta / sigma). Delta is how much better B truly is, and
sigma^2 the variance of the difference of two new runs: sigma2_rep of both systems and, on a new
test set, what a test set of the same size adds. theta is predicted in the same way on this test set
and on a new one.

With the estimates e = delta / sigma and h = V / sigma^2, where V is the variance of delta,

    P    = T_nu(m / sqrt(1 + v))
    theta in Phi(m -+ z sqrt(v + m^2 / (2 nu))),

where m and v are the mean and variance of Delta / sigma: e and h if the prior of Delta is flat. nu
is Satterthwaite's, for parts x_k (1 + 1/nu_k): without the factor, a part with few degrees of
freedom that happens to be small would not count.

With four systems or more, their scores show how large true differences are. True scores are normal
with variance tau^2 around their mean. With w the mean variance of a system's score, and a flat prior
of log kappa, kappa = w / (w + tau^2),

    p(kappa) ~ kappa^((S - 1)/2 - 1) exp(-kappa (S - 1) s^2 / (2 w)),      s^2 the scores' variance.

A pair's V is shrunk towards 2 w, with a weight of four degrees of freedom, to V'. With k the mean of
V' / (V' + 2 tau^2): m = (1 - k) e,  v = (1 - k) V' / sigma^2 + Var(k) e^2. docs/evidence.md shows how
often all this is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot, exp
from replitune.significance.counting import tolerance
from replitune.significance.critical import Parts

if TYPE_CHECKING:
    from replitune.significance.base import TestResult

LEVEL = 0.9
"""Confidence of the intervals."""
FEWEST_SYSTEMS = 4
"""Fewest systems whose scores are used to tell how large true differences are."""
FAMILY_DF = 4.0
"""Weight of the mean variance of all pairs beside a pair's own, in degrees of freedom."""
SHARES = 1024
"""Nodes of log kappa, from -30 to 0, denser towards 0."""

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spread:
    """Variances of pairs (...), on this test set or on a new one."""

    now: Array
    """V, the variance of delta."""
    new: Array
    """sigma^2, the variance of the difference of two new runs."""
    nu: Array


@dataclass(frozen=True)
class NextRun:
    """What a row knows about the next runs."""

    here: Spread
    on_new_set: Spread | None
    sign: float
    """1 when more is better, -1 when less is."""


def spread_of(parts: Parts, n: Array, slack: float = 0.0) -> Spread:
    """n (K,): of how many runs each part (..., K) is a mean, to get the variance of one; of a test
    set 1. slack: scores that differ by no more are equal."""
    new = parts.values * n
    weighed = new * (1 + 1 / parts.nus)
    squares = (weighed**2 / parts.nus).sum(axis=-1)
    varies = new.sum(axis=-1) > slack**2
    nu = np.divide(weighed.sum(axis=-1) ** 2, squares, out=np.ones_like(squares), where=varies)
    return Spread(parts.values.sum(axis=-1) * varies, new.sum(axis=-1) * varies, nu)


def next_better(gain: Array, spread: Spread, scores: Array | None = None) -> tuple[Array, Array, Array]:
    """theta of each pair (m,), and the limits of its interval.

    gain (m,): by how much B is better. scores: of all systems, used if there are `FEWEST_SYSTEMS`.
    """
    from scipy.special import ndtr, ndtri, stdtr

    now, new, nu = spread.now, spread.new, spread.nu
    varies = new > 0
    sigma = np.sqrt(np.where(varies, new, 1.0))
    e, k, var_k = gain / sigma, np.zeros_like(gain), np.zeros_like(gain)
    known = now.copy()
    average = float(now.mean()) / 2
    if scores is not None and len(scores) >= FEWEST_SYSTEMS and average > 0:
        known = (nu * now + FAMILY_DF * 2 * average) / (nu + FAMILY_DF)
        share, doubt = _noise_share(scores, average)
        tau2 = average * (1 - share) / share
        k = known / (known + 2 * tau2)
        var_k = doubt * (k * (1 - k) / max(share * (1 - share), 1e-300)) ** 2
    mean = (1 - k) * e
    variance = (1 - k) * known / sigma**2 + var_k * e**2
    half = float(ndtri((1 + LEVEL) / 2)) * np.sqrt(variance + mean**2 / (2 * nu))
    sure = 0.5 + 0.5 * np.sign(gain)
    theta, low, high = stdtr(nu, mean / np.sqrt(1 + variance)), ndtr(mean - half), ndtr(mean + half)
    return np.where(varies, theta, sure), np.where(varies, low, sure), np.where(varies, high, sure)


def _noise_share(scores: Array, noise: float) -> tuple[float, float]:
    """Mean and variance of kappa, the share of noise in the variance of systems' scores."""
    x = (np.arange(SHARES) + 0.5) / SHARES
    u = -30 * x * x
    kappa = exp(u)
    half = (len(scores) - 1) / 2
    logs = half * u - kappa * half * float(np.var(scores, ddof=1)) / noise
    weight = x * exp(logs - logs.max())
    weight /= math.fsum(weight.tolist())
    mean = dot(weight, kappa)
    return mean, max(dot(weight, (kappa - mean) ** 2), 0.0)


def next_runs(rows: Sequence[TestResult]) -> list[dict[str, float]]:
    """Details of each row of one test under one metric: P(a new run of B is better than one of A)."""
    details: list[dict[str, float]] = [{} for _ in rows]
    known = [i for i, row in enumerate(rows) if row.next_run is not None]
    scores: dict[str, float] = {}
    for i in known:
        scores |= {rows[i].a: rows[i].score_a, rows[i].b: rows[i].score_b}
    for name, kind in (("superior", "here"), ("superior_new", "on_new_set")):
        spreads = {i: spread for i in known if (spread := getattr(rows[i].next_run, kind)) is not None}
        if not spreads:
            continue
        gain = np.array([_gain(rows[i]) for i in spreads])
        stacked = (np.array([getattr(s, part) for s in spreads.values()]) for part in ("now", "new", "nu"))
        columns = next_better(gain, Spread(*stacked), np.array([*scores.values()]))
        for i, *limits in zip(spreads, *(x.tolist() for x in columns), strict=True):
            details[i] |= zip((name, f"{name}_low", f"{name}_high"), limits, strict=True)
            if len(scores) >= FEWEST_SYSTEMS:
                details[i]["superior_systems"] = float(len(scores))
    return details


def _gain(row: TestResult) -> float:
    """By how much B is better; 0 if the scores differ by rounding only."""
    assert row.next_run is not None
    same = abs(row.delta) <= tolerance(row.score_a, row.score_b)
    return 0.0 if same else row.next_run.sign * row.delta


def prediction_interval(
    scores: NDArray[np.float64], confidence: float = 0.95
) -> tuple[float, float] | None:
    """For the score of a system's next run on this test set: mean +- t(n-1) s sqrt(1 + 1/n)."""
    from scipy.special import stdtrit

    n = len(scores)
    if n < 2:
        return None
    reach = -float(stdtrit(n - 1, (1 - confidence) / 2)) * float(np.std(scores, ddof=1))
    reach *= math.sqrt(1 + 1 / n)
    mean = float(scores.mean())
    return mean - reach, mean + reach
