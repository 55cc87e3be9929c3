"""Sorting and selection in the search, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

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
        assert kth_largest(values.copy(), 150, k) == expected[k - 1]
