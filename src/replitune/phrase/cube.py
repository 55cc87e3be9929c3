"""Cube pruning: of all extensions into a stack only the most promising are tried.

After Chiang (2007) and Huang and Chiang (2007). Hypotheses of one coverage that can be extended
over the same source span with the same orientation, best first, and the options of the span, best
first, span a grid: a cell's promise, its score with the option's LM estimate in place of its LM
score in context, falls along both sides. Of all grids that lead into a stack the `pops` most
promising cells are scored exactly and enter it. Their promises do not depend on each other, so
the cells are found by selecting the least promise among them, not one by one with a heap.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.phrase.coverage import (
    cover,
    future_costs,
    intern,
    new_coverages,
    with_room,
)
from replitune.phrase.lm import step
from replitune.phrase.options import MONOTONE, SWAP
from replitune.phrase.search import (
    MEMO,
    MEMO_BITS,
    SLACK,
    extensions_of,
    finish,
    group_rows,
    mask_width,
    memo_key,
    new_extensions,
    orientation,
    score_option,
)
from replitune.phrase.stacks import (
    ARC,
    HYPOTHESIS,
    kth_largest,
    match,
    new_stacks,
    prune,
    recombine,
    take,
)

GRID = np.dtype(
    [
        ("future", "f8"),
        ("first", "i4"),
        ("count", "i4"),
        ("source", "i4"),
        ("coverage", "i4"),
        ("start", "i4"),
        ("length", "i4"),
        ("phrase", "i4"),
        ("turn", "i4"),
        ("next", "i4"),
        ("unused", "i4"),
    ]
)
"""first, count: its hypotheses in the list of members; source: their coverage; coverage: the one
they get, -1 until a cell is taken; next: the next grid into the same stack, or -1."""

MEMBER = np.dtype([("promise", "f8"), ("row", "i8")])
"""row: a hypothesis; promise: its score with the jump and its forward reordering score."""


@njit(cache=True)
def scan_cells(grids, head, members, promise, option_first, option_count, pops, least, found):  # type: ignore[no-untyped-def]
    """The most promising cells, above `least`, of the grids in a list.

    Fills `found` (> pops,) with promises and returns how many. Whenever it is full it is cut down
    to the best `pops`, and less promising cells are left out from then on."""
    count = 0
    g = head
    while g >= 0:
        grid = grids[g]
        first = option_first[grid.phrase]
        stop = first + option_count[grid.phrase]
        for member in range(grid.first, grid.first + grid.count):
            value = members[member].promise + grid.future
            at = first
            while at < stop and value + promise[at, grid.turn] > least:
                if count == len(found):
                    least = kth_largest(found, pops)
                    count = pops
                    if value + promise[at, grid.turn] <= least:
                        break
                found[count] = value + promise[at, grid.turn]
                count += 1
                at += 1
            if at == first:
                break
        g = np.int64(grid.next)
    return count


@njit(cache=True)
def least_promise(grids, head, members, promise, option_first, option_count, pops, spread, found):  # type: ignore[no-untyped-def]
    """(promise of the `pops`-th most promising cell, or of the last one; how many cells with just
    this promise are among these; promise of the best).

    `spread` is a guess how far below the best it will be; it changes the work, not the result.
    """
    best = -np.inf
    g = head
    while g >= 0:
        grid = grids[g]
        top = members[grid.first].promise + grid.future
        best = max(best, top + promise[option_first[grid.phrase], grid.turn])
        g = np.int64(grid.next)
    guess = best - spread
    count = scan_cells(
        grids, head, members, promise, option_first, option_count, pops, guess, found
    )
    if count < pops:
        count = scan_cells(
            grids, head, members, promise, option_first, option_count, pops, -np.inf, found
        )
    taken = min(count, pops)
    if taken == 0:
        return -np.inf, 0, best
    least = kth_largest(found[:count], taken)
    equal = taken
    for i in range(taken):
        if found[i] > least:
            equal -= 1
    return least, equal, best


@njit(cache=True)
def scan_group(rows, row, next_row, base, start, end, forward, distortion, limit, found, turns):  # type: ignore[no-untyped-def]
    """The hypotheses of a group that a phrase over start .. end can follow.

    Fills found (row, score so far) and turns (orientation), in order; returns how many have each
    orientation."""
    count = 0
    monotone, swap = 0, 0
    while row >= 0:
        last = rows[row]
        jump = abs(start - (last.end + 1))
        if limit < 0 or jump <= limit:
            turn = orientation(last.start, last.end, start, end)
            value = last.score - distortion * jump
            if last.option >= 0:
                value += forward[last.option, turn]
            found[count].row = row
            found[count].promise = value
            turns[count] = turn
            count += 1
            if turn == MONOTONE:
                monotone += 1
            elif turn == SWAP:
                swap += 1
        row = next_row[row - base]
    return monotone, swap, count - monotone - swap


@njit(cache=True)
def gather(found, turns, count, turn, members, first):  # type: ignore[no-untyped-def]
    """Put those of one orientation at members[first:], best first, equal ones in order."""
    stop = first
    for j in range(count):
        if turns[j] != turn:
            continue
        value = found[j].promise
        i = stop
        while i > first and members[i - 1].promise < value:
            members[i] = members[i - 1]
            i -= 1
        members[i] = found[j]
        stop += 1


@njit(cache=True, nogil=True)
def search_cubes(spans, options, automaton, terms, size, pops, keep):  # type: ignore[no-untyped-def]
    """Decode one sentence; arguments and result as of `search`, and `pops`, cells per stack."""
    n, longest = spans.shape
    width = mask_width(n, terms.limit)
    band = n if terms.limit < 0 else min(n, terms.limit)
    future = future_costs(spans, options.first, options.estimate, band)
    coverages = new_coverages(64 * (n + 1), width)
    ways = new_extensions(n, longest, terms.limit, width)
    stacks = new_stacks(1, min(pops, 2 * size) + 16)
    arcs = np.empty((n + 1) * pops if keep else 1, ARC)
    arc_count = 0
    rows = np.empty(2 * size, HYPOTHESIS)
    first = np.zeros(n + 2, np.int64)
    next_row = np.empty(size, np.int64)
    head = np.empty(size, np.int64)

    grids = np.empty(256 * (n + 1), GRID)
    grid_count = 0
    grid_head = np.full(n + 1, -1, np.int64)
    members = np.empty(1024 * (n + 1), MEMBER)
    scanned = np.empty(size, MEMBER)
    turns = np.empty(size, np.int8)
    member_count = 0
    spread = np.inf
    found = np.empty(2 * pops)

    memo = np.zeros(1 << MEMO_BITS, MEMO)

    # Arrays are taken out of their tuples here: inside the loops it would count references.
    hypotheses, slots, counts = stacks.hypotheses, stacks.slots, stacks.counts
    floor, top = stacks.floor, stacks.top
    option_first, option_count = options.first, options.counts
    ranking, promise, ceiling = options.ranking, options.promise, options.ceiling
    score = options.score
    backward, forward, identity = options.backward, options.forward, options.identity
    masks, way_start, way_length = ways.mask, ways.start, ways.length
    way_phrase, way_future = ways.phrase, ways.future

    new = stacks.scratch[0]
    masks[0] = 0
    new.coverage = intern(coverages, 0, masks, 0, future.suffix[0])
    new.score, new.total = 0.0, future.suffix[0]
    new.state = terms.begin
    new.after, new.swap, new.identity = -1, -1, -1
    new.option, new.back, new.start, new.end, new.arcs = -1, -1, -1, -1, -1
    hypotheses[0, 0] = new
    counts[0] = 1

    for k in range(n + 1):
        least, equal, best = least_promise(
            grids,
            grid_head[k],
            members,
            promise,
            option_first,
            option_count,
            pops,
            spread,
            found,
        )
        if k > 1:
            spread = 1.1 * (best - least)
        coverages = with_room(coverages, pops)
        cov_gap, cov_mask = coverages.gap, coverages.mask
        if keep and arc_count + pops > len(arcs):
            arcs = np.concatenate((arcs, np.empty(len(arcs) + pops, ARC)))
        g = grid_head[k]
        while g >= 0:
            grid = grids[g]
            turn = np.int64(grid.turn)
            begin = option_first[grid.phrase]
            stop = begin + option_count[grid.phrase]
            new.start = grid.start
            new.end = grid.start + grid.length - 1
            for member in range(grid.first, grid.first + grid.count):
                if members[member].promise + grid.future + promise[begin, turn] < least:
                    break
                row = np.int64(members[member].row)
                before = np.int64(rows[row].state)
                for at in range(begin, stop):
                    value = members[member].promise + grid.future + promise[at, turn]
                    if value <= least:
                        if value < least or equal == 0:
                            break
                        equal -= 1
                    if (
                        members[member].promise + grid.future + ceiling[at, turn] + SLACK
                        <= floor[0]
                    ):
                        continue
                    option = ranking[at, turn]
                    key, place = memo_key(before, option)
                    if memo[place].key != key:
                        lm, state = score_option(automaton, options, before, option)
                        memo[place].key = key
                        memo[place].lm = lm
                        memo[place].state = state
                    lm, state = memo[place].lm, memo[place].state
                    if k == n:
                        lm += step(automaton, state, terms.end)[0]
                    value = members[member].promise + score[option] + terms.lm * lm
                    value += backward[option, turn]
                    total = value + grid.future
                    if total <= floor[0]:
                        continue
                    if grid.coverage < 0:
                        c = np.int64(grid.source)
                        gap = np.int64(cov_gap[c])
                        gap += cover(cov_mask, c, grid.start - gap, grid.length, masks, 0)
                        grid.coverage = intern(coverages, gap, masks, 0, grid.future)
                    new.score = value
                    new.total = total
                    new.coverage = grid.coverage
                    new.state = state
                    new.option = option
                    new.back = row
                    c = np.int64(grid.coverage)
                    finish(
                        new,
                        cov_gap[c],
                        cov_mask,
                        c,
                        k == n,
                        identity[option],
                        terms.lexro,
                    )
                    i_old, slot = match(slots, hypotheses, 0, new)
                    if i_old >= 0:
                        arc_count = recombine(hypotheses, 0, i_old, new, arcs, arc_count, keep)
                    else:
                        if counts[0] == hypotheses.shape[1]:
                            prune(stacks, 0, size)
                            if total <= floor[0]:
                                continue
                            slot = match(slots, hypotheses, 0, new)[1]
                        hypotheses[0, counts[0]] = new
                        slots[0, slot] = counts[0]
                        counts[0] += 1
                    if total > top[0]:
                        top[0] = total
                        # Of complete translations only the best is wanted.
                        floor[0] = max(
                            floor[0], total if k == n and not keep else total - terms.beam
                        )
            g = np.int64(grid.next)

        base = first[k]
        if base + size > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows) + size, HYPOTHESIS)))
        kept = take(stacks, 0, size, terms.beam, rows, base)
        first[k + 1] = base + kept
        if k == n:
            break
        # Grids that lead from stack k to later ones.
        groups = group_rows(rows, base, kept, coverages.size[0], head, next_row)
        for group in range(groups):
            c = np.int64(rows[head[group]].coverage)
            count = extensions_of(coverages, c, spans, terms.limit, future, ways)
            if grid_count + 3 * count > len(grids):
                grids = np.concatenate((grids, np.empty(len(grids) + 3 * count, GRID)))
            if member_count + count * kept > len(members):
                members = np.concatenate((members, np.empty(len(members) + count * kept, MEMBER)))
            for q in range(count):
                monotone, swap, other = scan_group(
                    rows,
                    head[group],
                    next_row,
                    base,
                    way_start[q],
                    way_start[q] + way_length[q] - 1,
                    forward,
                    terms.distortion,
                    terms.limit,
                    scanned,
                    turns,
                )
                for facing in range(3):
                    size_of_grid = (monotone, swap, other)[facing]
                    if size_of_grid == 0:
                        continue
                    gather(scanned, turns, monotone + swap + other, facing, members, member_count)
                    grid = grids[grid_count]
                    grid.future = way_future[q]
                    grid.first = member_count
                    grid.count = size_of_grid
                    grid.source = c
                    grid.coverage = -1
                    grid.start = way_start[q]
                    grid.length = way_length[q]
                    grid.phrase = way_phrase[q]
                    grid.turn = facing
                    to = k + way_length[q]
                    grid.next = grid_head[to]
                    grid_head[to] = grid_count
                    grid_count += 1
                    member_count += size_of_grid
    return rows[: first[n + 1]], first, arcs[:arc_count]
