"""Stack decoding: hypotheses by number of words translated, each extended in every legal way.

Search as in Moses (Koehn et al. 2007): a phrase may start at most `limit` words from the end of
the last one, and a phrase that does not start at the first gap must end so near to it that the
jump back is within the limit. So no hypothesis is ever stuck.

A stack keeps its `size` best hypotheses within `beam` of the best one. Extensions are discarded
early only when they cannot enter: options are tried from the highest bound down, and the bound
is a true one (see options), so the outcome is that of trying all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
from replitune.phrase.coverage import (
    cover,
    future_costs,
    future_of,
    intern,
    new_coverages,
    translated,
    with_room,
)
from replitune.phrase.lm import step
from replitune.phrase.options import DISCONTINUOUS, MONOTONE, SWAP
from replitune.phrase.stacks import ARC, HYPOTHESIS, match, new_stacks, prune, recombine, take

MEMO = np.dtype([("key", "u8"), ("lm", "f8"), ("state", "i8")])
"""What `score_option` gave: many hypotheses have the same state. key: LM state and option, 0 for
none; a new entry takes the place of an old one."""

MEMO_BITS = 14  # entries that a core's own cache can hold

SLACK = 1e-9  # for the different rounding of a bound and a score


class Terms(NamedTuple):
    """What a search needs beside the sentence and the language model.

    begin: LM state at the start; end: the word </s>; lm, distortion: weights; lexro: whether
    reordering scores are a feature; limit: distortion limit, -1 for none; beam: how far below
    the best total a hypothesis may be
    """

    begin: int
    end: int
    lm: float
    distortion: float
    lexro: bool
    limit: int
    beam: float


class Extensions(NamedTuple):
    """Q ways to go on from one coverage: start, length, phrase: (Q,) the source span; gap, mask,
    future: the coverage they lead to; coverage: its number, -1 until a hypothesis gets there"""

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    phrase: NDArray[np.int64]
    gap: NDArray[np.int64]
    mask: NDArray[np.uint64]
    future: NDArray[np.float64]
    coverage: NDArray[np.int64]


@leaf
def mask_width(n, limit):  # type: ignore[no-untyped-def]
    bits = n if limit < 0 else min(n, limit)
    return max(1, (bits + 63) >> 6)


@njit(cache=True)
def new_extensions(n, longest, limit, width):  # type: ignore[no-untyped-def]
    starts = n if limit < 0 else min(n, max(1, limit))
    most = starts * longest
    return Extensions(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty((most, width), np.uint64),
        np.empty(most),
        np.empty(most, np.int64),
    )


@leaf
def extensions_of(coverages, c, spans, limit, future, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the ways to go on from coverage c; how many."""
    n, longest = spans.shape
    mask, masks = coverages.mask, out.mask
    gap = np.int64(coverages.gap[c])
    count = 0
    for start in range(gap, n):
        offset = start - gap
        if offset > 0 and limit >= 0 and offset + 1 > limit:
            break
        for length in range(1, min(longest, n - start) + 1):
            if translated(mask, c, offset + length - 1):
                break
            if offset > 0 and limit >= 0 and offset + length > limit:
                break
            phrase = spans[start, length - 1]
            if phrase < 0:
                continue
            out.start[count] = start
            out.length[count] = length
            out.phrase[count] = phrase
            out.gap[count] = gap + cover(mask, c, offset, length, masks, count)
            out.future[count] = future_of(out.gap[count], masks, count, future)
            out.coverage[count] = -1
            count += 1
    return count


@leaf
def orientation(last_start, last_end, start, end):  # type: ignore[no-untyped-def]
    """Of a phrase to the one before (start and end -1 before the first)."""
    if start == last_end + 1:
        return MONOTONE
    return SWAP if end + 1 == last_start else DISCONTINUOUS


@leaf
def score_option(automaton, options, state, option):  # type: ignore[no-untyped-def]
    """(LM score of an option's words after `state`, the state after them)."""
    total = 0.0
    begin, end = options.word_start[option], options.word_start[option + 1]
    for j in range(begin, end):
        logprob, state = step(automaton, state, options.words[j])
        total += logprob
        if state == options.inner_state[j]:
            return total + options.inner_rest[j], np.int64(options.inner_state[end - 1])
    return total, state


@leaf
def memo_key(state, option):  # type: ignore[no-untyped-def]
    """(key of a state and an option, its place in a memo)."""
    key = ((np.uint64(state) << np.uint64(32)) | np.uint64(option)) + np.uint64(1)
    mixed = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return key, np.int64(mixed >> np.uint64(64 - MEMO_BITS))


@leaf
def finish(new, gap, mask, row, complete, identity, lexro):  # type: ignore[no-untyped-def]
    """Set the fields that decide recombination; the LM state is there already.

    gap, mask[row]: the coverage of `new`."""
    new.after = new.end
    new.swap = -1
    new.identity = 0
    if complete:
        new.after = 0
        new.state = 0
    elif lexro:
        new.identity = identity
        before = new.start - 1
        if before >= gap and not translated(mask, row, before - gap):
            new.swap = new.start


@leaf
def group_rows(rows, base, count, group, tail, head, next_row):  # type: ignore[no-untyped-def]
    """Group rows[base : base + count] by coverage, groups and members in the order of rows.

    head[g]: first row of group g; next_row[row - base]: the next one, or -1; how many groups.
    group: (> any coverage,) room, -1 everywhere, here and afterwards; tail: (count,) room"""
    groups = 0
    for row in range(base, base + count):
        c = rows[row].coverage
        next_row[row - base] = -1
        if group[c] < 0:
            group[c] = groups
            head[groups] = row
            groups += 1
        else:
            next_row[tail[group[c]] - base] = row
        tail[group[c]] = row
    for g in range(groups):
        group[rows[head[g]].coverage] = -1
    return groups


