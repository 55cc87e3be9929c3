"""The n best derivations of a searched sentence, with exact feature values.

Every way into a hypothesis was kept, so the n best paths through the search graph are found in
order, lazily: a path is the best path but for some deviations, and the next path deviates from
one already found, either by the next way into the same hypothesis or further towards the start
of the sentence (Lawler 1972; Huang & Chiang 2005, algorithm 3). Nothing is enumerated twice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.phrase.features import (
    DISTORTION,
    LEXRO,
    LM,
    PHRASE_PENALTY,
    TM,
    WIDTH,
    WORD_PENALTY,
)
from replitune.phrase.lm import step
from replitune.phrase.search import orientation
from replitune.phrase.stacks import ARC

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
def _ways(rows, arcs, node, ways, used):  # type: ignore[no-untyped-def]
    """All ways into a hypothesis, best first, into ways[used:]; (ways, with room; how many).

    Of equally good ones the hypothesis' own is first, then those that came first."""
    count = 1
    arc = rows[node].arcs
    while arc >= 0:
        count += 1
        arc = arcs[arc].next
    while used + count > len(ways):
        ways = np.concatenate((ways, np.empty(len(ways), ARC)))
    own = ways[used]
    own.score = rows[node].score
    own.back = rows[node].back
    own.option = rows[node].option
    own.start = rows[node].start
    own.end = rows[node].end
    arc = rows[node].arcs
    # The list runs from the last that came to the first.
    for i in range(used + count - 1, used, -1):
        ways[i] = arcs[arc]
        arc = arcs[arc].next
    if count > 24:
        order = np.argsort(-ways[used : used + count]["score"], kind="mergesort")
        ways[used : used + count] = ways[used : used + count][order]
        return ways, count
    scratch = np.empty(1, ARC)
    for i in range(used + 1, used + count):
        if ways[i - 1].score >= ways[i].score:
            continue
        scratch[0] = ways[i]
        j = i
        while j > used and ways[j - 1].score < scratch[0].score:
            ways[j] = ways[j - 1]
            j -= 1
        ways[j] = scratch[0]
    return ways, count


@njit(cache=True)
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


@njit(cache=True)
def _longer(suffix, target_words, begin, end):  # type: ignore[no-untyped-def]
    """Hash of a suffix with the words target_words[begin:end] before it."""
    for j in range(end - 1, begin - 1, -1):
        suffix = (suffix ^ np.uint64(target_words[j] + 1)) * np.uint64(0x9E3779B97F4A7C15)
        suffix ^= suffix >> np.uint64(32)
    return suffix


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
    items[0].suffix = 0
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
    chain = np.empty(256, np.int64)
    word_start = np.zeros(size + 1, np.int64)
    words = np.empty(4096, np.int32)
    features = np.zeros((size, WIDTH))
    copied = np.zeros(size, np.int64)
    slots = 8
    while distinct and slots < 4 * size:
        slots *= 2
    table = np.full(slots, -1, np.int64)
    # (node, words behind it) of the paths looked at.
    claimed = np.zeros(4096 if distinct else 1, np.uint64)
    claims = 0
    found, looked = 0, 0

    while waiting > 0 and found < size and looked < derivations:
        item = _pop(heap, waiting, items)
        waiting -= 1
        looked += 1
        # Go on from its last deviation; what deviates from it there or later is a new path.
        score, parent, depth = items[item].score, items[item].parent, np.int64(items[item].depth)
        suffix = items[item].suffix
        node, rank = np.int64(items[item].node), np.int64(items[item].rank)
        length = depth
        known = False
        while rows[node].back >= 0:
            if way_start[node] < 0:
                ways, count = _ways(rows, arcs, node, ways, used)
                way_start[node], way_count[node] = used, count
                used += count
            if length > depth and distinct:
                # Other phrases with the same words behind this node were looked at earlier, so
                # they score more; whatever stands before the node, they are the better ones.
                if 2 * claims > len(claimed):
                    old = claimed
                    claimed = np.zeros(4 * len(old), np.uint64)
                    for key in old:
                        if key != np.uint64(0):
                            _claim(claimed, key)
                key = (suffix ^ (np.uint64(node) << np.uint64(40))) * np.uint64(0xBF58476D1CE4E5B9)
                key = (key ^ (key >> np.uint64(29))) | np.uint64(1)
                known = not _claim(claimed, key)
                if known:
                    break
                claims += 1
            at = way_start[node] + rank
            if rank + 1 < way_count[node]:
                if made == len(items):
                    items = np.concatenate((items, np.empty(made, ITEM)))
                    heap = np.concatenate((heap, np.empty(made, np.int64)))
                items[made].score = score + (ways[at + 1].score - ways[at].score)
                items[made].suffix = suffix
                items[made].parent = parent if length == depth else item
                items[made].depth = length
                items[made].node = node
                items[made].rank = rank + 1
                _push(heap, waiting, items, made)
                waiting += 1
                made += 1
            if length >= len(path):
                path = np.concatenate((path, np.empty(len(path), ARC)))
            path[length] = ways[at]
            option = path[length].option
            if distinct:
                suffix = _longer(
                    suffix, target_words, options.word_start[option], options.word_start[option + 1]
                )
            node, rank = np.int64(path[length].back), np.int64(0)
            length += 1
        if known:
            continue

        # The phrases behind its last deviation are those of the paths that it deviates from.
        deviations = 0
        while parent >= 0:
            if deviations == len(chain):
                chain = np.concatenate((chain, np.empty(len(chain), np.int64)))
            chain[deviations] = parent
            deviations += 1
            parent = items[parent].parent
        node = np.int64(final)
        for j in range(depth):
            rank = np.int64(0)
            if deviations > 0 and items[chain[deviations - 1]].depth == j:
                deviations -= 1
                rank = np.int64(items[chain[deviations]].rank)
            path[j] = ways[way_start[node] + rank]
            node = np.int64(path[j].back)

        if distinct:
            slot = np.int64(suffix & np.uint64(slots - 1))
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
