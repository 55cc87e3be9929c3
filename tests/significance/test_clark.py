"""Clark et al. 2011's stratified approximate randomization against full enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from replitune.errors import ReplituneError
from significance.calls import clark, riezler
from significance.exchange_models import (
    Counts,
    close,
    compare,
    counts,
    every_deal,
    every_swap,
    means,
    share,
)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("make", [counts, means])
@pytest.mark.parametrize(
    ("n_a", "n_b", "N", "aggregation"),
    [(2, 2, 4, "pooled"), (1, 3, 4, "pooled"), (3, 2, 3, "pooled"), (2, 1, 4, "mean")],
)
def test_free_deals_agree_with_enumeration(make, n_a, n_b, N, aggregation) -> None:
    c = compare(make(n_a, N, seed=1), make(n_b, N, seed=2, gain=0.2))
    deltas = every_deal(c, aggregation)
    exact = clark(c, rng=rng(), samples=len(deltas), aggregation=aggregation)
    assert exact.exact
    assert exact.p == pytest.approx(share(deltas, exact.delta), abs=1e-12)
    np.testing.assert_allclose(np.sort(exact.distribution), np.sort(deltas), atol=1e-9)
    sampled = clark(c, rng=rng(), samples=len(deltas) // 2, aggregation=aggregation)
    assert not sampled.exact
    assert close(sampled.p, exact.p, sampled.samples)


@pytest.mark.parametrize("aggregation", ["pooled", "mean"])
def test_many_replicas_that_are_all_alike_need_no_enumeration(aggregation) -> None:
    """There are 10^23 ways to deal 40 + 40 replicas, and one that can be told from the others."""
    one = counts(1, 6, seed=1)
    c = compare(np.repeat(one, 40, axis=0), np.repeat(one, 40, axis=0))
    result = clark(c, rng=rng(), samples=99, aggregation=aggregation)
    assert result.exact
    assert result.p == 1


@pytest.mark.parametrize("aggregation", ["pooled", "mean"])
def test_paired_exchanges_agree_with_enumeration(aggregation) -> None:
    c = compare(counts(3, 4, seed=1), counts(3, 4, seed=2, gain=0.15))
    deltas = every_swap(c, aggregation)
    options = {"aggregation": aggregation, "pairing": "index"}
    exact = clark(c, rng=rng(), samples=5000, **options)
    assert exact.exact
    assert exact.p == pytest.approx(share(deltas, exact.delta), abs=1e-12)
    sampled = clark(c, rng=rng(), samples=1500, **options)
    assert not sampled.exact
    assert close(sampled.p, exact.p, 1500)


@pytest.mark.parametrize("options", [{}, {"pairing": "index"}, {"aggregation": "mean"}])
def test_identical_systems_have_p_one(options) -> None:
    for make in (counts, means):
        statistics = make(3, 50, seed=1)
        assert clark(compare(statistics, statistics), rng=rng(), samples=500, **options).p == 1


def test_one_replica_each_is_riezler() -> None:
    c = compare(counts(1, 60, seed=1), counts(1, 60, seed=2))
    for options in ({}, {"pairing": "index"}, {"aggregation": "mean"}):
        one = clark(c, rng=rng(), samples=800, **options)
        other = riezler(c, rng=rng(), samples=800)
        assert one.p == other.p
        np.testing.assert_array_equal(one.distribution, other.distribution)


def test_one_sided_respects_the_metrics_direction() -> None:
    a, b = counts(3, 80, seed=1), counts(3, 80, seed=2, gain=0.1)
    for better in (True, False):
        c = compare(a, b, Counts(higher_is_better=better))
        greater = clark(c, rng=rng(), samples=2000, alternative="greater").p
        less = clark(c, rng=rng(), samples=2000, alternative="less").p
        assert (greater < 0.01) == better
        assert (less < 0.01) != better
        assert greater + less > 1


def test_documents_move_as_a_whole() -> None:
    """A document is one segment with summed statistics."""
    a, b = counts(2, 12, seed=1), counts(2, 12, seed=2)
    documents = np.array([0, 1, 1, 0, 2, 2, 3, 0, 3, 3, 4, 4])
    summed = [np.stack([x[:, documents == g].sum(axis=1) for g in range(5)], axis=1) for x in (a, b)]
    found = clark(compare(a, b, documents=documents), rng=rng(), samples=700, unit="document")
    assert found.p == clark(compare(*summed), rng=rng(), samples=700).p
    assert found.documents == 5
    assert found.unit == "document"


def test_groups_are_strata() -> None:
    """All of B's gain comes with its tuner: within tuners there is no difference to see."""
    rows = counts(1, 200, seed=1)[0]
    better = rows + np.array([2, 0], dtype=np.int32)
    groups = ("mert", "mira")
    c = compare(np.stack([rows, better]), np.stack([rows, better]), groups_a=groups, groups_b=groups)
    within = clark(c, rng=rng(), samples=300)
    assert np.ptp(within.distribution) == 0
    across = clark(c, rng=rng(), samples=300, strata="none")
    assert np.ptp(across.distribution) > 0
    unequal = compare(
        np.stack([rows, rows]), np.stack([rows, better]), groups_a=("mert",) * 2, groups_b=groups
    )
    with pytest.raises(ReplituneError, match="`strata: none`"):
        clark(unequal, rng=rng(), samples=300)
    assert clark(unequal, rng=rng(), samples=300, strata="none").p > 0


