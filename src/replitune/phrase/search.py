"""Parts of the search: the ways to extend a coverage, scores of options in context, and hypotheses
grouped by coverage.

As in Moses (Koehn et al. 2007), a phrase may start at most `limit` words from the end of the last
one, and a phrase that does not start at the first gap must end so near to that gap that the jump
back is within the limit. So no hypothesis ever gets stuck.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
from replitune.phrase.coverage import cover, future_of, translated
from replitune.phrase.lm import Automaton, step
from replitune.phrase.options import DISCONTINUOUS, MONOTONE, SWAP, Options

MEMO = np.dtype([("key", "u8"), ("lm", "f8"), ("state", "i8")])
"""A result of `score_option`, kept because many hypotheses have the same state. key: LM state and option,
0 for none; a new entry replaces an old one at its place."""

MEMO_BITS = 14  # as many entries as fit into a core's own cache

SLACK = 1e-9  # for the different rounding of a bound and a score


class Terms(NamedTuple):
    """What a search needs besides the sentence and the language model.

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


class Sentence(NamedTuple):
    """One sentence to search.

    spans: (n, longest), n > 0, the phrase on each span; automaton: of the language model; memo:
    (2^MEMO_BITS,) MEMO, shared by sentences with the same options, zeros at first; keep: whether
    recombined hypotheses are wanted
    """

    spans: NDArray[np.int32]
    options: Options
    automaton: Automaton
    terms: Terms
    memo: NDArray[np.void]
    keep: bool


class Extensions(NamedTuple):
    """Q ways to go on from one coverage: start, length, phrase: (Q,) the source span; gap, mask,
    future: the coverage they lead to"""

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    phrase: NDArray[np.int64]
    gap: NDArray[np.int64]
    mask: NDArray[np.uint64]
    future: NDArray[np.float64]


@leaf
def mask_width(n, limit):
    bits = n if limit < 0 else min(n, limit)
    return max(1, (bits + 63) >> 6)


@njit(cache=True)
def new_extensions(n, longest, limit, width):
    starts = n if limit < 0 else min(n, max(1, limit))
    most = starts * longest
    return Extensions(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty((most, width), np.uint64),
        np.empty(most),
    )


@leaf
def extensions_of(coverages, c, spans, limit, future, out):
    """Fill `out` with the ways to go on from coverage c; returns their number."""
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
            count += 1
    return count


@leaf
def orientation(last_start, last_end, start, end):
    """The orientation of a phrase towards the one before it (start and end -1 if there is none)."""
    if start == last_end + 1:
        return MONOTONE
    return SWAP if end + 1 == last_start else DISCONTINUOUS


@leaf
def score_option(automaton, options, state, option):
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
def memo_key(state, option):
    """(key of a state and an option, its place in a memo)."""
    key = ((np.uint64(state) << np.uint64(32)) | np.uint64(option)) + np.uint64(1)
    mixed = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return key, np.int64(mixed >> np.uint64(64 - MEMO_BITS))


@leaf
def finish(new, gap, mask, row, complete, identity, lexro):
    """Set the fields that decide recombination, except the LM state, which is set already.

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
def group_rows(rows, base, count, group, tail, head, next_row):
    """Group rows[base : base + count] by coverage, groups and members in the order of rows; returns the
    number of groups.

    head[g]: first row of group g; next_row[row - base]: the next row of its group, or -1; group: (more
    than any coverage,) room, -1 everywhere before and after; tail: (count,) room"""
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
