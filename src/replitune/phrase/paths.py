"""Paths through the search graph of a sentence, best first.

Every way into a hypothesis was kept, so the n best paths are found in order, lazily (Huang & Chiang
2005, algorithm 3): the next path to a node is the next path to one of the nodes before it, and one
phrase more. With `distinct`, a path to a node that has the same words as a better one is dropped
there, so spurious ambiguity costs once and not in every continuation. A continuation adds the same
words and the same score to both, so no translation loses its best path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf

WAY = np.dtype(
    [
        ("score", "f8"),
        ("gain", "f8"),
        ("back", "i4"),
        ("option", "i4"),
        ("start", "i4"),
        ("end", "i4"),
        ("path", "i4"),
        ("unused", "i4"),
    ]
)
"""A way into a node and its next path. path: a path to the node `back`, or NONE for the best one when it
has not been asked for yet; score: of the path with the phrase; gain: what the phrase adds."""

PATH = np.dtype(
    [("score", "f8"), ("words", "u8"), ("way", "i4"), ("back", "i4"), ("next", "i4"), ("unused", "i4")]
)
"""A path to a node: path `back` and then the phrase of `way` (-1: the empty path); words: hash of
its words; next: the next path to the same node, or NONE, or UNKNOWN."""

NONE, UNKNOWN = -1, -2
NO_MORE, NO_ROOM = -1, -2


class Enumeration(NamedTuple):
    """State of an enumeration.

    paths: (P,); ways: (rows + arcs,), those of a node from way_start (rows,) on; heap: (rows +
    arcs,) for each node a heap of way_count (rows,) ways, best path first, -1: not visited; first,
    last: (rows,) known paths to each node; moved: (rows,) whether the first way of the heap must still
    move on to its next path; asked: (most,) nodes whose next path is being looked for; claimed: hashes
    of (node, words), 0 where empty; counts: (MADE, ASKED, USED, CLAIMS, TOLD)"""

    paths: NDArray[np.void]
    ways: NDArray[np.void]
    heap: NDArray[np.int32]
    way_start: NDArray[np.int64]
    way_count: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    moved: NDArray[np.bool_]
    asked: NDArray[np.int64]
    claimed: NDArray[np.uint64]
    counts: NDArray[np.int64]


MADE, ASKED, USED, CLAIMS, TOLD = 0, 1, 2, 3, 4


@njit(cache=True)
def begin_paths(rows, arcs, final):
    """The state before the first path to row `final`."""
    # A path has at most as many phrases as the sentence has words.
    most = 2
    node = np.int64(final)
    while rows[node].back >= 0:
        most += rows[node].end - rows[node].start + 1
        node = np.int64(rows[node].back)
    every = len(rows) + len(arcs)
    state = Enumeration(
        np.empty(2048, PATH),
        np.empty(every, WAY),
        np.empty(every, np.int32),
        np.empty(len(rows), np.int64),
        np.full(len(rows), -1, np.int64),
        np.full(len(rows), NONE, np.int64),
        np.full(len(rows), NONE, np.int64),
        np.zeros(len(rows), np.bool_),
        np.empty(most, np.int64),
        np.zeros(4096, np.uint64),
        np.zeros(5, np.int64),
    )
    state.counts[TOLD] = NONE
    return state


@njit(cache=True)
def paths_with_room(state):
    """A copy of the state with room for more paths."""
    claimed = np.zeros(4 * len(state.claimed), np.uint64)
    for key in state.claimed:
        if key != np.uint64(0):
            claim(claimed, key)
    return Enumeration(
        np.concatenate((state.paths, np.empty(len(state.paths), PATH))),
        state.ways,
        state.heap,
        state.way_start,
        state.way_count,
        state.first,
        state.last,
        state.moved,
        state.asked,
        claimed,
        state.counts,
    )


@leaf
def claim(claimed, key):
    """Add a key to a set with room; returns whether it is new."""
    mask = np.uint64(len(claimed) - 1)
    slot = (key >> np.uint64(32)) & mask
    while claimed[slot] != np.uint64(0):
        if claimed[slot] == key:
            return False
        slot = (slot + np.uint64(1)) & mask
    claimed[slot] = key
    return True


@leaf
def _above(ways, i, j):
    """Whether way i comes before way j."""
    return ways[i].score > ways[j].score or (ways[i].score == ways[j].score and i < j)


@leaf
def _sift(heap, begin, size, at, ways):
    """Move the way at heap[begin + at] down to where it belongs."""
    moving = heap[begin + at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _above(ways, heap[begin + child + 1], heap[begin + child]):
            child += 1
        if not _above(ways, heap[begin + child], moving):
            break
        heap[begin + at] = heap[begin + child]
        at = child
    heap[begin + at] = moving


@leaf
def _set_way(way, found):
    """Copy a way from a hypothesis, or from another one that was recombined with it."""
    way.score = found.score
    way.back = found.back
    way.option = found.option
    way.start = found.start
    way.end = found.end


@leaf
def _visit(state, rows, arcs, node):
    """Collect the ways into a node; the root has one path and no ways."""
    ways, heap, counts = state.ways, state.heap, state.counts
    begin = counts[USED]
    state.way_start[node] = begin
    if rows[node].back < 0:
        state.way_count[node] = 0
        root = state.paths[counts[MADE]]
        root.score = rows[node].score
        root.words = np.uint64(0)
        root.way = NONE
        root.back = NONE
        root.next = NONE
        state.first[node] = counts[MADE]
        state.last[node] = counts[MADE]
        counts[MADE] += 1
        return
    _set_way(ways[begin], rows[node])
    count = 1
    arc = np.int64(rows[node].arcs)
    while arc >= 0:
        _set_way(ways[begin + count], arcs[arc])
        count += 1
        arc = np.int64(arcs[arc].next)
    for i in range(begin, begin + count):
        ways[i].gain = ways[i].score - rows[ways[i].back].score
        ways[i].path = NONE
        heap[i] = i
    for at in range(count // 2 - 1, -1, -1):
        _sift(heap, begin, count, at, ways)
    state.way_count[node] = count
    counts[USED] += count


@leaf
def next_path(state, rows, arcs, final, spelling, power, distinct):
    """The next path to row `final`, or NO_MORE, or NO_ROOM when the state must grow first.

    spelling, power: (O,) hashes of the options' words (see Options)"""
    paths, ways, heap, counts = state.paths, state.ways, state.heap, state.counts
    way_start, way_count, moved = state.way_start, state.way_count, state.moved
    first, last, asked = state.first, state.last, state.asked
    depth = counts[ASKED]
    if depth == 0:
        asked[0] = final
        depth = 1
    while depth > 0:
        if counts[MADE] == len(paths) or 2 * (counts[CLAIMS] + 1) > len(state.claimed):
            counts[ASKED] = depth
            return np.int64(NO_ROOM)
        node = asked[depth - 1]
        if way_count[node] < 0:
            _visit(state, rows, arcs, node)
            if way_count[node] == 0:
                depth -= 1
                continue
        begin = way_start[node]
        if moved[node]:
            way = ways[heap[begin]]
            following = np.int64(paths[way.path].next)
            if following == UNKNOWN:
                asked[depth] = way.back
                depth += 1
                continue
            moved[node] = False
            if following == NONE:
                way_count[node] -= 1
                heap[begin] = heap[begin + way_count[node]]
            else:
                way.path = following
                way.score = paths[following].score + way.gain
            _sift(heap, begin, way_count[node], 0, ways)
        if way_count[node] == 0:
            paths[last[node]].next = NONE
            depth -= 1
            continue
        at = np.int64(heap[begin])
        way = ways[at]
        if way.path == NONE:
            if first[way.back] == NONE:
                asked[depth] = way.back
                depth += 1
                continue
            way.path = first[way.back]
        moved[node] = True
        words = paths[way.path].words * power[way.option] + spelling[way.option]
        if distinct:
            key = (words ^ (np.uint64(node) << np.uint64(40))) * np.uint64(0xBF58476D1CE4E5B9)
            if not claim(state.claimed, (key ^ (key >> np.uint64(29))) | np.uint64(1)):
                continue
            counts[CLAIMS] += 1
        made = counts[MADE]
        new = paths[made]
        new.score = way.score
        new.words = words
        new.way = at
        new.back = way.path
        new.next = UNKNOWN
        if first[node] == NONE:
            first[node] = made
        else:
            paths[last[node]].next = made
        last[node] = made
        counts[MADE] += 1
        depth -= 1
    counts[ASKED] = 0
    if last[final] == counts[TOLD]:
        return np.int64(NO_MORE)
    counts[TOLD] = last[final]
    return last[final]
