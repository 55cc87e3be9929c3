"""Hypotheses, their recombination, and a stack with histogram and threshold pruning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf

HYPOTHESIS = np.dtype(
    [
        ("total", "f8"),
        ("score", "f8"),
        ("coverage", "i4"),
        ("state", "i4"),
        ("after", "i4"),
        ("swap", "i4"),
        ("identity", "i4"),
        ("option", "i4"),
        ("back", "i4"),
        ("start", "i4"),
        ("end", "i4"),
        ("arcs", "i4"),
    ]
)
"""score: model score so far; total: score + estimate of the rest.

Recombination is exact: hypotheses become one when everything that a continuation can depend on is
equal: coverage; state, of the language model; after, the end of the last source phrase (distortion,
orientation); swap, its start where a swap with the next phrase is still possible, else -1;
identity, of its forward reordering scores. All complete hypotheses become one.

option, start, end: the last phrase (-1 at the start); back: the row of the hypothesis before;
arcs: other ways to get here, a list in the array of arcs, or -1.
"""

ARC = np.dtype(
    [("score", "f8"), *((name, "i4") for name in ("back", "option", "start", "end", "next", "unused"))]
)


class Stack(NamedTuple):
    """The stack being filled. hypotheses: (capacity,); slots: (2^k,) for recombination; used,
    floor, top: (1,) the number of hypotheses, the total that a new one must exceed, the best total;
    scratch: (1,) the hypothesis being made; totals, order: (capacity,) room"""

    hypotheses: NDArray[np.void]
    slots: NDArray[np.int32]
    used: NDArray[np.int64]
    floor: NDArray[np.float64]
    top: NDArray[np.float64]
    scratch: NDArray[np.void]
    totals: NDArray[np.float64]
    order: NDArray[np.int64]


@njit(cache=True)
def new_stack(capacity):
    slots = 16
    while slots < 2 * capacity:
        slots *= 2
    return Stack(
        np.empty(capacity, HYPOTHESIS),
        np.full(slots, -1, np.int32),
        np.zeros(1, np.int64),
        np.full(1, -np.inf),
        np.full(1, -np.inf),
        np.empty(1, HYPOTHESIS),
        np.empty(capacity),
        np.empty(capacity, np.int64),
    )


@leaf
def _hash(coverage, state, after, swap, identity):
    mixed = (np.uint64(coverage) << np.uint64(32)) ^ np.uint64(state)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (np.uint64(after) << np.uint64(44)) ^ (np.uint64(swap + 1) << np.uint64(24))
    mixed ^= np.uint64(identity + 1)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed >> np.uint64(32)


@leaf
def _enter(slots, hypotheses, i):
    """Put hypothesis i, which is not there yet, into the table of the stack."""
    h = hypotheses[i]
    mask = np.int64(len(slots) - 1)
    slot = np.int64(_hash(h.coverage, h.state, h.after, h.swap, h.identity)) & mask
    while slots[slot] >= 0:
        slot = (slot + 1) & mask
    slots[slot] = i


@leaf
def kth_largest(values, count, k):
    """The k-th largest (k from 1) of the first `count` values, which are reordered: the k largest come
    first. Every value is swapped, needed or not, so that there is no branch to predict."""
    low, high = 0, count
    while True:
        a, b, c = values[low], values[(low + high) >> 1], values[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        above = low
        for i in range(low, high):
            value = values[i]
            values[i] = values[above]
            values[above] = value
            above += value > pivot
        if k <= above:
            high = above
            continue
        low = above
        for i in range(above, high):
            value = values[i]
            values[i] = values[low]
            values[low] = value
            low += not value < pivot
        if k <= low:
            return pivot


@leaf
def _cut(stack, size):
    """Keep the `size` best, of equal ones the first that came; the worst one kept is the floor."""
    count = stack.used[0]
    if count <= size:
        return
    hypotheses, totals = stack.hypotheses, stack.totals
    for i in range(count):
        totals[i] = hypotheses[i].total
    worst = kth_largest(totals, count, size)
    ties = size
    for i in range(size):
        ties -= totals[i] > worst
    kept = 0
    for i in range(count):
        total = hypotheses[i].total
        if total < worst or (total == worst and ties == 0):
            continue
        ties -= total == worst
        if kept < i:
            hypotheses[kept] = hypotheses[i]
        kept += 1
    stack.used[0] = kept
    stack.floor[0] = max(stack.floor[0], worst)


@leaf
def prune(stack, size):
    """Make room in a full stack."""
    _cut(stack, size)
    stack.slots[:] = -1
    for i in range(stack.used[0]):
        _enter(stack.slots, stack.hypotheses, i)


@leaf
def match(slots, hypotheses, new):
    """(the hypothesis of the stack with the state of `new`, or -1; its slot, or a free one)."""
    mask = np.int64(len(slots) - 1)
    slot = np.int64(_hash(new.coverage, new.state, new.after, new.swap, new.identity)) & mask
    while slots[slot] >= 0:
        old = hypotheses[slots[slot]]
        if (
            old.coverage == new.coverage
            and old.state == new.state
            and old.after == new.after
            and old.swap == new.swap
            and old.identity == new.identity
        ):
            return np.int64(slots[slot]), slot
        slot = (slot + 1) & mask
    return np.int64(-1), slot


@leaf
def recombine(hypotheses, i, new, arcs, arc_count, keep):
    """Combine `new` with hypothesis i, which has the same state; returns the number of arcs.

    The better one stays, of equally good ones the first. With `keep` the other becomes an arc;
    there must be room for one.
    """
    old = hypotheses[i]
    better = new.score > old.score
    if keep:
        arc = arcs[arc_count]
        lost = old if better else new
        arc.score = lost.score
        arc.back = lost.back
        arc.option = lost.option
        arc.start = lost.start
        arc.end = lost.end
        arc.next = old.arcs
        old.arcs = arc_count
        arc_count += 1
    if better:
        old.total = new.total
        old.score = new.score
        old.back = new.back
        old.option = new.option
        old.start = new.start
        old.end = new.end
    return arc_count


@leaf
def sort_down(totals, order, count):
    """Put 0 .. count - 1 into `order`, largest total first, of equal ones the first."""
    if count <= 256:
        # The place of a total is the number of those before it; counting them needs no branches.
        for i in range(count):
            place = 0
            for j in range(i):
                place += totals[j] >= totals[i]
            for j in range(i + 1, count):
                place += totals[j] > totals[i]
            order[place] = i
        return
    # Shell's sort
    gap = 1
    while 3 * gap < count:
        gap = 3 * gap + 1
    for i in range(count):
        order[i] = i
    while gap > 0:
        for i in range(gap, count):
            moved = order[i]
            value = totals[moved]
            j = i - gap
            while j >= 0:
                other = totals[order[j]]
                if other > value or (other == value and order[j] < moved):
                    break
                order[j + gap] = order[j]
                j -= gap
            order[j + gap] = moved
        gap //= 3


@leaf
def take(stack, size, beam, rows, base):
    """Move the best of the finished stack to rows[base:], best first; empty it; returns their number."""
    _cut(stack, size)
    hypotheses, totals, order = stack.hypotheses, stack.totals, stack.order
    count = stack.used[0]
    for i in range(count):
        totals[i] = hypotheses[i].total
    sort_down(totals, order, count)
    kept = 0
    while kept < count and totals[order[kept]] >= stack.top[0] - beam:
        rows[base + kept] = hypotheses[order[kept]]
        kept += 1
    stack.used[0] = 0
    stack.floor[0] = -np.inf
    stack.top[0] = -np.inf
    stack.slots[:] = -1
    return kept
