"""Exact n-gram counting: a trie of the n-grams of a text, in compiled code.

The edges are in an open-addressing hash table; an edge's key, (node, symbol) in 64 bits, is
compared whole, so that no two n-grams can be confused. Matching another text walks down the trie
once from each of its positions. Symbols are code points or word ids, at least 0 and below 2^31.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.metrics.base import Array

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
