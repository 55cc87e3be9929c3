"""Compiled parts of PRO: see `replitune.tuning.pro`."""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.tuning.pool import mix


@njit(cache=True, nogil=True)
def logistic(differences, weights):
    """Summed log loss log(1 + exp(-w.x)) of rows x, its gradient (F,) and its second derivatives
    (F, F)."""
    F = len(weights)
    gradient = np.zeros(F)
    curvature = np.zeros((F, F))
    loss = 0.0
    for i in range(len(differences)):
        margin = 0.0
        for f in range(F):
            margin += weights[f] * differences[i, f]
        small = np.exp(-abs(margin))
        loss += np.log(1.0 + small) + max(-margin, 0.0)
        slope = -small / (1.0 + small) if margin > 0 else -1.0 / (1.0 + small)
        for f in range(F):
            gradient[f] += slope * differences[i, f]
        bend = small / (1.0 + small) ** 2
        for f in range(F):
            at = bend * differences[i, f]
            for g in range(f + 1):
                curvature[f, g] += at * differences[i, g]
    for f in range(F):
        for g in range(f):
            curvature[g, f] = curvature[f, g]
    return loss, gradient, curvature


@njit(cache=True, nogil=True)
def sample(worth, offsets, key, samples, kept, threshold):
    """(M, 2) rows (better, worse) of the kept pairs of all segments: for each segment those with
    the largest differences, of equal ones those drawn first.

    Draw j of segment s is a hash of (key, s, j), so a segment's pairs do not depend on other segments.
    """
    N = len(offsets) - 1
    out = np.empty((N * kept, 2), dtype=np.int64)
    gaps = np.empty(kept)
    m = 0
    for s in range(N):
        lo = offsets[s]
        n = np.uint64(offsets[s + 1] - lo)
        state = mix(key ^ mix(np.uint64(s)))
        count = 0
        least = threshold
        for _ in range(samples if n > 1 else 0):
            state += np.uint64(0x9E3779B97F4A7C15)
            bits = mix(state)
            i = lo + np.int64(((bits >> np.uint64(32)) * n) >> np.uint64(32))
            j = lo + np.int64(((bits & np.uint64(0xFFFFFFFF)) * n) >> np.uint64(32))
            gap = worth[i] - worth[j]
            if abs(gap) <= least:
                continue
            # insertion into the kept pairs, largest difference first
            place = min(count, kept - 1)
            while place > 0 and gaps[place - 1] < abs(gap):
                gaps[place] = gaps[place - 1]
                out[m + place] = out[m + place - 1]
                place -= 1
            gaps[place] = abs(gap)
            out[m + place, 0] = i if gap > 0 else j
            out[m + place, 1] = j if gap > 0 else i
            if count < kept:
                count += 1
            if count == kept:
                least = gaps[kept - 1]
        m += count
    return out[:m].copy()
