"""The n best derivations of a searched sentence, lazily (Huang and Chiang 2005, algorithm 3).

With `distinct`, a hypothesis yields only the best of its derivations with the same words. The others
fit into the same contexts and score no higher, so every string keeps its best derivation. Words are
compared by a 64-bit hash.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.hiero.model import GLUE, LM, RULE_PENALTY, TM, WIDTH, WORD_PENALTY
from replitune.leaf import leaf
from replitune.phrase.lm import step
from replitune.phrase.paths import claim

DERIVATION = np.dtype(
    [
        ("score", "f8"),
        ("hash", "u8"),
        ("power", "u8"),
        ("rule", "i4"),
        ("one", "i4"),
        ("two", "i4"),
        ("next", "i4"),
    ]
)
"""hash, power: the polynomial hash of its words, and the polynomial's base to the power of their number;
one, two: the derivations in its gaps; next: the next best of the same hypothesis, -1 if not yet known."""

WAITING = np.dtype(
    [
        ("score", "f8"),
        ("rule", "i4"),
        ("row_one", "i4"),
        ("row_two", "i4"),
        ("one", "i4"),
        ("two", "i4"),
        ("child", "i4"),
        ("sibling", "i4"),
    ]
)
"""A derivation that has not been asked for yet, in a pairing heap; one, two: derivations of row_one and
row_two, -1 for the best one, which may not be known yet. `one` advances only while `two` is the best,
so that each pair is made once."""


class Lazy(NamedTuple):
    """derivations: (D,); waiting: (W,); head, tail, heap, pending: (rows,) for each hypothesis its first
    and last known derivation, its best waiting one, and the one whose successors are still to be made;
    claimed: hashes of (row, words), 0 where empty; counts: (MADE, PUSHED, CLAIMS)"""

    derivations: NDArray[np.void]
    waiting: NDArray[np.void]
    head: NDArray[np.int32]
    tail: NDArray[np.int32]
    heap: NDArray[np.int32]
    pending: NDArray[np.int32]
    claimed: NDArray[np.uint64]
    counts: NDArray[np.int64]


MADE, PUSHED, CLAIMS = 0, 1, 2
NO_MORE, NO_ROOM = -1, -2
UNSTARTED = -2
BASE = np.uint64(0x9E3779B97F4A7C15)


@leaf
def _meld(waiting, a, b):
    """Merge two heaps; of equal tops, the one that was made first stays on top."""
    if a < 0:
        return b
    if b < 0:
        return a
    if waiting[b].score > waiting[a].score or (waiting[b].score == waiting[a].score and b < a):
        a, b = b, a
    waiting[b].sibling = waiting[a].child
    waiting[a].child = b
    return a


@leaf
def _without_top(waiting, top):
    """The heap without its top."""
    paired = np.int64(-1)
    node = np.int64(waiting[top].child)
    while node >= 0:
        other = np.int64(waiting[node].sibling)
        after = np.int64(-1)
        waiting[node].sibling = -1
        if other >= 0:
            after = np.int64(waiting[other].sibling)
            waiting[other].sibling = -1
        pair = _meld(waiting, node, other)
        waiting[pair].sibling = paired
        paired = pair
        node = after
    heap = np.int64(-1)
    while paired >= 0:
        after = np.int64(waiting[paired].sibling)
        waiting[paired].sibling = -1
        heap = _meld(waiting, heap, paired)
        paired = after
    return heap


@leaf
def _push(lazy, row, score, rule, row_one, row_two, one, two):
    new = lazy.counts[PUSHED]
    item = lazy.waiting[new]
    item.score, item.rule, item.row_one, item.row_two = score, rule, row_one, row_two
    item.one, item.two, item.child, item.sibling = one, two, -1, -1
    lazy.counts[PUSHED] = new + 1
    lazy.heap[row] = _meld(lazy.waiting, np.int64(lazy.heap[row]), new)


@leaf
def _hash(lazy, rules, target, rule, one, two):
    """(hash, power) of the words of a rule with derivations in its gaps."""
    value, power = np.uint64(0), np.uint64(1)
    if rule < 0:
        return value, power
    for j in range(rules.table[rule].begin, rules.table[rule].end):
        if target[j] >= 0:
            mixed = (np.uint64(target[j]) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
            value = value * BASE + (mixed ^ (mixed >> np.uint64(29)))
            power *= BASE
        else:
            part = lazy.derivations[one if target[j] == -1 else two]
            value = value * part.power + part.hash
            power *= part.power
    return value, power


@leaf
def _start(lazy, row, rows, arcs):
    """Push all ways to a hypothesis, each with the best derivations in its gaps."""
    best = rows[row]
    lazy.heap[row] = -1
    lazy.pending[row] = -1
    _push(lazy, row, best.score, best.rule, best.one, best.two, -1, -1)
    arc = np.int64(best.arcs)
    while arc >= 0:
        _push(lazy, row, arcs[arc].score, arcs[arc].rule, arcs[arc].one, arcs[arc].two, -1, -1)
        arc = np.int64(arcs[arc].next)


@leaf
def _next(lazy, row, rows, arcs, rules, target, distinct):
    """The next derivation of a hypothesis after the known ones, or NO_MORE or NO_ROOM."""
    derivations, waiting, counts = lazy.derivations, lazy.waiting, lazy.counts
    if lazy.heap[row] == UNSTARTED:
        ways = 1
        arc = np.int64(rows[row].arcs)
        while arc >= 0:
            ways += 1
            arc = np.int64(arcs[arc].next)
        if counts[PUSHED] + ways > len(waiting):
            return np.int64(NO_ROOM)
        _start(lazy, row, rows, arcs)
    while True:
        last = np.int64(lazy.pending[row])
        if last >= 0:
            lazy.pending[row] = -1
            if counts[PUSHED] + 2 > len(waiting):
                return np.int64(NO_ROOM)
            rule, one, two = (waiting[last].rule, np.int64(waiting[last].one), np.int64(waiting[last].two))
            row_one, row_two = np.int64(waiting[last].row_one), np.int64(waiting[last].row_two)
            score = waiting[last].score
            if row_two >= 0:
                new = np.int64(derivations[two].next)
                if new < 0:
                    new = _next(lazy, row_two, rows, arcs, rules, target, distinct)
                if new == NO_ROOM:
                    return np.int64(NO_ROOM)
                if new >= 0:
                    gain = derivations[new].score - derivations[two].score
                    _push(lazy, row, score + gain, rule, row_one, row_two, one, new)
            if row_one >= 0 and (row_two < 0 or two == lazy.head[row_two]):
                new = np.int64(derivations[one].next)
                if new < 0:
                    new = _next(lazy, row_one, rows, arcs, rules, target, distinct)
                if new == NO_ROOM:
                    return np.int64(NO_ROOM)
                if new >= 0:
                    gain = derivations[new].score - derivations[one].score
                    _push(lazy, row, score + gain, rule, row_one, row_two, new, two)
        top = np.int64(lazy.heap[row])
        if top < 0:
            return np.int64(NO_MORE)
        lazy.heap[row] = _without_top(waiting, top)
        row_one, row_two = np.int64(waiting[top].row_one), np.int64(waiting[top].row_two)
        if row_one >= 0 and waiting[top].one < 0:
            first = np.int64(lazy.head[row_one])
            if first < 0:
                first = _next(lazy, row_one, rows, arcs, rules, target, distinct)
            if first < 0:
                return np.int64(NO_ROOM)
            waiting[top].one = first
        if row_two >= 0 and waiting[top].two < 0:
            first = np.int64(lazy.head[row_two])
            if first < 0:
                first = _next(lazy, row_two, rows, arcs, rules, target, distinct)
            if first < 0:
                return np.int64(NO_ROOM)
            waiting[top].two = first
        lazy.pending[row] = top
        made = counts[MADE]
        if made == len(derivations) or 2 * counts[CLAIMS] + 2 > len(lazy.claimed):
            return np.int64(NO_ROOM)
        rule, one, two = np.int64(waiting[top].rule), waiting[top].one, waiting[top].two
        value, power = _hash(lazy, rules, target, rule, one, two)
        if distinct:
            key = (value ^ (np.uint64(row) << np.uint64(40))) * np.uint64(0xBF58476D1CE4E5B9)
            key = (key ^ (key >> np.uint64(29))) * np.uint64(0x94D049BB133111EB) | np.uint64(1)
            if not claim(lazy.claimed, key):
                continue
            counts[CLAIMS] += 1
        new = derivations[made]
        new.score, new.hash, new.power = waiting[top].score, value, power
        new.rule, new.one, new.two, new.next = rule, one, two, -1
        counts[MADE] = made + 1
        if lazy.head[row] < 0:
            lazy.head[row] = made
        else:
            derivations[lazy.tail[row]].next = made
        lazy.tail[row] = made
        return made


@njit(cache=True)
def _new_lazy(rows, room):
    slots = 16
    while slots < 2 * room + 4:
        slots *= 2
    return Lazy(
        np.empty(room, DERIVATION),
        np.empty(4 * room + rows, WAITING),
        np.full(rows, -1, np.int32),
        np.full(rows, -1, np.int32),
        np.full(rows, UNSTARTED, np.int32),
        np.full(rows, -1, np.int32),
        np.zeros(slots, np.uint64),
        np.zeros(3, np.int64),
    )


@leaf
def _read(lazy, derivation, weighted, automaton, begin, stack, words, at, out):
    """Write the words of a derivation to words[at:] as far as there is room, and its feature values
    to `out` (WIDTH,): (where the words end, number of copied words)."""
    rules, scores, target, unknown = weighted
    table = rules.table
    glue, stop = len(table) - 2, len(table) - 1
    state = np.int64(begin)
    stack[0, 0], stack[0, 1] = derivation, -1
    depth, copied = 1, 0
    while depth > 0:
        current = lazy.derivations[stack[depth - 1, 0]]
        r, j = np.int64(current.rule), stack[depth - 1, 1]
        if r < 0:
            depth -= 1
            continue
        if j < 0:
            j = np.int64(table[r].begin)
            if r == glue:
                out[GLUE] += 1.0
            elif r != stop:
                out[RULE_PENALTY] += 1.0
                copied += unknown[r]
                for k in range(4):
                    out[TM + k] += scores[r, k]
        if j == table[r].end:
            depth -= 1
            continue
        stack[depth - 1, 1] = j + 1
        if target[j] >= 0:
            logprob, state = step(automaton, state, np.int64(rules.symbols[j]))
            out[LM] += logprob
            if r != stop:
                out[WORD_PENALTY] -= 1.0
                if at < len(words):
                    words[at] = target[j]
                at += 1
        else:
            stack[depth, 0] = current.one if target[j] == -1 else current.two
            stack[depth, 1] = -1
            depth += 1
    return at, copied


@njit(cache=True, nogil=True)
def nbest(rows, arcs, weighted, automaton, begin, size, most, distinct):
    """The `size` best derivations of the last row, or with `distinct` the best of each of `size`
    strings. weighted: (rules, scores, target, unknown); most: rules of the longest derivation.

    Returns (word_start (H + 1,), words, features (H, WIDTH), copied (H,))."""
    rules, target = weighted[0], weighted[2]
    room = 16 * size + 4 * most + 1024
    while True:
        lazy = _new_lazy(len(rows), room)
        count = 0
        last = np.int64(0)
        chosen = np.empty(size, np.int64)
        while count < size:
            last = _next(lazy, len(rows) - 1, rows, arcs, rules, target, distinct)
            if last < 0:
                break
            chosen[count] = last
            count += 1
        if last != NO_ROOM:
            break
        room *= 2
    word_start = np.zeros(count + 1, np.int64)
    words = np.empty(4096, np.int32)
    features = np.zeros((count, WIDTH))
    copied = np.zeros(count, np.int64)
    stack = np.empty((most + 8, 2), np.int64)
    for i in range(count):
        while True:
            end, copied[i] = _read(
                lazy, chosen[i], weighted, automaton, begin, stack, words, word_start[i], features[i]
            )
            if end <= len(words):
                break
            words = np.concatenate((words, np.empty(end, np.int32)))
            features[i] = 0.0
        word_start[i + 1] = end
    return word_start, words[: word_start[count]], features, copied
