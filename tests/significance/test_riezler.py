"""Riezler and Maxwell 2005's approximate randomization."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.metrics.length import Length
from replitune.metrics.ter import Ter
from replitune.significance.critical import TINIEST
from replitune.significance.exchange import coin_sums
from significance.calls import riezler
from significance.exchange_models import close, compare, counts, every_swap, means, share, system
from significance.one_testset import run_tests
from significance.test_bad_input import settled


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
    with pytest.raises(ReplituneError, match="no run 'run-009'"):
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
    assert found.delta == pytest.approx(c.scores_b.mean() - c.scores_a.mean())
    assert found.distribution is None, "each pair has one of its own"


def test_identical_outputs_have_p_one_and_one_segment_cannot_differ() -> None:
    same = counts(1, 20, seed=1)
    assert riezler(compare(same, same), rng=rng(), samples=99).p == 1
    one = riezler(compare(counts(1, 1, seed=1), counts(1, 1, seed=5)), rng=rng(), samples=99)
    assert (one.p, one.exact, one.p_min) == (1, True, 1)


# -- exact: by convolution ----------------------------------------------------------------


def right(n: int, N: int, *, seed: int, rate: float = 0.5) -> np.ndarray:
    """(n, N, 2) scores of 0 and 1."""
    scores = (np.random.default_rng(seed).random((n, N)) < rate).astype(float)
    return np.stack([scores, np.ones((n, N))], axis=2)


def grades(n: int, N: int, *, seed: int) -> np.ndarray:
    """(n, N, 2) integers, multiples of 5."""
    scores = np.random.default_rng(seed).integers(-3, 8, (n, N)) * 5.0
    return np.stack([scores, np.ones((n, N))], axis=2)


def edits(n: int, N: int, *, seed: int) -> np.ndarray:
    """(n, N, 2) edits, and lengths of references that are no integers."""
    rng = np.random.default_rng(seed)
    lengths = np.random.default_rng(0).integers(3, 60, N) / 3
    return np.stack([rng.poisson(4, (n, N)), np.broadcast_to(lengths, (n, N))], axis=2)


def fixed_counts(n: int, N: int, *, seed: int) -> np.ndarray:
    """Counts out of totals that are the same for all seeds."""
    total = np.random.default_rng(0).integers(5, 30, N)
    match = np.random.default_rng(seed).binomial(total, 0.4, (n, N))
    return np.stack([match, np.broadcast_to(total, (n, N))], axis=2).astype(np.int32)


def all_swaps(c) -> np.ndarray:
    """(2^N,) delta of every exchange of one replica each."""
    a, b = c.a.statistics[0].astype(np.float64), c.b.statistics[0].astype(np.float64)
    swap = np.arange(2 ** len(a))[:, np.newaxis] >> np.arange(len(a)) & 1
    x, y = (1 - swap) @ a + swap @ b, (1 - swap) @ b + swap @ a
    return c.metric.score(y) - c.metric.score(x)


KINDS = {
    "0 and 1": (right, None),
    "grades": (grades, None),
    "edits": (edits, Ter()),
    "a curved metric": (fixed_counts, None),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("N", [1, 2, 7, 16])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_exact_p_is_that_of_enumeration(kind, N, alternative) -> None:
    make, metric = KINDS[kind]
    for seed in range(4):
        c = compare(make(1, N, seed=seed + 1), make(1, N, seed=seed + 100), metric)
        found = riezler(c, rng=rng(), exact=True, alternative=alternative)
        deltas, delta = all_swaps(c), found.delta
        if alternative != "two-sided":
            sign = c.metric.sign if alternative == "greater" else -c.metric.sign
            deltas, delta = sign * deltas, sign * delta
            truth = (deltas >= delta - 1e-9).mean()
        else:
            truth = share(deltas, delta)
        assert found.p == pytest.approx(truth, rel=1e-12)
        differ = int((c.a.statistics != c.b.statistics).any(axis=2).sum())
        sides = 2 if alternative == "two-sided" else 1
        assert found.p_min == min(1, sides / 2**differ)
        assert (found.exact, found.samples, found.distribution) == (True, None, None)


def test_exact_p_of_documents_is_that_of_enumeration() -> None:
    documents = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 7, 8, 9])
    a, b = grades(1, 45, seed=1), grades(1, 45, seed=2)
    found = riezler(compare(a, b, documents=documents), rng=rng(), unit="document", exact=True)
    starts = np.flatnonzero(np.diff(documents, prepend=-1))
    of_documents = compare(*(np.add.reduceat(x, starts, axis=1) for x in (a, b)))
    assert found.p == pytest.approx(share(every_swap(of_documents, "mean"), found.delta))
    assert (found.scope, found.unit) == ("segments", "document")


@pytest.mark.parametrize("wins", [0, 3, 200, 430, 500])
def test_exact_p_of_wins_and_losses_is_the_sign_test(wins) -> None:
    """Down to 2^-999 and less, but never below the floor of all p."""
    stats = pytest.importorskip("scipy.stats")
    N = 1000
    a, b = np.zeros((1, N, 2)), np.zeros((1, N, 2))
    a[..., 1] = b[..., 1] = 1
    b[0, :wins, 0] = a[0, wins:, 0] = 1
    oracle = stats.binomtest(wins, N).pvalue
    found = riezler(compare(a, b), rng=rng(), exact=True)
    assert found.p == pytest.approx(max(oracle, TINIEST), rel=1e-9)
    assert found.p_min == TINIEST


@pytest.mark.parametrize("m", [1, 30, 500, 1000])
def test_probabilities_of_equal_numbers_are_binomial_also_in_the_tails(m) -> None:
    truth = [float(Fraction(math.comb(m, k), 2**m)) for k in range(m + 1)]
    np.testing.assert_allclose(coin_sums(np.ones(m, np.int64)), truth, rtol=1e-12)


def test_probabilities_of_unequal_numbers_are_right_in_the_tails() -> None:
    """Against integers of any length."""
    sizes = np.random.default_rng(1).integers(1, 40, 300)
    ways = [1]
    for size in sizes.tolist():
        ways = [
            (ways[k] if k < len(ways) else 0) + (ways[k - size] if k >= size else 0)
            for k in range(len(ways) + size)
        ]
    truth = [way / 2 ** len(sizes) for way in ways]
    np.testing.assert_allclose(coin_sums(sizes), truth, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_sampled_p_agrees_with_the_exact_one(kind) -> None:
    make, metric = KINDS[kind]
    c = compare(make(3, 120, seed=1), make(2, 120, seed=5), metric)
    exact = riezler(c, rng=rng(), exact=True)
    assert close(riezler(c, rng=rng(), samples=4000).p, exact.p, 4000)
    other = riezler(c, rng=np.random.default_rng(8), exact=True, samples=7)
    assert other == exact


def test_exact_p_of_every_pair_and_of_named_replicas() -> None:
    c = compare(grades(3, 60, seed=1), grades(6, 60, seed=2))
    found = riezler(c, rng=rng(), replica="every", exact=True)
    for r, s in ((0, 0), (1, 5), (2, 3)):
        ids = {"replica_a": c.a.replicas[r], "replica_b": c.b.replicas[s]}
        assert found.p_values[r, s] == riezler(c, rng=rng(), exact=True, **ids).p
    assert found.p == min(1, 2 * np.median(found.p_values))
    assert found.exact


def test_ter_and_length_with_one_reference_have_an_exact_p_and_bleu_has_none() -> None:
    words = np.array(list("abcdef"))
    draw = np.random.default_rng(5)
    refs, first, second = (
        [" ".join(draw.choice(words, draw.integers(4, 9))) for _ in range(40)] for _ in range(3)
    )
    for metric in (Ter(), Length()):
        a, b = (metric.statistics(text, [refs])[np.newaxis] for text in (first, second))
        c = compare(a, b, metric)
        exact = riezler(c, rng=rng(), exact=True)
        assert close(riezler(c, rng=rng(), samples=3000).p, exact.p, 3000)
    bleu = Bleu()
    a, b = (bleu.statistics(text, [refs])[np.newaxis] for text in (first, second))
    with pytest.raises(ReplituneError, match="no exact p of bleu") as error:
        riezler(compare(a, b, bleu), rng=rng(), exact=True)
    assert error.value.found.startswith("outputs differ in ")
    assert "TER" in error.value.expected
    assert riezler(compare(a, a, bleu), rng=rng(), exact=True).p == 1
    two = [[ref, ref + " a b c"] for ref in refs]
    closest = Length()
    a, b = (closest.statistics(text, list(zip(*two, strict=True)))[np.newaxis] for text in (first, second))
    with pytest.raises(ReplituneError, match="no exact p of length"):
        riezler(compare(a, b, closest), rng=rng(), exact=True)


def test_scores_that_are_not_integers_have_no_exact_p() -> None:
    with pytest.raises(ReplituneError, match="no exact p of mean") as error:
        riezler(compare(means(1, 9, seed=1), means(1, 9, seed=2)), rng=rng(), exact=True)
    assert error.value.found.startswith("score differs by ")
    far = grades(1, 9, seed=1)
    far[0, 0, 0] = 1e12
    far[0, 1, 0] = 1
    with pytest.raises(ReplituneError, match="too many sums"):
        riezler(compare(grades(1, 9, seed=2), far), rng=rng(), exact=True)
    far[0, 0, 0] = 1e300
    with pytest.raises(ReplituneError, match="no exact p of mean"):
        riezler(compare(grades(1, 9, seed=2), far), rng=rng(), exact=True)


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.filterwarnings("error")
def test_exact_p_of_odd_input_is_settled(alternative) -> None:
    odd = {
        "one segment": (right(1, 1, seed=1), 1 - right(1, 1, seed=1) * [1, 0]),
        "copies": (grades(2, 9, seed=1), grades(2, 9, seed=1)),
        "zero everywhere": (np.zeros((3, 8, 2), np.int32), np.zeros((3, 8, 2), np.int32)),
        "constant difference": (np.ones((3, 8, 2)), np.ones((3, 8, 2)) * [2, 1]),
        "huge counts": tuple(fixed_counts(2, 8, seed=s) * 10**7 for s in (1, 2)),
        "many segments": (np.ones((1, 1500, 2)), np.ones((1, 1500, 2)) * [2, 1]),
    }
    for a, b in odd.values():
        settled(riezler(compare(a, b), rng=rng(), exact=True, alternative=alternative))


def test_exact_p_is_the_same_from_both_sides() -> None:
    systems = {name: system(name, grades(3, 50, seed=s)) for s, name in enumerate("ab")}
    given = {"m": (MeanMetric(), systems)}
    methods = ["riezler:exact=true"]
    options = {"testset": "t", "seed": 1, "methods": methods}
    (ab,) = run_tests(given, np.arange(50, dtype=np.int32), pairs=[("a", "b")], **options)["m"]
    (ba,) = run_tests(given, np.arange(50, dtype=np.int32), pairs=[("b", "a")], **options)["m"]
    assert (ab.p, ab.delta, ab.exact, ab.samples) == (ba.p, -ba.delta, True, None)
