"""Counts of n-grams, in compiled code: for BLEU, chrF and NIST.

For clipped matches, the n-grams of a segment's references form a trie in a hash table of their own,
made once per test set: the key is (parent slot, token), the value the largest count of that n-gram in
any one reference. A hypothesis walks the trie from each of its tokens and stops at the first token that
does not continue a reference n-gram. A key holds its whole content (two 32-bit numbers), so counts are
exact.

Other counts are those of a trie of the n-grams of one text. Its edges are in an open-addressing hash
table; an edge's key, (node, symbol) in 64 bits, is compared whole, so that no two n-grams can be
confused. Matching another text walks down the trie once from each of its positions. Symbols are code
points or word ids, at least 0 and below 2^31.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.metrics.base import Array
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


ROOT = 0
ABSENT = -1
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth's multiplicative hashing


@njit(cache=True)
def table_size(entries: int) -> int:
    """The size, a power of two, of a table that `entries` keys fill at most by half."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return size


@njit(cache=True)
def slot_of(keys: Array, key: int) -> np.int64:
    """Where `key` is in the table, or the free slot where it belongs."""
    mask = keys.size - 1
    slot = np.int64((np.uint64(key) * SPREAD) >> np.uint64(32)) & mask
    while keys[slot] != ABSENT and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True)
def child(keys: Array, nodes: Array, node: int, symbol: int) -> int:
    """The node below `node` along `symbol`, or ABSENT."""
    key = (np.int64(node) << 32) | np.int64(symbol)
    slot = slot_of(keys, key)
    if keys[slot] == key:
        return nodes[slot]
    return ABSENT


@njit(cache=True)
def grow(keys: Array, nodes: Array, node: int, symbol: int, new: int) -> int:
    """The node below `node` along `symbol`; if there is none, it is added as node `new`."""
    key = (np.int64(node) << 32) | np.int64(symbol)
    slot = slot_of(keys, key)
    if keys[slot] == key:
        return nodes[slot]
    keys[slot] = key
    nodes[slot] = new
    return new


@njit(cache=True)
def plant(
    symbols: Array, size: int, order: int, keys: Array, nodes: Array, counts: Array, used: int
) -> int:
    """Add all n-grams, n <= order, of symbols[:size] to a trie of `used` nodes (1: the root
    alone) and to the `counts` of its nodes; return its new number of nodes."""
    for start in range(size):
        node = ROOT
        for k in range(start, min(size, start + order)):
            node = grow(keys, nodes, node, symbols[k], used)
            if node == used:
                counts[used] = 0
                used += 1
            counts[node] += 1
    return used


@njit(cache=True)
def walk(
    symbols: Array, size: int, order: int, keys: Array, nodes: Array, left: Array, matches: Array
) -> None:
    """Add to `matches` (order,) the n-grams of symbols[:size] found in the trie, each at most
    as often as `left` (one count per node, used up here) allows."""
    for start in range(size):
        node = ROOT
        for k in range(start, min(size, start + order)):
            if symbols[k] < 0:
                break
            node = child(keys, nodes, node, symbols[k])
            if node == ABSENT:
                break
            if left[node] > 0:
                left[node] -= 1
                matches[k - start] += 1


@njit(cache=True)
def all_ngrams(tokens: Array, starts: Array, order: int) -> tuple[Array, Array, Array]:
    """Trie (keys, nodes) of the n-grams of all references, and the count of each node; that of
    the root is the number of words."""
    space = order * tokens.size + 1
    keys = np.full(table_size(space), ABSENT, dtype=np.int64)
    nodes = np.empty(keys.size, dtype=np.int32)
    counts = np.zeros(space, dtype=np.int32)
    used = 1
    for k in range(starts.size - 1):
        words = tokens[starts[k] : starts[k + 1]]
        used = plant(words, words.size, order, keys, nodes, counts, used)
    counts[ROOT] = tokens.size
    return keys, nodes, counts[:used]


@njit(cache=True)
def informations(keys: Array, nodes: Array, counts: Array) -> Array:
    """log2(count of the parent / count) of each node: Doddington (2002), equation 2."""
    result = np.zeros(counts.size)
    for slot in range(keys.size):
        if keys[slot] != ABSENT:
            parent = keys[slot] >> 32
            result[nodes[slot]] = math.log2(counts[parent] / counts[nodes[slot]])
    return result


@njit(cache=True, nogil=True)
def matched_information(
    hyps: Array,
    hyp_starts: Array,
    segments: Array,
    refs: Array,
    ref_starts: Array,
    nrefs: int,
    order: int,
    keys: Array,
    nodes: Array,
    information: Array,
) -> Array:
    """Information (J, order) of the n-grams that each hypothesis shares with its references."""
    result = np.zeros((segments.size, order))
    allowed = np.zeros(information.size, dtype=np.int32)  # the largest count in one reference
    counts = np.zeros(information.size, dtype=np.int32)
    for h in range(segments.size):
        first = segments[h] * nrefs
        for k in range(first, first + nrefs):
            # Two passes over each reference: count, then reset the counts.
            for forget in range(2):
                for start in range(ref_starts[k], ref_starts[k + 1]):
                    node = ROOT
                    for at in range(start, min(ref_starts[k + 1], start + order)):
                        node = child(keys, nodes, node, refs[at])
                        if forget:
                            counts[node] = 0
                        else:
                            counts[node] += 1
                            allowed[node] = max(allowed[node], counts[node])
        for start in range(hyp_starts[h], hyp_starts[h + 1]):
            node = ROOT
            for at in range(start, min(hyp_starts[h + 1], start + order)):
                if hyps[at] < 0:
                    break
                node = child(keys, nodes, node, hyps[at])
                if node == ABSENT:
                    break
                if allowed[node] > 0:
                    allowed[node] -= 1
                    result[h, at - start] += information[node]
        for start in range(ref_starts[first], ref_starts[first + nrefs]):
            node = ROOT
            for at in range(start, min(ref_starts[first + nrefs], start + order)):
                node = child(keys, nodes, node, refs[at])
                if node == ABSENT:  # an n-gram that spans two references
                    break
                allowed[node] = 0
    return result
