"""The compiled part of RIBES: which words are aligned, and the score of a segment."""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.metrics.base import Array


@njit(cache=True)
def contexts(hyp: Array, ref: Array, needed: Array, longest: Array, place: Array) -> None:
    """Fill, for the n-grams that start at each word of `hyp` (n,): `longest` (n,), the length of
    the longest that occurs in `ref`; `place` (n,), where it does; and `needed` (n,), the length
    of the longest that occurs at least once more, in `hyp` or in `ref`. So the n-grams with
    needed < length <= longest are unique.
    """
    n, m = hyp.size, ref.size
    # Lengths of the common n-grams that start at (i, j), along the diagonals from their ends.
    in_ref = np.zeros(m + 1, dtype=np.int64)
    in_hyp = np.zeros(n + 1, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        best, second, where = 0, 0, -1
        for j in range(m):
            in_ref[j] = in_ref[j + 1] + 1 if hyp[i] == ref[j] else 0
            if in_ref[j] > best:
                best, second, where = in_ref[j], best, j
            elif in_ref[j] > second:
                second = in_ref[j]
        for k in range(n):
            in_hyp[k] = in_hyp[k + 1] + 1 if hyp[i] == hyp[k] else 0
            if k != i and in_hyp[k] > second:
                second = in_hyp[k]
        longest[i], needed[i], place[i] = best, second, where


@njit(cache=True)
def aligned_positions(hyp: Array, ref: Array) -> Array:
    """Reference position of each hypothesis word that can be aligned, in hypothesis order."""
    n, m = hyp.size, ref.size
    right = np.empty((3, n), dtype=np.int64)
    left = np.empty((3, n), dtype=np.int64)
    contexts(hyp, ref, right[0], right[1], right[2])
    contexts(hyp[::-1].copy(), ref[::-1].copy(), left[0], left[1], left[2])
    result = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        back = n - 1 - i
        right_fits = right[0, i] < right[1, i]
        left_fits = left[0, back] < left[1, back]
        if left_fits and (not right_fits or left[0, back] <= right[0, i]):
            result[count] = m - 1 - left[2, back]
            count += 1
        elif right_fits:
            result[count] = right[2, i]
            count += 1
    return result[:count]


@njit(cache=True)
def ribes(hyp: Array, ref: Array, alpha: float, beta: float) -> float:
    """RIBES (0..1) of `hyp` against one reference that is not empty."""
    n, m = hyp.size, ref.size
    if n == 0:
        return 0.0
    positions = aligned_positions(hyp, ref)
    pairs = positions.size * (positions.size - 1) // 2
    if pairs > 0:
        ascending = 0
        for i in range(positions.size):
            for j in range(i + 1, positions.size):
                ascending += positions[i] < positions[j]
        tau = ascending / pairs
    else:
        # One aligned word has no order; it counts as right only if the reference is one word.
        tau = 1.0 if positions.size == 1 and m == 1 else 0.0
    brevity = min(1.0, np.exp(1 - m / n))
    return tau * (positions.size / n) ** alpha * brevity**beta


@njit(cache=True, nogil=True)
def best_ribes(
    hyps: Array,
    hyp_starts: Array,
    segments: Array,
    refs: Array,
    ref_starts: Array,
    nrefs: int,
    alpha: float,
    beta: float,
) -> Array:
    """(J, 2): the best score (0..100) over a hypothesis's references, and 1; 0, 0 if all are empty."""
    result = np.zeros((segments.size, 2))
    for h in range(segments.size):
        hyp = hyps[hyp_starts[h] : hyp_starts[h + 1]]
        for k in range(segments[h] * nrefs, (segments[h] + 1) * nrefs):
            ref = refs[ref_starts[k] : ref_starts[k + 1]]
            if ref.size > 0:
                result[h, 0] = max(result[h, 0], 100 * ribes(hyp, ref, alpha, beta))
                result[h, 1] = 1
    return result
