"""Tests of whole test sets: fu-ar, fu-bootstrap, replica-permutation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from replitune.metrics.base import MeanMetric
from replitune.significance.base import Comparison
from significance.calls import fu_ar, fu_bootstrap, replica_permutation
from significance.exchange_models import close, compare, counts, share, system


def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def of_scores(x, y, **groups) -> Comparison:
    """Replica scores x and y, on one segment."""
    a, b = (np.array([[[v, 1.0]] for v in values]) for values in (x, y))
    return compare(a, b, MeanMetric(), **groups)


X5, Y5 = [20.1, 20.4, 20.2, 19.8, 20.3], [20.5, 20.6, 20.2, 20.9, 20.4]


def test_fu_ar_enumerates_all_exchanges() -> None:
    d = np.subtract(Y5, X5)
    every = np.array([np.dot(s, d) / 5 for s in itertools.product([1, -1], repeat=5)])
    found = fu_ar(of_scores(X5, Y5), rng=rng())
    assert found.exact
    assert found.p == share(every, d.mean())
    assert found.p_min == 2 / 32
    sampled = fu_ar(of_scores(X5, Y5), rng=rng(), samples=31)
    assert not sampled.exact
    many = fu_ar(of_scores(X5 * 3, Y5 * 3), rng=rng(), samples=20_000)
    oracle = stats.permutation_test(
        (np.tile(d, 3),), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert close(many.p, oracle.pvalue, 20_000)


def test_fu_ar_pairs_by_id_and_says_so() -> None:
    a = system("A", np.array([[[v, 1.0]] for v in X5]), ids=("m1", "m2", "m3", "m4", "m5"))
    b = system("B", np.array([[[v, 1.0]] for v in Y5[::-1]]), ids=("m5", "m4", "m3", "m2", "m1"))
    by_id = fu_ar(Comparison(MeanMetric(), a, b, np.zeros(1, np.int32)), rng=rng())
    assert by_id.p == fu_ar(of_scores(X5, Y5), rng=rng()).p
    assert "paired by id" in by_id.note
    other = system("B", b.statistics, ids=("n1", "n2", "n3", "n4", "n5"))
    stored = fu_ar(Comparison(MeanMetric(), a, other, np.zeros(1, np.int32)), rng=rng())
    assert stored.p == fu_ar(of_scores(X5, Y5[::-1]), rng=rng()).p
    assert "stored order" in stored.note


def test_fu_ar_needs_equal_n() -> None:
    found = fu_ar(of_scores(X5, Y5[:4]), rng=rng())
    assert found.p is None
    assert "cannot be paired: 5 of A, 4 of B" in found.note


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n_b", [5, 3])
def test_replica_permutation_is_scipys(alternative, n_b) -> None:
    x, y = X5, Y5[:n_b]

    def difference(x, y, axis):
        return np.mean(y, axis=axis) - np.mean(x, axis=axis)

    def welch(x, y, axis):
        return -stats.ttest_ind(x, y, axis=axis, equal_var=False).statistic

    oracle = stats.permutation_test(
        (x, y),
        difference if n_b == 5 else welch,
        vectorized=True,
        n_resamples=np.inf,
        alternative=alternative,
    )
    found = replica_permutation(of_scores(x, y), rng=rng(), alternative=alternative)
    assert found.exact
    if n_b == 5 or alternative != "two-sided":
        assert found.p == pytest.approx(oracle.pvalue)
    else:
        # scipy doubles the smaller tail; we count large absolute values.
        null = oracle.null_distribution
        assert found.p == pytest.approx(share(null, oracle.statistic))
    if alternative == "two-sided":
        assert found.p_min == (2 / 252 if n_b == 5 else 1 / 56)


def test_replica_permutation_samples_what_it_cannot_enumerate() -> None:
    x, y = X5, np.add(Y5, -0.25)
    exact = replica_permutation(of_scores(x, y), rng=rng())
    for n_b in (5, 4):
        exact = replica_permutation(of_scores(x, y[:n_b]), rng=rng())
        sampled = replica_permutation(of_scores(x, y[:n_b]), rng=rng(), samples=120)
        assert not sampled.exact
        assert close(sampled.p, exact.p, 120)


def test_replica_permutation_splits_within_groups() -> None:
    """Tuners differ, systems do not: 2 x 2 splits within each group leave nothing to find."""
    x, y = [1.0, 1.1, 9.0, 9.1], [1.05, 1.15, 9.05, 9.15]
    groups = ("mert", "mert", "pro", "pro")
    c = of_scores(x, y, groups_a=groups, groups_b=groups)
    found = replica_permutation(c, rng=rng())
    assert found.samples == 36
    assert abs(found.distribution).max() < 0.2
    assert replica_permutation(c, rng=rng(), strata="none").samples == 70
    every = [
        np.mean([*np.delete(v, i), *np.delete(w, j)]) - np.mean([*np.take(v, i), *np.take(w, j)])
        for v, w in [([*x[:2], *y[:2]], [*x[2:], *y[2:]])]
        for i in map(list, itertools.combinations(range(4), 2))
        for j in map(list, itertools.combinations(range(4), 2))
    ]
    assert found.p == share(np.array(every), np.mean(y) - np.mean(x))


def test_welch_without_variance_is_settled() -> None:
    found = replica_permutation(of_scores([1.0, 1.0], [2.0, 2.0, 2.0]), rng=rng())
    assert found.p == found.p_min == 1 / 10
    same = replica_permutation(of_scores([1.0, 1.0], [1.0, 1.0, 1.0]), rng=rng())
    assert same.p == 1
    alone = replica_permutation(of_scores([1.0], [2.0, 2.1, 2.2]), rng=rng())
    assert alone.p == 1 / 4


def test_fu_bootstrap_agrees_with_enumeration() -> None:
    x, y = X5[:3], Y5[:4]
    mean_x = [np.mean(v) for v in itertools.product(x, repeat=3)]
    mean_y = [np.mean(v) for v in itertools.product(y, repeat=4)]
    every = np.subtract.outer(mean_y, mean_x).ravel()
    delta = np.mean(y) - np.mean(x)
    found = fu_bootstrap(of_scores(x, y), rng=rng(), samples=20_000)
    assert close(found.p, (abs(every - every.mean()) >= abs(delta) - 1e-9).mean(), 20_000)
    assert "3 runs" in found.note
    low, high = np.percentile(every, [2.5, 97.5])
    assert found.ci_low == pytest.approx(low, abs=0.02)
    assert found.ci_high == pytest.approx(high, abs=0.02)


def test_one_replica_has_no_replica_variance() -> None:
    found = fu_bootstrap(of_scores(X5[:1], Y5), rng=rng())
    assert found.p is None
    assert "one run" in found.note
    assert fu_ar(of_scores(X5[:1], Y5[:1]), rng=rng()).p == 1
    assert replica_permutation(of_scores(X5[:1], Y5[:1]), rng=rng()).p == 1


def test_identical_systems_have_p_one() -> None:
    for statistics in (counts(4, 20, seed=1), counts(12, 20, seed=1)):
        for test in (fu_ar, fu_bootstrap, replica_permutation):
            assert test(compare(statistics, statistics), rng=rng(), samples=300).p == 1
    constant = of_scores([2.0] * 3, [3.0] * 3)
    found = fu_bootstrap(constant, rng=rng(), samples=300)
    assert found.p is None
    assert "zero variance" in found.note
