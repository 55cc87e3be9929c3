"""Word alignment by IBM model 1 and a hidden Markov model (Vogel et al. 1996; Och and Ney 2003).

The model and its links are sil-thot's, operation by operation: a state and an empty word for each source
word, jumps between positions in one table for all lengths, jump and lexical probabilities smoothed with
uniform ones, lexical probabilities as differences of 32-bit logs. Unlike there, word pairs that occur
together are numbered once for both directions, and sums run over adjacent memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
from replitune.phrase.arrays import frozen, starts
from replitune.phrase.encode import Encoded

EMPTY = 0.1
"""Probability of a jump to the empty word."""
LEXICAL, JUMPS = 0.1, 0.3
"""Weights of the uniform distributions that lexical and jump probabilities are smoothed with."""
LEAST = 1e-7
"""Smallest lexical probability of model 1."""
LOW, HIGH = math.exp(-9), math.exp(-0.01)
"""Bounds of an expected count of the hidden Markov model."""
SPECIAL = 3
"""Special words in sil-thot's vocabularies, which its uniform distributions include."""


class Cells(NamedTuple):
    """Word pairs of all sentence pairs.

    start: (pairs + 1,) int64 where the cells of each pair begin, a row for each word of its source
    ids: int32 number of the word pair in each cell; the same words have the same number
    words: (source, target), int32 the word of each number
    """

    start: NDArray[np.int64]
    ids: NDArray[np.int32]
    words: tuple[NDArray[np.int32], NDArray[np.int32]]


class Direction(NamedTuple):
    """One of the two directions: "from" generates "to".

    from_start, to_start: where segments begin; to_words: the words of all segments
    across: whether the columns of cells are the words of "from"
    most, longest: words of the longest segment of "from", of "to"
    """

    from_start: NDArray[np.int64]
    to_start: NDArray[np.int64]
    to_words: NDArray[np.int32]
    across: bool
    most: int
    longest: int


@njit(cache=True, nogil=True)
def _number_pairs(order, segment, source, source_start, target, target_start, start, ids, targets, counts):
    """Fill `ids`, `targets`, the target word of each number, and `counts`, the numbers per source word."""
    mark = np.full(target.max() + 1, -1, np.int32)
    slot = np.zeros(len(mark), np.int32)
    distinct = np.empty(len(mark), np.int32)
    made = 0
    begin = 0
    while begin < len(order):
        word = source[order[begin]]
        end = begin
        some = 0
        while end < len(order) and source[order[end]] == word:
            n = segment[order[end]]
            for j in range(target_start[n], target_start[n + 1]):
                if mark[target[j]] != word:
                    mark[target[j]] = word
                    distinct[some] = target[j]
                    some += 1
            end += 1
        distinct[:some].sort()
        for k in range(some):
            slot[distinct[k]] = made + k
            targets[made + k] = distinct[k]
        for k in range(begin, end):
            n = segment[order[k]]
            first = target_start[n]
            cell = start[n] + (order[k] - source_start[n]) * (target_start[n + 1] - first)
            for j in range(first, target_start[n + 1]):
                ids[cell + j - first] = slot[target[j]]
        counts[word] = some
        made += some
        begin = end


@leaf
def _shape(side, n):
    """Of pair n: the number of words of "from"; the first word of "to" and their number; the steps between
    cells to the next word of "from" and of "to"."""
    size, first = side.from_start[n + 1] - side.from_start[n], side.to_start[n]
    length = side.to_start[n + 1] - first
    if side.across:
        return size, first, length, np.int64(1), size
    return size, first, length, length, np.int64(1)


@njit(cache=True, nogil=True)
def _count_ibm1(side, cells, prob, empty, counts, empty_counts):
    """Add the expected counts of model 1."""
    here = np.empty(side.most)
    for n in range(len(cells.start) - 1):
        size, first, length, by_i, by_j = _shape(side, n)
        for j in range(length):
            word = side.to_words[first + j]
            cell = cells.start[n] + j * by_j
            total = empty[word]
            for i in range(size):
                here[i] = prob[cells.ids[cell + i * by_i]]
                total += here[i]
            empty_counts[word] += empty[word] / total
            for i in range(size):
                counts[cells.ids[cell + i * by_i]] += here[i] / total


