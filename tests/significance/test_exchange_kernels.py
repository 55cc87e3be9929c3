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
from replitune.significance.kernels.free import FreeExchange, _listed, draw_subsets
from replitune.significance.kernels.permutation import draw_permutations, place_bounds, scratch_of
from replitune.significance.kernels.random import GAMMA, aligned, exact_dtype, keys_of, mix_words
from replitune.significance.kernels.slots import TABLE, SlotExchange, distinct_rows


def word(keys: np.ndarray, c: int) -> np.ndarray:
    """Word c of each resample, as the module defines it."""
    with np.errstate(over="ignore"):
        return mix_words(keys + np.uint64(c + 1) * GAMMA)


def mixed(z: int) -> int:
    return int(mix_words(np.uint64(z % 2**64)))


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


@pytest.mark.parametrize(("m", "take"), [(1, 1), (2, 1), (5, 2), (8, 4), (20, 3), (40, 20), (130, 64)])
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


def subset_by_hand(cell: int, m: int, take: int, key: int) -> int:
    """By the definition, bit by bit: random bits, then surplus ones (or zeros) taken away."""
    words, bits = -(-m // 64), max(1, (m - 1).bit_length())
    drawn = sum(mixed(key + (cell * words + w + 1) * int(GAMMA)) << (64 * w) for w in range(words))
    all_of = 2**m - 1
    drawn &= all_of
    few = drawn.bit_count() < take
    turned, goal = (drawn ^ all_of, m - take) if few else (drawn, take)
    first = random = mixed((key ^ 0xD1B54A32D192ED03) + (cell + 1) * int(GAMMA))
    for number in itertools.count(1):
        for _ in range(64 // bits):
            if turned.bit_count() > goal:
                turned &= ~(1 << (random % 2**bits))
            random >>= bits
        if turned.bit_count() == goal:
            return turned ^ all_of if few else turned
        random = mixed(first + number * int(GAMMA))
    raise AssertionError


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(
    ("m", "take"), [(1, 0), (2, 1), (5, 4), (40, 20), (64, 64), (120, 60), (130, 20), (600, 300)]
)
def test_subsets_are_those_of_their_definition(m: int, take: int) -> None:
    """Side by side as long as many are too large, then one by one."""
    keys = keys_of(6, 40)
    words = np.empty((-(-m // 64), len(keys)), dtype=np.uint64)
    draw_subsets(2, m, take, keys, words, np.empty(len(keys), dtype=np.int64))
    found = [int.from_bytes(np.ascontiguousarray(word).tobytes(), "little") for word in words.T]
    assert found == [subset_by_hand(2, m, take, int(key)) for key in keys]


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("high", [2, 3, 50, 2**40])
@pytest.mark.parametrize(("m", "take"), [(16, 8), (70, 30)])
def test_pooled_sums_are_those_of_the_subset(m: int, take: int, high: int) -> None:
    """With few distinct outputs (counted) and with many (looked up)."""
    rng = np.random.default_rng(high)
    outputs = rng.integers(-high, high, (m, 6, 5))
    outputs[:, 2] = outputs[:1, 2]
    outputs[:, :, 1:3] = 1
    if high == 2:
        outputs[:, :, 3:] = 0
    keys = keys_of(5, 30)
    expected = np.zeros((30, 5), dtype=np.int64)
    for b, unit in itertools.product(range(30), range(6)):
        subset = subset_by_hand(unit, m, take, int(keys[b]))
        expected[b] += outputs[[o for o in range(m) if subset >> o & 1], unit].sum(axis=0)
    np.testing.assert_array_equal(FreeExchange([(outputs, take)]).pooled(keys), expected)
    found = FreeExchange([(outputs.astype(np.float64), take)]).pooled(keys)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-6)


def test_listed_subsets_are_all_subsets() -> None:
    assert len(set(_listed(6, 3).tolist())) == 20
    assert all(int(x).bit_count() == 3 for x in _listed(6, 3))
    assert len(_listed(40, 20)) == 0


def permuted(states: np.ndarray, m: int) -> np.ndarray:
    """Permutations (B, m), all places drawn at once where there is room for all."""
    sizes, uneven = place_bounds(m)
    scratch, values = scratch_of.py_func(sizes), np.arange(m, dtype=np.uint16)
    order = np.empty((len(states), m), dtype=np.uint16)
    for start in range(0, len(states), len(sizes)):
        rows = slice(start, start + len(sizes))
        draw_permutations(states[rows], sizes, uneven, scratch, values, order[rows])
    return order


def permuted_by_hand(state: int, m: int) -> list[int]:
    """The same by the definition, number by number: output o at a place of 0..o."""
    order: list[int] = []
    for o in range(m):
        bits = mixed(state + (o // 4 + 1) * int(GAMMA)) >> (16 * (o % 4)) & 0xFFFF
        again = mixed((state ^ 0xD1B54A32D192ED03) + (o + 1) * int(GAMMA))
        while bits * (o + 1) % 2**16 < 2**16 % (o + 1):
            again += int(GAMMA)
            bits = mixed(again) & 0xFFFF
        order.append(o)
        k = bits * (o + 1) >> 16
        order[k], order[o] = o, order[k]
    return order


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(("m", "samples"), [(1, 5), (2, 20), (13, 300), (120, 60), (3000, 3)])
def test_permutations_are_those_of_their_definition(m: int, samples: int) -> None:
    states = keys_of(11, samples)
    expected = [permuted_by_hand(int(state), m) for state in states]
    np.testing.assert_array_equal(permuted(states, m), expected)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_permutations_are_uniform(m: int) -> None:
    _, seen = np.unique(permuted(keys_of(11, 24_000), m), axis=0, return_counts=True)
    assert len(seen) == math.factorial(m)
    assert stats.chisquare(seen).pvalue > 1e-4


def test_each_output_comes_to_each_place_as_often_as_any_other() -> None:
    m, samples = 120, 6000
    order = permuted(keys_of(12, samples), m).astype(np.int64)
    at = np.bincount((order + m * np.arange(m)).ravel(), minlength=m * m)
    # each permutation has m of the m^2, and each output is at one place: (m - 1)^2 free
    chi = ((at - samples / m) ** 2).sum() / (samples / m) * (m - 1) / m
    assert 1e-4 < stats.chi2.sf(chi, (m - 1) ** 2) < 1 - 1e-4
    follows = np.bincount((order[:, :-1] * m + order[:, 1:]).ravel(), minlength=m * m)
    follows = follows.reshape(m, m)[~np.eye(m, dtype=bool)]
    assert 1e-4 < stats.chisquare(follows).pvalue < 1 - 1e-4


def slots_by_hand(strata: list[np.ndarray], keys: np.ndarray) -> np.ndarray:
    """(B, slots, K) by permutations of labels, cell by cell."""
    cell, parts = 0, []
    for outputs in strata:
        m, units, k = outputs.shape
        sums = np.zeros((len(keys), m, k), dtype=outputs.dtype)
        for u in range(units):
            sums += outputs[permuted(mix_words(word_states(keys, cell)), m), u]
            cell += 1
        parts.append(sums)
    return np.concatenate(parts, axis=1)


def word_states(keys: np.ndarray, cell: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        return keys + np.uint64(cell + 1) * GAMMA


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("high", [1, 2, 4, 50, 2**40])
@pytest.mark.parametrize("m", [2, 7, 40])
def test_slots_have_the_sums_of_their_outputs(m: int, high: int) -> None:
    """With few distinct outputs (tabled together) and with many, in one word and in several."""
    rng = np.random.default_rng(m + high)
    strata = [rng.integers(-high, high, (size, 30, 5)) for size in (m, m + 1)]
    strata[0][:, 3] = strata[0][:1, 3]  # a unit in which nothing can change
    strata[1][..., 2] = 7
    keys = keys_of(4, 70)
    kernel = SlotExchange(strata)
    np.testing.assert_array_equal(kernel.by_slot(keys), slots_by_hand(strata, keys))
    assert all((np.diff(groups.starts) <= TABLE).all() for groups in kernel.strata)
    real = [outputs.astype(np.float64) / 7 for outputs in strata]
    np.testing.assert_allclose(
        SlotExchange(real).by_slot(keys), slots_by_hand(real, keys), rtol=1e-12, atol=1e-9 * high
    )


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_segments_are_permuted_independently_of_each_other() -> None:
    """All 36 pairs of permutations of three outputs, also of segments tabled together."""
    outputs = np.zeros((3, 4, 4), dtype=np.int64)
    for u in range(4):
        outputs[:, u, u] = np.arange(3)
    slots = SlotExchange([outputs]).by_slot(keys_of(8, 36_000))  # (B, 3, 4): a permutation each
    which = slots[:, 0] * 3 + slots[:, 1]
    for u, v in itertools.combinations(range(4), 2):
        _, seen = np.unique(which[:, u] * 9 + which[:, v], return_counts=True)
        assert len(seen) == 36
        assert stats.chisquare(seen).pvalue > 1e-4


def test_rows_are_numbered_as_they_appear() -> None:
    rows = np.random.default_rng(2).integers(0, 3, (50, 20, 2)).astype(np.uint64)
    numbers, first, kinds = distinct_rows(rows)
    for unit, named, places in zip(rows.tolist(), numbers.tolist(), first.tolist(), strict=True):
        distinct = list(dict.fromkeys(map(tuple, unit)))
        assert named == [distinct.index(tuple(row)) for row in unit]
        assert places[: len(distinct)] == [unit.index(list(row)) for row in distinct]
        assert set(places[len(distinct) :]) <= {-1}
    assert kinds.tolist() == [len(set(map(tuple, unit))) for unit in rows.tolist()]


@settings(deadline=None, derandomize=True, max_examples=30)
@given(n_a=st.integers(1, 6), n_b=st.integers(1, 6), units=st.integers(1, 12), seed=st.integers(0, 2**32))
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
    slots = SlotExchange([outputs]).by_slot(keys)
    assert (slots.sum(axis=1) == 1).all()
    assert (slots.reshape(20, m, m, units).sum(axis=2) == 1).all()


def test_strata_keep_their_outputs() -> None:
    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 10, (4, 30, 2)), rng.integers(100, 110, (6, 30, 2))
    slots = SlotExchange([low, high]).by_slot(keys_of(3, 50))
    assert (slots[:, :4] < 30 * 10).all()
    assert (slots[:, 4:] >= 30 * 100).all()
    np.testing.assert_array_equal(slots[:, :4].sum(axis=1), np.tile(low.sum(axis=(0, 1)), (50, 1)))


def test_results_do_not_depend_on_blocks() -> None:
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(7, 40, 3))
    keys = keys_of(9, 90)
    free, slots = FreeExchange([(outputs, 3)]), SlotExchange([outputs])
    paired = PairedExchange(outputs)
    for draw in (free.pooled, slots.by_slot, paired.pooled, paired.by_replica):
        parts = [draw(keys[:17]), draw(keys[17:18]), draw(keys[18:])]
        np.testing.assert_array_equal(np.concatenate(parts), draw(keys))


def test_rows_are_aligned() -> None:
    assert aligned((3, 16), np.dtype(np.int32)).ctypes.data % 64 == 0
