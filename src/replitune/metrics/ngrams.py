"""Clipped n-gram matches of hypotheses against the references of their segments.

The n-grams of the references of one segment are a trie kept in a hash table of its own, made
once per test set: key (parent slot, token), value the largest count of that n-gram in any one
reference. A hypothesis walks the trie from each of its tokens and stops at the first token
that does not continue a reference n-gram. A key holds its whole content (two 32-bit numbers),
so counts are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
from numba import njit
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@dataclass(frozen=True)
class ReferenceNgrams:
    """The references of a test set, ready to be matched."""

    vocabulary: dict[str, int]
    """Every token of the references, numbered from 0."""
    keys: NDArray[np.int64]
    counts: NDArray[np.int32]
    offsets: NDArray[np.int64]
    """(N+1,): slots offsets[i] .. offsets[i+1] of `keys` and `counts` are segment i's trie."""
    lengths: NDArray[np.int32]
    """(N, R) tokens of each reference."""


def prepare_references(streams: Sequence[Sequence[list[str]]], order: int) -> ReferenceNgrams:
    """The n-grams up to `order` of R streams of N tokenised references."""
    n_segments, n_refs = len(streams[0]), len(streams)
    lists = [stream[i] for i in range(n_segments) for stream in streams]
    sizes = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    vocabulary: dict[str, int] = {}
    tokens = np.fromiter(
        (vocabulary.setdefault(token, len(vocabulary)) for token in chain.from_iterable(lists)),
        dtype=np.int32,
        count=int(sizes.sum()),
    )
    lengths = sizes.reshape(n_segments, n_refs)
    ngrams = np.zeros(n_segments, dtype=np.int64)
    for n in range(order):
        ngrams += np.maximum(lengths - n, 0).sum(axis=1)
    # Half again as many slots as n-grams, so that probing stays short; never none.
    offsets = _offsets(ngrams * 3 // 2 + 1)
    keys = np.full(offsets[-1], -1, dtype=np.int64)
    counts = np.zeros(offsets[-1], dtype=np.int32)
    _fill_tries(tokens, _offsets(sizes), n_refs, order, offsets, keys, counts)
    return ReferenceNgrams(vocabulary, keys, counts, offsets, lengths.astype(np.int32))


def add_matches(
    lists: Sequence[list[str]],
    segments: NDArray[np.int64],
    prepared: ReferenceNgrams,
    order: int,
    out: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Add to out[h, n-1] the clipped n-gram matches of tokens `lists[h]` against the references
    of `segments[h]`; returns the lengths (H,) in tokens."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    tokens = np.fromiter(
        map(prepared.vocabulary.get, chain.from_iterable(lists), repeat(-1)),
        dtype=np.int32,
        count=int(lengths.sum()),
    )
    _count_matches(
        tokens,
        _offsets(lengths),
        segments,
        prepared.offsets,
        prepared.keys,
        prepared.counts,
        order,
        out,
    )
    return lengths


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    out = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=out[1:])
    return out


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
def _count_matches(
    tokens: NDArray[np.int32],
    token_offsets: NDArray[np.int64],
    segments: NDArray[np.int64],
    offsets: NDArray[np.int64],
    keys: NDArray[np.int64],
    counts: NDArray[np.int32],
    order: int,
    out: NDArray[np.int32],
) -> None:
    """Add the clipped matches of hypothesis h to out[h, :order]."""
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
