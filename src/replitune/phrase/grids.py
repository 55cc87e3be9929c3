"""The grids of cube pruning, and which of their cells are the most promising.

The sides of a grid are the hypotheses of one coverage that can be extended over the same source span
with the same orientation, and the options of the span, both best first. Of hypotheses with the same
language model state only the best is on the side: whatever it is extended with, the others recombine
with it. They follow it in a list, as other ways to the same hypothesis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import inlined, leaf
from replitune.phrase.options import DISCONTINUOUS, MONOTONE, SWAP
from replitune.phrase.search import extensions_of, orientation
from replitune.phrase.stacks import kth_largest

GRID = np.dtype(
    [
        ("future", "f8"),
        ("first", "i4"),
        ("count", "i4"),
        ("source", "i4"),
        ("coverage", "i4"),
        ("start", "i4"),
        ("length", "i4"),
        ("begin", "i4"),
        ("stop", "i4"),
        ("turn", "i4"),
        ("next", "i4"),
    ]
)
"""first, count: its hypotheses in the list of members; source: their coverage; coverage: that after the
span, -1 until a cell is taken; begin, stop: its options; turn: the orientation; next: the next grid
into the same stack, or -1."""

MEMBER = np.dtype([("promise", "f8"), ("row", "i4"), ("follower", "i4")])
"""row: a hypothesis; promise: its score with the jump and its forward reordering score; follower:
the member that follows it, or -1."""

PICK = np.dtype([("promise", "f8"), *((name, "i4") for name in ("grid", "member", "at", "state"))])
"""A cell to be tried. at: its option, among those of its orientation; state: the LM state before it."""

BEFORE = np.dtype(
    [
        ("score", "f8"),
        ("promise", "f8"),
        *((name, "i4") for name in ("row", "kind", "start", "end", "option", "turn", "follower", "unused")),
    ]
)
"""A hypothesis of a coverage. kind: the number of its LM state; turn: orientation of the phrase that
would follow it, -1 if none can; promise, follower: see MEMBER, follower among these hypotheses."""


class Grids(NamedTuple):
    """table: (G,) GRID; members: (M,) MEMBER; head: (n + 1,) the first grid into each stack, or
    -1; ways: (n + 1,) a bound on the ways into each stack that come from followers; used: (2,) grids
    and members so far

    Room for one coverage. before: its hypotheses; states: the state of each kind; best: (3, size) the
    best of each orientation and kind, -1 between uses; leads: (3, size) the same, best first"""

    table: NDArray[np.void]
    members: NDArray[np.void]
    head: NDArray[np.int64]
    ways: NDArray[np.int64]
    used: NDArray[np.int64]
    before: NDArray[np.void]
    states: NDArray[np.int64]
    best: NDArray[np.int64]
    leads: NDArray[np.int64]


@njit(cache=True)
def new_grids(n, size):
    return Grids(
        np.empty(256 * (n + 1), GRID),
        np.empty(1024 * (n + 1), MEMBER),
        np.full(n + 1, -1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(2, np.int64),
        np.empty(size, BEFORE),
        np.empty(size, np.int64),
        np.full((3, size), -1, np.int64),
        np.empty((3, size), np.int64),
    )


@njit(cache=True)
def grids_with_room(grids, tables, members):
    """`grids` with room for more grids (`tables`) and members."""
    table, listed = grids.table, grids.members
    if grids.used[0] + tables > len(table):
        table = np.concatenate((table, np.empty(len(table) + tables, GRID)))
    if grids.used[1] + members > len(listed):
        listed = np.concatenate((listed, np.empty(len(listed) + members, MEMBER)))
    return Grids(
        table,
        listed,
        grids.head,
        grids.ways,
        grids.used,
        grids.before,
        grids.states,
        grids.best,
        grids.leads,
    )


@leaf
def _cut(picks, count, pops, promises):
    """Keep the `pops` most promising picks, of equal ones the first; returns the least promise kept."""
    for i in range(count):
        promises[i] = picks[i].promise
    least = kth_largest(promises, count, pops)
    ties = pops
    for i in range(pops):
        ties -= promises[i] > least
    kept = 0
    for i in range(count):
        promise = picks[i].promise
        picks[kept] = picks[i]
        kept += (promise > least) | ((promise == least) & (ties > 0))
        ties -= promise == least
    return least


@leaf
def _scan(grids, k, cells, pops, least, picks, promises):
    """Put into `picks` the cells of the grids into stack k that promise more than `least`; returns their
    number.

    Whenever `picks` is full, only the best `pops` are kept, and less promising cells are left out from
    then on."""
    count = 0
    members = grids.members
    g = grids.head[k]
    while g >= 0:
        grid = grids.table[g]
        first, last = np.int64(grid.first), np.int64(grid.first + grid.count)
        begin, stop, turn = np.int64(grid.begin), np.int64(grid.stop), np.int64(grid.turn)
        future = grid.future
        for member in range(first, last):
            value = members[member].promise + future
            at = begin
            while at < stop:
                promise = value + cells[turn, at].promise
                if promise <= least:
                    break
                if count == len(picks):
                    least = _cut(picks, count, pops, promises)
                    count = pops
                    if promise <= least:
                        break
                pick = picks[count]
                pick.promise = promise
                pick.grid = g
                pick.member = member
                pick.at = at
                count += 1
                at += 1
            if at == begin:
                break
        g = np.int64(grid.next)
    return count


@leaf
def most_promising(grids, k, cells, pops, spread, picks, promises):
    """Put into `picks` the `pops` most promising cells of the grids into stack k, in the order of the
    grids, of equal ones the first: (their number, the least promise or -inf when there are fewer than
    `pops`, the best promise).

    `spread` is a guess of how far apart these two are; it affects the work, not the result.
    picks, promises: (> pops,)
    """
    best = -np.inf
    g = grids.head[k]
    while g >= 0:
        grid = grids.table[g]
        top = grids.members[grid.first].promise + grid.future
        best = max(best, top + cells[grid.turn, grid.begin].promise)
        g = np.int64(grid.next)
    count = _scan(grids, k, cells, pops, best - spread, picks, promises)
    for _ in range(3):
        if count < pops and spread < np.inf:
            spread *= 1.5
            count = _scan(grids, k, cells, pops, best - spread, picks, promises)
    if count < pops and spread < np.inf:
        count = _scan(grids, k, cells, pops, -np.inf, picks, promises)
    if count < pops:
        return count, -np.inf, best
    return pops, _cut(picks, count, pops, promises), best


@inlined
def _collect(rows, row, next_row, base, before, states):
    """Put a group's hypotheses into `before`, in order; returns their number."""
    count = kinds = 0
    while row >= 0:
        found, new = rows[row], before[count]
        kind = 0
        while kind < kinds and states[kind] != found.state:
            kind += 1
        if kind == kinds:
            states[kinds] = found.state
            kinds += 1
        new.score, new.row, new.kind = found.score, row, kind
        new.start, new.end, new.option = found.start, found.end, found.option
        count += 1
        row = next_row[row - base]
    return count


