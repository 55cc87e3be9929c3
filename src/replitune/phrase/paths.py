"""Paths through the search graph of a sentence, best first.

Every way into a hypothesis was kept, so the n best paths are found in order, lazily: a path is the
best path but for some deviations, and the next path deviates from one already found, either by the
next way into the same hypothesis or further towards the start of the sentence (Lawler 1972; Huang
& Chiang 2005, algorithm 3). Nothing is enumerated twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
from replitune.phrase.stacks import ARC, sort_down

ITEM = np.dtype(
    [
        ("score", "f8"),
        ("suffix", "u8"),
        ("parent", "i4"),
        ("depth", "i4"),
        ("node", "i4"),
        ("rank", "i4"),
    ]
)
"""A path: that of `parent` until, `depth` phrases before the end, `node` is reached; there the
way number `rank`; then always the best. parent -1, rank 0: the best path. suffix: hash of the
words behind `node`."""


@leaf
def _above(items, i, j):  # type: ignore[no-untyped-def]
    """Whether item i comes before item j."""
    return items[i].score > items[j].score or (items[i].score == items[j].score and i < j)


@leaf
def _push(heap, size, items, new):  # type: ignore[no-untyped-def]
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if not _above(items, new, heap[up]):
            break
        heap[i] = heap[up]
        i = up
    heap[i] = new


@leaf
def _pop(heap, size, items):  # type: ignore[no-untyped-def]
    """The first item; the heap has size - 1 items afterwards."""
    top, moved = heap[0], heap[size - 1]
    size -= 1
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _above(items, heap[child + 1], heap[child]):
            child += 1
        if not _above(items, heap[child], moved):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = moved
    return top


@leaf
def _ways(rows, arcs, node, ways, used, spare, totals, order):  # type: ignore[no-untyped-def]
    """All ways into a hypothesis, best first, into ways[used:]; how many.

    Of equally good ones the hypothesis' own is first, then those that came first. spare, totals,
    order: room for as many"""
    count = 1
    arc = np.int64(rows[node].arcs)
    while arc >= 0:
        count += 1
        arc = np.int64(arcs[arc].next)
    own = spare[0]
    own.score = rows[node].score
    own.back = rows[node].back
    own.option = rows[node].option
    own.start = rows[node].start
    own.end = rows[node].end
    arc = np.int64(rows[node].arcs)
    # The list runs from the last that came to the first.
    for i in range(count - 1, 0, -1):
        spare[i] = arcs[arc]
        arc = np.int64(arcs[arc].next)
    for i in range(count):
        totals[i] = spare[i].score
    sort_down(totals, order, count)
    for i in range(count):
        ways[used + i] = spare[order[i]]
    return count


@leaf
def _claim(claimed, key):  # type: ignore[no-untyped-def]
    """Put a key into a set with room; whether it is new."""
    mask = np.uint64(len(claimed) - 1)
    slot = (key >> np.uint64(32)) & mask
    while claimed[slot] != np.uint64(0):
        if claimed[slot] == key:
            return False
        slot = (slot + np.uint64(1)) & mask
    claimed[slot] = key
    return True


@leaf
def _longer(suffix, target_words, begin, end):  # type: ignore[no-untyped-def]
    """Hash of a suffix with the words target_words[begin:end] before it."""
    for j in range(end - 1, begin - 1, -1):
        suffix = (suffix ^ np.uint64(target_words[j] + 1)) * np.uint64(0x9E3779B97F4A7C15)
        suffix ^= suffix >> np.uint64(32)
    return suffix


class Enumeration(NamedTuple):
    """State of an enumeration: paths found and waiting, and sorted ways into the nodes visited.

    items, heap: (I,); ways, spare, totals, order: (rows + arcs,); way_start, way_count: (rows,);
    claimed: hashes of (node, words behind it) of the paths looked at, 0 empty; path: (most,);
    counts: (MADE, WAITING, USED, CLAIMS)"""

    items: NDArray[np.void]
    heap: NDArray[np.int64]
    ways: NDArray[np.void]
    spare: NDArray[np.void]
    totals: NDArray[np.float64]
    order: NDArray[np.int64]
    way_start: NDArray[np.int64]
    way_count: NDArray[np.int64]
    claimed: NDArray[np.uint64]
    path: NDArray[np.void]
    counts: NDArray[np.int64]


MADE, WAITING, USED, CLAIMS = 0, 1, 2, 3


@njit(cache=True)
def begin_paths(rows, arcs, final, distinct):  # type: ignore[no-untyped-def]
    """The state with the best path waiting."""
    # A path has at most as many phrases as the sentence has words.
    length = 1
    node = np.int64(final)
    while rows[node].back >= 0:
        length += rows[node].end - rows[node].start + 1
        node = np.int64(rows[node].back)
    every = len(rows) + len(arcs)
    state = Enumeration(
        np.empty(4096, ITEM),
        np.empty(4096, np.int64),
        np.empty(every, ARC),
        np.empty(every, ARC),
        np.empty(every),
        np.empty(every, np.int64),
        np.full(len(rows), -1, np.int64),
        np.zeros(len(rows), np.int64),
        np.zeros(4096 if distinct else 1, np.uint64),
        np.empty(length, ARC),
        np.zeros(4, np.int64),
    )
    first = state.items[0]
    first.score = rows[final].score
    first.suffix = 0
    first.parent = -1
    first.depth = 0
    first.node = final
    first.rank = 0
    state.heap[0] = 0
    state.counts[MADE] = 1
    state.counts[WAITING] = 1
    return state


@njit(cache=True)
def paths_with_room(state):  # type: ignore[no-untyped-def]
    """The state, or a copy with room for one more path's deviations."""
    most = len(state.path)
    items, heap, claimed = state.items, state.heap, state.claimed
    if state.counts[MADE] + most > len(items):
        items = np.concatenate((items, np.empty(len(items) + most, ITEM)))
        heap = np.concatenate((heap, np.empty(len(heap) + most, np.int64)))
    if len(claimed) > 1 and 2 * (state.counts[CLAIMS] + most) > len(claimed):
        claimed = np.zeros(4 * len(claimed), np.uint64)
        while 2 * (state.counts[CLAIMS] + most) > len(claimed):
            claimed = np.zeros(4 * len(claimed), np.uint64)
        for key in state.claimed:
            if key != np.uint64(0):
                _claim(claimed, key)
    return Enumeration(
        items, heap, state.ways, state.spare, state.totals, state.order, state.way_start,
        state.way_count, claimed, state.path, state.counts,
    )  # fmt: skip


