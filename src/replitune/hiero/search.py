"""The search: CKY with cube pruning, from short spans to long ones, then glue from left to right.

The promise of a combination, a rule with hypotheses for its gaps, is its score with the rule's LM
estimate in place of the LM score of the rule's words in context (Chiang 2007, section 5.3.3; lazy
scoring, as in Moses). Promises do not depend on each other, so the `pops` most promising combinations
of a cell are found by selection, not one by one with a heap. Each is then scored exactly, and those
with the same language model state on both sides become one hypothesis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.hiero.context import DEEPEST, append_row, append_words
from replitune.leaf import leaf, with_room
from replitune.phrase.lm import step
from replitune.phrase.stacks import kth_largest, sort_down

HYPOTHESIS = np.dtype(
    [
        ("score", "f8"),
        ("left", "i4"),
        ("state", "i4"),
        ("rule", "i4"),
        ("one", "i4"),
        ("two", "i4"),
        ("arcs", "i4"),
    ]
)
"""left: 2 * node + full, see `replitune.hiero.context`; rule: -1 for the empty beginning; one, two:
the hypotheses in its gaps, or -1; arcs: the last of the other combinations recombined into it, or -1."""

ARC = np.dtype([("score", "f8"), ("rule", "i4"), ("one", "i4"), ("two", "i4"), ("next", "i4")])
"""A combination; next: another one of the same hypothesis, or -1."""

CUBE = np.dtype(
    [
        ("top", "f8"),
        ("begin", "i4"),
        ("stop", "i4"),
        ("one", "i4"),
        ("ones", "i4"),
        ("two", "i4"),
        ("twos", "i4"),
    ]
)
"""Combinations of the rules begin .. stop - 1 with `ones` hypotheses from `one` on in the first gap and
`twos` from `two` on in the second; 0 where there is no gap. top: the highest promise."""


class Terms(NamedTuple):
    """begin: state of the automaton; end: the word </s>; lm: weight."""

    begin: int
    end: int
    lm: float


class Space(NamedTuple):
    """Room for the search of one cell.

    cubes: (>= ways,) CUBE; promises: (4 * pops + 16,) promises; hypotheses: (pops,) HYPOTHESIS; slots:
    (a power of two >= 3 * pops,) the hypothesis with that hash, or -1; used: (pops,) the slots taken;
    totals, order: (pops,); path: room for the LM; counts: (HYPOTHESES, ARCS)"""

    cubes: NDArray[np.void]
    promises: NDArray[np.float64]
    hypotheses: NDArray[np.void]
    slots: NDArray[np.int32]
    used: NDArray[np.int64]
    totals: NDArray[np.float64]
    order: NDArray[np.int64]
    path: NDArray[np.int64]
    counts: NDArray[np.int64]


HYPOTHESES, ARCS = 0, 1


@leaf
def _collect(promises, n, least, pops, promise):
    """Add a promise to the first `n`, which are cut to the best `pops` when there is no room: (their
    number, the bound)."""
    if n == len(promises):
        least = kth_largest(promises, n, pops)
        n = pops
    if promise >= least:
        promises[n] = promise
        n += 1
    return n, least


@leaf
def _scan(cubes, count, rules, rows, pops, least, promises):
    """Collect all promises that are at least `least` or, when those are too many, at least a higher
    bound that `pops` of them still reach: (their number, the bound)."""
    n = 0
    for c in range(count):
        cube = cubes[c]
        if cube.top < least:
            continue
        one, ones, two, twos = cube.one, cube.ones, cube.two, cube.twos
        best_two = rows[two].score if twos else 0.0
        for r in range(cube.begin, cube.stop):
            base = rules[r].estimate
            if ones == 0:
                if base < least:
                    break
                n, least = _collect(promises, n, least, pops, base)
                continue
            if base + rows[one].score + best_two < least:
                break
            for a in range(one, one + ones):
                value = base + rows[a].score
                if value + best_two < least:
                    break
                if twos == 0:
                    n, least = _collect(promises, n, least, pops, value)
                    continue
                for b in range(two, two + twos):
                    promise = value + rows[b].score
                    if promise < least:
                        break
                    n, least = _collect(promises, n, least, pops, promise)
    return n, least


@leaf
def _least_promise(cubes, count, rules, rows, pops, spread, promises):
    """(promise of the `pops`-th best combination, how many of the best `pops` promise exactly this,
    the best promise). spread: a guess of the difference of the two promises."""
    best = -np.inf
    for c in range(count):
        best = max(best, cubes[c].top)
    n, _ = _scan(cubes, count, rules, rows, pops, best - spread, promises)
    if n < pops and spread < np.inf:
        n, _ = _scan(cubes, count, rules, rows, pops, best - 3.0 * spread, promises)
        if n < pops:
            n, _ = _scan(cubes, count, rules, rows, pops, -np.inf, promises)
    taken = min(n, pops)
    least = kth_largest(promises, n, taken)
    equal = taken
    for i in range(taken):
        if promises[i] > least:
            equal -= 1
    return least, equal, best


@leaf
def _enter(space, score, left, full, state, rule, one, two, arcs, keep):
    """Add a combination to the cell's hypotheses, or to the one with the same LM state."""
    hypotheses, slots, counts = space.hypotheses, space.slots, space.counts
    left = 2 * left + full
    mixed = (np.uint64(left) << np.uint64(32) ^ np.uint64(state)) * np.uint64(0x9E3779B97F4A7C15)
    mask = len(slots) - 1
    i = np.int64(mixed >> np.uint64(40)) & mask
    while slots[i] >= 0:
        old = hypotheses[slots[i]]
        if old.left == left and old.state == state:
            if keep:
                arc = arcs[counts[ARCS]]
                if score > old.score:
                    arc.score, arc.rule, arc.one, arc.two = old.score, old.rule, old.one, old.two
                else:
                    arc.score, arc.rule, arc.one, arc.two = score, rule, one, two
                arc.next = old.arcs
                old.arcs = counts[ARCS]
                counts[ARCS] += 1
            if score > old.score:
                old.score, old.rule, old.one, old.two = score, rule, one, two
            return
        i = (i + 1) & mask
    slots[i] = counts[HYPOTHESES]
    space.used[counts[HYPOTHESES]] = i
    new = hypotheses[counts[HYPOTHESES]]
    new.score, new.left, new.state = score, left, state
    new.rule, new.one, new.two, new.arcs = rule, one, two, -1
    counts[HYPOTHESES] += 1