@njit(cache=True, nogil=True)
def search(spans, options, automaton, terms, size, keep, memo):  # type: ignore[no-untyped-def]
    """Decode one sentence.

    spans: (n, longest), n > 0; memo: (2^MEMO_BITS,) MEMO, of sentences with the same options,
    zeros before the first. Returns (rows, first, arcs): the hypotheses kept, those with k words
    translated being rows[first[k]:first[k + 1]], best first; arcs: with `keep`, the recombined
    ones.
    """
    n, longest = spans.shape
    width = mask_width(n, terms.limit)
    band = n if terms.limit < 0 else min(n, terms.limit)
    future = future_costs(spans, options.first, options.estimate, band)
    coverages = new_coverages(64 * (n + 1), width)
    ways = new_extensions(n, longest, terms.limit, width)
    lanes = longest + 1
    stacks = new_stacks(lanes, 2 * size + 16)
    arcs = np.empty(256 * (n + 1) if keep else 1, ARC)
    arc_count = 0
    rows = np.empty(size + 1, HYPOTHESIS)
    first = np.zeros(n + 2, np.int64)
    next_row = np.empty(size, np.int64)
    head = np.empty(size, np.int64)
    tail = np.empty(size, np.int64)
    group = np.full(64, -1, np.int64)

    # Arrays are taken out of their tuples here: inside the loops it would count references.
    hypotheses, slots, counts, floor, top = (
        stacks.hypotheses,
        stacks.slots,
        stacks.counts,
        stacks.floor,
        stacks.top,
    )
    starts, lengths, phrases = ways.start, ways.length, ways.phrase
    gaps, masks, futures, reached = ways.gap, ways.mask, ways.future, ways.coverage
    option_first, option_count = options.first, options.counts
    order, bound, score = options.order, options.bound, options.score
    backward, forward, identity = options.backward, options.forward, options.identity

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
        base = first[k]
        if base + size > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows) + size, HYPOTHESIS)))
        kept = take(stacks, k % lanes, size, terms.beam, rows, base)
        first[k + 1] = base + kept
        if k == n:
            break
        if coverages.size[0] > len(group):
            group = np.full(2 * coverages.size[0], -1, np.int64)
        groups = group_rows(rows, base, kept, group, tail, head, next_row)
        for g in range(groups):
            c = np.int64(rows[head[g]].coverage)
            count = extensions_of(coverages, c, spans, terms.limit, future, ways)
            coverages = with_room(coverages, count)
            row = head[g]
            while row >= 0:
                last = rows[row]
                for q in range(count):
                    jump = abs(starts[q] - (last.end + 1))
                    if terms.limit >= 0 and jump > terms.limit:
                        continue
                    covered = k + lengths[q]
                    lane = covered % lanes
                    new.start = starts[q]
                    new.end = starts[q] + lengths[q] - 1
                    turn = orientation(last.start, last.end, new.start, new.end)
                    so_far = last.score - terms.distortion * jump
                    if last.option >= 0:
                        so_far += forward[last.option, turn]
                    most = so_far + futures[q] + SLACK
                    begin = option_first[phrases[q]]
                    stop = begin + option_count[phrases[q]]
                    if keep and arc_count + stop - begin > len(arcs):
                        arcs = np.concatenate((arcs, np.empty(len(arcs) + stop - begin, ARC)))
                    for i in range(begin, stop):
                        if most + bound[i, turn] <= floor[lane]:
                            break
                        option = order[i, turn]
                        key, place = memo_key(last.state, option)
                        if memo[place].key != key:
                            lm, state = score_option(automaton, options, np.int64(last.state), option)
                            memo[place].key = key
                            memo[place].lm = lm
                            memo[place].state = state
                        lm, state = memo[place].lm, memo[place].state
                        if covered == n:
                            lm += step(automaton, state, terms.end)[0]
                        value = so_far + score[option] + terms.lm * lm + backward[option, turn]
                        total = value + futures[q]
                        if total <= floor[lane]:
                            continue
                        if reached[q] < 0:
                            reached[q] = intern(coverages, gaps[q], masks, q, futures[q])
                        new.score = value
                        new.total = total
                        new.coverage = reached[q]
                        new.state = state
                        new.option = option
                        new.back = row
                        finish(new, gaps[q], masks, q, covered == n, identity[option], terms.lexro)
                        i_old, slot = match(slots, hypotheses, lane, new)
                        if i_old >= 0:
                            arc_count = recombine(hypotheses, lane, i_old, new, arcs, arc_count, keep)
                        else:
                            if counts[lane] == hypotheses.shape[1]:
                                prune(stacks, lane, size)
                                if total <= floor[lane]:
                                    continue
                                slot = match(slots, hypotheses, lane, new)[1]
                            hypotheses[lane, counts[lane]] = new
                            slots[lane, slot] = counts[lane]
                            counts[lane] += 1
                        if total > top[lane]:
                            top[lane] = total
                            # Of complete translations only the best is wanted.
                            least = total if covered == n and not keep else total - terms.beam
                            floor[lane] = max(floor[lane], least)
                row = next_row[row - base]
    return rows[: first[n + 1]], first, arcs[:arc_count]
