"""Free exchange: the n_A + n_B outputs of a segment are dealt anew to the two systems.

A *cell* is a segment, or a segment within one group of replicas: m outputs, `take` of which go to
X. Pooled statistics depend only on *which* do (`slots` is for those that also depend on the slot): a
uniformly random subset of given size, as a word of bits. Random bits are drawn first (their number
of ones is binomial); then surplus ones, or missing ones, are corrected one at a time at uniformly
random places. Given its number of ones, a random word is uniform, and removing (adding) uniformly
chosen ones keeps it so: the subset is exactly uniform, after sqrt(m / 2 pi) corrections on average
for equal halves. If there are few subsets (up to seven replicas against seven), they are drawn from
a list. Then, if a cell has few distinct outputs, those of each kind that went to X are counted;
otherwise sums over subsets are looked up eight outputs at a time.

A cell whose outputs all have the same statistics adds a constant. Statistics are relative to the
cell's first output, so that such cells, and words of such outputs, cost nothing.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.significance.kernels.exchange import _look_up, _tabulate
from replitune.significance.kernels.mixing import mix
from replitune.significance.kernels.random import FURTHER, GAMMA, aligned, exact_dtype, in_lines
from replitune.significance.kernels.slots import distinct_rows

_ONE, _ZERO = np.uint64(1), np.uint64(0)
_S1, _S2, _S4, _S6, _S32, _S56 = (np.uint64(s) for s in (1, 2, 4, 6, 32, 56))
_LOW6, _LOW32 = np.uint64(63), np.uint64(0xFFFFFFFF)
_P1, _P2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_P4, _P8 = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


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
    for start in range(0, keys.shape[0], TOGETHER):
        end = min(start + TOGETHER, keys.shape[0])
        _correct(cell, m, take, bits, keys[start:end], words, start, ones[start:end])


TOGETHER = 512
"""Subsets corrected at once: they stay in the first-level cache."""

FEW = 8
"""Up to this many words, corrections are tried in many subsets at once."""


@njit(cache=True, nogil=True)
def _correct(cell, m, take, bits, keys, words, start, ones):  # type: ignore[no-untyped-def]
    """Clear uniformly chosen ones of subsets that have too many, set zeros where they are too few.

    A missing one is a surplus zero: the word is inverted, corrected, and inverted back.
    """
    W, B = words.shape[0], keys.shape[0]
    over = np.empty(B, dtype=np.uint64)
    surplus = np.empty(B, dtype=np.uint64)
    first = np.empty(B, dtype=np.uint64)
    offset = np.uint64(cell + 1) * GAMMA
    for b in range(B):
        over[b] = ~_ZERO if ones[b] < take else _ZERO
        surplus[b] = np.uint64(abs(ones[b] - take))
        first[b] = mix((keys[b] ^ FURTHER) + offset)
    for w in range(W):
        mask = _mask(m, w)
        row = words[w, start : start + B]
        for b in range(B):
            row[b] ^= over[b] & mask
    tried = 0
    if W <= FEW:
        left = B
        while 8 * left > B:
            _try_places(words, start, surplus, bits, first, tried)
            tried += 1
            left = 0
            for b in range(B):
                left += surplus[b] > _ZERO
    for b in range(B):
        if surplus[b] > _ZERO:
            _finish(words, start + b, surplus[b], bits, first[b], tried)
    for w in range(W):
        mask = _mask(m, w)
        row = words[w, start : start + B]
        for b in range(B):
            row[b] ^= over[b] & mask


@njit(cache=True, nogil=True)
def _try_places(words, start, surplus, bits, first, number):  # type: ignore[no-untyped-def]
    """Try the places that one random word names, in all subsets side by side."""
    W, B = words.shape[0], surplus.shape[0]
    width = np.uint64(bits)
    field = (_ONE << width) - _ONE
    random = np.empty(B, dtype=np.uint64)
    if number == 0:
        for b in range(B):
            random[b] = first[b]
    else:
        for b in range(B):
            random[b] = mix(first[b] + np.uint64(number) * GAMMA)
    for _ in range(64 // bits):
        for w in range(W):
            row = words[w, start : start + B]
            for b in range(B):
                place = random[b] & field
                here = np.uint64(place >> _S6 == np.uint64(w)) & np.uint64(surplus[b] > _ZERO)
                bit = (row[b] >> (place & _LOW6)) & here
                row[b] ^= bit << (place & _LOW6)
                surplus[b] -= bit
        for b in range(B):
            random[b] >>= width


@njit(cache=True, nogil=True)
def _finish(words, b, surplus, bits, first, number):  # type: ignore[no-untyped-def]
    """The same for subset b alone, until it has its size."""
    width = np.uint64(bits)
    field = (_ONE << width) - _ONE
    random, unused = _ZERO, 0
    while surplus > _ZERO:
        if unused == 0:
            random = first if number == 0 else mix(first + np.uint64(number) * GAMMA)
            number += 1
            unused = 64 // bits
        # Places from m on hold a zero, so drawing one changes nothing.
        place = random & field
        random = random >> width
        unused -= 1
        at = place >> _S6
        if at < np.uint64(words.shape[0]):
            bit = (words[at, b] >> (place & _LOW6)) & _ONE
            words[at, b] ^= bit << (place & _LOW6)
            surplus -= bit


@njit(inline="always")
def _bounded(bits, size):  # type: ignore[no-untyped-def]
    """(32 random bits) x size: the high half is an integer below `size`, exactly uniform if the low
    half passes `_even` (Lemire 2019)."""
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
def _add_counted(rows, numbers, first, words, counts, out):  # type: ignore[no-untyped-def]
    """Add to out (B, lines, lanes) each distinct row of rows (m, lines, lanes) but the first, as
    often as words (W, B) select it.

    numbers (m,): which distinct row each output has; first: where they are. counts (B,) is scratch.
    """
    lanes = 64 // out.itemsize
    for d in range(1, first.shape[0]):
        counts[:] = 0
        for w in range(words.shape[0]):
            mask, word = _ZERO, words[w]
            for o in range(64 * w, min(64 * w + 64, numbers.shape[0])):
                if numbers[o] == d:
                    mask |= _ONE << np.uint64(o % 64)
            for b in range(counts.shape[0]):
                counts[b] += np.int64(_ones(word[b] & mask))
        row = rows[first[d]]
        for b in range(counts.shape[0]):
            n = counts[b]
            for c in range(out.shape[1]):
                for j in range(lanes):
                    out[b, c, j] += n * row[c, j]


@njit(cache=True, nogil=True)
def _choose(  # type: ignore[no-untyped-def]
    rows, numbers, first, kinds, most, first_cell, m, take, listed, keys, tables, words, ones, out
):
    """Add to out (B, lines, lanes) the sum over X of rows (cells, bytes, 8, lines, lanes).

    numbers, first, kinds: `distinct_rows`. If a cell has up to `most` kinds, those in X are counted;
    otherwise sums are looked up. listed: all subsets of `take` of m outputs, or nothing if they are
    too many.
    """
    for i in range(rows.shape[0]):
        if kinds[i] == 1:
            continue
        if listed.shape[0] > 0:
            _draw_listed(first_cell + i, listed, keys, words[0])
        else:
            draw_subsets(first_cell + i, m, take, keys, words, ones)
        if kinds[i] <= most:
            flat = rows[i].reshape((rows.shape[1] * 8, *out.shape[1:]))
            _add_counted(flat, numbers[i], first[i, : kinds[i]], words, ones, out)
            continue
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
        sum_type = np.float64 if kind == "f" else np.int64
        relative = []
        self.constant_x = np.zeros(self.columns, dtype=sum_type)
        bound = 0.0
        for outputs, take in strata:
            first = outputs[:1].astype(sum_type)
            self.constant_x += take * first[0].sum(axis=0)
            relative.append(outputs - first)
            bound += float(np.abs(relative[-1].astype(np.float64)).sum(axis=(0, 1)).max(initial=0))
        self.dtype = exact_dtype(bound, kind)
        self.rows, self.kinds = [], []
        for cells in relative:
            m, units, _ = cells.shape
            padded = np.zeros((units, -(-m // 8) * 8, self.columns), dtype=self.dtype)
            padded[:, :m] = cells.transpose(1, 0, 2)
            self.rows.append(in_lines(padded, self.dtype))
            self.kinds.append(distinct_rows(np.ascontiguousarray(padded[:, :m])))

    def pooled(self, keys: NDArray[np.uint64]) -> NDArray:
        """(B, K) statistics of X, summed over its replicas, in each resample."""
        lines, lanes = self.rows[0].shape[2:]
        out = aligned((len(keys), lines, lanes), self.dtype)
        tables = aligned((8, 256, lines, lanes), self.dtype)
        ones = np.empty(len(keys), dtype=np.int64)
        cell = 0
        for rows, kinds, m, take in zip(self.rows, self.kinds, self.sizes, self.takes, strict=True):
            words = np.empty((-(-m // 64), len(keys)), dtype=np.uint64)
            bytes_ = rows.reshape(rows.shape[0], -1, 8, lines, lanes)
            listed = _listed(m, take)
            # Sums of real numbers are always looked up, so that their rounding does not depend on
            # how many kinds there are for other metrics.
            most = 1 + bytes_.shape[1] if self.dtype.kind == "i" else 0
            _choose(bytes_, *kinds, most, cell, m, take, listed, keys, tables, words, ones, out)
            cell += len(rows)
        return out.reshape(len(keys), -1)[:, : self.columns] + self.constant_x
