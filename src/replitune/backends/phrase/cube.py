"""Cube pruning: of all extensions into a stack only the most promising are tried.

After Chiang (2007) and Huang and Chiang (2007). Hypotheses of one coverage that can be extended
over the same source span with the same orientation, best first, and the options of the span, best
first, span a grid: a cell's promise, its score with the option's LM estimate in place of its LM
score in context, falls along both sides. A heap over the corners of all grids that lead into a
stack gives cells by falling promise; each cell taken is scored exactly and enters the stack.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.backends.phrase.coverage import (
    cover,
    future_costs,
    intern,
    new_coverages,
    with_room,
)
from replitune.backends.phrase.lm import step
from replitune.backends.phrase.search import (
    SLACK,
    extensions_of,
    finish,
    group_rows,
    mask_width,
    new_extensions,
    orientation,
    score_option,
)
from replitune.backends.phrase.stacks import (
    ARC,
    HYPOTHESIS,
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

CELL = np.dtype([("promise", "f8"), ("grid", "i4"), ("member", "i4"), ("rank", "i4"), ("_", "i4")])


@njit(cache=True)
def push_cell(heap, size, promise, grid, member, rank):
    """Add a cell to a heap of `size` cells."""
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if heap[up].promise >= promise:
            break
        heap[i] = heap[up]
        i = up
    heap[i].promise = promise
    heap[i].grid = grid
    heap[i].member = member
    heap[i].rank = rank


@njit(cache=True)
def drop_cell(heap, size):
    """Take the first cell away; `size` is what is left."""
    promise = heap[size].promise
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1].promise > heap[child].promise:
            child += 1
        if heap[child].promise <= promise:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = heap[size]


@njit(cache=True)
def collect(rows, row, next_row, base, ways, q, turn, forward, terms, members, promises, first):
    """The hypotheses of a group that way q extends with this orientation, best first.

    Fills members[first:] and promises[first:] (their scores so far); returns where they end."""
    end = ways.start[q] + ways.length[q] - 1
    stop = first
    while row >= 0:
        last = rows[row]
        jump = abs(ways.start[q] - (last.end + 1))
        if (terms.limit < 0 or jump <= terms.limit) and turn == orientation(
            last.start, last.end, ways.start[q], end
        ):
            value = last.score - terms.distortion * jump
            if last.option >= 0:
                value += forward[last.option, turn]
            i = stop
            while i > first and promises[i - 1] < value:
                promises[i] = promises[i - 1]
                members[i] = members[i - 1]
                i -= 1
            promises[i] = value
            members[i] = row
            stop += 1
        row = next_row[row - base]
    return stop


@njit(cache=True, nogil=True)
def search_cubes(spans, options, automaton, terms, size, pops, keep):
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
    members = np.empty(1024 * (n + 1), np.int32)
    promises = np.empty(1024 * (n + 1))
    member_count = 0
    heap = np.empty(1024, CELL)

    # Arrays are taken out of their tuples here: inside the loops it would count references.
    hypotheses, slots, counts = stacks.hypotheses, stacks.slots, stacks.count
    floor, top = stacks.floor, stacks.top
    option_first, option_count = options.first, options.count
    ranking, promise, ceiling = options.ranking, options.promise, options.ceiling
    score = options.score
    backward, forward, identity = options.backward, options.forward, options.identity
    masks = ways.mask

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
        # Take cells into stack k, by falling promise.
        waiting = 0
        g = grid_head[k]
        while g >= 0:
            if waiting == len(heap):
                heap = np.concatenate((heap, np.empty(len(heap), CELL)))
            grid = grids[g]
            value = promises[grid.first] + promise[option_first[grid.phrase], grid.turn]
            push_cell(heap, waiting, value + grid.future, g, grid.first, 0)
            waiting += 1
            g = np.int64(grid.next)
        if waiting + 2 * pops > len(heap):
            heap = np.concatenate((heap, np.empty(len(heap) + 2 * pops, CELL)))
        coverages = with_room(coverages, pops)
        left = pops
        while waiting > 0 and left > 0:
            left -= 1
            g, member, rank = np.int64(heap[0].grid), np.int64(heap[0].member), heap[0].rank
            grid = grids[g]
            turn = np.int64(grid.turn)
            waiting -= 1
            drop_cell(heap, waiting)
            at = option_first[grid.phrase]
            if rank == 0 and member + 1 < grid.first + grid.count:
                value = promises[member + 1] + promise[at, turn] + grid.future
                push_cell(heap, waiting, value, g, member + 1, 0)
                waiting += 1
            if rank + 1 < option_count[grid.phrase]:
                value = promises[member] + promise[at + rank + 1, turn] + grid.future
                push_cell(heap, waiting, value, g, member, rank + 1)
                waiting += 1
            if promises[member] + ceiling[at + rank, turn] + grid.future + SLACK <= floor[0]:
                continue
            option = ranking[at + rank, turn]
            row = np.int64(members[member])
            lm, state = score_option(automaton, options, np.int64(rows[row].state), option)
            if k == n:
                lm += step(automaton, state, terms.end)[0]
            value = promises[member] + score[option] + terms.lm * lm + backward[option, turn]
            total = value + grid.future
            if total <= floor[0]:
                continue
            if grid.coverage < 0:
                c = np.int64(grid.source)
                gap = np.int64(coverages.gap[c])
                gap += cover(coverages.mask, c, grid.start - gap, grid.length, masks, 0)
                grid.coverage = intern(coverages, gap, masks, 0, grid.future)
            new.start = grid.start
            new.end = grid.start + grid.length - 1
            new.score = value
            new.total = total
            new.coverage = grid.coverage
            new.state = state
            new.option = option
            new.back = row
            c = np.int64(grid.coverage)
            finish(new, coverages.gap[c], coverages.mask, c, k == n, identity[option], terms.lexro)
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
                floor[0] = max(floor[0], total - terms.beam)

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
            for q in range(count):
                if member_count + kept > len(members):
                    members = np.concatenate((members, np.empty(len(members) + kept, np.int32)))
                    promises = np.concatenate((promises, np.empty(len(promises) + kept)))
                for turn in range(3):
                    stop = collect(
                        rows,
                        head[group],
                        next_row,
                        base,
                        ways,
                        q,
                        turn,
                        forward,
                        terms,
                        members,
                        promises,
                        member_count,
                    )
                    if stop == member_count:
                        continue
                    grid = grids[grid_count]
                    grid.future = ways.future[q]
                    grid.first = member_count
                    grid.count = stop - member_count
                    grid.source = c
                    grid.coverage = -1
                    grid.start = ways.start[q]
                    grid.length = ways.length[q]
                    grid.phrase = ways.phrase[q]
                    grid.turn = turn
                    to = k + ways.length[q]
                    grid.next = grid_head[to]
                    grid_head[to] = grid_count
                    grid_count += 1
                    member_count = stop
    return rows[: first[n + 1]], first, arcs[:arc_count]
