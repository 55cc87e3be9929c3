"""Which source words a hypothesis has translated, and what the rest may cost.

A coverage is the first gap (the first word not yet translated) and a bit mask of what is
translated from there on. Under a distortion limit the mask is as wide as the limit, whatever the
length of the sentence; without one it is as wide as the sentence. Coverages are interned: two
hypotheses cover the same words exactly when they hold the same number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf


class Coverages(NamedTuple):
    """gap: (C,); mask: (C, W) bit j of the row: word gap + j is translated (bit 0 never is);
    future: (C,) estimated score of what is left; table: open addressing, -1 empty; size: (1,)"""

    gap: NDArray[np.int32]
    mask: NDArray[np.uint64]
    future: NDArray[np.float64]
    table: NDArray[np.int32]
    size: NDArray[np.int64]


class Future(NamedTuple):
    """inside: (n, band + 1) best estimate of l words from word i on; suffix: (n + 1,) of all words
    from i on"""

    inside: NDArray[np.float64]
    suffix: NDArray[np.float64]


@njit(cache=True)
def future_costs(spans, first, estimate, band):
    """Future scores by dynamic programming over segmentations (Koehn 2010, 6.3.2)."""
    n, longest = spans.shape
    suffix = np.full(n + 1, -np.inf)
    inside = np.full((n, band + 1), -np.inf)
    suffix[n] = 0.0
    for i in range(n - 1, -1, -1):
        inside[i, 0] = 0.0
        for length in range(1, min(longest, n - i) + 1):
            phrase = spans[i, length - 1]
            if phrase < 0:
                continue
            best = estimate[first[phrase]]
            suffix[i] = max(suffix[i], best + suffix[i + length])
            if length <= band:
                inside[i, length] = max(inside[i, length], best)
            if i + length < n:
                for rest in range(1, min(band - length, n - i - length) + 1):
                    value = best + inside[i + length, rest]
                    inside[i, length + rest] = max(inside[i, length + rest], value)
    return Future(inside, suffix)


@leaf
def translated(mask, row, j):
    """Bit j of a row of masks (., W), false beyond its end."""
    word = j >> 6
    if word >= mask.shape[1]:
        return False
    return (mask[row, word] >> np.uint64(j & 63)) & np.uint64(1) != np.uint64(0)


@leaf
def cover(mask, row, offset, length, new, to):
    """Set row `to` of `new` to row `row` of `mask` after translating `length` words at `offset` from
    the first gap. Returns how far the gap moves."""
    width = mask.shape[1]
    if offset > 0:
        for word in range(width):
            new[to, word] = mask[row, word]
        for j in range(offset, offset + length):
            new[to, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
        return 0
    shift = length
    while translated(mask, row, shift):
        shift += 1
    skip, bits = shift >> 6, np.uint64(shift & 63)
    for word in range(width):
        value = np.uint64(0)
        if word + skip < width:
            value = mask[row, word + skip] >> bits
            if bits != 0 and word + skip + 1 < width:
                value |= mask[row, word + skip + 1] << (np.uint64(64) - bits)
        new[to, word] = value
    return shift


@leaf
def future_of(gap, mask, row, future):
    """Estimated score of all gaps."""
    inside = future.inside
    total = 0.0
    opened = 0  # offset of the gap that is being read
    for word in range(mask.shape[1]):
        bits = mask[row, word]
        j = word << 6
        while bits != 0:
            if bits & np.uint64(1):
                if opened < j:
                    total += inside[gap + opened, j - opened]
                opened = j + 1
            bits >>= np.uint64(1)
            j += 1
    return total + future.suffix[gap + opened]


@leaf
def _slot(table, gap, mask, row):
    mixed = np.uint64(gap)
    for word in range(mask.shape[1]):
        mixed = (mixed ^ mask[row, word]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(len(table) - 1))


@njit(cache=True)
def new_coverages(capacity, width):
    slots = 64
    while slots < 2 * capacity:
        slots *= 2
    return Coverages(
        np.empty(capacity, np.int32),
        np.empty((capacity, width), np.uint64),
        np.empty(capacity),
        np.full(slots, -1, np.int32),
        np.zeros(1, np.int64),
    )


@leaf
def intern(coverages, gap, mask, row, future):
    """The number of a coverage, whose mask is row `row` of `mask`; there must be room for one more."""
    table, gaps, masks = coverages.table, coverages.gap, coverages.mask
    i = _slot(table, gap, mask, row)
    while table[i] >= 0:
        c = np.int64(table[i])
        same = gaps[c] == gap
        word = 0
        while same and word < mask.shape[1]:
            same = masks[c, word] == mask[row, word]
            word += 1
        if same:
            return c
        i = (i + 1) & (len(table) - 1)
    c = coverages.size[0]
    coverages.size[0] += 1
    table[i] = c
    gaps[c] = gap
    for word in range(mask.shape[1]):
        masks[c, word] = mask[row, word]
    coverages.future[c] = future
    return c


@njit(cache=True)
def with_room(coverages, more):
    """`coverages`, or a copy with room for `more` of them."""
    size = coverages.size[0]
    if size + more <= len(coverages.gap):
        return coverages
    larger = new_coverages(2 * (size + more), coverages.mask.shape[1])
    for c in range(size):
        intern(larger, np.int64(coverages.gap[c]), coverages.mask, c, coverages.future[c])
    return larger
