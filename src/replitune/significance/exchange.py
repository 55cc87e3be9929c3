"""Null distributions of a difference under exchange of outputs, for several metrics at once.

All metrics see the same exchanges. If there are no more arrangements than samples asked for, all
of them are enumerated instead. Units in which nothing can change (all outputs alike) do not count,
since they only repeat each arrangement equally often.

Where outputs of A and B differ in one statistic only, and by integers, their 2^m exchanges reach
few different sums. How many exchanges reach each sum follows from a product of polynomials of two
terms, one for each unit, without enumeration (Zmigrod, Vieira and Cotterell 2022, section 3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.significance.arguments import pooled_score, widened
from replitune.significance.counting import Exchanged
from replitune.significance.kernels.exchange import PairedExchange
from replitune.significance.kernels.free import FreeExchange
from replitune.significance.kernels.random import BLOCK, blocks
from replitune.significance.kernels.slots import SlotExchange

Strata = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


@dataclass(frozen=True)
class Sides:
    """What is exchanged under one metric: statistics of A (n_A, U, K) and of B (n_B, U, K)."""

    metric: Metric
    a: NDArray
    b: NDArray


def _by_kind(sides: Sequence[Sides], exchanges: Sequence[Exchanged]) -> Iterator[list[int]]:
    """Groups of sampled metrics that can share one pass: those of counts, and those of real numbers."""
    sampled = [i for i, exchanged in enumerate(exchanges) if not exchanged.exact]
    for integer in (True, False):
        group = [i for i in sampled if (sides[i].a.dtype.kind in "iu") == integer]
        if group:
            yield group


def _columns(sides: Sequence[Sides], group: list[int]) -> list[slice]:
    ends = np.cumsum([sides[i].a.shape[2] for i in group]).tolist()
    return [slice(start, end) for start, end in itertools.pairwise([0, *ends])]


def _pooled_deltas(side: Sides, x: NDArray) -> NDArray[np.float64]:
    """x (C, K): statistics of X, the rearranged A, summed over replicas; Y has the rest."""
    total = widened(side.a).sum(axis=(0, 1)) + widened(side.b).sum(axis=(0, 1))
    score = side.metric
    return pooled_score(score, total - x, len(side.b)) - pooled_score(score, x, len(side.a))


def _paired_pooled(side: Sides, gains: NDArray) -> NDArray[np.float64]:
    return _pooled_deltas(side, widened(side.a).sum(axis=(0, 1)) + gains)


def _paired_mean(side: Sides, gains: NDArray) -> NDArray[np.float64]:
    """gains (C, n, K): what replica r of A gains and replica r of B loses."""
    x = side.metric.score(widened(side.a).sum(axis=1) + gains)
    y = side.metric.score(widened(side.b).sum(axis=1) - gains)
    return y.mean(axis=1) - x.mean(axis=1)


def paired_exchange(
    sides: Sequence[Sides], *, keys: NDArray[np.uint64], aggregation: str
) -> list[Exchanged]:
    """Exchange A[r, i] and B[r, i] with probability 1/2; n_A = n_B.

    keys: (samples,), one for each resample.
    """
    pooled = aggregation == "pooled"
    deltas_of = _paired_pooled if pooled else _paired_mean
    exchanges = []
    for side in sides:
        differ = np.argwhere((side.a != side.b).any(axis=2))
        exact = len(differ) < 63 and 2 ** len(differ) <= len(keys)
        deltas = _enumerate_paired(side, differ, aggregation) if exact else np.empty(0)
        exchanges.append(Exchanged(deltas, exact, len(differ) * math.log(2)))
    for group in _by_kind(sides, exchanges):
        kernel = PairedExchange(
            np.concatenate([widened(sides[i].b) - widened(sides[i].a) for i in group], axis=2)
        )
        draw = kernel.pooled if pooled else kernel.by_replica
        size = BLOCK if pooled else max(64, min(BLOCK, 2**18 // len(sides[0].a)))
        for i, deltas in _sample(sides, group, draw, deltas_of, keys, size):
            exchanges[i] = replace(exchanges[i], deltas=deltas)
    return exchanges


def _sample(
    sides: Sequence[Sides],
    group: list[int],
    draw: Callable[[NDArray[np.uint64]], NDArray],
    deltas_of: Callable[[Sides, NDArray], NDArray[np.float64]],
    keys: NDArray[np.uint64],
    size: int,
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    columns = _columns(sides, group)
    deltas = np.empty((len(group), len(keys)))
    for rows in blocks(len(keys), size):
        sums = draw(keys[rows])
        for row, i, part in zip(deltas, group, columns, strict=True):
            row[rows] = deltas_of(sides[i], sums[..., part])
    return zip(group, deltas, strict=True)


def _enumerate_paired(side: Sides, differ: NDArray, aggregation: str) -> NDArray[np.float64]:
    difference = widened(side.b) - widened(side.a)
    n, _, k = difference.shape
    gains = np.zeros((1, n, k), dtype=difference.dtype)
    for replica, unit in differ:
        moved = gains.copy()
        moved[:, replica] += difference[replica, unit]
        gains = np.concatenate([gains, moved])
    if aggregation == "pooled":
        return _paired_pooled(side, gains.sum(axis=1))
    return _paired_mean(side, gains)


def free_exchange(
    sides: Sequence[Sides], strata: Strata, *, keys: NDArray[np.uint64], aggregation: str
) -> list[Exchanged]:
    """Deal the outputs of each unit anew, within each stratum of replicas."""
    pooled = aggregation == "pooled"
    exchanges = []
    for side in sides:
        cells = _varying_cells(side, strata)
        each, same = 0.0, 0.0
        for (in_a, in_b), units in zip(strata, cells, strict=True):
            if not units:
                continue
            relabelled = math.lgamma(len(in_a) + 1) + math.lgamma(len(in_b) + 1)
            ways = math.lgamma(len(in_a) + len(in_b) + 1) - (relabelled if pooled else 0.0)
            each += len(units) * ways
            # Relabelling a system's own replicas throughout changes no mean.
            same += 0.0 if pooled else relabelled
        exact = each <= math.log(len(keys)) + 1e-9
        deltas = _enumerate_free(side, strata, cells, pooled) if exact else np.empty(0)
        exchanges.append(Exchanged(deltas, exact, each - same))
    slots = _slots(strata)
    for group in _by_kind(sides, exchanges):
        a = np.concatenate([sides[i].a for i in group], axis=2)
        b = np.concatenate([sides[i].b for i in group], axis=2)
        outputs = [widened(np.concatenate([a[in_a], b[in_b]])) for in_a, in_b in strata]
        if pooled:
            takes = [len(in_a) for in_a, _ in strata]
            draw = FreeExchange(list(zip(outputs, takes, strict=True))).pooled
            size = BLOCK
        else:
            kernel = SlotExchange(outputs)
            draw = kernel.by_slot
            size = max(16, 2**17 // kernel.constants.size)
        deltas_of = _pooled_deltas if pooled else partial(_slot_deltas, slots)
        for i, deltas in _sample(sides, group, draw, deltas_of, keys, size):
            exchanges[i] = replace(exchanges[i], deltas=deltas)
    return exchanges


def _slot_deltas(slots: tuple[list[int], list[int]], side: Sides, sums: NDArray) -> NDArray[np.float64]:
    """sums (C, slots, K)."""
    scores = side.metric.score(sums)
    return scores[:, slots[1]].mean(axis=1) - scores[:, slots[0]].mean(axis=1)


def _slots(strata: Strata) -> tuple[list[int], list[int]]:
    """Places of A's and of B's replicas when strata follow each other, A first in each."""
    slots_a: list[int] = []
    slots_b: list[int] = []
    start = 0
    for in_a, in_b in strata:
        slots_a += range(start, start + len(in_a))
        slots_b += range(start + len(in_a), start + len(in_a) + len(in_b))
        start += len(in_a) + len(in_b)
    return slots_a, slots_b


def _varying_cells(side: Sides, strata: Strata) -> list[list[int]]:
    """For each stratum, the units whose outputs are not all alike."""
    cells = []
    for in_a, in_b in strata:
        outputs = np.concatenate([side.a[in_a], side.b[in_b]])
        cells.append(np.flatnonzero((outputs != outputs[:1]).any(axis=(0, 2))).tolist())
    return cells


def _enumerate_free(
    side: Sides, strata: Strata, cells: list[list[int]], pooled: bool
) -> NDArray[np.float64]:
    """All arrangements: the product over cells of all subsets, or of all permutations."""
    slots = _slots(strata)
    outputs = [np.concatenate([widened(side.a[in_a]), widened(side.b[in_b])]) for in_a, in_b in strata]
    observed = np.concatenate([o.sum(axis=1) for o in outputs])  # (slots, K)
    if pooled:
        x = observed[slots[0]].sum(axis=0)[np.newaxis]
        for (in_a, in_b), stratum, units in zip(strata, outputs, cells, strict=True):
            if not units:  # nothing to exchange; the subsets of many replicas might not fit in memory
                continue
            subsets = itertools.combinations(range(len(in_a) + len(in_b)), len(in_a))
            taken = np.array(list(subsets))
            for unit in units:
                gains = stratum[taken, unit].sum(axis=1) - stratum[: len(in_a), unit].sum(axis=0)
                x = (x[:, np.newaxis] + gains).reshape(-1, x.shape[1])
        return _pooled_deltas(side, x)
    sums = observed[np.newaxis]
    start = 0
    for stratum, units in zip(outputs, cells, strict=True):
        m = len(stratum)
        orders = np.array(list(itertools.permutations(range(m)))) if units else np.empty((0, m), int)
        for unit in units:
            moved = np.repeat(sums[:, np.newaxis], len(orders), axis=1)
            moved[:, :, start : start + m] += stratum[orders, unit] - stratum[:, unit]
            sums = moved.reshape(-1, *observed.shape)
        start += m
    return _slot_deltas(slots, side, sums)


MOST_SUMS = 2**22
MOST_ADDITIONS = 2**32
"""Limit of the work: a few seconds."""
LARGEST = 2.0**53
"""Integers up to here are exact as floating-point numbers."""
SAMPLE = "leave `exact` out: then exchanges are sampled"


def exact_exchange(side: Sides) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """deltas (D,) that exchanges of one replica of each system can give, the probability (D,) of
    each, and the number m of units that differ.

    The metric need not be linear: all other statistics are the same for A and B, so the scores after
    an exchange depend only on the sum of the one that differs, and are computed for each value of it.
    """
    a, b = widened(side.a[0]), widened(side.b[0])
    column, d = _counted(side, a, b)
    step = int(np.gcd.reduce(d)) if len(d) else 1
    sizes = np.abs(d) // step
    sums = float(sizes.sum(dtype=np.float64))
    if sums > MOST_SUMS or sums * len(d) > MOST_ADDITIONS or sums * step > LARGEST:
        raise ReplituneError(
            f"too many sums for an exact p of {side.metric.id}",
            found=f"{sums:.0f} in {len(d)} units",
            expected=f"at most {MOST_SUMS}, and at most {MOST_ADDITIONS} for sums times units",
            fix=SAMPLE,
        )
    probability = coin_sums(sizes)
    # A gains the differences of the outputs it takes over: from the sum of all negative ones upwards
    gains = d[d < 0].sum() + step * np.arange(len(probability))
    x, y = (np.repeat(z.sum(axis=0)[np.newaxis], len(gains), axis=0) for z in (a, b))
    x[:, column] += gains
    y[:, column] -= gains
    return side.metric.score(y) - side.metric.score(x), probability, len(d)


def coin_sums(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """(sum + 1,) probability of each sum, when each of `sizes` (m,) counts with probability 1/2.

    Fourier transforms would lose the tails. Here nothing is subtracted, and the error of each
    probability above 1e-290 is at most m units in the last place.

    >>> coin_sums(np.array([1, 2]))
    array([0.25, 0.25, 0.25, 0.25])
    """
    probabilities = np.zeros(int(sizes.sum()) + 1)
    probabilities[0], end = 1.0, 1
    for size in np.sort(sizes).tolist():  # small sizes first, while there are few sums
        probabilities[size : size + end] += probabilities[:end].copy()
        end += size
        probabilities[:end] *= 0.5
    return probabilities


def _counted(side: Sides, a: NDArray, b: NDArray) -> tuple[int, NDArray[np.int64]]:
    """The column (of K) in which outputs differ, and the differences there that are not 0."""
    names = side.metric.statistic_names
    differ = np.flatnonzero((a != b).any(axis=0)).tolist()
    if not differ:
        return 0, np.zeros(0, np.int64)
    d = (b - a)[:, differ[0]]
    d = d[d != 0]
    fractions = d[(d != np.rint(d)) | (np.abs(d) > LARGEST)]
    if len(differ) == 1 and not len(fractions):
        return differ[0], d.astype(np.int64)
    reason = f"{names[differ[0]]} differs by {fractions[0]:g}" if len(fractions) else ""
    if len(differ) > 1:
        reason = "outputs differ in " + ", ".join(names[k] for k in differ)
    raise ReplituneError(
        f"no exact p of {side.metric.id}",
        found=reason,
        expected="outputs that differ in one statistic, by integers: those of TER, of length with "
        "one reference, of external scores that are counts, or 0 and 1",
        fix=SAMPLE,
    )
