"""Comparisons that are not normal: runs with heavy or skewed tails, and right-or-wrong scores."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from replitune.significance.studies.simulate import Design

Array = NDArray[np.float64]

ITEM, PREFERENCE = 1.0, 0.7
"""Standard deviations, on the probit scale, of an item's effect on both systems, and on B - A."""
BAD_SHARE, BAD_BY = 0.2, 5.0


def run_effects(kind: str, sd: float | Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Run effects with mean 0 and standard deviation `sd`. `bad`: one run in five is worse by 5 standard
    deviations of the others."""
    if kind == "exponential":
        x = rng.exponential(1.0, shape) - 1
    elif kind == "t3":
        x = rng.standard_t(3, shape) / np.sqrt(3)
    elif kind == "bad":
        x = rng.standard_normal(shape) - BAD_BY * ((rng.random(shape) < BAD_SHARE) - BAD_SHARE)
        x /= np.sqrt(1 + BAD_BY**2 * BAD_SHARE * (1 - BAD_SHARE))
    else:
        raise ValueError(kind)
    return x * sd


def binary_scores(
    design: Design, accuracy: float, trials: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Scores 0 or 1, A (T, n_a, N) and B (T, n_b, N); both are right with probability `accuracy`.

    An output is right with probability Phi(m_s + item -+ preference / 2 + run). Over items and runs
    this is Phi(m_s / sqrt(1 + their variance)), so m_s compensates for runs that vary more.
    """
    N = design.segments
    item = rng.normal(0.0, ITEM, (trials, 1, N))
    prefer = rng.normal(0.0, PREFERENCE, (trials, 1, N))
    out = []
    for n, run, sign in ((design.n_a, design.replica_a, -0.5), (design.n_b, design.replica_b, 0.5)):
        sd = float(np.asarray(run).flat[0])
        centre = ndtri(accuracy) * np.sqrt(1 + ITEM**2 + PREFERENCE**2 / 4 + sd**2)
        x = centre + item + sign * prefer + rng.normal(0.0, sd, (trials, n, 1))
        x = x + rng.standard_normal((trials, n, N)) > 0
        out.append(x.astype(np.float64))
    return out[0], out[1]


@cache
def binary_units(accuracy: float, outputs: float) -> tuple[float, float]:
    """Var(d_i), and d accuracy / d probit, without a run effect.

    outputs: 1/n_A + 1/n_B. Computed by Gauss-Hermite quadrature over items and preferences.
    """
    variance = ITEM**2 + PREFERENCE**2 / 4
    centre = ndtri(accuracy) * np.sqrt(1 + variance)
    slope = np.exp(-(ndtri(accuracy) ** 2) / 2) / np.sqrt(2 * np.pi * (1 + variance))
    x, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    item, prefer = ITEM * x[:, np.newaxis], PREFERENCE * x[np.newaxis, :] / 2
    a, b = ndtr(centre + item - prefer), ndtr(centre + item + prefer)
    weight = w[:, np.newaxis] * w[np.newaxis, :]
    between = float((weight * (b - a) ** 2).sum())
    within = float((weight * (a * (1 - a) + b * (1 - b)) / 2).sum())
    return between + outputs * within, float(slope)
