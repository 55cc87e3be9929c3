"""Confidence intervals from bootstrap distributions, and how far two of them overlap."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.notes import Note, note
from replitune.significance.counting import percentile_interval


@dataclass(frozen=True)
class Interval:
    """A confidence interval and the bootstrap distribution it was read from."""

    low: float | None
    high: float | None
    notes: tuple[Note, ...] = ()
    distribution: NDArray[np.float64] | None = None
    """(samples,)"""

    @property
    def limits(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


def bca_interval(
    deltas: NDArray[np.float64], observed: float, jackknife: NDArray[np.float64], confidence: float = 0.95
) -> tuple[float, float, Note | None]:
    """Bias-corrected and accelerated interval (Efron 1987; Efron and Tibshirani 1993, eq. 14.9).

    jackknife: the statistic without each unit in turn, units being what is drawn. Resamples equal
    to the observed value count as half below it. Where the correction is not defined, this is the
    percentile interval, with a note that says why.
    """
    from scipy.special import ndtr, ndtri

    below = np.count_nonzero(deltas < observed) + np.count_nonzero(deltas == observed) / 2
    bias = float(ndtri(below / len(deltas)))
    pull = jackknife.mean() - jackknife
    spread = float((pull**2).sum())
    reason = None
    if not math.isfinite(bias):
        reason = "every resample lies on one side of the observed value"
    elif len(jackknife) < 2 or spread <= (1e-12 * max(1.0, abs(observed))) ** 2:
        reason = "leaving a unit out changes nothing"
    if reason is None:
        acceleration = float((pull * pull * pull).sum()) / (6 * spread**1.5)
        z = ndtri(np.array([(1 - confidence) / 2, (1 + confidence) / 2])) + bias
        if (1 - acceleration * z > 0).all():
            levels = ndtr(bias + z / (1 - acceleration * z))
            low, high = np.percentile(deltas, 100 * levels)
            return float(low), float(high), None
        reason = "its acceleration is too large"
    return *percentile_interval(deltas, confidence), note("not-bca", reason=reason)


def overlap_ratio(
    x: NDArray[np.float64], y: NDArray[np.float64], confidence: float = 0.95
) -> tuple[float | None, tuple[Note, ...]]:
    """How far the confidence intervals of two systems overlap (Fu et al. 2016, section 4.2):
    S_overlap / (S_total - S_overlap) of normal densities fitted to bootstrap distributions.

    With D_x, D_y the densities, [n, m] the percentile intervals, mu_x < mu_y, and j the one
    crossing of the densities between the means:

        S_total   = int_{n_x}^{m_x} D_x + int_{n_y}^{m_y} D_y
        S_overlap = int_j^{m_x} D_x + int_{n_y}^j D_y            (an empty integral is 0)

    Where there is no single crossing between the means, S_overlap is the integral of the smaller
    density over the intersection of the intervals.
    """
    from scipy.special import ndtr

    if x.mean() > y.mean():
        x, y = y, x
    mean = np.array([x.mean(), y.mean()])
    sd = np.array([np.std(v, ddof=1) if len(v) > 1 else 0.0 for v in (x, y)])
    if (sd <= 1e-12 * np.abs(mean)).any():
        return None, (note("no-spread"),)
    (low_x, high_x), (low_y, high_y) = (percentile_interval(v, confidence) for v in (x, y))

    def mass(which: int, low: float, high: float) -> float:
        if high <= low:
            return 0.0
        z = (np.array([low, high]) - mean[which]) / sd[which]
        return float(ndtr(z[1]) - ndtr(z[0]))

    total = mass(0, low_x, high_x) + mass(1, low_y, high_y)
    crossings = _crossings(mean, sd)
    between = [j for j in crossings if mean[0] < j < mean[1]]
    if len(between) == 1:
        shared = mass(0, between[0], high_x) + mass(1, low_y, between[0])
    else:
        low, high = max(low_x, low_y), min(high_x, high_y)
        edges = [low, *sorted(j for j in crossings if low < j < high), high]
        shared = sum(
            min(mass(0, left, right), mass(1, left, right)) for left, right in itertools.pairwise(edges)
        )
    return shared / (total - shared), ()


def _crossings(mean: NDArray[np.float64], sd: NDArray[np.float64]) -> list[float]:
    """Where two normal densities are equal: the roots of a quadratic (of a line, for equal sd)."""
    centre, scale = float(mean.mean()), float(sd.mean())
    (m1, m2), (s1, s2) = (mean - centre) / scale, sd / scale
    a = 1 / s1**2 - 1 / s2**2
    b = -2 * (m1 / s1**2 - m2 / s2**2)
    c = m1**2 / s1**2 - m2**2 / s2**2 + 2 * math.log(s1 / s2)
    if abs(a) < 1e-12:
        return [] if b == 0 else [centre - scale * c / b]
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    # The larger root first, then the other by Vieta: no cancellation.
    q = -(b + math.copysign(root, b)) / 2
    roots = [q / a] if q == 0 else [q / a, c / q]
    return sorted(centre + scale * r for r in roots)
