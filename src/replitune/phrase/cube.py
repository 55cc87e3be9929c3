"""Cube pruning: of all extensions into a stack only the most promising are tried.

After Chiang (2007) and Huang and Chiang (2007). A cell of a grid (see `replitune.phrase.grids`) is
a hypothesis with one more option. Its promise, which is its score with the option's LM estimate in
place of the LM score in context, falls along both sides. The `pops` most promising cells of all grids
that lead into a stack are scored exactly and enter it. Promises do not depend on each other, so these
cells are found by selecting the least promise among them, not one by one with a heap.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.leaf import inlined, leaf, prefetch
from replitune.phrase.coverage import cover, future_costs, intern, new_coverages, with_room
from replitune.phrase.grids import PICK, add_grids, grids_with_room, most_promising, new_grids
from replitune.phrase.lm import expect, step
from replitune.phrase.search import (
    SLACK,
    finish,
    group_rows,
    mask_width,
    memo_key,
    new_extensions,
    score_option,
)
from replitune.phrase.stacks import ARC, HYPOTHESIS, match, new_stack, prune, recombine, take


@inlined
def _enter(stack, new, size, arcs, arc_count, keep):
    """Put a hypothesis into the stack: (its number there, or -1; the number of arcs)."""
    hypotheses, count = stack.hypotheses, stack.used
    i_old, slot = match(stack.slots, hypotheses, new)
    if i_old >= 0:
        return i_old, recombine(hypotheses, i_old, new, arcs, arc_count, keep)
    if count[0] == len(hypotheses):
        prune(stack, size)
        if new.total <= stack.floor[0]:
            return np.int64(-1), arc_count
        slot = match(stack.slots, hypotheses, new)[1]
    i_new = count[0]
    hypotheses[i_new] = new
    stack.slots[slot] = i_new
    count[0] += 1
    return i_new, arc_count


@leaf
def _fill(k, picks, least, sentence, grids, rows, coverages, stack, size, room, arcs, arc_count):
    """Score `picks`, cells into stack k that promise no less than `least`; returns the number of arcs.
    room: (>= 1, W) for a mask."""
    options, automaton, terms = sentence.options, sentence.automaton, sentence.terms
    memo, keep, last = sentence.memo, sentence.keep, k == len(sentence.spans)
    cells, identity = options.cells, options.identity
    members, floor, top = grids.members, stack.floor, stack.top
    hypotheses = stack.hypotheses
    new = stack.scratch[0]
    # Prefetch for all picks first, so that the waits for memory overlap.
    for i_pick in range(len(picks)):
        pick = picks[i_pick]
        pick.state = rows[members[pick.member].row].state
        cell, before = cells[grids.table[pick.grid].turn, pick.at], np.int64(pick.state)
        prefetch(memo, memo_key(before, np.int64(cell.option))[1])
        expect(automaton, before, cell.word)
    for i_pick in range(len(picks)):
        pick = picks[i_pick]
        grid, member = grids.table[pick.grid], members[pick.member]
        cell = cells[grid.turn, pick.at]
        so_far, future = member.promise, grid.future
        if so_far + future + cell.ceiling + SLACK <= floor[0]:
            continue
        before, option = np.int64(pick.state), np.int64(cell.option)
        key, place = memo_key(before, option)
        known = memo[place]
        if known.key != key:
            lm, state = score_option(automaton, options, before, option)
            known.key = key
            known.lm = lm
            known.state = state
        lm, state = known.lm, np.int64(known.state)
        if last:
            lm += step(automaton, state, terms.end)[0]
        value = so_far + cell.score + terms.lm * lm
        value += cell.backward
        total = value + future
        if total <= floor[0]:
            continue
        c, start = np.int64(grid.coverage), np.int64(grid.start)
        if c < 0:
            source = np.int64(grid.source)
            gap = np.int64(coverages.gap[source])
            gap += cover(coverages.mask, source, start - gap, np.int64(grid.length), room, 0)
            c = intern(coverages, gap, room, 0, future)
            grid.coverage = c
        new.score = value
        new.total = total
        new.coverage = c
        new.state = state
        new.option = option
        new.back = member.row
        new.start = start
        new.end = start + grid.length - 1
        finish(new, coverages.gap[c], coverages.mask, c, last, identity[option], terms.lexro)
        i, arc_count = _enter(stack, new, size, arcs, arc_count, keep)
        follower = np.int64(member.follower) if i >= 0 else np.int64(-1)
        while follower >= 0:
            behind = members[follower].promise
            if behind + future + cell.promise >= least:
                value = behind + cell.score + terms.lm * lm
                value += cell.backward
                if value + future > floor[0]:
                    arc = arcs[arc_count]
                    arc.score = value
                    arc.back = members[follower].row
                    arc.option = option
                    arc.start = new.start
                    arc.end = new.end
                    arc.next = hypotheses[i].arcs
                    hypotheses[i].arcs = arc_count
                    arc_count += 1
            follower = np.int64(members[follower].follower)
        if total > top[0] and total > floor[0]:
            top[0] = total
            # Of complete translations only the best is wanted, unless `keep`.
            floor[0] = max(floor[0], total if last and not keep else total - terms.beam)
    return arc_count


@njit(cache=True, nogil=True)
def search(sentence, size, pops):
    """Decode one sentence, with `size` hypotheses kept and `pops` cells tried per stack.

    Returns (rows, first, arcs): the hypotheses kept, those with k words translated being
    rows[first[k]:first[k + 1]], best first; arcs: with `keep`, the recombined ones.
    """
    spans, options, terms, keep = sentence.spans, sentence.options, sentence.terms, sentence.keep
    n, longest = spans.shape
    width = mask_width(n, terms.limit)
    band = n if terms.limit < 0 else min(n, terms.limit)
    future = future_costs(spans, options.first, options.estimate, band)
    coverages = new_coverages(64 * (n + 1), width)
    ways = new_extensions(n, longest, terms.limit, width)
    most = len(ways.start)
    stack = new_stack(min(pops, 2 * size) + 16)
    arcs = np.empty((n + 1) * pops if keep else 1, ARC)
    arc_count = 0
    rows = np.empty(2 * size, HYPOTHESIS)
    first = np.zeros(n + 2, np.int64)
    next_row = np.empty(size, np.int64)
    head = np.empty(size, np.int64)
    tail = np.empty(size, np.int64)
    group = np.full(64, -1, np.int64)
    grids = new_grids(n, size)
    lists = np.empty((3, 3), np.int64)
    spread = np.inf
    picks = np.empty(4 * pops, PICK)
    promises = np.empty(4 * pops)

    new = stack.scratch[0]
    ways.mask[0, :] = 0
    new.coverage = intern(coverages, 0, ways.mask, 0, future.suffix[0])
    new.score, new.total = 0.0, future.suffix[0]
    new.state = terms.begin
    new.after, new.swap, new.identity = -1, -1, -1
    new.option, new.back, new.start, new.end, new.arcs = -1, -1, -1, -1, -1
    stack.hypotheses[0] = new
    stack.used[0] = 1

    for k in range(n + 1):
        tried, least, best = most_promising(grids, k, options.cells, pops, spread, picks, promises)
        chosen = picks[:tried]
        if k > 1:
            spread = 1.1 * (best - least)  # inf while there are few cells
        coverages = with_room(coverages, pops)
        if keep and arc_count + pops + grids.ways[k] > len(arcs):
            arcs = np.concatenate((arcs, np.empty(len(arcs) + pops + grids.ways[k], ARC)))
        arc_count = _fill(
            k, chosen, least, sentence, grids, rows, coverages, stack, size, ways.mask, arcs, arc_count
        )
        base = first[k]
        if base + size > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows) + size, HYPOTHESIS)))
        kept = take(stack, size, terms.beam, rows, base)
        first[k + 1] = base + kept
        if k == n:
            break
        if coverages.size[0] > len(group):
            group = np.full(2 * coverages.size[0], -1, np.int64)
        groups = group_rows(rows, base, kept, group, tail, head, next_row)
        grids = grids_with_room(grids, 3 * most * groups, most * kept)
        add_grids(k, sentence, groups, head, next_row, rows, base, coverages, future, ways, grids, lists)
    return rows[: first[n + 1]], first, arcs[:arc_count]
