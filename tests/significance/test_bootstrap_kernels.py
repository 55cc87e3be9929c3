"""Bootstrap draws against the multinomial law, and against plain sums of what was drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from replitune.significance.draws import PoolDraws, SegmentDraws, exact_columns
from replitune.significance.kernels.bootstrap import draw_poisson, poisson_tables
from replitune.significance.kernels.random import keys_of


def test_counts_follow_the_multinomial_law() -> None:
    counts = SegmentDraws(3).counts(5, slice(0, 20_000))
    assert (counts.sum(axis=1) == 5).all()
    assert stats.chisquare(counts.sum(axis=0)).pvalue > 1e-4
    seen = np.bincount(counts[:, 2], minlength=6)
    expected = stats.binom.pmf(np.arange(6), 5, 0.2) * 20_000
    assert stats.chisquare(seen[:4], expected[:4] * seen[:4].sum() / expected[:4].sum()).pvalue > 1e-4
    correlation = np.corrcoef(counts[:, 0], counts[:, 1])[0, 1]
    assert correlation == pytest.approx(-0.25, abs=0.03)


def test_half_without_replacement_uses_each_unit_at_most_once() -> None:
    counts = SegmentDraws(3).counts(101, slice(0, 3000), size=50, replacement=False)
    assert set(np.unique(counts)) == {0, 1}
    assert (counts.sum(axis=1) == 50).all()
    assert stats.chisquare(counts.sum(axis=0)).pvalue > 1e-4


@pytest.mark.parametrize("replacement", [True, False])
def test_sums_are_those_of_the_counts(replacement: bool) -> None:
    rng = np.random.default_rng(0)
    draws = SegmentDraws(8)
    integers = rng.integers(0, 40, (3, 33, 4))
    counts = draws.counts(33, slice(0, 300), size=20, replacement=replacement)
    expected = np.einsum("bu,nuk->bnk", counts, integers)
    for statistics in (integers, integers.astype(np.float64)):
        for rows, sums in draws.sums(statistics, 300, size=20, replacement=replacement):
            np.testing.assert_array_equal(sums, expected[rows])


def test_sums_do_not_depend_on_how_many_units_are_multiplied_at_once(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 40, (3, 700, 2))
    several = [
        counts,
        counts.astype(np.int16),
        counts.astype(np.int32) * 10**6,
        rng.normal(size=(3, 700, 2)),
    ]

    def of_all(statistics: np.ndarray) -> np.ndarray:
        return np.concatenate([s for _, s in SegmentDraws(8).sums(statistics, 300)])

    whole = [of_all(statistics) for statistics in several]
    monkeypatch.setattr("replitune.significance.draws.FEW", 0)
    monkeypatch.setattr("replitune.significance.draws.UNITS", 64)
    for statistics, expected in zip(several, whole, strict=True):
        np.testing.assert_array_equal(of_all(statistics), expected)


def test_real_sums_do_not_depend_on_what_is_computed_beside_them() -> None:
    statistics = np.random.default_rng(0).normal(size=(9, 50, 3))
    draws = SegmentDraws(8)
    together = np.concatenate([s for _, s in draws.sums(statistics, 300)])
    alone = np.concatenate([s for _, s in draws.sums(statistics[[4]], 100)])
    np.testing.assert_array_equal(together[:100, 4], alone[:, 0])


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e12])
def test_real_columns_are_rounded_so_that_sums_are_exact(scale: float) -> None:
    values = np.random.default_rng(0).normal(size=(3000, 2)) * [scale, 1.0]
    columns = exact_columns(values, 3000)
    assert (np.abs(columns - values) <= 1e-12 * np.abs(values).max(axis=0)).all()
    exact = [math.fsum(column) for column in columns.T]
    assert columns.sum(axis=0).tolist() == columns[::-1].cumsum(axis=0)[-1].tolist() == exact
    whole = np.arange(300.0).reshape(100, 3)
    np.testing.assert_array_equal(exact_columns(whole, 100), whole)


def test_poisson_counts_follow_their_law() -> None:
    rate = 0.97
    thresholds, rest = poisson_tables(rate)
    counts = np.empty((100, 4096), dtype=np.uint8)
    totals = np.zeros(100, dtype=np.int64)
    words = np.empty(1024, dtype=np.uint64)
    draw_poisson(thresholds, rest, 0, keys_of(1, 100), words, counts, totals)
    np.testing.assert_array_equal(totals, counts.sum(axis=1))
    seen = np.bincount(counts.ravel(), minlength=12)[:8].astype(float)
    expected = stats.poisson.pmf(np.arange(8), rate)
    expected[7] = stats.poisson.sf(6, rate)
    seen[7] = counts.size - seen[:7].sum()
    assert stats.chisquare(seen, expected * counts.size).pvalue > 1e-4


@pytest.mark.parametrize("size", [3, 40, 1000, 5000])
def test_pools_are_multinomial(size: int) -> None:
    # Statistics (1, i, [i < size/2]): number, and position, of the draws.
    item = np.arange(size)
    pool = np.stack([np.ones(size), item, item < size // 2], axis=1).astype(np.int32)
    sums = PoolDraws(5).sums(pool, 4000)
    assert (sums[:, 0] == size).all()
    share = (size // 2) / size
    law = stats.binom(size, share)
    assert sums[:, 2].mean() == pytest.approx(law.mean(), abs=5 * law.std() / 4000**0.5)
    assert sums[:, 2].var() == pytest.approx(law.var(), rel=0.12)
    assert sums[:, 1].var() == pytest.approx(size * item.var(), rel=0.12)
    real = PoolDraws(5).sums(pool.astype(np.float64), 1000)
    np.testing.assert_array_equal(real, sums[:1000])


def test_a_pool_above_its_size_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a rate of 1 half of all Poisson totals are too large; none may come through."""
    monkeypatch.setattr("replitune.significance.draws.SPARE", 0)
    pool = np.stack([np.ones(200), np.arange(200)], axis=1).astype(np.int32)
    sums = PoolDraws(5).sums(pool, 2000)
    assert (sums[:, 0] == 200).all()
    assert sums[:, 1].var() == pytest.approx(200 * np.arange(200).var(), rel=0.12)