@inlined
def _members(grids, count, start, end, forward, terms, keep, lists):
    """Append to the members those of the `count` hypotheses of a coverage that a phrase over start .. end
    can follow: for each orientation first the leading ones, best first, equal ones in order, then, with
    `keep`, their followers.

    Fills `lists` (3, 3): for each orientation where its members begin, how many lead and how many follow.
    Returns whether the last phrase of some hypothesis lies after `start`, so that a longer or shorter
    phrase from `start` could be a swap."""
    before, best, leads, members = grids.before, grids.best, grids.leads, grids.members
    ahead = False
    for i in range(count):
        new = before[i]
        jump = abs(start - (new.end + 1))
        new.turn = -1
        if terms.limit < 0 or jump <= terms.limit:
            turn = orientation(new.start, new.end, start, end)
            promise = new.score - terms.distortion * jump
            if new.option >= 0:
                promise += forward[new.option, turn]
            new.promise, new.turn, new.follower = promise, turn, -1
            other = best[turn, new.kind]
            if other < 0:
                best[turn, new.kind] = i
            elif promise > before[other].promise:
                new.follower = other
                best[turn, new.kind] = i
            else:
                new.follower = before[other].follower
                before[other].follower = i
            ahead |= new.start > start
    lists[:, 1] = 0
    for i in range(count):
        new = before[i]
        turn = np.int64(new.turn)
        if turn < 0 or best[turn, new.kind] != i:
            continue
        best[turn, new.kind] = -1
        place = lists[turn, 1]
        lists[turn, 1] += 1
        while place > 0 and before[leads[turn, place - 1]].promise < new.promise:
            leads[turn, place] = leads[turn, place - 1]
            place -= 1
        leads[turn, place] = i
    used = grids.used[1]
    for turn in range(3):
        first, leaders = used, lists[turn, 1]
        lists[turn, 0] = first
        used += leaders
        for i in range(leaders):
            at, member = leads[turn, i], members[first + i]
            member.promise, member.row, member.follower = before[at].promise, before[at].row, -1
            at = np.int64(before[at].follower)
            while keep and at >= 0:
                member.follower = used
                member = members[used]
                member.promise, member.row, member.follower = before[at].promise, before[at].row, -1
                used += 1
                at = np.int64(before[at].follower)
        lists[turn, 2] = used - first - leaders
    grids.used[1] = used
    return ahead


@leaf
def add_grids(k, sentence, groups, head, next_row, rows, base, coverages, future, ways, grids, lists):
    """Add the grids that lead from stack k, rows[base:], to later stacks; there must be room.

    head, next_row: the stack's groups, see `group_rows`; lists: (3, 3) room"""
    spans, options, terms = sentence.spans, sentence.options, sentence.terms
    option_first, option_count = options.first, options.counts
    for group in range(groups):
        row = np.int64(head[group])
        c = np.int64(rows[row].coverage)
        size = _collect(rows, row, next_row, base, grids.before, grids.states)
        count = extensions_of(coverages, c, spans, terms.limit, future, ways)
        listed = np.int64(-1)  # the start of the phrases whose members `lists` holds
        for q in range(count):
            start, length = ways.start[q], ways.length[q]
            if start != listed:
                ahead = _members(
                    grids, size, start, start + length - 1, options.forward, terms, sentence.keep, lists
                )
                listed = np.int64(-1) if ahead else start
            phrase = ways.phrase[q]
            for turn in (MONOTONE, SWAP, DISCONTINUOUS):
                if lists[turn, 1] == 0:
                    continue
                grid = grids.table[grids.used[0]]
                grid.first = lists[turn, 0]
                grid.count = lists[turn, 1]
                grid.future = ways.future[q]
                grid.source = c
                grid.coverage = -1
                grid.start = start
                grid.length = length
                grid.begin = option_first[phrase]
                grid.stop = option_first[phrase] + option_count[phrase]
                grid.turn = turn
                grid.next = grids.head[k + length]
                grids.head[k + length] = grids.used[0]
                grids.ways[k + length] += lists[turn, 2] * option_count[phrase]
                grids.used[0] += 1