@leaf
def _fill(count, least, equal, rules, rows, automaton, extends, lm, space, arcs, keep):
    """Score the combinations that promise more than `least`, and the first `equal` of those that
    promise exactly `least`."""
    table, symbols = rules.table, rules.symbols
    cubes, path = space.cubes, space.path
    for c in range(count):
        cube = cubes[c]
        if cube.top < least:
            continue
        for r in range(cube.begin, cube.stop):
            rule = table[r]
            base = rule.estimate
            before = np.int64(rule.left), np.int64(rule.full), np.int64(rule.state)
            if cube.ones == 0:
                if base < least or (base == least and equal == 0):
                    break
                equal -= base == least
                score = rule.score + lm * rule.prefix
                _enter(space, score, *before, r, -1, -1, arcs, keep)
                continue
            # Gaps in the order of the target side, so that what comes before the second gap is
            # scored once for all hypotheses in that gap.
            swapped = rule.first == 1
            one, ones = np.int64(cube.one), np.int64(cube.ones)
            two, twos = np.int64(cube.two), np.int64(cube.twos)
            if swapped:
                one, ones, two, twos = two, twos, one, ones
            for a in range(one, one + ones):
                # Summed in the order of `_scan`, so that promises agree to the last bit.
                value = base + rows[two if swapped else a].score
                if twos > 0:
                    value += rows[a if swapped else two].score
                if value < least or (value == least and equal == 0):
                    break
                add, left, full, state = append_row(automaton, extends, path, *before, rows[a])
                words, left, full, state, at = append_words(
                    automaton, extends, symbols, rule.middle + 1, rule.end, left, full, state
                )
                score = rule.score + rows[a].score + lm * (rule.prefix + add + words)
                if twos == 0:
                    equal -= value == least
                    _enter(space, score, left, full, state, r, a, -1, arcs, keep)
                    continue
                for b in range(two, two + twos):
                    promise = base + rows[b if swapped else a].score
                    promise += rows[a if swapped else b].score
                    if promise < least or (promise == least and equal == 0):
                        break
                    equal -= promise == least
                    add, left_b, full_b, state_b = append_row(
                        automaton, extends, path, left, full, state, rows[b]
                    )
                    words, left_b, full_b, state_b, _ = append_words(
                        automaton, extends, symbols, at + 1, rule.end, left_b, full_b, state_b
                    )
                    total = score + rows[b].score + lm * (add + words)
                    if swapped:
                        _enter(space, total, left_b, full_b, state_b, r, b, a, arcs, keep)
                    else:
                        _enter(space, total, left_b, full_b, state_b, r, a, b, arcs, keep)


