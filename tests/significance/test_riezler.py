"""Riezler and Maxwell 2005's approximate randomization."""

from __future__ import annotations

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.significance.tests.riezler import riezler
from significance.exchange_models import close, compare, counts, every_swap, means, share


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("make", [counts, means])
def test_agrees_with_enumeration(make) -> None:
    c = compare(make(1, 11, seed=1), make(1, 11, seed=2, gain=0.1))
    deltas = every_swap(c, "mean")
    exact = riezler(c, rng=rng(), samples=2048)
    assert exact.exact
    assert exact.p == pytest.approx(share(deltas, exact.delta), abs=1e-12)
    assert exact.p_min == 2 / 2048
    sampled = riezler(c, rng=rng(), samples=2047)
    assert not sampled.exact
    assert close(sampled.p, exact.p, 2047)
    assert sampled.p_min == 2 / 2048


def test_agrees_with_the_sign_flip_test_of_a_mean() -> None:
    """For a mean, exchanging outputs is flipping the sign of their difference."""
    scipy_stats = pytest.importorskip("scipy.stats")
    a, b = means(1, 10, seed=1), means(1, 10, seed=2, gain=0.8)
    oracle = scipy_stats.permutation_test(
        ((b - a)[0, :, 0],), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert riezler(compare(a, b), rng=rng()).p == pytest.approx(oracle.pvalue)


def test_takes_the_median_replica_or_a_named_one() -> None:
    a, b = counts(5, 30, seed=1), counts(4, 30, seed=2)
    c = compare(a, b)
    found = riezler(c, rng=rng(), samples=200)
    assert found.score_a == np.sort(c.scores_a)[2]
    assert found.score_b == np.sort(c.scores_b)[1]
    named = riezler(c, rng=rng(), samples=200, replica="run-002", replica_b="run-004")
    assert (named.replica_a, named.replica_b) == ("run-002", "run-004")
    alone = compare(a[[1]], b[[3]])
    assert named.p == riezler(alone, rng=rng(), samples=200).p
    with pytest.raises(ReplituneError, match="no replica 'run-009'"):
        riezler(c, rng=rng(), replica="run-009")


def test_every_pair_gives_a_distribution_of_p() -> None:
    c = compare(counts(3, 40, seed=1), counts(6, 40, seed=2, gain=0.02))
    found = riezler(c, rng=rng(), samples=300, replica="every")
    assert found.p_values.shape == (3, 6)
    for r, s in ((0, 0), (1, 5), (2, 3)):
        ids = {"replica_a": c.a.replicas[r], "replica_b": c.b.replicas[s]}
        assert found.p_values[r, s] == riezler(c, rng=rng(), samples=300, **ids).p
    assert found.p == min(1, 2 * np.median(found.p_values))
    assert "18 pairs" in found.note


def test_identical_outputs_have_p_one_and_one_segment_cannot_differ() -> None:
    same = counts(1, 20, seed=1)
    assert riezler(compare(same, same), rng=rng(), samples=99).p == 1
    one = riezler(compare(counts(1, 1, seed=1), counts(1, 1, seed=5)), rng=rng(), samples=99)
    assert (one.p, one.exact, one.p_min) == (1, True, 1)
