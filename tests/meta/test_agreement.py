from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from replitune.errors import ReplituneError
from replitune.meta.agreement import (
    agreement,
    clopper_pearson,
    combined_outcome,
)
from replitune.meta.human_tests import rank_sum, signed_rank

QUICK = settings(deadline=None, derandomize=True, max_examples=60)


def test_the_interval_of_graham_2016():
    low, high = clopper_pearson(53, 66)
    assert (round(100 * 53 / 66, 1), round(100 * low, 1), round(100 * high, 1)) == (
        80.3,
        68.7,
        89.1,
    )
    # the other rows of the slides' table
    for count, shown in ((54, (70.4, 90.2)), (52, (67.0, 87.9)), (51, (65.3, 86.7)),
                         (48, (60.4, 83.0)), (50, (63.6, 85.5))):  # fmt: skip
        low, high = clopper_pearson(count, 66)
        assert (round(100 * low, 1), round(100 * high, 1)) == shown


@QUICK
@given(st.integers(1, 80), st.data(), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_interval_is_scipys(n: int, data, confidence: float):
    count = data.draw(st.integers(0, n))
    exact = stats.binomtest(count, n).proportion_ci(confidence, method="exact")
    assert clopper_pearson(count, n, confidence) == pytest.approx((exact.low, exact.high), abs=1e-6)


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ReplituneError, match="0 <= count <= n"):
        clopper_pearson(0, 0)
    with pytest.raises(ReplituneError, match="0 <= count <= n"):
        clopper_pearson(3, 2)


def test_rank_sum_of_small_samples_is_exact():
    a, b = np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0, 6.0, 7.0])
    everything = np.concatenate([a, b])
    sums = []
    for chosen in itertools.combinations(range(7), 4):
        x = everything[list(chosen)]
        rest = np.delete(everything, chosen)
        sums.append(sum((x[:, None] > rest[None, :]).ravel()))
    u = sum((b[:, None] > a[None, :]).ravel())
    found = rank_sum(a, b)
    assert found.statistic == u
    assert found.direction == 1
    assert found.p == pytest.approx(np.mean(np.abs(np.array(sums) - 6) >= abs(u - 6)))


def test_rank_sum_of_large_samples_has_ties_and_continuity():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 10, 60).astype(float), rng.integers(2, 11, 50).astype(float)
    n = 110
    u = sum((b[:, None] > a[None, :]).ravel()) + sum((b[:, None] == a[None, :]).ravel()) / 2
    ties = np.unique(np.concatenate([a, b]), return_counts=True)[1].astype(float)
    variance = 60 * 50 / 12 * ((n + 1) - (ties**3 - ties).sum() / (n * (n - 1)))
    z = (abs(u - 1500) - 0.5) / np.sqrt(variance)
    found = rank_sum(a, b)
    assert found.statistic == u
    assert found.p == pytest.approx(2 * stats.norm.sf(z))
    # scipy's ranksums, without either correction, is close by
    assert found.p == pytest.approx(stats.ranksums(b, a).pvalue, rel=0.1)


def test_rank_sum_turned_round():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=30), rng.normal(0.5, 1, 40)
    there, back = rank_sum(a, b), rank_sum(b, a)
    assert there.p == pytest.approx(back.p)
    assert there.direction == -back.direction == 1


def test_rank_sum_without_information():
    same = rank_sum(np.ones(5), np.ones(4))
    assert (same.p, same.direction, same.outcome(0.05)) == (1.0, 0, 0)
    none = rank_sum(np.array([]), np.ones(4))
    assert none.p is None
    assert none.outcome(0.05) == 0
    assert none.note == "nobody judged one of the systems"


def test_fluency_decides_what_adequacy_leaves_open():
    low, high = np.arange(30.0), np.arange(30.0) + 20
    clear, reverse, open_ = rank_sum(low, high), rank_sum(high, low), rank_sum(low, low + 0.5)
    assert combined_outcome(clear, reverse, 0.05) == 1
    assert combined_outcome(open_, reverse, 0.05) == -1
    assert combined_outcome(open_, open_, 0.05) == 0
    assert combined_outcome(clear, open_, 1e-300) == 0


def test_agreement_counts_equal_outcomes_direction_included():
    found = agreement([1, 1, 0, -1, 0], [1, -1, 0, -1, 1])
    assert (found.agree, found.pairs, found.share) == (3, 5, 0.6)
    assert (found.ci_low, found.ci_high) == clopper_pearson(3, 5)


def test_pairs_without_a_p_are_left_out_and_counted():
    found = agreement([1, None, 0], [1, 1, None])
    assert (found.agree, found.pairs) == (1, 1)
    assert found.note == "2 pairs without a p are left out"
    empty = agreement([None], [1])
    assert (empty.share, empty.ci_low, empty.pairs) == (None, None, 0)
    with pytest.raises(ReplituneError, match="different pairs"):
        agreement([1], [1, 0])
