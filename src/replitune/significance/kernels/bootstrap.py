"""Drawing with replacement: bootstrap test sets and bootstrap pools.

Draw d of a resample is half d % 2 of its word d // 2, turned into an exactly uniform integer below
the number of units by Lemire's method (2019). Either the drawn rows are added one by one, or the
draws of each unit are counted, and counts (B, U) are multiplied by statistics (U, columns); `draws`
makes sure that both give the same numbers.

A *pool* of all replicas' outputs is large (n N draws from n N outputs), so its multinomial counts
are made from independent Poisson counts: given their total T they are a multinomial sample of T
draws. Their rate is a little below 1; the missing draws are added one by one, and a resample
with T above n N (once in 30,000) is drawn again. Both leave the distribution exactly multinomial. A
Poisson count is read off 16 random bits if they decide it, and else found by inversion from 53
further bits (once in 20,000).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.arithmetic import exp
from replitune.significance.kernels.mixing import mix
from replitune.significance.kernels.random import FURTHER, GAMMA

_ONE = np.uint64(1)
_S11, _S32 = np.uint64(11), np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@njit(inline="always")
def _draw(random32, size, key, d):  # type: ignore[no-untyped-def]
    """An integer below size from 32 random bits; if they are rejected, from further words."""
    product = random32 * size
    low = product & _LOW32
    if low < size and low < (_LOW32 + _ONE - size) % size:
        state = mix((key ^ FURTHER) + np.uint64(d + 1) * GAMMA)
        while low < (_LOW32 + _ONE - size) % size:
            state += GAMMA
            product = (mix(state) & _LOW32) * size
            low = product & _LOW32
    return product >> _S32


@njit(cache=True, nogil=True)
def gather(rows, draws, first, keys, out):  # type: ignore[no-untyped-def]
    """Add to out[b] draws[b] drawn rows of rows (U, lines, lanes), the draws numbered from `first` (even).

    draws (B,), out (B, lines, lanes).
    """
    lanes = 64 // out.itemsize
    lines = out.shape[1]
    size = np.uint64(rows.shape[0])
    for b in range(keys.shape[0]):
        key = keys[b]
        for d in range(0, draws[b], 2):
            random = mix(key + np.uint64((first + d) // 2 + 1) * GAMMA)
            i = _draw(random & _LOW32, size, key, first + d)
            k = _draw(random >> _S32, size, key, first + d + 1)
            if d + 1 < draws[b]:
                for c in range(lines):
                    for j in range(lanes):
                        out[b, c, j] += rows[i, c, j] + rows[k, c, j]
            else:
                for c in range(lines):
                    for j in range(lanes):
                        out[b, c, j] += rows[i, c, j]


@njit(cache=True, nogil=True)
def draw_counts(draws, keys, counts):  # type: ignore[no-untyped-def]
    """Fill counts (B, U) with how often each unit is among the first `draws` draws."""
    counts[:] = 0
    size = np.uint64(counts.shape[1])
    for b in range(keys.shape[0]):
        key = keys[b]
        for d in range(0, draws, 2):
            random = mix(key + np.uint64(d // 2 + 1) * GAMMA)
            counts[b, _draw(random & _LOW32, size, key, d)] += 1
            if d + 1 < draws:
                counts[b, _draw(random >> _S32, size, key, d + 1)] += 1


DECIDED = 8
"""Poisson counts below this can be decided by 16 bits."""


def poisson_tables(rate: float) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
    """Thresholds (8,) on 16 random bits, and the cumulative distribution of what they leave open.

    Count k < 8 gets floor(65536 p_k) of the 65,536 values, in order of k; for the few values above
    the last threshold, the count is drawn from what is left of all p_k.
    """
    k = np.arange(40)
    log_factorials = np.array([math.lgamma(i + 1) for i in k])
    p = exp(-rate + k * math.log(rate) - log_factorials)
    values = np.floor(65536 * p[:DECIDED])
    rest = p.copy()
    rest[:DECIDED] -= values / 65536
    rest = np.maximum(rest, 0)
    return np.cumsum(values).astype(np.uint16), np.cumsum(rest) / rest.sum()


@njit(cache=True, nogil=True)
def draw_poisson(thresholds, rest, first, keys, words, counts, totals):  # type: ignore[no-untyped-def]
    """Fill counts (B, P) uint8 of items first .. first + P - 1; add their sums to totals (B,).

    A word serves four items: first is a multiple of four; words is scratch for P items.
    """
    t0, t1, t2, t3 = thresholds[0], thresholds[1], thresholds[2], thresholds[3]
    t4, t5, t6, t7 = thresholds[4], thresholds[5], thresholds[6], thresholds[7]
    size = counts.shape[1]
    values = words.view(np.uint16)
    for b in range(keys.shape[0]):
        key = keys[b]
        for w in range(words.shape[0]):
            words[w] = mix(key + np.uint64(first // 4 + w + 1) * GAMMA)
        row = counts[b]
        # Small unsigned types throughout, so that the compiler makes 32 comparisons at once.
        for q in range(size):
            v = values[q]
            row[q] = (
                (np.uint8(v >= t0) + np.uint8(v >= t1) + np.uint8(v >= t2) + np.uint8(v >= t3))
                + np.uint8(v >= t4)
                + np.uint8(v >= t5)
                + np.uint8(v >= t6)
                + np.uint8(v >= t7)
            )
        undecided = 0
        for q in range(size):
            undecided += row[q] == DECIDED
        if undecided > 0:
            for q in range(size):
                if row[q] == DECIDED:
                    more = mix((key ^ FURTHER) + np.uint64(first + q + 1) * GAMMA)
                    u = np.float64(more >> _S11) * 2.0**-53
                    k = 0
                    while k < rest.shape[0] - 1 and u >= rest[k]:
                        k += 1
                    row[q] = k
        total = 0
        for q in range(size):
            total += row[q]
        totals[b] += total
