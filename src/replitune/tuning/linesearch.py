"""Exact line search on a corpus metric (Och 2003), also on a pool of n-best lists.

Along a line w + gamma d, hypothesis h scores a_h + gamma b_h with a = w.f and b = d.f. In
each segment the best hypotheses form the upper envelope of these lines; its corners are the
only places where the corpus statistics change. Between neighbouring corners of all segments
the metric is constant, so it is evaluated once per interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import inlined
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool, combine, segment_argmax, segment_ends

MIN_WIDTH = 1e-9
"""Intervals narrower than this (weights have L1 norm 1) come from rounding and are not chosen."""


@dataclass(frozen=True)
class Line:
    """The metric along a line, interval by interval."""

    edges: NDArray[np.float64]
    """(P-1,) corners in increasing order; interval i lies between edges i-1 and i."""
    utilities: NDArray[np.float64]
    """(P,) value to maximise on each interval."""


@dataclass(frozen=True)
class Step:
    """Where a line search ends."""

    gamma: float
    """How far to go; 0 when nothing on the line is better."""
    here: float
    """Utility at gamma = 0, after smoothing."""
    best: float
    """Utility at `gamma`, after smoothing."""


def integrate(
    gammas: NDArray[np.float64],
    order: NDArray[np.int64],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    base: NDArray,
    statistics: NDArray,
    objective: Objective,
) -> Line:
    """The metric on the intervals between corners: at each corner, row `target` of the statistics
    replaces row `source`; `base` (K,) are the sums left of all corners."""
    sums = np.empty((len(gammas) + 1, len(base)), dtype=base.dtype)
    edges = np.empty(len(gammas))
    n = _accumulate(gammas, order, source, target, base, statistics, sums, edges)
    return Line(edges[: n - 1].copy(), objective.utilities(sums[:n]))


def best_step(line: Line, window: int = 0, tolerance: float = 1e-9) -> Step:
    """The middle of the best interval of a line.

    With `window` > 0, an interval is worth the mean over it and `window` neighbours on either
    side: Cer, Jurafsky & Manning's (2008) regularisation by averaging, which prefers broad
    hills to narrow peaks.
    """
    edges, values = line.edges, line.utilities
    if not len(edges):
        return Step(0.0, float(values[0]), float(values[0]))
    if window:
        values = _moving_mean(values, window)
    here = float(values[np.searchsorted(edges, 0.0, side="right")])
    wide = np.ones(len(values), dtype=bool)
    wide[1:-1] = np.diff(edges) > MIN_WIDTH
    i = int(np.argmax(np.where(wide, values, -np.inf)))
    best = float(values[i])
    if not best > here + tolerance:
        return Step(0.0, here, here)
    if i == 0:
        gamma = edges[0] - max(0.1 * abs(edges[0]), 0.01)
    elif i == len(edges):
        gamma = edges[-1] + max(0.1 * abs(edges[-1]), 0.01)
    else:
        gamma = 0.5 * (edges[i - 1] + edges[i])
    return Step(float(gamma), here, best)


def _moving_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    total = np.concatenate([[0.0], np.cumsum(values)])
    index = np.arange(len(values))
    low = np.maximum(index - window, 0)
    high = np.minimum(index + window + 1, len(values))
    return (total[high] - total[low]) / (high - low)


@njit(cache=True, nogil=True)
def _accumulate(gammas, order, source, target, base, statistics, sums, edges):
    """Cumulative sums per interval and the edges between them; corners at one gamma are one
    edge. Returns the number of intervals."""
    K = len(base)
    for k in range(K):
        sums[0, k] = base[k]
    n = 1
    i = 0
    while i < len(order):
        gamma = gammas[order[i]]
        for k in range(K):
            sums[n, k] = sums[n - 1, k]
        while i < len(order) and gammas[order[i]] == gamma:
            old = source[order[i]]
            new = target[order[i]]
            for k in range(K):
                sums[n, k] += statistics[new, k] - statistics[old, k]
            i += 1
        edges[n - 1] = gamma
        n += 1
    return n


@njit(cache=True, nogil=True, inline="always")
def _corner(i, j, a, b, otherwise):
    """Where line j, the steeper, overtakes line i."""
    return (a[i] - a[j]) / (b[j] - b[i]) if b[j] > b[i] else otherwise


@njit(cache=True, nogil=True, inline="always")
def _floor(i, gamma, a, b):
    """Value of line i at gamma, minus a margin for rounding."""
    return a[i] + b[i] * gamma - 1e-12 * (abs(a[i]) + abs(b[i] * gamma))


@njit(cache=True, nogil=True)
def corners(a, b, tops, ends, offsets, statistics, gammas, source, target, base):
    """Corners of all segments' upper envelopes: at gammas[p], row target[p] overtakes row
    source[p]; base (K,) becomes the sums left of all corners. Corners between hypotheses of
    equal statistics are left out. Returns their number."""
    K = statistics.shape[1]
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    kept = np.empty(longest + 1, dtype=np.int64)
    hull = np.empty(longest + 1, dtype=np.int64)
    cuts = np.empty(longest + 1)
    base[:] = 0
    n_corners = 0
    for s in range(len(offsets) - 1):
        h = upper_envelope(
            a, b, offsets[s], offsets[s + 1], ends[0, s], tops[s], ends[1, s], kept, hull, cuts
        )
        p = hull[0]
        for k in range(K):
            base[k] += statistics[p, k]
        for i in range(1, h):
            q = hull[i]
            for k in range(K):
                if statistics[p, k] != statistics[q, k]:
                    gammas[n_corners] = cuts[i]
                    source[n_corners] = p
                    target[n_corners] = q
                    n_corners += 1
                    break
            p = q
    return n_corners


@inlined
def upper_envelope(a, b, lo, hi, l, c, r, kept, hull, cuts):  # noqa: E741
    """Upper envelope of the lines a + gamma b of rows lo .. hi-1: writes its rows by slope to `hull`,
    and where each begins to be the highest (-inf for the first) to `cuts`. Returns their number.

    `l`, `c` and `r` are rows of least slope, of largest intercept and of greatest slope. Two
    passes drop the lines that lie below a known part of the envelope (as in QuickHull); the
    rest, a few, are sorted by slope and scanned.
    """
    # The envelope is above the lines l, c and r; a line below the two corners of this
    # polyline is below it everywhere.
    g1 = _corner(l, c, a, b, 0.0)
    g2 = _corner(c, r, a, b, 0.0)
    v1 = _floor(c, g1, a, b)
    v2 = _floor(c, g2, a, b)
    n = 0
    for i in range(lo, hi):
        kept[n] = i
        n += (a[i] + b[i] * g1 >= v1) | (a[i] + b[i] * g2 >= v2)
    if n > 12:
        # The highest lines at both corners are on the envelope: refine the polyline.
        m1 = l
        m2 = r
        x1 = v1
        x2 = v2
        for j in range(n):
            i = kept[j]
            y1 = a[i] + b[i] * g1
            y2 = a[i] + b[i] * g2
            if y1 > x1:
                x1 = y1
                m1 = i
            if y2 > x2:
                x2 = y2
                m2 = i
        p1 = _corner(l, m1, a, b, g1)
        q1 = _corner(m1, c, a, b, g1)
        p2 = _corner(c, m2, a, b, g2)
        q2 = _corner(m2, r, a, b, g2)
        u1 = _floor(m1, p1, a, b)
        t1 = _floor(m1, q1, a, b)
        u2 = _floor(m2, p2, a, b)
        t2 = _floor(m2, q2, a, b)
        m = 0
        for j in range(n):
            i = kept[j]
            kept[m] = i
            ai = a[i]
            bi = b[i]
            m += (ai + bi * p1 >= u1) | (ai + bi * q1 >= t1) | (ai + bi * p2 >= u2) | (ai + bi * q2 >= t2)
        n = m
    # by slope, then intercept, then row
    for i in range(1, n):
        t = kept[i]
        j = i - 1
        while j >= 0 and (b[kept[j]] > b[t] or (b[kept[j]] == b[t] and a[kept[j]] > a[t])):
            kept[j + 1] = kept[j]
            j -= 1
        kept[j + 1] = t
    h = 0
    for i in range(n):
        t = kept[i]
        if h > 0 and b[hull[h - 1]] == b[t]:
            if a[hull[h - 1]] >= a[t]:
                continue
            h -= 1
        cut = -np.inf
        while h > 0:
            p = hull[h - 1]
            cut = (a[p] - a[t]) / (b[t] - b[p])
            if h > 1 and cut <= cuts[h - 1]:
                h -= 1
            else:
                break
        if h == 0:
            cut = -np.inf
        hull[h] = t
        cuts[h] = cut
        h += 1
    return h


@dataclass(frozen=True)
class PoolDirection:
    """A direction (F,) in the space of weights, and what its line searches need of the pool."""

    vector: NDArray[np.float64]
    slopes: NDArray[np.float64]
    """(H,) direction . features."""
    ends: NDArray[np.int64]
    """(2, N) rows of least and greatest slope."""


class PoolSearch:
    """Exact line searches; what those along an axis need is computed once."""

    def __init__(self, pool: Pool, objective: Objective) -> None:
        self.pool = pool
        self.objective = objective
        self._ends: list[NDArray[np.int64]] = [
            segment_ends(column, pool.offsets) for column in pool.features
        ]

    def at(self, weights: NDArray[np.float64]) -> PoolPoint:
        return PoolPoint(self, weights)

    def along(self, vector: NDArray[np.float64]) -> PoolDirection:
        """The direction `vector` (F,), for any number of searches."""
        slopes = combine(vector, self.pool.features)
        return PoolDirection(vector, slopes, segment_ends(slopes, self.pool.offsets))

    def axis(self, number: int) -> PoolDirection:
        """The direction of one weight."""
        vector = np.zeros(self.pool.n_features)
        vector[number] = 1.0
        slopes = self.pool.features[number].astype(np.float64)
        return PoolDirection(vector, slopes, self._ends[number])


class PoolPoint:
    """Weights that move along lines, with the scores of all hypotheses kept up to date."""

    def __init__(self, search: PoolSearch, weights: NDArray[np.float64]) -> None:
        self.space = search
        self.weights = weights
        pool = search.pool
        self.values = combine(weights, pool.features)
        self.tops = segment_argmax(self.values, pool.offsets)
        whole = pool.statistics.dtype.kind == "i"
        self._gammas = np.empty(len(pool))
        self._source, self._target = np.empty((2, len(pool)), np.int32)
        self._base = np.empty(pool.statistics.shape[1], np.int64 if whole else np.float64)

    def sums(self) -> NDArray:
        """(K,) summed statistics of the model's choices."""
        chosen = self.space.pool.statistics[self.tops]
        return chosen.sum(axis=0, dtype=np.int64 if chosen.dtype.kind == "i" else np.float64)

    def line(self, direction: PoolDirection) -> Line:
        """The metric along a direction."""
        pool = self.space.pool
        lines = self.values, direction.slopes, self.tops, direction.ends
        changes = self._source, self._target, self._base
        n = corners(*lines, pool.offsets, pool.statistics, self._gammas, *changes)
        gammas = self._gammas[:n]
        # sums of counts do not depend on the order of equal gammas
        order = np.argsort(gammas, kind=None if pool.statistics.dtype.kind in "iu" else "stable")
        return integrate(gammas, order, *changes, pool.statistics, self.space.objective)

    def search(self, direction: PoolDirection, fraction: float = 0.0) -> Step:
        """Go to the best place along a direction."""
        line = self.line(direction)
        step = best_step(line, round(fraction * len(line.utilities)))
        if step.gamma:
            self.weights = self.weights + step.gamma * direction.vector
            self.values += step.gamma * direction.slopes
            self.tops = segment_argmax(self.values, self.space.pool.offsets)
        return step
