"""The grids of cube pruning, and which of their cells are the most promising.

Hypotheses of one coverage that can be extended over the same source span with the same
orientation, best first, and the options of the span, best first, span a grid. Of hypotheses with
the same state of the language model only the best is a side of the grid: whatever it is extended
with, the others become one with it. They follow it in a list, as other ways to the same end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
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
"""first, count: its hypotheses in the list of members; source: their coverage; coverage: the one
they get, -1 until a cell is taken; begin, stop: its options; turn: the orientation; next: the next
grid into the same stack, or -1."""

MEMBER = np.dtype([("promise", "f8"), ("row", "i4"), ("follower", "i4")])
"""row: a hypothesis; promise: its score with the jump and its forward reordering score; follower:
the member that follows it, or -1."""


class Grids(NamedTuple):
    """table: (G,) GRID; members: (M,) MEMBER; head: (n + 1,) the first grid into each stack, or
    -1; ways: (n + 1,) no more ways than these into each stack come from followers; used: (2,) grids
    and members so far

    Room for the rows of one coverage: scanned, turns: those that a phrase can follow; kinds: which
    have the same LM state, numbered; best: of each kind, -1 between uses"""

    table: NDArray[np.void]
    members: NDArray[np.void]
    head: NDArray[np.int64]
    ways: NDArray[np.int64]
    used: NDArray[np.int64]
    scanned: NDArray[np.void]
    turns: NDArray[np.int8]
    kinds: NDArray[np.int64]
    best: NDArray[np.int64]


@njit(cache=True)
def new_grids(n, size):
    return Grids(
        np.empty(256 * (n + 1), GRID),
        np.empty(1024 * (n + 1), MEMBER),
        np.full(n + 1, -1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(2, np.int64),
        np.empty(size, MEMBER),
        np.empty(size, np.int8),
        np.empty(size, np.int64),
        np.full(size, -1, np.int64),
    )


@njit(cache=True)
def grids_with_room(grids, tables, members):
    """`grids`, or a copy with room for more grids and members of them."""
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
        grids.scanned,
        grids.turns,
        grids.kinds,
        grids.best,
    )


@leaf
def _scan(grids, k, cells, pops, least, promises):
    """The most promising cells, above `least`, of the grids into stack k.

    Fills `promises` (> pops,) with promises and returns how many. Whenever it is full it is cut down
    to the best `pops`, and less promising cells are left out from then on."""
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
                if count == len(promises):
                    least = kth_largest(promises, count, pops)
                    count = pops
                    if promise <= least:
                        break
                promises[count] = promise
                count += 1
                at += 1
            if at == begin:
                break
        g = np.int64(grid.next)
    return count


@leaf
def least_promise(grids, k, cells, pops, spread, promises):
    """Of the cells of the grids into stack k: (promise of the `pops`-th most promising, -inf where
    there are fewer; how many with just this promise are among the `pops`; promise of the best).

    `spread` is a guess how far below the best it will be; it changes the work, not the result.
    """
    best = -np.inf
    g = grids.head[k]
    while g >= 0:
        grid = grids.table[g]
        top = grids.members[grid.first].promise + grid.future
        best = max(best, top + cells[grid.turn, grid.begin].promise)
        g = np.int64(grid.next)
    count = _scan(grids, k, cells, pops, best - spread, promises)
    for _ in range(3):
        if count < pops and spread < np.inf:
            spread *= 1.5
            count = _scan(grids, k, cells, pops, best - spread, promises)
    if count < pops and spread < np.inf:
        count = _scan(grids, k, cells, pops, -np.inf, promises)
    if count < pops:
        return -np.inf, 0, best
    least = kth_largest(promises, count, pops)
    equal = pops
    for i in range(pops):
        if promises[i] > least:
            equal -= 1
    return least, equal, best


@leaf
def _number_states(rows, row, next_row, base, kinds):
    """kinds[row - base]: the first of a group's rows with the same LM state, from base."""
    first = row
    while row >= 0:
        other = first
        while rows[other].state != rows[row].state:
            other = next_row[other - base]
        kinds[row - base] = other - base
        row = next_row[row - base]


@leaf
def _members(rows, row, next_row, base, start, end, forward, terms, grids):
    """The hypotheses of a group that a phrase over start .. end can follow.

    Fills grids.scanned and grids.turns, in order; returns (how many, whether some of them end
    behind the phrase, so that another one from `start` could be a swap)."""
    scanned, turns = grids.scanned, grids.turns
    count = 0
    ahead = False
    while row >= 0:
        last = rows[row]
        jump = abs(start - (last.end + 1))
        if terms.limit < 0 or jump <= terms.limit:
            turn = orientation(last.start, last.end, start, end)
            value = last.score - terms.distortion * jump
            if last.option >= 0:
                value += forward[last.option, turn]
            scanned[count].row = row
            scanned[count].promise = value
            turns[count] = turn
            count += 1
            ahead |= last.start > start
        row = next_row[row - base]
    return count, ahead


@leaf
def _gather(grids, base, count, turn, keep):
    """Append those of one orientation to the members, best first, equal ones in order, then their
    followers; (how many are no followers, how many are)."""
    scanned, turns, members = grids.scanned, grids.turns, grids.members
    kinds, best = grids.kinds, grids.best
    for j in range(count):
        if turns[j] != turn:
            continue
        kind = kinds[scanned[j].row - base]
        other = best[kind]
        scanned[j].follower = -1
        if other < 0:
            best[kind] = j
        elif scanned[j].promise > scanned[other].promise:
            scanned[j].follower = other
            best[kind] = j
        else:
            scanned[j].follower = scanned[other].follower
            scanned[other].follower = j
    first = grids.used[1]
    stop = first
    for j in range(count):
        if turns[j] != turn or best[kinds[scanned[j].row - base]] != j:
            continue
        best[kinds[scanned[j].row - base]] = -1
        value = scanned[j].promise
        i = stop
        while i > first and members[i - 1].promise < value:
            members[i] = members[i - 1]
            i -= 1
        members[i] = scanned[j]
        stop += 1
    used = stop
    for i in range(first, stop):
        j = members[i].follower
        members[i].follower = -1
        last = i
        while keep and j >= 0:
            members[used] = scanned[j]
            members[used].follower = -1
            members[last].follower = used
            last = used
            used += 1
            j = scanned[j].follower
    grids.used[1] = used
    return stop - first, used - stop


@leaf
def add_grids(k, sentence, groups, head, next_row, rows, base, coverages, future, ways, grids, lists):
    """The grids that lead from stack k, rows[base:], to later ones; there must be room.

    head, next_row: its groups, see `group_rows`; lists: (3, 3) room"""
    spans, options, terms = sentence.spans, sentence.options, sentence.terms
    option_first, option_count = options.first, options.counts
    for group in range(groups):
        row = np.int64(head[group])
        c = np.int64(rows[row].coverage)
        _number_states(rows, row, next_row, base, grids.kinds)
        count = extensions_of(coverages, c, spans, terms.limit, future, ways)
        listed = np.int64(-1)  # where phrases start whose members the lists hold
        for q in range(count):
            start, length = ways.start[q], ways.length[q]
            if start != listed:
                size, ahead = _members(
                    rows, row, next_row, base, start, start + length - 1, options.forward, terms, grids
                )
                for turn in (MONOTONE, SWAP, DISCONTINUOUS):
                    lists[turn, 0] = grids.used[1]
                    leaders, followers = _gather(grids, base, size, turn, sentence.keep)
                    lists[turn, 1] = leaders
                    lists[turn, 2] = followers
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
