"""Sorting and selection in the search, against numpy and Python."""

from __future__ import annotations

import numpy as np
import pytest

from replitune.phrase.grids import PICK, most_promising, new_grids
from replitune.phrase.options import CELL
from replitune.phrase.stacks import kth_largest, sort_down


@pytest.mark.parametrize("count", [0, 1, 2, 57, 256, 257, 1000])
@pytest.mark.parametrize("ties", [False, True])
def test_sorting_is_numpys_stable_one(count: int, ties: bool):
    rng = np.random.default_rng(count)
    totals = rng.integers(0, 9, count).astype(float) if ties else rng.normal(size=count)
    room = np.append(totals, 99.0)  # beyond `count`: not looked at
    order = np.full(count + 1, -7)
    sort_down(room, order, count)
    assert order[:count].tolist() == np.argsort(-totals, kind="stable").tolist()
    assert order[count] == -7


@pytest.mark.parametrize("seed", range(5))
def test_selection_is_that_of_a_sorted_array(seed: int):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 50, 200) / 7
    expected = np.sort(values[:150])[::-1]
    for k in (1, 2, 75, 149, 150):
        room = values.copy()
        assert kth_largest(room, 150, k) == expected[k - 1]
        assert np.sort(room[:k])[::-1].tolist() == expected[:k].tolist(), "the largest are the first"
        assert room[150:].tolist() == values[150:].tolist()


@pytest.mark.parametrize("values", [[1.0] * 9, [np.nan] * 9, [-np.inf, np.nan, 3.0, np.inf]])
def test_selection_among_equals_and_of_no_numbers_ends(values: list[float]):
    for k in range(1, len(values) + 1):
        kth_largest(np.array(values), len(values), k)


@pytest.mark.parametrize("seed", range(6))
def test_the_most_promising_cells_are_those_of_a_stable_sort(seed: int):
    rng = np.random.default_rng(seed)
    grids, cells, pops = new_grids(3, 10), np.zeros((3, 60), CELL), 25
    cells["promise"] = np.sort(rng.integers(-20, 0, cells.shape) / 4)[:, ::-1]
    every = []
    used = 0
    for g in range(12):
        grid, begin, count = grids.table[g], int(rng.integers(0, 50)), int(rng.integers(1, 5))
        grid["turn"], grid["begin"], grid["stop"] = rng.integers(3), begin, begin + rng.integers(1, 10)
        grid["first"], grid["count"], grid["next"] = used, count, g - 1
        grid["future"] = rng.integers(-9, 0) / 2
        members = grids.members[used : used + count]
        members["promise"] = np.sort(rng.integers(-20, 0, count) / 4)[::-1]
        used += count
    grids.head[2] = 11
    for g in range(11, -1, -1):
        first, count, turn, begin, stop = grids.table[g][["first", "count", "turn", "begin", "stop"]]
        for member in range(first, first + count):
            for at in range(begin, stop):
                promise = grids.members["promise"][member] + grids.table["future"][g]
                every.append((promise + cells["promise"][turn, at], g, member, at))
    best = sorted(range(len(every)), key=lambda i: -every[i][0])[:pops]
    expected = [every[i] for i in sorted(best)]
    for spread in (np.inf, 0.1, 2.0, 50.0):
        picks, room = np.zeros(pops + 9, PICK), np.zeros(pops + 9)
        tried, least, top = most_promising(grids, 2, cells, pops, spread, picks, room)
        assert picks[["promise", "grid", "member", "at"]][:tried].tolist() == expected
        assert (least, top) == (min(expected)[0], max(every)[0])
    everything = np.zeros(4 * len(every), PICK)
    tried, least, _ = most_promising(
        grids, 2, cells, 2 * len(every), 1.0, everything, np.zeros(4 * len(every))
    )
    assert (tried, least) == (len(every), -np.inf)