@leaf
def next_path(state, rows, arcs, final, option_start, target_words, distinct):  # type: ignore[no-untyped-def]
    """The next path, into state.path; (its length, hash of its words), length -1 when its words
    are known. What deviates from it there or later joins those that wait; there must be room."""
    items, heap, counts, path = state.items, state.heap, state.counts, state.path
    ways, way_start, way_count = state.ways, state.way_start, state.way_count
    made, waiting = counts[MADE], counts[WAITING]
    item = _pop(heap, waiting, items)
    waiting -= 1
    # Go on from its last deviation.
    score, parent, depth = items[item].score, items[item].parent, np.int64(items[item].depth)
    suffix = items[item].suffix
    node, rank = np.int64(items[item].node), np.int64(items[item].rank)
    length = depth
    known = False
    while rows[node].back >= 0:
        if way_start[node] < 0:
            count = _ways(
                rows, arcs, node, ways, counts[USED], state.spare, state.totals, state.order
            )
            way_start[node], way_count[node] = counts[USED], count
            counts[USED] += count
        if length > depth and distinct:
            # Other phrases with the same words behind this node were looked at earlier, so
            # they score more; whatever stands before the node, they are the better ones.
            key = (suffix ^ (np.uint64(node) << np.uint64(40))) * np.uint64(0xBF58476D1CE4E5B9)
            key = (key ^ (key >> np.uint64(29))) | np.uint64(1)
            known = not _claim(state.claimed, key)
            if known:
                break
            counts[CLAIMS] += 1
        at = way_start[node] + rank
        if rank + 1 < way_count[node]:
            new = items[made]
            new.score = score + (ways[at + 1].score - ways[at].score)
            new.suffix = suffix
            new.parent = parent if length == depth else item
            new.depth = length
            new.node = node
            new.rank = rank + 1
            _push(heap, waiting, items, made)
            waiting += 1
            made += 1
        path[length] = ways[at]
        option = np.int64(path[length].option)
        if distinct:
            suffix = _longer(suffix, target_words, option_start[option], option_start[option + 1])
        node, rank = np.int64(path[length].back), np.int64(0)
        length += 1
    counts[MADE], counts[WAITING] = made, waiting
    if known:
        return np.int64(-1), suffix
    _retrace(state, final, parent, depth)
    return length, suffix


@leaf
def _retrace(state, final, parent, depth):  # type: ignore[no-untyped-def]
    """Fill path[:depth]: the phrases behind a path's last deviation are those of the paths that it
    deviates from, of which `parent` is the first."""
    items, path = state.items, state.path
    # Which way a path takes where: `order` is free now.
    ranks = state.order
    for j in range(depth):
        ranks[j] = 0
    below = depth
    while parent >= 0:
        at = np.int64(items[parent].depth)
        if at < below:
            ranks[at] = items[parent].rank
            below = at
        parent = items[parent].parent
    node = np.int64(final)
    for j in range(depth):
        path[j] = state.ways[state.way_start[node] + ranks[j]]
        node = np.int64(path[j].back)
