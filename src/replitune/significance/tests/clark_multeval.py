"""multeval's randomisation, to reproduce its p-values: not a permutation test.

For each segment multeval draws a permutation pi of the runs and a coin for each run, and takes

    X_r = coin_r ? B[pi(r)] : A[pi(r)]        Y_r = coin_r ? A[pi^-1(r)] : B[pi^-1(r)]

With three runs or more pi is not always its own inverse, and then outputs are used twice in X and
Y together, or not at all: in 25% of segments at n = 3, 62% at n = 5, 96% at n = 10. It counts
abs(delta_r) > abs(delta): identical systems get p = 1/(R + 1).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.significance.arguments import pooled_score
from replitune.significance.kernels.mixing import mix
from replitune.significance.kernels.permutation import draw_permutations, place_bounds, scratch_of
from replitune.significance.kernels.random import GAMMA, aligned, blocks, exact_dtype, in_lines

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _exchange(rows, keys, sizes, uneven, gains, losses):  # type: ignore[no-untyped-def]
    """rows (N, n, lines, lanes): B minus A. Run j of A is replaced in X where the coin of
    pi^-1(j) says so, run j of B in Y where the coin of pi(j) does."""
    lanes = 64 // gains.itemsize
    n, most = rows.shape[1], sizes.shape[0]
    coins = np.empty(n, dtype=np.uint64)
    runs = np.arange(n).astype(np.uint16)
    scratch = scratch_of(sizes)
    states = np.empty(most, dtype=np.uint64)
    orders = np.empty((most, n), dtype=np.uint16)
    for i in range(rows.shape[0]):
        offset = np.uint64(i + 1) * GAMMA
        for first in range(0, keys.shape[0], most):
            B = min(most, keys.shape[0] - first)
            for b in range(B):
                states[b] = mix(mix(keys[first + b] + offset))
            draw_permutations(states[:B], sizes, uneven, scratch, runs, orders[:B])
            for b in range(B):
                state = mix(keys[first + b] + offset)
                order, random = orders[b], state
                gain, loss = gains[first + b], losses[first + b]
                for r in range(n):
                    if r % 64 == 0:
                        state += GAMMA
                        random = mix(state)
                    coins[r] = (random >> np.uint64(r % 64)) & _ONE
                for r in range(n):
                    if coins[r] == _ONE:
                        j = order[r]
                        for c in range(rows.shape[2]):
                            for lane in range(lanes):
                                gain[c, lane] += rows[i, j, c, lane]
                    if coins[order[r]] == _ONE:
                        for c in range(rows.shape[2]):
                            for lane in range(lanes):
                                loss[c, lane] += rows[i, r, c, lane]


def multeval_deltas(
    metric: Metric, a: NDArray, b: NDArray, keys: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """(samples,) differences of pooled scores; a, b (n, N, K)."""
    n, _, k = a.shape
    kind = np.int64 if a.dtype.kind in "iu" else np.float64
    differences = (b.astype(kind) - a.astype(kind)).transpose(1, 0, 2)
    bound = float(np.abs(differences.astype(np.float64)).sum(axis=(0, 1)).max(initial=0))
    dtype = exact_dtype(bound, a.dtype.kind)
    rows = in_lines(differences, dtype)
    bounds = place_bounds(n)
    total_a, total_b = (s.sum(axis=(0, 1), dtype=kind) for s in (a, b))
    deltas = np.empty(len(keys))
    for some in blocks(len(keys)):
        shape = (len(keys[some]), *rows.shape[2:])
        gains, losses = aligned(shape, dtype), aligned(shape, dtype)
        _exchange(rows, keys[some], *bounds, gains, losses)
        x = total_a + gains.reshape(len(gains), -1)[:, :k]
        y = total_b - losses.reshape(len(losses), -1)[:, :k]
        deltas[some] = pooled_score(metric, y, n) - pooled_score(metric, x, n)
    return deltas
