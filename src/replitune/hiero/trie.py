"""Sequences of symbols as nodes of a trie, in one hash table.

The key of a node is the pair (node of the sequence without its last symbol, last symbol): two
32-bit numbers in one 64-bit word, so every sequence has a key of its own and keys cannot collide.
Node 0 is the empty sequence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf

GAP = 0
"""The symbol of a gap on a source side; that of word w is w + 1."""


class Trie(NamedTuple):
    """keys: (slots,) uint64, the key + 1, 0 where the slot is empty; children: (slots,) int32, the node
    of the key."""

    keys: NDArray[np.uint64]
    children: NDArray[np.int32]


class Growing(NamedTuple):
    """A trie that is being made. parent, symbol: (room,) int32 of each node; size: (1,) nodes."""

    trie: Trie
    parent: NDArray[np.int32]
    symbol: NDArray[np.int32]
    size: NDArray[np.int64]


@leaf
def _slot(keys, node, symbol):
    """(key + 1 of a node with one more symbol, the slot where it is or belongs)."""
    key = ((np.uint64(node) << np.uint64(32)) | np.uint64(symbol)) + np.uint64(1)
    mixed = (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    i = np.int64(((mixed >> np.uint64(32)) * np.uint64(len(keys))) >> np.uint64(32))
    while keys[i] != np.uint64(0) and keys[i] != key:
        i = i + 1 if i + 1 < len(keys) else np.int64(0)
    return key, i


@leaf
def child(trie, node, symbol):
    """The node of a sequence with one more symbol, or -1."""
    key, i = _slot(trie.keys, node, symbol)
    return np.int64(trie.children[i]) if trie.keys[i] == key else np.int64(-1)


@leaf
def extend(growing, node, symbol):
    """As `child`, but the node is made where it is missing; there must be room."""
    key, i = _slot(growing.trie.keys, node, symbol)
    if growing.trie.keys[i] == key:
        return np.int64(growing.trie.children[i])
    made = growing.size[0]
    growing.trie.keys[i] = key
    growing.trie.children[i] = made
    growing.parent[made] = node
    growing.symbol[made] = symbol
    growing.size[0] = made + 1
    return made


@njit(cache=True)
def _fill(trie, parent, symbol, size):
    """Put nodes 1 ... size - 1 into an empty table."""
    for node in range(1, size):
        key, i = _slot(trie.keys, parent[node], symbol[node])
        trie.keys[i] = key
        trie.children[i] = node


def table_of(parent: NDArray[np.int32], symbol: NDArray[np.int32], room: int) -> Trie:
    """The nodes' table, two thirds full when there are `room` of them."""
    slots = 8 + room + room // 2
    trie = Trie(np.zeros(slots, np.uint64), np.zeros(slots, np.int32))
    _fill(trie, parent, symbol, len(parent))
    return trie


def grown(growing: Growing | None, more: int) -> Growing:
    """The trie with room for `more` nodes; the one passed must not be used again. None: an empty trie."""
    size = 1 if growing is None else int(growing.size[0])
    if growing is not None and size + more <= len(growing.parent):
        return growing
    room = max(1 << 12, size + size // 2 + more)
    if growing is None:
        parent, symbol = np.zeros(room, np.int32), np.zeros(room, np.int32)
    else:
        (old, parent, symbol, _) = growing
        for array, length in ((parent, room), (symbol, room), (old.keys, 0), (old.children, 0)):
            array.resize(length, refcheck=False)
    table = table_of(parent[:size], symbol[:size], room)
    return Growing(table, parent, symbol, np.array([size], np.int64))