@leaf
def _store(space, rows, base):
    """Move the cell's hypotheses into rows[base:], best first, equal ones in the order they came;
    returns their number."""
    count = space.counts[HYPOTHESES]
    for i in range(count):
        space.totals[i] = space.hypotheses[i].score
        space.slots[space.used[i]] = -1
    sort_down(space.totals, space.order, count)
    for i in range(count):
        rows[base + i] = space.hypotheses[space.order[i]]
    space.counts[HYPOTHESES] = 0
    return count


@leaf
def _search_cell(count, rules, rows, base, automaton, extends, terms, pops, spread, space, arcs, keep):
    """Write the hypotheses of a cell with `count` cubes to rows[base:]: (their number, how much less
    the worst combination that was tried promised than the best)."""
    least, equal, best = _least_promise(space.cubes, count, rules.table, rows, pops, spread, space.promises)
    _fill(count, least, equal, rules, rows, automaton, extends, terms.lm, space, arcs, keep)
    return _store(space, rows, base), best - least


@leaf
def _set_cube(cube, rules, begin, stop, rows, first, gaps):
    """Set the cube of some rules and the cells in their gaps (-1: no gap); the hypotheses of a cell
    are rows[first[cell]:first[cell + 1]]."""
    one, two = gaps
    cube.begin, cube.stop = begin, stop
    top = rules[begin].estimate
    cube.one = cube.ones = cube.two = cube.twos = 0
    if one >= 0:
        cube.one, cube.ones = first[one], first[one + 1] - first[one]
        top += rows[first[one]].score
    if two >= 0:
        cube.two, cube.twos = first[two], first[two + 1] - first[two]
        top += rows[first[two]].score
    cube.top = top


@njit(cache=True)
def _new_space(ways, pops):
    slots = 16
    while slots < 3 * pops:
        slots *= 2
    return Space(
        np.empty(ways, CUBE),
        np.empty(4 * pops + 16),
        np.empty(pops, HYPOTHESIS),
        np.full(slots, -1, np.int32),
        np.empty(pops, np.int64),
        np.empty(pops),
        np.empty(pops, np.int64),
        np.empty(DEEPEST, np.int64),
        np.zeros(2, np.int64),
    )