@njit(cache=True, nogil=True)
def _estimate(counts, owners, totals, smooth, uniform, least, logs, out):
    """Probabilities (or their logs) from counts, which are set to 0."""
    totals[:] = 0.0
    for k in range(len(counts)):
        totals[owners[k]] += counts[k]
    for k in range(len(totals)):
        totals[k] = np.float64(np.float32(math.log(totals[k] if totals[k] != 0 else 1.0)))
    for k in range(len(counts)):
        log = np.float64(np.float32(math.log(counts[k]))) - totals[owners[k]]
        counts[k] = 0.0
        if logs:
            out[k] = add_logs(math.log(1.0 - smooth) + log, math.log(smooth) + math.log(uniform))
        else:
            out[k] = max((1.0 - smooth) * math.exp(log) + smooth * uniform, least)


@leaf
def add_logs(a, b):
    """log(exp(a) + exp(b))"""
    if a > b:
        return a + math.log(1 + math.exp(b - a))
    return b + math.log(1 + math.exp(a - b))


@njit(cache=True, nogil=True)
def _jump_table(counts, used, logs, known, table, offsets):
    """Jump probabilities (or logs) for each length in use: a row for each previous place (0: none), then
    those of a jump to the empty word at the beginning, and later. `counts`: (places, places + 1), by place
    and previous place; `known`: whether there are any counts."""
    places = counts.shape[0]
    log = np.zeros((places + 1, places))
    for before in range(places + 1):
        total = 0.0
        for i in range(places):
            total += counts[i, before]
        total = np.float64(np.float32(math.log(total if total != 0 else 1.0)))
        for i in range(places):
            log[before, i] = np.float64(np.float32(math.log(counts[i, before]))) - total
            log[before, i] += math.log(1.0 - EMPTY)
    for size in range(1, places + 1):
        if not used[size]:
            continue
        at = offsets[size]
        for before in range(size + 2):
            uniform = 1.0 / (2.0 * size) if before == 0 else 1.0 / (size + 1.0)
            for i in range(size if before <= size else 2):
                if before > size:
                    uniform = 1.0 / (2.0 * size) if i == 0 else 1.0 / (size + 1.0)
                    lp = math.log(EMPTY) - math.log(np.float64(size)) if i == 0 else math.log(EMPTY)
                elif known:
                    lp = log[before, i]
                else:
                    lp = math.log(uniform)
                if logs:
                    value = add_logs(math.log(1.0 - JUMPS) + lp, math.log(JUMPS) + math.log(uniform))
                elif known or before > size:
                    value = (1.0 - JUMPS) * math.exp(lp) + JUMPS * uniform
                else:
                    value = (1.0 - JUMPS) * uniform + JUMPS * uniform
                table[at + before * size + i] = value


@njit(cache=True, nogil=True)
def _jumps(table, offsets, size):
    """For "from" sides of `size` words: (size + 1, size) jump probabilities by previous place (0: none);
    those of a jump to the empty word at the beginning, and later."""
    at = offsets[size]
    end = at + size * (size + 1)
    return table[at:end].reshape(size + 1, size), table[end], table[end + 1]


@leaf
def _forward(size, length, jump, stay_first, stay, lex, none, alpha, sums):
    """Fill alpha, whose rows are divided by their sums, `sums`; the places come first in a row, then their
    empty words."""
    for j in range(length):
        now, words = alpha[j], lex[j]
        if j == 0:
            for i in range(size):
                now[i] = jump[0, i] * words[i]
                now[size + i] = stay_first * none[j]
        else:
            old = alpha[j - 1]
            now[:size] = 0.0
            for before in range(2 * size):
                row = jump[(before if before < size else before - size) + 1]
                mass = old[before]
                for i in range(size):
                    now[i] += mass * row[i] * words[i]
            for i in range(size):
                now[size + i] = old[i] * stay * none[j] + old[size + i] * stay * none[j]
        total = 0.0
        for i in range(2 * size):
            total += now[i]
        sums[j] = total
        if total > 0:
            for i in range(2 * size):
                now[i] /= total


