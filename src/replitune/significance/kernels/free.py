"""Free exchange: the n_A + n_B outputs of a segment are dealt anew to the two systems.

A *cell* is a segment, or a segment within one group of replicas: m outputs, `take` of which go to
X. Pooled statistics need only *which* do (`slots` is for those that need to know where to): a
uniformly random subset of given size, as a word of bits. Random bits are drawn first (their number
of ones is binomial); then surplus ones, or missing ones, are corrected one at a time at uniformly
random places. Given its number of ones a random word is uniform, and removing (adding) uniformly
chosen ones keeps it so: the subset is exactly uniform, after sqrt(m / 2 pi) corrections on average
for equal halves. Where there are few subsets (up to seven replicas against seven) they are drawn
from a list of them. Sums over subsets are then looked up eight outputs at a time.

A cell whose outputs have all the same statistics adds a constant; statistics are taken relative to
the cell's first output, so that such cells, and bytes of them, cost nothing.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.significance.kernels.exchange import _look_up, _tabulate
from replitune.significance.kernels.mixing import mix
from replitune.significance.kernels.random import GAMMA, aligned, exact_dtype, in_lines

_ONE, _ZERO = np.uint64(1), np.uint64(0)
_S1, _S2, _S4, _S6, _S32, _S56 = (np.uint64(s) for s in (1, 2, 4, 6, 32, 56))
_LOW6, _LOW32 = np.uint64(63), np.uint64(0xFFFFFFFF)
_P1, _P2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_P4, _P8 = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_FIX = np.uint64(0xD1B54A32D192ED03)
"""Tells the sequence of corrections from the numbered words."""


@njit(inline="always")
def _ones(x):  # type: ignore[no-untyped-def]
    x = x - ((x >> _S1) & _P1)
    x = (x & _P2) + ((x >> _S2) & _P2)
    x = (x + (x >> _S4)) & _P4
    return (x * _P8) >> _S56


@njit(inline="always")
def _mask(m, w):  # type: ignore[no-untyped-def]
    """The bits of word w that stand for an output."""
    left = m - 64 * w
    return ~_ZERO if left >= 64 else (_ONE << np.uint64(left)) - _ONE


@njit(cache=True, nogil=True)
def draw_subsets(cell, m, take, keys, words, ones):  # type: ignore[no-untyped-def]
    """Fill words (W, B) with subsets of `take` of m outputs; output o is bit o % 64 of word o/64.

    ones (B,) int64 is scratch.
    """
    W = words.shape[0]
    ones[:] = 0
    for w in range(W):
        mask = _mask(m, w)
        offset = np.uint64(cell * W + w + 1) * GAMMA
        for b in range(keys.shape[0]):
            word = mix(keys[b] + offset) & mask
            words[w, b] = word
            ones[b] += np.int64(_ones(word))
    bits = 1
    while (1 << bits) < m:
        bits += 1
    for b in range(keys.shape[0]):
        if ones[b] != take:
            random = mix((keys[b] ^ _FIX) + np.uint64(cell + 1) * GAMMA)
            if W == 1:
                words[0, b] = _correct_one(words[0, b], ones[b] - take, m, bits, random)
            else:
                _correct_many(words, b, ones[b] - take, m, bits, random)


@njit(inline="always")
def _correct_one(word, surplus, m, bits, random):  # type: ignore[no-untyped-def]
    """Clear `surplus` uniformly chosen ones of a word (set -surplus zeros if negative)."""
    # A missing one is a surplus zero: turn the word over, correct, and turn it back.
    over = _mask(m, 0) if surplus < 0 else _ZERO
    surplus = np.int64(abs(surplus))
    word ^= over
    width = np.uint64(bits)
    field = (_ONE << width) - _ONE
    state, unused = random, 64 // bits
    while surplus > 0:
        if unused == 0:
            state += GAMMA
            random = mix(state)
            unused = 64 // bits
        # Places from m on hold no one: they reject themselves.
        place = random & field
        random = random >> width
        unused -= 1
        bit = (word >> place) & _ONE
        word ^= bit << place
        surplus -= np.int64(bit)
    return word ^ over


@njit(cache=True, nogil=True)
def _correct_many(words, b, surplus, m, bits, random):  # type: ignore[no-untyped-def]
    """The same for a subset of several words, words[:, b]."""
    W = words.shape[0]
    over = surplus < 0
    surplus = np.int64(abs(surplus))
    if over:
        for w in range(W):
            words[w, b] ^= _mask(m, w)
    width = np.uint64(bits)
    field = (_ONE << width) - _ONE
    state, unused = random, 64 // bits
    while surplus > 0:
        if unused == 0:
            state += GAMMA
            random = mix(state)
            unused = 64 // bits
        place = random & field
        random = random >> width
        unused -= 1
        at = place >> _S6
        if at < np.uint64(W):
            bit = (words[at, b] >> (place & _LOW6)) & _ONE
            words[at, b] ^= bit << (place & _LOW6)
            surplus -= np.int64(bit)
    if over:
        for w in range(W):
            words[w, b] ^= _mask(m, w)


@njit(inline="always")
def _bounded(bits, size):  # type: ignore[no-untyped-def]
    """(32 random bits) x size: the integer below `size` is the high half; even if the low half
    passes `_even` (Lemire 2019)."""
    return (bits & _LOW32) * size


@njit(inline="always")
def _even(product, size):  # type: ignore[no-untyped-def]
    low = product & _LOW32
    return low >= size or low >= (_LOW32 + _ONE - size) % size


@njit(cache=True, nogil=True)
def _draw_listed(cell, listed, keys, words):  # type: ignore[no-untyped-def]
    """Fill words (B,) with subsets drawn from the list of all of them."""
    size = np.uint64(listed.shape[0])
    offset = np.uint64(cell + 1) * GAMMA
    for b in range(keys.shape[0]):
        random = mix(keys[b] + offset)
        product = _bounded(random, size)
        while not _even(product, size):
            random = mix(random + GAMMA)
            product = _bounded(random, size)
        words[b] = listed[product >> _S32]


@njit(cache=True, nogil=True)
def _choose(  # type: ignore[no-untyped-def]
    rows, first_cell, m, take, listed, keys, tables, words, ones, out
):
    """rows (cells, bytes, 8, lines, lanes); adds to out (B, lines, lanes) the sum over X.

    listed: all subsets of `take` of m outputs, or nothing when they are too many.
    """
    for i in range(rows.shape[0]):
        if not rows[i].any():
            continue
        if listed.shape[0] > 0:
            _draw_listed(first_cell + i, listed, keys, words[0])
        else:
            draw_subsets(first_cell + i, m, take, keys, words, ones)
        for w in range(words.shape[0]):
            count = min(8, rows.shape[1] - 8 * w)
            if not rows[i, 8 * w : 8 * w + count].any():
                continue
            for t in range(count):
                _tabulate(rows[i, 8 * w + t], tables[t])
            _look_up(words[w], tables, count, out)


LISTED = 4096
"""Subsets are drawn from a list where there are no more than this."""


def _listed(m: int, take: int) -> NDArray[np.uint64]:
    if m > 63 or math.comb(m, take) > LISTED:
        return np.empty(0, dtype=np.uint64)
    subsets = itertools.combinations(range(m), take)
    return np.array([sum(1 << o for o in subset) for subset in subsets], dtype=np.uint64)


class FreeExchange:
    """A random partition of the outputs of each unit, within each stratum of replicas.

    Parameters
    ----------
    strata : list of (outputs (m, U, K), take)
        For each group of replicas, the outputs of A and then of B, and how many go to X.
    """

    def __init__(self, strata: list[tuple[NDArray, int]]) -> None:
        self.columns = strata[0][0].shape[2]
        self.takes = [take for _, take in strata]
        self.sizes = [outputs.shape[0] for outputs, _ in strata]
        kind = strata[0][0].dtype.kind
        wide = np.float64 if kind == "f" else np.int64
        relative = []
        self.constant_x = np.zeros(self.columns, dtype=wide)
        bound = 0.0
        for outputs, take in strata:
            first = outputs[:1].astype(wide)
            self.constant_x += take * first[0].sum(axis=0)
            relative.append(outputs - first)
            bound += float(np.abs(relative[-1].astype(np.float64)).sum(axis=(0, 1)).max(initial=0))
        self.dtype = exact_dtype(bound, kind)
        self.rows = []
        for cells in relative:
            m, units, _ = cells.shape
            padded = np.zeros((units, -(-m // 8) * 8, self.columns), dtype=self.dtype)
            padded[:, :m] = cells.transpose(1, 0, 2)
            self.rows.append(in_lines(padded, self.dtype))

    def pooled(self, keys: NDArray[np.uint64]) -> NDArray:
        """(B, K) statistics of X, summed over its replicas, in each resample."""
        lines, lanes = self.rows[0].shape[2:]
        out = aligned((len(keys), lines, lanes), self.dtype)
        tables = aligned((8, 256, lines, lanes), self.dtype)
        ones = np.empty(len(keys), dtype=np.int64)
        cell = 0
        for rows, m, take in zip(self.rows, self.sizes, self.takes, strict=True):
            words = np.empty((-(-m // 64), len(keys)), dtype=np.uint64)
            bytes_ = rows.reshape(rows.shape[0], -1, 8, lines, lanes)
            _choose(bytes_, cell, m, take, _listed(m, take), keys, tables, words, ones, out)
            cell += len(rows)
        return out.reshape(len(keys), -1)[:, : self.columns] + self.constant_x
