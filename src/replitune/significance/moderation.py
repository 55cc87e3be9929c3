"""Moderated run variances: what many systems together say of the noise of one (Smyth 2004, limma).

The log variances of S systems vary because each is estimated from few runs, and because systems
differ. What is left after the first is taken off says how many degrees of freedom the systems'
common variance is worth: s0^2 on d0. A system's own variance s^2 on d becomes

    (d0 s0^2 + d s^2) / (d0 + d)

on d0 + d degrees of freedom, but no more than all systems have together.

It assumes that runs of all systems are about equally noisy. A system that stands out gives its
own variance away to the others, so where one does, nothing is moderated; but a few runs show only
what is many times as noisy (docs/evidence.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import exp, log
from replitune.significance.base import Note

FEWEST_SYSTEMS = 5
OUTLYING = 0.01
"""A variance whose two-sided F has a p below this, divided by the number of systems, stands out."""
MOST = 1e6
"""As good as infinitely many degrees of freedom."""


@dataclass(frozen=True)
class Prior:
    """What the systems have in common."""

    variance: float
    """s0^2 of the scores of runs."""
    df: float
    """d0; `MOST` when the systems do not differ by more than chance."""
    df_of_all: float
    """Degrees of freedom of all systems together."""
    systems: int
    outlying: bool
    """Some system's variance stands out: not to be used."""


def run_variance_prior(scores: Sequence[NDArray[np.float64]]) -> Prior | None:
    """From the scores (n_s,) of each system; None of fewer than five systems with two runs.

    Whether a system stands out is asked of the prior that the others make.
    """
    from scipy.special import fdtr, fdtrc

    several = [x for x in scores if len(x) > 1]
    s2 = np.array([np.var(x, ddof=1) for x in several])
    d = np.array([len(x) - 1.0 for x in several])
    S = len(s2)
    if S < FEWEST_SYSTEMS or not (s2 > 0).all():
        return None
    variance, df = _moments(s2, d)
    outlying = False
    for s in range(S):
        others = np.arange(S) != s
        usual, own = _moments(s2[others], d[others])
        ratio = s2[s] / usual
        p = 2 * min(fdtr(d[s], own, ratio), fdtrc(d[s], own, ratio))
        outlying |= p < OUTLYING / S
    return Prior(variance, df, float(d.sum()), S, outlying)


def _moments(s2: NDArray[np.float64], d: NDArray[np.float64]) -> tuple[float, float]:
    """s0^2 and d0 by the moments of log s^2 (Smyth 2004, section 6.2).

    With e = log s^2 - digamma(d/2) + log(d/2), the mean of e is log s0^2 - digamma(d0/2) +
    log(d0/2), and its variance is trigamma(d/2) + trigamma(d0/2).
    """
    from scipy.special import digamma, polygamma

    e = log(s2) - digamma(d / 2) + log(d / 2)
    excess = float(np.var(e, ddof=1) - polygamma(1, d / 2).mean())
    df = min(2 * trigamma_inverse(excess), MOST) if excess > 0 else MOST
    return float(exp(e.mean() + digamma(df / 2) - log(df / 2))), df


def trigamma_inverse(y: float) -> float:
    """x with trigamma(x) = y, by Newton's method on 1/trigamma, which is convex (Smyth 2004)."""
    from scipy.special import polygamma

    x = 0.5 + 1 / y
    for _ in range(50):
        value = float(polygamma(1, x))
        step = value * (1 - value / y) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-12 * x:
            break
    return x


Variances = TypeVar("Variances", float, NDArray[np.float64])


def moderated(variance: Variances, df: float, prior: Prior | None) -> tuple[Variances, float]:
    """A system's own variance and degrees of freedom, drawn towards the prior's."""
    if prior is None or prior.outlying:
        return variance, df
    total = prior.df + df
    return (prior.df * prior.variance + df * variance) / total, min(total, prior.df_of_all)


def moderation_note(prior: Prior | None) -> Note:
    if prior is None:
        text = f"run variances not moderated: fewer than {FEWEST_SYSTEMS} systems with two runs"
        return Note("not-moderated", text)
    if prior.outlying:
        text = "run variances not moderated: one system's runs are much more or less noisy"
        return Note("not-moderated", text)
    text = (
        f"run variances moderated over {prior.systems} systems: assumes that their runs are about "
        "equally noisy, which few runs cannot show"
    )
    return Note("moderated", text)
