"""Free exchange into labelled slots: which output takes the place of which replica.

For every resample, each unit's m outputs are permuted at random, and the statistics of each slot are
added up. How places are permuted does not depend on the outputs; but what moves is the number of an
output among the unit's distinct rows of statistics, which are few, and units whose rows are all alike
are left out. Counts are added up in few words and few steps:

- They are digits of as few 64-bit words as their sums need (BLEU's ten statistics of 3,000 segments
  take three words), relative to the unit's smallest, so that no digit is negative.
- Several units are added at once if they have no more than `TABLE` combinations of rows: the sums of
  all combinations are tabulated, and the sum of row numbers, each times its stride, selects one.

Real numbers take a word each, and are added unit by unit, so that no rounding depends on other units.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.significance.kernels.mixing import mix
from replitune.significance.kernels.permutation import draw_permutations, place_bounds, scratch_of
from replitune.significance.kernels.random import GAMMA

TABLE = 1024
"""Combinations of rows that are tabulated, at most: a table stays in the first-level cache."""


@njit(cache=True, nogil=True)
def _deal(  # type: ignore[no-untyped-def]
    numbers, cells, members, tables, starts, slot, keys, sizes, uneven, out
):
    """Add to out (B, W, slots), from `slot` on, what each slot gets.

    Group g is numbers[members[g] : members[g + 1]], units by outputs, already times their strides;
    its sums are tables[:, starts[g] : starts[g + 1]]. cells (units,): of their random words.
    """
    m, most = numbers.shape[1], sizes.shape[0]
    scratch = scratch_of(sizes)
    states = np.empty(most, dtype=np.uint64)
    order = np.empty((most, m), dtype=np.uint16)
    row = np.empty(most * m, dtype=np.uint16)
    for g in range(members.shape[0] - 1):
        table = tables[:, starts[g] : starts[g + 1]]
        for first in range(0, keys.shape[0], most):
            B = min(most, keys.shape[0] - first)
            for i in range(B * m):
                row[i] = 0
            for u in range(members[g], members[g + 1]):
                for b in range(B):
                    states[b] = mix(keys[first + b] + np.uint64(cells[u] + 1) * GAMMA)
                draw_permutations(states[:B], sizes, uneven, scratch, numbers[u], order[:B])
                drawn = order.reshape(-1)
                for i in range(B * m):
                    row[i] += drawn[i]
            for b in range(B):
                for w in range(out.shape[1]):
                    for o in range(m):
                        out[first + b, w, slot + o] += table[w, row[b * m + o]]


def _digits(bounds: list[int]) -> tuple[list[int], list[int]]:
    """The 64-bit word and its first bit, of a digit with room for sums up to each bound."""
    words, shifts = [], []
    word = used = 0
    for bound in bounds:
        bits = bound.bit_length()
        if used + bits > 64:
            word, used = word + 1, 0
        words.append(word)
        shifts.append(used)
        used += bits
    return words, shifts


class _Groups(NamedTuple):
    """The units of a stratum, in groups that are added up together, as `_deal` takes them."""

    numbers: NDArray[np.uint16]
    cells: NDArray[np.int64]
    members: NDArray[np.int64]
    tables: NDArray
    starts: NDArray[np.int64]


def _grouped(rows: NDArray, cell: int) -> _Groups:
    """The groups of rows (U, m, W); the random words of the units are numbered from `cell` on."""
    numbers, first, kinds = distinct_rows(rows)
    varying = np.flatnonzero(kinds > 1)
    tables: list[NDArray] = []
    members = []
    for i, u in enumerate(varying):
        distinct = rows[u, first[u, : kinds[u]]]
        size = len(tables[-1]) if tables else TABLE
        if rows.dtype == np.uint64 and size * len(distinct) <= TABLE:
            numbers[u] *= size
            tables[-1] = (distinct[:, np.newaxis] + tables[-1]).reshape(-1, rows.shape[2])
        else:
            tables.append(distinct)
            members.append(i)
    return _Groups(
        numbers[varying],
        cell + varying,
        np.array([*members, len(varying)]),
        np.ascontiguousarray(np.concatenate([rows[:0, 0], *tables]).T),
        np.cumsum([0, *map(len, tables)]),
    )


class SlotExchange:
    """A random permutation of the outputs of each unit, within each stratum of replicas.

    Parameters
    ----------
    strata : list of (m, U, K)
        For each group of replicas, the outputs of A and then of B: int64 or float64.
    """

    def __init__(self, strata: list[NDArray]) -> None:
        self.sizes = [len(outputs) for outputs in strata]
        least = [outputs.min(axis=0) for outputs in strata]
        self.constants = np.repeat([low.sum(axis=0) for low in least], self.sizes, axis=0)
        relative = [outputs - low for outputs, low in zip(strata, least, strict=True)]
        self.counts = strata[0].dtype.kind in "iu"
        if self.counts:
            bounds = np.array([r.max(axis=0).sum(axis=0) for r in relative]).max(axis=0).tolist()
            words, shifts = _digits(bounds)
            self.words = np.array(words)
            self.shifts = np.array(shifts, dtype=np.uint64)[:, np.newaxis]
            masks = [2 ** bound.bit_length() - 1 for bound in bounds]
            self.masks = np.array(masks, dtype=np.uint64)[:, np.newaxis]
        self.strata = [_grouped(self._in_words(r), h * r.shape[1]) for h, r in enumerate(relative)]

    def _in_words(self, relative: NDArray) -> NDArray:
        """(m, U, K) -> (U, m, W)"""
        outputs = np.ascontiguousarray(relative.transpose(1, 0, 2))
        if not self.counts:
            return outputs
        rows = np.zeros((*outputs.shape[:2], self.words.max() + 1), dtype=np.uint64)
        digits = outputs.astype(np.uint64) << self.shifts[:, 0]
        for k, word in enumerate(self.words):
            rows[..., word] |= digits[..., k]
        return rows

    def by_slot(self, keys: NDArray[np.uint64]) -> NDArray:
        """(B, slots, K) statistics of each replica slot: stratum by stratum, A's and then B's."""
        tables = self.strata[0].tables
        out = np.zeros((len(keys), len(tables), len(self.constants)), dtype=tables.dtype)
        slot = 0
        for m, groups in zip(self.sizes, self.strata, strict=True):
            _deal(*groups, slot, keys, *place_bounds(m), out)
            slot += m
        if self.counts:
            out = ((out[:, self.words] >> self.shifts) & self.masks).astype(np.int64)
        return out.transpose(0, 2, 1) + self.constants


@njit(cache=True, nogil=True)
def number_rows(rows, numbers, first):  # type: ignore[no-untyped-def]
    """rows (U, m, W) -> numbers (U, m): of each row among its unit's distinct rows, as they appear.

    first (U, m): where each distinct row appears first, padded with -1.
    """
    U, m, W = rows.shape
    first[:] = -1
    for u in range(U):
        distinct = 0
        for o in range(m):
            d = 0
            while d < distinct:
                w = 0
                while w < W and rows[u, first[u, d], w] == rows[u, o, w]:
                    w += 1
                if w == W:
                    break
                d += 1
            if d == distinct:
                first[u, distinct] = o
                distinct += 1
            numbers[u, o] = d


def distinct_rows(rows: NDArray) -> tuple[NDArray[np.uint16], NDArray[np.int64], NDArray[np.int64]]:
    """For rows (U, m, W), `numbers` and `first` of `number_rows`, and how many are distinct (U,)."""
    numbers = np.empty(rows.shape[:2], dtype=np.uint16)
    first = np.empty(rows.shape[:2], dtype=np.int64)
    number_rows(rows, numbers, first)
    return numbers, first, (first >= 0).sum(axis=1)
