from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from replitune.errors import ReplituneError
from replitune.meta.human_tests import agreement, clopper_pearson, combined_outcome, rank_sum

QUICK = settings(deadline=None, derandomize=True, max_examples=60)


def test_the_interval_of_graham_2016():
    low, high = clopper_pearson(53, 66)
    assert (round(100 * 53 / 66, 1), round(100 * low, 1), round(100 * high, 1)) == (80.3, 68.7, 89.1)
    # the other rows of the slides' table
    for count, shown in (
        (54, (70.4, 90.2)),
        (52, (67.0, 87.9)),
        (51, (65.3, 86.7)),
        (48, (60.4, 83.0)),
        (50, (63.6, 85.5)),
    ):
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
