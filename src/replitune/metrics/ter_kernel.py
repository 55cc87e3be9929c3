"""Tercom's edit counting on word ids: greedy block shifts around a banded edit distance.

Snover et al. (2006), "A Study of Translation Edit Rate with Targeted Human Annotation",
with the limits and tie-breaks of tercom as sacrebleu defines them (`sacrebleu.metrics.lib_ter`).
Every number is an exact integer, and equal to sacrebleu's.

Nearly all time goes into the edit distance after each shift that is tried. The shifted words
are a *prefix*, the moved *block* and a *suffix*. A table of the distances of prefixes (filled
from the top row) and one of suffixes (from the bottom) meet at the row where the block ends:

    distance = min over j of (prefix and block to ref[:j]) + (suffix to ref[j:]).

One side of the block is as in the unshifted hypothesis; the other lacks the block, and is the
same wherever the block is moved to. So one shift costs as many rows as the block has words.

All tables have one layout: n + 1 rows, each only as wide as the beam; cell (i, j), i words of
the hypothesis against j of the reference, is at ``offset[i] + j``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from replitune.metrics.base import Array

BEAM_WIDTH = 25
MAX_SHIFT_SIZE = 10
MAX_SHIFT_DISTANCE = 50
MAX_SHIFT_CANDIDATES = 1000

UNREACHED = 1 << 28
TABLES = 3 + 2 * MAX_SHIFT_SIZE


@njit(cache=True)
def beam(n: int, m: int, low: Array, high: Array, offset: Array) -> int:
    """Fill the columns [low, high) of each row of a table for n > 0 by m words, and its `offset`;
    return the number of cells. All three arrays are (n + 1,).

    The beam follows the diagonal of the n by m rectangle. Row 0 is complete, and row n up to
    its end. Beams of consecutive rows overlap, so that each cell is reached.
    """
    ratio = m / n
    width = BEAM_WIDTH
    if ratio / 2 > BEAM_WIDTH:
        width = math.ceil(ratio / 2 + BEAM_WIDTH)
    low[0], high[0], offset[0] = 0, m + 1, 0
    cells = m + 1
    for i in range(1, n + 1):
        diagonal = math.floor(i * ratio)
        low[i] = max(0, diagonal - width)
        high[i] = min(m + 1, diagonal + width) if i < n else m + 1
        offset[i] = cells - low[i]
        cells += high[i] - low[i]
    return cells


@njit(cache=True)
def most_cells(n: int, m: int) -> int:
    """An upper bound of the number of cells that :func:`beam` returns."""
    if n == 0:
        return 0
    return (n + 1) * min(m + 1, 2 * BEAM_WIDTH + m // n + 4) + m + 1


@njit(cache=True)
def prefix_row(
    word: int, ref: Array, i: int, low: Array, high: Array, offset: Array, source: Array, to: Array
) -> None:
    """Fill row i of `to`: `word` after row i - 1 of `source`."""
    first, last, above_last = low[i], high[i], high[i - 1]
    above = source[offset[i - 1] + low[i - 1] : offset[i - 1] + above_last]
    row = to[offset[i] + first : offset[i] + last]
    left = UNREACHED
    skip = first - low[i - 1]
    if skip < above.size:
        left = above[skip] + 1
    if skip > 0:
        left = min(left, above[skip - 1] + (word != ref[first - 1]))
    row[0] = left
    # slices that are indexed from 0 spare numba a test for negative indices at each access
    both = min(last, above_last) - first - 1
    above, letters, inner = above[skip:], ref[first:], row[1:]
    for k in range(both):  # a loop of its own, so that the processor can do eight steps at a time
        inner[k] = min(above[k] + np.int32(word != letters[k]), above[k + 1] + np.int32(1))
    for k in range(both):
        left = min(inner[k], left + 1)
        inner[k] = left
    for k in range(max(0, both), inner.size):
        left += 1
        if k == both:
            left = min(left, above[k] + (word != letters[k]))
        inner[k] = left


@njit(cache=True)
def suffix_row(
    word: int, ref: Array, i: int, low: Array, high: Array, offset: Array, source: Array, to: Array
) -> None:
    """Fill row i, 0 < i < n, of `to`: `word` before row i + 1 of `source`."""
    first, last, below_first = low[i], high[i] - 1, low[i + 1]
    below = source[offset[i + 1] + below_first : offset[i + 1] + high[i + 1]]
    row = to[offset[i] + first : offset[i] + last + 1]
    right = UNREACHED
    if last >= below_first:
        right = below[last - below_first] + 1
    if last + 1 < high[i + 1]:
        right = min(right, below[last + 1 - below_first] + (word != ref[last]))
    row[last - first] = right
    skip = max(0, below_first - first)
    below, letters, inner = below[first + skip - below_first :], ref[first + skip :], row[skip:]
    for k in range(last - first - skip - 1, -1, -1):
        best = min(below[k + 1] + (word != letters[k]), below[k] + 1)
        right = min(best, right + 1)
        inner[k] = right
    for k in range(min(skip, last - first) - 1, -1, -1):
        right += 1
        if k == skip - 1:
            right = min(right, below[0] + (word != ref[first + k]))
        row[k] = right


@njit(cache=True)
def trace(
    words: Array,
    ref: Array,
    low: Array,
    high: Array,
    offset: Array,
    prefixes: Array,
    link: Array,
    hyp_wrong: Array,
    ref_wrong: Array,
) -> None:
    """One best alignment; prefers equal or substituted words to deletions, these to insertions.

    Fills `link` (m,): the hypothesis word that reference word j is aligned to or follows
    (-1: before the first), and `hyp_wrong` (n + 1,), `ref_wrong` (m + 1,): how many wrong
    words come before each position.
    """
    i, j = words.size, ref.size
    hyp_wrong[:] = 0
    ref_wrong[:] = 0
    while i > 0 or j > 0:
        if i > 0:
            cost = prefixes[offset[i] + j]
            above = offset[i - 1] + j
            if low[i - 1] < j <= high[i - 1]:
                wrong = words[i - 1] != ref[j - 1]
                if prefixes[above - 1] + wrong == cost:
                    i -= 1
                    j -= 1
                    link[j] = i
                    hyp_wrong[i + 1] = wrong
                    ref_wrong[j + 1] = wrong
                    continue
            if low[i - 1] <= j < high[i - 1] and prefixes[above] + 1 == cost:
                hyp_wrong[i] = 1
                i -= 1
                continue
        ref_wrong[j] = 1
        j -= 1
        link[j] = i - 1
    for i in range(words.size):
        hyp_wrong[i + 1] += hyp_wrong[i]
    for j in range(ref.size):
        ref_wrong[j + 1] += ref_wrong[j]


@njit(cache=True)
def relabel(hyp: Array, ref: Array, words: Array, letters: Array, next_same: Array) -> int:
    """Number each word by its first place in `ref` (hypothesis words that `ref` lacks: -1).

    Fills `words` (n,) for `hyp`, `letters` (m,) for `ref`, and `next_same` (m,): where the
    same word comes next in `ref`, or -1. Returns how many edits are needed in any order of the words.
    """
    m = ref.size
    next_same[:] = -1
    for j in range(m):
        letters[j] = j
        for k in range(j - 1, -1, -1):
            if ref[k] == ref[j]:
                letters[j] = letters[k]
                next_same[k] = j
                break
    for i in range(hyp.size):
        words[i] = -1
        for j in range(m):
            if ref[j] == hyp[i]:
                words[i] = j
                break
    # Use up the occurrences of each word: left[first] is the next unused one, or -1.
    left = letters.copy()
    common = 0
    for i in range(hyp.size):
        first = words[i]
        if first >= 0 and left[first] >= 0:
            common += 1
            left[first] = next_same[left[first]]
    return max(hyp.size, m) - common


@njit(cache=True)
def move(words: Array, start: int, length: int, place: int) -> None:
    """Move the block of `length` words at `start` so that it begins at `place`, in place."""
    block = words[start : start + length].copy()
    if place < start:
        for k in range(start - 1, place - 1, -1):
            words[k + length] = words[k]
    else:
        for k in range(start + length, place + length):
            words[k - length] = words[k]
    words[place : place + length] = block


@njit(cache=True)
def copy_row(i: int, low: Array, high: Array, offset: Array, source: Array, to: Array) -> None:
    for k in range(offset[i] + low[i], offset[i] + high[i]):
        to[k] = source[k]


@njit(cache=True)
def distance_after(
    words: Array,
    ref: Array,
    start: int,
    length: int,
    place: int,
    low: Array,
    high: Array,
    offset: Array,
    tables: Array,
    filled: Array,
) -> int:
    """Edit distance after the block of `length` words at `start` is moved to `place`.

    `tables` (TABLES, cells): distances of prefixes, of suffixes, work space, then of prefixes and
    of suffixes without the block of 1, 2, ... words at `start`; `filled` (2, MAX_SHIFT_SIZE): the
    row up to which each of the latter is filled, -1 for none.
    """
    prefixes, suffixes, blocks = tables[0], tables[1], tables[2]
    if place > start:
        without = tables[2 + length]
        row = filled[0, length - 1]
        if row < 0:
            row = start
            copy_row(row, low, high, offset, prefixes, without)
        while row < place:
            row += 1
            word = words[row - 1 + length]
            prefix_row(word, ref, row, low, high, offset, without, without)
        filled[0, length - 1] = row
        prefixes = without
    else:
        without = tables[2 + MAX_SHIFT_SIZE + length]
        row = filled[1, length - 1]
        if row < 0:
            row = start + length
            copy_row(row, low, high, offset, suffixes, without)
        while row > place + length:
            row -= 1
            suffix_row(words[row - length], ref, row, low, high, offset, without, without)
        filled[1, length - 1] = row
        suffixes = without
    for k in range(length):
        source = prefixes if k == 0 else blocks
        prefix_row(words[start + k], ref, place + k + 1, low, high, offset, source, blocks)
    meet = place + length
    cells = slice(offset[meet] + low[meet], offset[meet] + high[meet])
    return np.min(blocks[cells] + suffixes[cells])


@njit(cache=True)
def edits(hyp: Array, reference: Array, work: Array) -> int:
    """Shifts plus edit distance of `hyp` (n,) to `reference` (m,), by tercom's greedy search.

    `work`: int32 memory for TABLES tables.
    """
    n, m = hyp.size, reference.size
    if n == 0 or m == 0:
        return n + m
    low = np.empty(n + 1, dtype=np.int64)
    high = np.empty(n + 1, dtype=np.int64)
    offset = np.empty(n + 1, dtype=np.int64)
    cells = beam(n, m, low, high, offset)
    tables = work[: TABLES * cells].reshape(TABLES, cells)
    prefixes, suffixes = tables[0], tables[1]
    filled = np.empty((2, MAX_SHIFT_SIZE), dtype=np.int64)
    words = np.empty(n, dtype=np.int32)
    ref = np.empty(m, dtype=np.int32)
    next_same = np.empty(m, dtype=np.int32)
    unavoidable = relabel(hyp, reference, words, ref, next_same)
    link = np.empty(m, dtype=np.int64)
    hyp_wrong = np.empty(n + 1, dtype=np.int64)
    ref_wrong = np.empty(m + 1, dtype=np.int64)
    gains = np.empty((MAX_SHIFT_SIZE + 1, n + 1), dtype=np.int32)
    gain_known_for = np.empty((MAX_SHIFT_SIZE + 1, n + 1), dtype=np.int32)

    for j in range(m + 1):
        prefixes[j] = j
    for j in range(low[n], m + 1):
        suffixes[offset[n] + j] = m - j
    shifts = 0
    checked = 0
    while True:
        for i in range(1, n + 1):
            prefix_row(words[i - 1], ref, i, low, high, offset, prefixes, prefixes)
        distance = prefixes[offset[n] + m]
        if distance == unavoidable:
            return shifts + distance
        for i in range(n - 1, 0, -1):
            suffix_row(words[i], ref, i, low, high, offset, suffixes, suffixes)
        trace(words, ref, low, high, offset, prefixes, link, hyp_wrong, ref_wrong)
        gain_known_for[:] = -1
        # Ranking of shifts: largest gain, longest block, earliest block, earliest target.
        best = (0, 0, 0, 0)
        best_place = 0
        for start in range(n):
            filled[:] = -1
            following = words[start]
            while following >= 0:
                ref_start = following
                following = next_same[ref_start]
                if abs(ref_start - start) > MAX_SHIFT_DISTANCE:
                    continue
                longest = min(MAX_SHIFT_SIZE, n - start, m - ref_start)
                for length in range(1, longest + 1):
                    if words[start + length - 1] != ref[ref_start + length - 1]:
                        break
                    # Some word must be wrong on each side, and the block must not move into itself.
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
                        # A target inside the block moves it right by the difference.
                        place = target if target <= start + length else target - length
                        place = min(place, n - length)
                        if place == start:
                            continue
                        if gain_known_for[length, place] != start:
                            gain_known_for[length, place] = start
                            gains[length, place] = distance - distance_after(
                                words, ref, start, length, place, low, high, offset, tables, filled
                            )
                        gain = gains[length, place]
                        if gain > 0 and (gain, length, -start, -target) > best:
                            best = (gain, length, -start, -target)
                            best_place = place
                    if checked >= MAX_SHIFT_CANDIDATES:
                        # tercom gives up here, without making the last best shift
                        return shifts + distance
        if best[0] == 0:
            return shifts + distance
        shifts += 1
        move(words, -best[2], best[1], best_place)


@njit(cache=True, nogil=True)
def fewest_edits(
    hyps: Array, hyp_starts: Array, segments: Array, refs: Array, ref_starts: Array, nrefs: int
) -> Array:
    """Edits (J,) of each hypothesis against the reference that needs the fewest."""
    count = segments.size
    most = 0
    for h in range(count):
        n = hyp_starts[h + 1] - hyp_starts[h]
        for k in range(segments[h] * nrefs, (segments[h] + 1) * nrefs):
            most = max(most, most_cells(n, ref_starts[k + 1] - ref_starts[k]))
    work = np.empty(TABLES * most, dtype=np.int32)
    result = np.empty(count, dtype=np.int64)
    for h in range(count):
        hyp = hyps[hyp_starts[h] : hyp_starts[h + 1]]
        fewest = np.int64(UNREACHED)
        for r in range(nrefs):
            k = segments[h] * nrefs + r
            fewest = min(fewest, edits(hyp, refs[ref_starts[k] : ref_starts[k + 1]], work))
        result[h] = fewest
    return result
