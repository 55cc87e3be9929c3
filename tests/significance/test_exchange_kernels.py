"""The exchange kernels against plain numpy: what they sum, and how they draw."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from replitune.significance.kernels.exchange import PairedExchange
from replitune.significance.kernels.free import (
    FreeExchange,
    _listed,
    draw_permutation,
    draw_subsets,
)
from replitune.significance.kernels.random import GAMMA, aligned, exact_dtype, keys_of, mix_words


def word(keys: np.ndarray, c: int) -> np.ndarray:
    """Word c of each resample, as the module defines it."""
    with np.errstate(over="ignore"):
        return mix_words(keys + np.uint64(c + 1) * GAMMA)


def test_splitmix_known_values() -> None:
    # First outputs of SplitMix64 for seed 0, as printed in Vigna's reference and in the JDK.
    first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(word(np.zeros(1, np.uint64), c)[0]) for c in range(3)] == first


def test_paired_exchange_sums_what_the_bits_say() -> None:
    rng = np.random.default_rng(1)
    differences = rng.integers(-9, 9, (3, 70, 5))
    keys = keys_of(7, 50)
    swapped = np.zeros((50, 3, 70), dtype=bool)
    for r, i in itertools.product(range(3), range(70)):
        swapped[:, r, i] = (word(keys, 2 * r + i // 64) >> np.uint64(i % 64)) & np.uint64(1)
    expected = np.einsum("bri,rik->brk", swapped, differences)
    kernel = PairedExchange(differences)
    assert kernel.dtype == np.int32
    np.testing.assert_array_equal(kernel.by_replica(keys), expected)
    np.testing.assert_array_equal(kernel.pooled(keys), expected.sum(axis=1))


def test_large_counts_leave_int32_and_stay_exact() -> None:
    differences = np.full((1, 3, 2), 2**30, dtype=np.int64)
    kernel = PairedExchange(differences)
    assert kernel.dtype == np.float64
    gains = kernel.pooled(keys_of(1, 200))
    assert set(gains[:, 0]) == {k * 2.0**30 for k in range(4)}
    assert exact_dtype(2**31, "i") == np.float64


@pytest.mark.parametrize(
    ("m", "take"), [(1, 1), (2, 1), (5, 2), (8, 4), (20, 3), (40, 20), (130, 64)]
)
def test_subsets_have_their_size_and_are_uniform(m: int, take: int) -> None:
    samples = 4000
    words = np.empty((-(-m // 64), samples), dtype=np.uint64)
    ones = np.empty(samples, dtype=np.int64)
    draw_subsets(3, m, take, keys_of(5, samples), words, ones)
    bits = np.unpackbits(np.ascontiguousarray(words.T).view(np.uint8), axis=1, bitorder="little")
    assert (bits.sum(axis=1) == take).all()
    assert not bits[:, m:].any()
    if m > 1 and math.comb(m, take) <= 70:
        _, seen = np.unique(bits[:, :m], axis=0, return_counts=True)
        assert len(seen) == math.comb(m, take)
        assert stats.chisquare(seen).pvalue > 1e-4
    elif m > 1:
        # Each output, and each pair of neighbours, as often as any other.
        assert stats.chisquare(bits[:, :m].sum(axis=0)).pvalue > 1e-4
        pairs = (bits[:, : m - 1] & bits[:, 1:m]).sum()
        expected = samples * (m - 1) * take * (take - 1) / (m * (m - 1))
        assert abs(pairs - expected) < 5 * math.sqrt(expected)


def test_listed_subsets_are_all_subsets() -> None:
    assert len(set(_listed(6, 3).tolist())) == 20
    assert all(int(x).bit_count() == 3 for x in _listed(6, 3))
    assert len(_listed(40, 20)) == 0


def test_permutations_are_uniform() -> None:
    seen: dict[tuple[int, ...], int] = {}
    for key in keys_of(11, 4800):
        order = np.arange(4)
        draw_permutation(key, order)
        seen[tuple(order)] = seen.get(tuple(order), 0) + 1
    assert len(seen) == 24
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    n_a=st.integers(1, 6),
    n_b=st.integers(1, 6),
    units=st.integers(1, 12),
    seed=st.integers(0, 2**32),
)
def test_every_deal_is_a_partition(n_a: int, n_b: int, units: int, seed: int) -> None:
    """Each output of each segment is used exactly once (multeval's are not).

    Statistics are indicators of (output, segment): sums over X and Y must be all ones.
    """
    m = n_a + n_b
    outputs = np.zeros((m, units, m * units), dtype=np.int64)
    for o, i in itertools.product(range(m), range(units)):
        outputs[o, i, o * units + i] = 1
    kernel = FreeExchange([(outputs, n_a)])
    keys = keys_of(seed, 20)
    x = kernel.pooled(keys)
    assert set(np.unique(x)) <= {0, 1}
    assert (x.reshape(20, m, units).sum(axis=1) == n_a).all()
    slots = kernel.by_slot(keys)
    assert (slots.sum(axis=1) == 1).all()
    assert (slots.reshape(20, m, m, units).sum(axis=2) == 1).all()


def test_strata_keep_their_outputs() -> None:
    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 10, (4, 30, 2)), rng.integers(100, 110, (6, 30, 2))
    kernel = FreeExchange([(low, 2), (high, 3)])
    slots = kernel.by_slot(keys_of(3, 50))
    assert (slots[:, :4] < 30 * 10).all()
    assert (slots[:, 4:] >= 30 * 100).all()
    np.testing.assert_array_equal(slots[:, :4].sum(axis=1), np.tile(low.sum(axis=(0, 1)), (50, 1)))


def test_results_do_not_depend_on_blocks() -> None:
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(7, 40, 3))
    keys = keys_of(9, 90)
    free, paired = FreeExchange([(outputs, 3)]), PairedExchange(outputs)
    for draw in (free.pooled, free.by_slot, paired.pooled, paired.by_replica):
        parts = [draw(keys[:17]), draw(keys[17:18]), draw(keys[18:])]
        np.testing.assert_array_equal(np.concatenate(parts), draw(keys))


def test_rows_are_aligned() -> None:
    assert aligned((3, 16), np.dtype(np.int32)).ctypes.data % 64 == 0
