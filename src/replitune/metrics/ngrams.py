"""Clipped n-gram matches of hypotheses against the references of their segments.

The n-grams of a segment's references form a trie in a hash table of their own, made once per
test set: the key is (parent slot, token), the value the largest count of that n-gram in any one
reference. A hypothesis walks the trie from each of its tokens and stops at the first token
that does not continue a reference n-gram. A key holds its whole content (two 32-bit numbers),
so counts are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.metrics.token_ids import TokenizedReferences

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@dataclass(frozen=True)
class ReferenceNgrams:
    """The references of a test set, ready to be matched."""

    references: TokenizedReferences
    keys: NDArray[np.int64]
    counts: NDArray[np.int32]
    offsets: NDArray[np.int64]
    """(N+1,): slots offsets[i] .. offsets[i+1] of `keys` and `counts` are segment i's trie."""

    @property
    def tries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        return self.offsets, self.keys, self.counts


def prepare_references(references: TokenizedReferences, order: int) -> ReferenceNgrams:
    """The n-grams of the references up to `order`."""
    lengths = references.lengths
    ngrams = np.zeros(len(lengths), dtype=np.int64)
    for n in range(order):
        ngrams += np.maximum(lengths - n, 0).sum(axis=1)
    # Half again as many slots as n-grams, so that probing stays short, and at least one.
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(ngrams * 3 // 2 + 1, out=offsets[1:])
    keys = np.full(offsets[-1], -1, dtype=np.int64)
    counts = np.zeros(offsets[-1], dtype=np.int32)
    _fill_tries(*references.arrays, order, offsets, keys, counts)
    return ReferenceNgrams(references, keys, counts, offsets)


@njit(cache=True)
def _largest(offsets: NDArray[np.int64]) -> int:
    largest = 0
    for i in range(len(offsets) - 1):
        largest = max(largest, offsets[i + 1] - offsets[i])
    return largest


@njit(cache=True)
def _slot(keys: NDArray[np.int64], start: int, size: int, key: int) -> np.int64:
    """Where `key` is, or the empty slot where it belongs, counted from `start`."""
    high = (np.uint64(key) * _GOLDEN) >> _HALF
    slot = np.int64((high * np.uint64(size)) >> _HALF)
    while keys[start + slot] != key and keys[start + slot] != -1:
        slot += 1
        if slot == size:
            slot = np.int64(0)
    return slot


@njit(cache=True)
def _fill_tries(
    tokens: NDArray[np.int32],
    token_offsets: NDArray[np.int64],
    n_refs: int,
    order: int,
    offsets: NDArray[np.int64],
    keys: NDArray[np.int64],
    counts: NDArray[np.int32],
) -> None:
    seen = np.zeros(_largest(offsets), dtype=np.int32)
    for segment in range(len(offsets) - 1):
        start, size = offsets[segment], offsets[segment + 1] - offsets[segment]
        for r in range(segment * n_refs, (segment + 1) * n_refs):
            seen[:size] = 0
            first, last = token_offsets[r], token_offsets[r + 1]
            for i in range(first, last):
                parent = 0  # the root; slot s has number s + 1 as a parent
                for j in range(i, min(i + order, last)):
                    key = (np.int64(parent) << 32) | np.int64(tokens[j])
                    slot = _slot(keys, start, size, key)
                    keys[start + slot] = key
                    seen[slot] += 1
                    parent = slot + 1
            for slot in range(size):
                counts[start + slot] = max(counts[start + slot], seen[slot])


@njit(cache=True)
def count_matches(
    tokens: NDArray[np.int32],
    token_offsets: NDArray[np.int64],
    segments: NDArray[np.int64],
    offsets: NDArray[np.int64],
    keys: NDArray[np.int64],
    counts: NDArray[np.int32],
    order: int,
    out: NDArray[np.int32],
) -> None:
    """Add the clipped n-gram matches of hypothesis h, which is tokens[token_offsets[h]:
    token_offsets[h + 1]], against the references of segments[h] to out[h, :order]."""
    seen = np.zeros(_largest(offsets), dtype=np.int32)
    for h in range(len(segments)):
        start = offsets[segments[h]]
        size = offsets[segments[h] + 1] - start
        seen[:size] = 0
        last = token_offsets[h + 1]
        for i in range(token_offsets[h], last):
            parent = 0
            for j in range(i, min(i + order, last)):
                if tokens[j] < 0:
                    break
                key = (np.int64(parent) << 32) | np.int64(tokens[j])
                slot = _slot(keys, start, size, key)
                if keys[start + slot] != key:
                    break
                if seen[slot] < counts[start + slot]:
                    seen[slot] += 1
                    out[h, j - i] += 1
                parent = slot + 1