def test_several_metrics_see_the_same_exchanges() -> None:
    a, b = counts(3, 40, seed=1), counts(3, 40, seed=2)
    whole, real = compare(a, b), compare(a.astype(float), b.astype(float), Counts())
    other = compare(a[..., ::-1], b[..., ::-1])
    for options in ({}, {"pairing": "index"}, {"aggregation": "mean"}):
        together = clark([whole, other, real], rng=rng(), samples=400, **options)
        for c, result in zip([whole, other, real], together, strict=True):
            alone = clark(c, rng=rng(), samples=400, **options)
            np.testing.assert_array_equal(alone.distribution, result.distribution)
        np.testing.assert_allclose(together[0].distribution, together[2].distribution, rtol=1e-12)


def test_units_that_cannot_change_do_not_hide_the_smallest_p() -> None:
    """Two systems that differ in four segments have 2^4 arrangements, however long the test."""
    a = counts(1, 100, seed=1)
    b = a.copy()
    b[0, :4, 0] += 3
    found = clark(compare(a, b), rng=rng(), samples=1000)
    assert found.exact
    assert found.p == found.p_min == 2 / 16


def test_index_pairing_needs_equal_n() -> None:
    found = clark(compare(counts(2, 9, seed=1), counts(3, 9, seed=2)), rng=rng(), pairing="index")
    assert found.p is None
    assert "pairing: free" in found.note


def multeval_by_hand(c, seed: int, samples: int) -> np.ndarray:
    """multeval's rule, literally: X through the run permutation, Y through its inverse."""
    draw = np.random.default_rng(seed)
    a, b = c.a.statistics.astype(float), c.b.statistics.astype(float)
    n, N, _ = a.shape
    deltas = np.empty(samples)
    for k in range(samples):
        order = np.stack([draw.permutation(n) for _ in range(N)], axis=1)
        inverse, coin = np.argsort(order, axis=0), draw.integers(0, 2, (n, N, 1)) == 1
        i = np.arange(N)
        x = np.where(coin, b[order, i], a[order, i]).sum(axis=(0, 1))
        y = np.where(coin, a[inverse, i], b[inverse, i]).sum(axis=(0, 1))
        deltas[k] = c.metric.score(y / n) - c.metric.score(x / n)
    return deltas


def test_compat_multeval_follows_its_rule() -> None:
    c = compare(counts(4, 25, seed=1), counts(4, 25, seed=2, gain=0.02))
    found = clark(c, rng=rng(), samples=3000, compat="multeval")
    oracle = multeval_by_hand(c, 1, 3000)
    assert ks_2samp(found.distribution, oracle).pvalue > 1e-3
    assert close(found.p, (abs(oracle) > abs(found.delta)).mean(), 1500)
    proper = clark(c, rng=rng(), samples=3000)
    assert found.distribution.std() != pytest.approx(proper.distribution.std(), rel=0.03)
    unequal = compare(counts(2, 9, seed=1), counts(3, 9, seed=2))
    assert clark(unequal, rng=rng(), samples=9, compat="multeval").p is None


@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    n_a=st.integers(1, 4),
    n_b=st.integers(1, 4),
    N=st.integers(1, 20),
    seed=st.integers(0, 10**6),
    aggregation=st.sampled_from(["pooled", "mean"]),
    alternative=st.sampled_from(["two-sided", "greater", "less"]),
)
def test_p_is_a_probability_and_reproducible(n_a, n_b, N, seed, aggregation, alternative) -> None:
    c = compare(counts(n_a, N, seed=seed), counts(n_b, N, seed=seed + 1))
    options = {"samples": 99, "aggregation": aggregation, "alternative": alternative}
    found = clark(c, rng=rng(seed), **options)
    assert 0 < found.p <= 1
    assert 0 < found.p_min <= 1
    assert found.p == clark(c, rng=rng(seed), **options).p