@leaf
def _backward(size, length, back, stay, lex, none, sums, beta):
    """Fill beta, which is the same for a place and for its empty word."""
    for j in range(length - 1, -1, -1):
        now = beta[j]
        now[:size] = 0.0
        if sums[j] > 0:
            if j == length - 1:
                now[:size] = 1.0
            else:
                later, words = beta[j + 1], lex[j + 1]
                for after in range(size):
                    mass, word, row = later[after], words[after], back[after]
                    for i in range(size):
                        now[i] += mass * row[i] * word
                for i in range(size):
                    now[i] += later[i] * stay * none[j + 1]
            for i in range(size):
                now[i] /= sums[j]


@leaf
def _expected(part, total):
    return min(max(part / total if total != 0 else 0.0, LOW), HIGH)


@njit(cache=True, nogil=True)
def _count_hmm(side, cells, prob, empty, table, offsets, counts, empty_counts, jumps):
    """Add the expected counts of the hidden Markov model. `jumps`: (most, most + 1), by place and previous
    place."""
    most, longest = side.most, side.longest
    lex, none, sums = np.empty((longest, most)), np.empty(longest), np.empty(longest)
    alpha, beta = np.empty((longest, 2 * most)), np.empty((longest, most))
    back, share = np.empty((most, most)), np.empty((most, most))
    parts = np.empty(2 * most)
    for n in range(len(cells.start) - 1):
        size, first, length, by_i, by_j = _shape(side, n)
        jump, stay_first, stay = _jumps(table, offsets, size)
        for before in range(size):
            for i in range(size):
                back[i, before] = jump[before + 1, i]
        for j in range(length):
            none[j] = empty[side.to_words[first + j]]
            for i in range(size):
                lex[j, i] = prob[cells.ids[cells.start[n] + j * by_j + i * by_i]]
        _forward(size, length, jump, stay_first, stay, lex, none, alpha, sums)
        _backward(size, length, back, stay, lex, none, sums, beta)
        for j in range(length):
            now, after, words = alpha[j], beta[j], lex[j]
            total = 0.0
            for i in range(2 * size):
                parts[i] = now[i] * after[i if i < size else i - size]
                total += parts[i]
            word = side.to_words[first + j]
            for i in range(size):
                counts[cells.ids[cells.start[n] + j * by_j + i * by_i]] += _expected(parts[i], total)
            for i in range(size, 2 * size):
                empty_counts[word] += _expected(parts[i], total)
            total = 0.0
            if j == 0:
                for i in range(size):
                    parts[i] = jump[0, i] * words[i] * after[i]
                    total += parts[i]
                for i in range(size):
                    jumps[i, 0] += _expected(parts[i], total) * size
                continue
            old = alpha[j - 1]
            for i in range(size):
                for before in range(size):
                    share[i, before] = old[before] * back[i, before] * words[i] * after[i]
            for i in range(size):
                for before in range(size):
                    total += share[i, before]
            for i in range(size):
                for before in range(size):
                    jumps[i, before + 1] += _expected(share[i, before], total) * size


@njit(cache=True, nogil=True)
def _best_links(side, cells, prob, empty, table, offsets, links):
    """The most probable links, by Viterbi's algorithm; everything in logs."""
    most, longest = side.most, side.longest
    best, came = np.empty((longest, 2 * most)), np.empty((longest, 2 * most), np.int64)
    words = np.empty(most)
    for n in range(len(cells.start) - 1):
        size, first, length, by_i, by_j = _shape(side, n)
        jump, stay_first, stay = _jumps(table, offsets, size)
        for j in range(length):
            now, where = best[j], came[j]
            none = empty[side.to_words[first + j]]
            for i in range(size):
                words[i] = prob[cells.ids[cells.start[n] + j * by_j + i * by_i]]
            if j == 0:
                for i in range(size):
                    now[i] = jump[0, i] + words[i]
                    now[size + i] = stay_first + none
                continue
            old = best[j - 1]
            now[:size] = -np.inf
            for before in range(2 * size):
                row = jump[(before if before < size else before - size) + 1]
                value = old[before]
                for i in range(size):
                    new = value + row[i] + words[i]
                    better = new > now[i]
                    now[i] = new if better else now[i]
                    where[i] = before if better else where[i]
            for i in range(size):
                here, gone = old[i] + stay + none, old[size + i] + stay + none
                now[size + i] = max(here, gone)
                where[size + i] = i if here >= gone else size + i
        state = 0
        for i in range(1, 2 * size):
            if best[length - 1, i] > best[length - 1, state]:
                state = i
        for j in range(length - 1, -1, -1):
            links[first + j] = state if state < size else -1
            state = came[j, state]


