"""Tercom's edit counting on word ids: greedy block shifts around a banded edit distance.

Snover et al. (2006), "A Study of Translation Edit Rate with Targeted Human Annotation",
with the limits and tie-breaks of tercom as sacrebleu defines them (`sacrebleu.metrics.lib_ter`).
Every number is an exact integer, and equal to sacrebleu's.

Three facts save nearly all of the work of trying a shift, without changing any result.
A shift changes one stretch of the hypothesis. (1) Rows of the edit-distance matrix before it
are those of the unshifted hypothesis. (2) After it the words are the same again, so once a
row differs from the unshifted one by the same amount in each cell, it does so to the end.
(3) The recursion is monotone: when each cell of a row is at least the unshifted one plus d,
so is the final distance, and a shift that cannot win any more is dropped.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

BEAM_WIDTH = 25
MAX_SHIFT_SIZE = 10
MAX_SHIFT_DISTANCE = 50
MAX_SHIFT_CANDIDATES = 1000

UNREACHED = 1 << 28
SAME, SUBSTITUTE, DELETE, INSERT = 0, 1, 2, 3


@njit(cache=True)
def band(n, m):
    """First and past-last column (n + 1,) of each row of the matrix of n by m words.

    The band follows the diagonal of the n by m rectangle; row 0 and the end of row n are
    whole. Consecutive bands always overlap, so each cell inside is reached.
    """
    low = np.zeros(n + 1, dtype=np.int64)
    high = np.full(n + 1, m + 1, dtype=np.int64)
    if n == 0:
        return low, high
    ratio = m / n
    width = BEAM_WIDTH
    if ratio / 2 > BEAM_WIDTH:
        width = int(math.ceil(ratio / 2 + BEAM_WIDTH))
    for i in range(1, n + 1):
        diagonal = int(math.floor(i * ratio))
        low[i] = max(0, diagonal - width)
        if i < n:
            high[i] = min(m + 1, diagonal + width)
    return low, high


@njit(cache=True)
def align(words, ref, low, high, offset, rows, ops, link, hyp_wrong, ref_wrong):
    """Edit distance of `words` to `ref`, and one best alignment.

    Fills `rows` and `ops`: cell (i, j) is at ``offset[i] + j``. Fills `link` (m,): the
    hypothesis position that reference word j is aligned to or follows (-1: before the first
    word), and `hyp_wrong` (n + 1,), `ref_wrong` (m + 1,): running counts of words in error.
    """
    n, m = words.size, ref.size
    for j in range(m + 1):
        rows[j] = j
    for i in range(1, n + 1):
        word = words[i - 1]
        above, here = offset[i - 1], offset[i]
        above_low, above_high = low[i - 1], high[i - 1]
        left = UNREACHED
        for j in range(low[i], high[i]):
            best, op = UNREACHED, SUBSTITUTE
            if above_low < j <= above_high:
                if word == ref[j - 1]:
                    best, op = rows[above + j - 1], SAME
                else:
                    best = rows[above + j - 1] + 1
            if above_low <= j < above_high and rows[above + j] + 1 < best:
                best, op = rows[above + j] + 1, DELETE
            if left + 1 < best:
                best, op = left + 1, INSERT
            rows[here + j] = best
            ops[here + j] = op
            left = best

    hyp_wrong[:] = 0
    ref_wrong[:] = 0
    i, j = n, m
    while i > 0 or j > 0:
        op = INSERT if i == 0 else ops[offset[i] + j]
        if op == INSERT:
            ref_wrong[j] = 1
            j -= 1
            link[j] = i - 1
        elif op == DELETE:
            hyp_wrong[i] = 1
            i -= 1
        else:
            if op == SUBSTITUTE:
                hyp_wrong[i] = 1
                ref_wrong[j] = 1
            i -= 1
            j -= 1
            link[j] = i
    for i in range(n):
        hyp_wrong[i + 1] += hyp_wrong[i]
    for j in range(m):
        ref_wrong[j + 1] += ref_wrong[j]
    return rows[offset[n] + m]


@njit(cache=True)
def move(words, start, length, target, moved):
    """Write `words` with the block at `start` moved to `target` into `moved`; return the
    stretch [first, last) that can have changed."""
    n = words.size
    if target < start:
        first, last = target, start + length
        block = target
    elif target > start + length:
        first, last = start, target
        block = target - length
    else:  # inside the block itself: it moves right by target - start
        first, last = start, min(n, target + length)
        block = last - length
    moved[:] = words
    for k in range(length):
        moved[block + k] = words[start + k]
    at = first
    for k in range(first, last):
        if k < start or k >= start + length:
            if at == block:
                at += length
            moved[at] = words[k]
            at += 1
    return first, last


@njit(cache=True)
def distance_after(moved, ref, first, last, gain, low, high, offset, rows, above, row):
    """Edit distance of `moved`, which differs from the aligned words within [first, last)
    only; or UNREACHED as soon as it is sure not to be smaller by `gain` or more.

    `above` and `row` (m + 1,) are work space.
    """
    n, m = moved.size, ref.size
    before = rows[offset[n] + m]
    for j in range(low[first], high[first]):
        above[j] = rows[offset[first] + j]
    for i in range(first + 1, n + 1):
        if low[i - 1] > 0:
            above[low[i - 1] - 1] = UNREACHED
        for j in range(high[i - 1], high[i]):
            above[j] = UNREACHED
        word = moved[i - 1]
        same = offset[i]
        smallest, largest = UNREACHED, -UNREACHED
        start = low[i]
        left = UNREACHED
        if start == 0:
            left = above[0] + 1
            row[0] = left
            smallest = largest = left - rows[same]
            start = 1
        for j in range(start, high[i]):
            best = above[j - 1]
            if word != ref[j - 1]:
                best += 1
            best = min(best, above[j] + 1)
            left = min(best, left + 1)
            row[j] = left
            difference = left - rows[same + j]
            smallest = min(smallest, difference)
            largest = max(largest, difference)
        if i >= last:
            if -smallest < gain:
                return UNREACHED
            if smallest == largest:
                return before + smallest
        above, row = row, above
    return above[m]


@njit(cache=True)
def edits(hyp, ref):
    """Shifts plus edit distance of `hyp` (n,) against `ref` (m,), by tercom's greedy search."""
    n, m = hyp.size, ref.size
    if n == 0 or m == 0:
        return n + m
    low, high = band(n, m)
    offset = np.empty(n + 1, dtype=np.int64)
    cells = 0
    for i in range(n + 1):
        offset[i] = cells - low[i]
        cells += high[i] - low[i]
    rows = np.empty(cells, dtype=np.int32)
    ops = np.empty(cells, dtype=np.uint8)
    link = np.empty(m, dtype=np.int64)
    hyp_wrong = np.empty(n + 1, dtype=np.int64)
    ref_wrong = np.empty(m + 1, dtype=np.int64)
    above = np.empty(m + 1, dtype=np.int32)
    row = np.empty(m + 1, dtype=np.int32)
    words = hyp.copy()
    moved = np.empty_like(words)
    best_words = np.empty_like(words)

    shifts = 0
    checked = 0
    while True:
        distance = align(words, ref, low, high, offset, rows, ops, link, hyp_wrong, ref_wrong)
        # Ranking of shifts: largest gain, longest block, earliest block, earliest target.
        best_gain, best_length, best_start, best_target = 0, 0, 0, 0
        for start in range(n):
            for ref_start in range(
                max(0, start - MAX_SHIFT_DISTANCE), min(m, start + MAX_SHIFT_DISTANCE + 1)
            ):
                longest = min(MAX_SHIFT_SIZE, n - start, m - ref_start)
                for length in range(1, longest + 1):
                    if words[start + length - 1] != ref[ref_start + length - 1]:
                        break
                    if hyp_wrong[start + length] == hyp_wrong[start]:
                        continue
                    if ref_wrong[ref_start + length] == ref_wrong[ref_start]:
                        continue
                    if start <= link[ref_start] < start + length:
                        continue
                    tried = -1
                    for at in range(ref_start - 1, ref_start + length):
                        target = 0 if at < 0 else link[at] + 1
                        if target == tried:
                            continue
                        tried = target
                        checked += 1
                        first, last = move(words, start, length, target, moved)
                        gain = distance - distance_after(
                            moved,
                            ref,
                            first,
                            last,
                            max(1, best_gain),
                            low,
                            high,
                            offset,
                            rows,
                            above,
                            row,
                        )
                        if gain <= 0 or gain < best_gain:
                            continue
                        if gain == best_gain:
                            if length != best_length:
                                if length < best_length:
                                    continue
                            elif start != best_start:
                                if start > best_start:
                                    continue
                            elif target >= best_target:
                                continue
                        best_gain, best_length = gain, length
                        best_start, best_target = start, target
                        best_words[:] = moved
                    if checked >= MAX_SHIFT_CANDIDATES:
                        # tercom gives up here, without making the last best shift
                        return shifts + distance
        if best_gain == 0:
            return shifts + distance
        shifts += 1
        words[:] = best_words


@njit(cache=True, nogil=True)
def fewest_edits(hyps, hyp_starts, segments, refs, ref_starts, nrefs):
    """Edits (J,) of each hypothesis against the reference that needs the fewest."""
    count = segments.size
    result = np.empty(count, dtype=np.int64)
    for h in range(count):
        hyp = hyps[hyp_starts[h] : hyp_starts[h + 1]]
        fewest = np.int64(UNREACHED)
        for r in range(nrefs):
            k = segments[h] * nrefs + r
            fewest = min(fewest, edits(hyp, refs[ref_starts[k] : ref_starts[k + 1]]))
        result[h] = fewest
    return result
