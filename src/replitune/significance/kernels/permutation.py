"""Uniformly random permutations, from 16 random bits for each place.

Fisher and Yates, inside out: value o goes to a place k drawn from 0..o, and what was there goes to
place o. The o-th 16 bits of the numbered words, times o + 1, have k above their 16 low bits (Lemire
2019). k is exactly uniform, since it is drawn again, from another sequence, if the low bits are below
2^16 mod (o + 1). Places are drawn for many permutations at once and before any value moves, so that
the compiler makes 32 multiplications at once, and none waits for memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.significance.kernels.mixing import mix
from replitune.significance.kernels.random import FURTHER, GAMMA

_S16 = np.uint32(16)

PLACES = 4096
"""Places drawn at once."""


def place_bounds(m: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """(rows, P) from how many places that of each of m < 2^16 values is drawn, and 2^16 modulo that;
    P is m rounded up to a multiple of 8, and rows is the number of permutations drawn at once."""
    if m >= 2**16:
        raise ValueError(f"{m} values: 16 bits draw places of fewer than {2**16}")
    sizes = np.ones(-(-m // 8) * 8, dtype=np.uint16)
    sizes[:m] = np.arange(1, m + 1, dtype=np.uint16)
    uneven = (2**16 % sizes.astype(np.int64)).astype(np.uint16)
    rows = max(1, PLACES // len(sizes))
    return np.tile(sizes, (rows, 1)), np.tile(uneven, (rows, 1))


@njit(inline="always")
def scratch_of(sizes):  # type: ignore[no-untyped-def]
    """The scratch arrays of `draw_permutations`."""
    return (
        np.empty(sizes.size // 4, dtype=np.uint64),
        np.empty(sizes.size, dtype=np.uint16),
        np.empty(sizes.size, dtype=np.uint8),
    )


@njit(cache=True, nogil=True)
def draw_permutations(states, sizes, uneven, scratch, values, order):  # type: ignore[no-untyped-def]
    """Fill order[b] (B, m) with values (m,) shuffled by the words after states[b] (B,).

    sizes, uneven: `place_bounds(m)`; B is at most their number of rows. scratch: `scratch_of(sizes)`.
    """
    B, P = states.shape[0], sizes.shape[1]
    each = P // 4
    words, places, rejected = scratch
    for b in range(B):
        for w in range(each):
            words[b * each + w] = states[b] + np.uint64(w + 1) * GAMMA
    for i in range(B * each):
        words[i] = mix(words[i])
    bits, size, rest = words.view(np.uint16), sizes.reshape(-1), uneven.reshape(-1)
    for i in range(B * P):
        places[i] = bits[i] * size[i]
    for i in range(B * P):
        rejected[i] = places[i] < rest[i]
    for i in range(B * P):
        places[i] = (np.uint32(bits[i]) * np.uint32(size[i])) >> _S16
    eights = rejected.view(np.uint64)
    for eight in range(B * P // 8):
        if eights[eight] != 0:
            for i in range(8 * eight, 8 * eight + 8):
                if rejected[i]:
                    places[i] = _draw_again(states[i // P], i % P, size[i], rest[i])
    for b in range(B):
        for o in range(order.shape[1]):
            k = places[b * P + o]
            order[b, o] = order[b, k]
            order[b, k] = values[o]


@njit(cache=True, nogil=True)
def _draw_again(state, o, size, rest):  # type: ignore[no-untyped-def]
    state = mix((state ^ FURTHER) + np.uint64(o + 1) * GAMMA)
    while True:
        state += GAMMA
        product = np.uint32(np.uint16(mix(state))) * np.uint32(size)
        if np.uint16(product) >= rest:
            return product >> _S16