def number_pairs(source: Encoded, target: Encoded) -> tuple[Cells, Encoded, Encoded]:
    """The cells of a corpus, and both sides with words numbered by first occurrence."""
    source, target = _as_they_come(source), _as_they_come(target)
    lengths = np.diff(source.start)
    start = starts(lengths * np.diff(target.start))
    ids = np.empty(start[-1], np.int32)
    targets = np.empty(start[-1], np.int32)  # only its beginning is used
    counts = np.zeros(len(source.vocab), np.int64)
    order = np.argsort(source.words, kind="stable")
    segment = np.repeat(np.arange(len(source)), lengths)
    _number_pairs(
        order, segment, source.words, source.start, target.words, target.start, start, ids, targets, counts
    )
    words = np.repeat(np.arange(len(counts), dtype=np.int32), counts), targets[: counts.sum()].copy()
    return Cells(start, ids, words), source, target


def _as_they_come(side: Encoded) -> Encoded:
    """The same text with its words numbered by first occurrence, without words that do not occur."""
    there, first, inverse = np.unique(side.words, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), np.int32)
    rank[order] = np.arange(len(first), dtype=np.int32)
    return Encoded([side.vocab[k] for k in there[order]], rank[inverse], frozen(side.start))


def hmm_links(
    cells: Cells,
    sides: Sequence[Encoded],
    direction: int,
    iterations: int,
    step: Callable[[int, int], None],
) -> NDArray[np.int16]:
    """For each word of the generated side (the target in direction 0) the place of the word of the other
    side that it is linked to, or -1. `cells`, `sides`: from `number_pairs`; `iterations`: of each model;
    `step` is told how many of how many steps are done."""
    one, other, owners = sides[direction], sides[1 - direction], cells.words[direction]
    sizes = np.diff(one.start)
    most, longest = int(sizes.max()), int(np.diff(other.start).max())
    side = Direction(one.start, other.start, other.words, bool(direction), most, longest)
    steps = 2 * iterations + 1
    uniform = 1.0 / (len(other.vocab) + SPECIAL)
    prob = np.full(len(owners), max(uniform, LEAST))
    empty = np.full(len(other.vocab), max(uniform, LEAST))
    counts, empty_counts = np.zeros(len(prob)), np.zeros(len(empty))
    totals, empty_total, nobody = np.zeros(len(one.vocab)), np.zeros(1), np.zeros(len(empty), np.int32)

    def estimate(smooth: float, least: float, logs: bool = False) -> None:
        _estimate(counts, owners, totals, smooth, uniform, least, logs, prob)
        _estimate(empty_counts, nobody, empty_total, smooth, uniform, least, logs, empty)

    for done in range(1, iterations + 1):
        _count_ibm1(side, cells, prob, empty, counts, empty_counts)
        smooth, least = (0.0, LEAST) if done < iterations else (LEXICAL, 0.0)
        estimate(smooth, least)
        step(done, steps)
    used = np.bincount(sizes, minlength=most + 1) > 0
    room = np.arange(most + 1) * np.arange(1, most + 2) + 2
    offsets = starts(np.where(used, room, 0))
    table, jumps = np.empty(offsets[-1]), np.zeros((most, most + 1))
    for done in range(1, iterations + 1):
        _jump_table(jumps, used, False, done > 1, table, offsets)
        jumps[:] = 0.0
        _count_hmm(side, cells, prob, empty, table, offsets, counts, empty_counts, jumps)
        estimate(LEXICAL, 0.0, done == iterations)
        step(iterations + done, steps)
    _jump_table(jumps, used, True, True, table, offsets)
    links = np.empty(len(other.words), np.int16)
    _best_links(side, cells, prob, empty, table, offsets, links)
    step(steps, steps)
    return links