@njit(cache=True, nogil=True)
def search(cells, ways, words, rules, automaton, extends, terms, pops, longest, keep):
    """Search one sentence: (rows, first, arcs).

    cells, ways, words: its chart; cells[-1] only ends the ways. longest: most words of a cell.
    The hypotheses of cell c are rows[first[c] : first[c + 1]]. After the cells come words + 1
    positions of glue, with the hypotheses of the first 0, 1, ... words; the last row is the whole
    translation."""
    n_cells = len(cells) - 1
    table = rules.table
    glue, stop = len(table) - 2, len(table) - 1
    most = longest + 1
    for c in range(n_cells):
        most = max(most, cells[c + 1].ways - cells[c].ways)
    space = _new_space(most, pops)
    first = np.zeros(n_cells + words + 3, np.int64)
    rows = np.empty(pops * 16, HYPOTHESIS)
    arcs = np.empty(pops * 16 if keep else 1, ARC)
    spread = np.inf
    number = np.full((words + 1, longest + 1), -1, np.int64)
    for c in range(n_cells + words + 1):
        count = 0
        if c == n_cells:
            spread = np.inf
            rows = with_room(rows, first[c], 1)
            empty = rows[first[c]]
            empty.score, empty.left, empty.state = 0.0, 2 * automaton.root + 1, terms.begin
            empty.rule = empty.one = empty.two = empty.arcs = -1
            first[c + 1] = first[c] + 1
            continue
        if c < n_cells:
            for w in range(cells[c].ways, cells[c + 1].ways):
                begin, rules_of = rules.first[ways[w].side], rules.counts[ways[w].side]
                gaps = ways[w].one, ways[w].two
                _set_cube(space.cubes[count], table, begin, begin + rules_of, rows, first, gaps)
                count += 1
            number[cells[c].end, cells[c].end - cells[c].begin] = c
        else:
            for length in range(1, min(c - n_cells, longest) + 1):
                if number[c - n_cells, length] >= 0:
                    gaps = c - length, number[c - n_cells, length]
                    _set_cube(space.cubes[count], table, glue, glue + 1, rows, first, gaps)
                    count += 1
        rows = with_room(rows, first[c], pops)
        if keep:
            arcs = with_room(arcs, space.counts[ARCS], pops)
        made, spread = _search_cell(
            count, rules, rows, first[c], automaton, extends, terms, pops, 1.1 * spread, space, arcs, keep
        )
        first[c + 1] = first[c] + made
    last = n_cells + words + 1
    rows = with_room(rows, first[last], pops)
    if keep:
        arcs = with_room(arcs, space.counts[ARCS], pops)
    # All complete hypotheses become one, whatever their LM state.
    for row in range(first[last - 1], first[last]):
        logprob, _ = step(automaton, np.int64(rows[row].state), np.int64(terms.end))
        score = rows[row].score + terms.lm * logprob
        _enter(space, score, np.int64(0), np.int64(0), np.int64(0), stop, row, -1, arcs, keep)
    first[last + 1] = first[last] + _store(space, rows, first[last])
    return rows[: first[last + 1]], first, arcs[: space.counts[ARCS]]


@njit(cache=True, nogil=True)
def best_words(rows, rules, target):
    """The words of the best derivation of the last row."""
    stack = np.empty((len(rows) + 1, 2), np.int64)
    words = np.empty(64, np.int32)
    count, depth = 0, 1
    stack[0, 0] = len(rows) - 1
    stack[0, 1] = -1
    while depth:
        row, at = stack[depth - 1, 0], stack[depth - 1, 1]
        r = np.int64(rows[row].rule)
        if r < 0:
            depth -= 1
            continue
        at = np.int64(rules.table[r].begin) if at < 0 else at
        if at == rules.table[r].end:
            depth -= 1
            continue
        stack[depth - 1, 1] = at + 1
        if target[at] >= 0:
            if count == len(words):
                words = np.concatenate((words, words))
            words[count] = target[at]
            count += 1
        else:
            stack[depth, 0] = rows[row].one if target[at] == -1 else rows[row].two
            stack[depth, 1] = -1
            depth += 1
    return words[: count - 1]
