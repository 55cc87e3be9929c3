"""Tests of human scores: Wilcoxon's two, and paired exchanges."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest
from scipy import stats

from meta.meta_models import quality
from meta.test_meta import NAMES, SETTINGS, good, study
from replitune.errors import ReplituneError
from replitune.meta.human_tests import all_pairs, rank_sum, signed_rank
from replitune.meta.rows import MetaRun
from replitune.meta.scores import human_scores

ALL = ("rank-sum", "signed-rank", "permutation")


def run(**changed) -> MetaRun:
    return MetaRun("test", 1, msgspec.structs.replace(SETTINGS, **changed))


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


def test_signed_rank_of_few_segments_is_exact():
    a = np.array([1.0, 2.0, 4.0, 8.0, 3.0, 5.0])
    b = a + np.array([0.5, 1.0, -0.2, 2.0, 3.0, 1.1])
    ranks = stats.rankdata(np.abs(b - a))
    sums = [ranks @ np.array(signs) for signs in itertools.product((0, 1), repeat=6)]
    observed = ranks[(b - a) > 0].sum()
    found = signed_rank(a, b)
    assert (found.statistic, found.direction, found.n) == (observed, 1, 6)
    assert found.p == pytest.approx(np.mean(np.abs(np.array(sums) - 10.5) >= observed - 10.5))


def test_signed_rank_of_many_has_ties_and_continuity_and_no_zeros():
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 6, 200).astype(float) for _ in range(2))
    d = (b - a)[a != b]
    m = len(d)
    ranks = stats.rankdata(np.abs(d))
    ties = np.unique(ranks, return_counts=True)[1].astype(float)
    variance = m * (m + 1) * (2 * m + 1) / 24 - (ties**3 - ties).sum() / 48
    w = ranks[d > 0].sum()
    z = (abs(w - m * (m + 1) / 4) - 0.5) / np.sqrt(variance)
    found = signed_rank(a, b)
    assert m < found.n == 200
    assert found.statistic == w
    assert found.p == pytest.approx(2 * stats.norm.sf(z))


def test_signed_rank_turned_round_and_without_information():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=30), rng.normal(0.5, 1, 30)
    there, back = signed_rank(a, b), signed_rank(b, a)
    assert there.p == pytest.approx(back.p)
    assert there.direction == -back.direction == 1
    same = signed_rank(np.ones(5), np.ones(5))
    assert (same.p, same.direction, same.outcome(0.05)) == (1.0, 0, 0)
    assert signed_rank(np.array([]), np.array([])).p is None


def test_permutation_is_what_all_exchanges_give_on_segments_of_both():
    scores = np.array([[0.0, 1, 2, 3, 4, 5, 6, 7, 8], [1.0, 3, 2, 5, 9, 5, 9, 8, np.nan]])
    d = (scores[1] - scores[0])[:8]
    signs = np.array(list(itertools.product((-1, 1), repeat=8)))
    exact = np.mean(np.abs(signs @ d) >= abs(d.sum()) - 1e-9)
    (found,) = all_pairs("permutation", human_scores("human", NAMES[:2], scores), run(samples=9999))
    assert (found.direction, found.n) == (1, 8)
    assert found.p == pytest.approx(exact, abs=5 * np.sqrt(exact / 9999))


def test_tests_of_pairs_see_through_hard_segments():
    hard = 5 * np.random.default_rng(3).normal(size=60)
    scores = np.stack([hard, hard + 0.5 + 0.1 * quality(1, 60, 4)[0]])
    people = human_scores("human", NAMES[:2], scores)
    p = {test: all_pairs(test, people, run())[0].p for test in ALL}
    assert p["rank-sum"] > 0.2
    assert max(p["signed-rank"], p["permutation"]) < 0.01


def test_agreement_is_with_people_by_each_of_their_tests():
    found = study([good()], human_tests=ALL)
    rows = found.rows_of("agreement", alpha=0.05)
    assert [row.human_test for row in rows] == [*ALL]
    outcomes = {t: [row.outcome for row in found.rows_of("pair", method=t)] for t in ALL}
    metric = [row.outcome for row in found.rows_of("pair", method="riezler")]
    for row in rows:
        same = sum(h == m for h, m in zip(outcomes[row.human_test], metric, strict=True))
        assert row.value == same / row.n == same / 10


def test_people_who_judged_no_segment_of_both_cannot_be_tested_in_pairs():
    apart = np.array([[1.0, 2.0, np.nan, np.nan], [np.nan, np.nan, 3.0, 4.0]])
    people = human_scores("human", NAMES[:2], apart)
    assert all_pairs("signed-rank", people, run())[0].p is None
    with pytest.raises(ReplituneError, match="both outputs were judged"):
        all_pairs("permutation", people, run())
