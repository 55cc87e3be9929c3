"""The n best derivations of a searched sentence, with exact feature values.

Every way into a hypothesis was kept, so the n best paths through the search graph are found in
order, lazily: a path is the best path but for some deviations, and the next path deviates from
one already found, either by the next way into the same hypothesis or further towards the start
of the sentence (Lawler 1972; Huang & Chiang 2005, algorithm 3). Nothing is enumerated twice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.backends.phrase.features import (
    DISTORTION,
    LEXRO,
    LM,
    PHRASE_PENALTY,
    TM,
    WIDTH,
    WORD_PENALTY,
)
from replitune.backends.phrase.lm import step
from replitune.backends.phrase.search import orientation
from replitune.backends.phrase.stacks import ARC

ITEM = np.dtype(
    [("score", "f8"), ("parent", "i4"), ("depth", "i4"), ("node", "i4"), ("rank", "i4")]
)
"""A path: that of `parent` until, `depth` phrases before the end, `node` is reached; there the
way number `rank`; then always the best. parent -1, rank 0: the best path."""


@njit(cache=True)
def _above(items, i, j):  # type: ignore[no-untyped-def]
    """Whether item i comes before item j."""
    return items[i].score > items[j].score or (items[i].score == items[j].score and i < j)


@njit(cache=True)
def _push(heap, size, items, new):  # type: ignore[no-untyped-def]
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if not _above(items, new, heap[up]):
            break
        heap[i] = heap[up]
        i = up
    heap[i] = new


@njit(cache=True)
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


@njit(cache=True)
def _ways(rows, arcs, node):  # type: ignore[no-untyped-def]
    """All ways into a hypothesis, best first: (count,) ARC."""
    count = 1
    arc = rows[node].arcs
    while arc >= 0:
        count += 1
        arc = arcs[arc].next
    found = np.empty(count, ARC)
    found[0].score = rows[node].score
    found[0].back = rows[node].back
    found[0].option = rows[node].option
    found[0].start = rows[node].start
    found[0].end = rows[node].end
    arc = rows[node].arcs
    # The list runs from the last that came to the first; equal scores keep the order of coming.
    for i in range(count - 1, 0, -1):
        found[i] = arcs[arc]
        arc = arcs[arc].next
    order = np.argsort(-found["score"], kind="mergesort")
    return found[order]


@njit(cache=True)
def path_features(path, length, options, scores, reordering, unknown, automaton, begin, end, out):  # type: ignore[no-untyped-def]
    """Add the feature values of a derivation to `out` (14,); returns its number of copied words.

    path: (>= length,) ARC from the last phrase to the first.
    """
    state = begin
    last_start, last_end, last_option = -1, -1, -1
    copied = 0
    for i in range(length - 1, -1, -1):
        option, start = path[i].option, path[i].start
        turn = orientation(last_start, last_end, start, path[i].end)
        out[LEXRO + turn] += reordering[option, turn]
        if last_option >= 0:
            out[LEXRO + 3 + turn] += reordering[last_option, 3 + turn]
        out[DISTORTION] -= abs(start - (last_end + 1))
        for j in range(options.word_start[option], options.word_start[option + 1]):
            logprob, state = step(automaton, state, options.words[j])
            out[LM] += logprob
            out[WORD_PENALTY] -= 1.0
        out[PHRASE_PENALTY] += 1.0
        for j in range(4):
            out[TM + j] += scores[option, j]
        copied += unknown[option]
        last_start, last_end, last_option = start, path[i].end, option
    out[LM] += step(automaton, state, end)[0]
    return copied


@njit(cache=True)
def _same_words(options, target_words, path, length, words, at, stop):  # type: ignore[no-untyped-def]
    """Whether a derivation has exactly the words words[at:stop]."""
    for i in range(length - 1, -1, -1):
        option = path[i].option
        for j in range(options.word_start[option], options.word_start[option + 1]):
            if at == stop or words[at] != target_words[j]:
                return False
            at += 1
    return at == stop


@njit(cache=True, nogil=True)
def nbest(  # type: ignore[no-untyped-def]
    rows,
    arcs,
    final,
    options,
    target_words,
    scores,
    reordering,
    unknown,
    automaton,
    begin,
    end,
    size,
    derivations,
    distinct,
):
    """The `size` best derivations into row `final`, or with `distinct` the best of each of
    `size` strings, looking at no more than `derivations` of them.

    Returns (word_start (H + 1,), words, features (H, 14), copied (H,), derivations looked at).
    """
    items = np.empty(4096, ITEM)
    heap = np.empty(4096, np.int64)
    items[0].score = rows[final].score
    items[0].parent = -1
    items[0].depth = 0
    items[0].node = final
    items[0].rank = 0
    made, waiting = 1, 1
    heap[0] = 0

    # Sorted ways into the nodes visited, one node after the other in `ways`.
    ways = np.empty(4096, ARC)
    used = 0
    way_start = np.full(len(rows), -1, np.int64)
    way_count = np.zeros(len(rows), np.int64)

    path = np.empty(256, ARC)
    nodes = np.empty(256, np.int64)
    chain = np.empty(256, np.int64)
    word_start = np.zeros(size + 1, np.int64)
    words = np.empty(4096, np.int32)
    features = np.zeros((size, WIDTH))
    copied = np.zeros(size, np.int64)
    slots = 8
    while distinct and slots < 4 * size:
        slots *= 2
    table = np.full(slots, -1, np.int64)
    found, looked = 0, 0

    while waiting > 0 and found < size and looked < derivations:
        item = _pop(heap, waiting, items)
        waiting -= 1
        looked += 1
        # The deviations of this path, from the last to the first.
        deviations = 0
        i = item
        while i >= 0:
            if deviations == len(chain):
                chain = np.concatenate((chain, np.empty(len(chain), np.int64)))
            chain[deviations] = i
            deviations += 1
            i = items[i].parent
        # Walk it from the end of the sentence.
        length = 0
        node = np.int64(final)
        while rows[node].back >= 0:
            if length == len(path):
                path = np.concatenate((path, np.empty(len(path), ARC)))
                nodes = np.concatenate((nodes, np.empty(len(nodes), np.int64)))
            rank = 0
            if deviations > 0 and items[chain[deviations - 1]].depth == length:
                deviations -= 1
                rank = items[chain[deviations]].rank
            if way_start[node] < 0:
                new = _ways(rows, arcs, node)
                while used + len(new) > len(ways):
                    ways = np.concatenate((ways, np.empty(len(ways), ARC)))
                ways[used : used + len(new)] = new
                way_start[node], way_count[node] = used, len(new)
                used += len(new)
            nodes[length] = node
            path[length] = ways[way_start[node] + rank]
            node = np.int64(path[length].back)
            length += 1
        # Paths that deviate from it at its last deviation or later.
        if made + length + 1 > len(items):
            items = np.concatenate((items, np.empty(len(items) + length + 1, ITEM)))
            heap = np.concatenate((heap, np.empty(len(heap) + length + 1, np.int64)))
        score, depth = items[item].score, items[item].depth
        for j in range(depth, length):
            node = nodes[j]
            sibling = j == depth
            rank = items[item].rank + 1 if sibling else 1
            if rank >= way_count[node]:
                continue
            at = way_start[node] + rank
            items[made].score = score + (ways[at].score - ways[at - 1].score)
            items[made].parent = items[item].parent if sibling else item
            items[made].depth = j
            items[made].node = node
            items[made].rank = rank
            _push(heap, waiting, items, made)
            waiting += 1
            made += 1

        slot = np.int64(0)
        if distinct:
            mixed = np.uint64(0)
            for i in range(length - 1, -1, -1):
                option = path[i].option
                for j in range(options.word_start[option], options.word_start[option + 1]):
                    mixed = (mixed ^ np.uint64(target_words[j])) * np.uint64(0x9E3779B97F4A7C15)
                    mixed ^= mixed >> np.uint64(32)
            slot = np.int64(mixed & np.uint64(slots - 1))
            known = False
            while table[slot] >= 0:
                h = table[slot]
                known = _same_words(
                    options, target_words, path, length, words, word_start[h], word_start[h + 1]
                )
                if known:
                    break
                slot = (slot + 1) & (slots - 1)
            if known:
                continue
            table[slot] = found
        at = word_start[found]
        for i in range(length - 1, -1, -1):
            option = path[i].option
            for j in range(options.word_start[option], options.word_start[option + 1]):
                if at == len(words):
                    words = np.concatenate((words, np.empty(len(words), np.int32)))
                words[at] = target_words[j]
                at += 1
        copied[found] = path_features(
            path,
            length,
            options,
            scores,
            reordering,
            unknown,
            automaton,
            begin,
            end,
            features[found],
        )
        found += 1
        word_start[found] = at
    return (
        word_start[: found + 1],
        words[: word_start[found]],
        features[:found],
        copied[:found],
        looked,
    )


@njit(cache=True, nogil=True)
def best_words(rows, final, word_start, target_words):  # type: ignore[no-untyped-def]
    """The words of the best path into row `final`."""
    count = 0
    row = np.int64(final)
    while rows[row].back >= 0:
        option = rows[row].option
        count += word_start[option + 1] - word_start[option]
        row = np.int64(rows[row].back)
    words = np.empty(count, np.int32)
    row = np.int64(final)
    while rows[row].back >= 0:
        option = rows[row].option
        for j in range(word_start[option + 1] - 1, word_start[option] - 1, -1):
            count -= 1
            words[count] = target_words[j]
        row = np.int64(rows[row].back)
    return words
