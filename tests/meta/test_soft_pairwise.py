from __future__ import annotations

import itertools

import numpy as np
import pytest

from meta.meta_models import quality, scores
from replitune.errors import ReplituneError
from replitune.meta.perm_both import exchange_p, soft_pairwise_accuracy
from replitune.meta.scores import Scores
from significance.exchange_models import Counts, close, counts, system


def every_p(a: np.ndarray, b: np.ndarray) -> float:
    """One-sided p of "a is better" by all sign patterns of paired means."""
    delta = a.mean() - b.mean()
    found = []
    for bits in itertools.product([False, True], repeat=len(a)):
        found.append(np.where(bits, b, a).mean() - np.where(bits, a, b).mean())
    return float((np.array(found) >= delta - 1e-9).mean())


def p_of(given: Scores, samples: int = 1000, seed: int = 0) -> np.ndarray:
    return exchange_p(given, rng=np.random.default_rng(seed), samples=samples)


def test_p_agrees_with_enumeration():
    cells = quality(3, 8, 4)
    p = p_of(scores("m", cells), 4000)
    for i, j in itertools.permutations(range(3), 2):
        assert close(p[i, j], every_p(cells[i], cells[j]), 4000)
    assert np.isnan(np.diag(p)).all()


def test_missing_segments_are_dropped_for_both_systems():
    cells = quality(3, 9, 4)
    holes = cells.copy()
    holes[0, 2] = holes[1, 5] = np.nan
    p = p_of(scores("m", holes), 4000)
    for i, j in itertools.permutations(range(3), 2):
        keep = ~np.isnan(holes[i]) & ~np.isnan(holes[j])
        assert close(p[i, j], every_p(cells[i, keep], cells[j, keep]), 4000)


def test_both_ways_of_computing_are_one():
    # a third system with a hole changes nothing for the pair that has none
    cells = quality(3, 40, 4)
    holes = cells.copy()
    holes[2, 3] = np.nan
    whole, part = p_of(scores("m", cells)), p_of(scores("m", holes))
    assert whole[0, 1] == part[0, 1]


def test_a_corpus_metric_exchanges_statistics():
    a, b = counts(1, 7, seed=1), counts(1, 7, seed=2, gain=0.1)
    better = Scores("counts", Counts(), (system("A", a), system("B", b)))
    worse = Scores("counts", Counts(higher_is_better=False), better.statistics)
    found = []
    for bits in itertools.product([False, True], repeat=7):
        swap = np.array(bits)[:, np.newaxis]
        x, y = np.where(swap, b[0], a[0]).sum(axis=0), np.where(swap, a[0], b[0]).sum(axis=0)
        found.append(Counts().score(y) - Counts().score(x))
    exact = float((np.array(found) >= found[0] - 1e-9).mean())
    assert close(p_of(better, 4000)[1, 0], exact, 4000)
    # a lower score is better: the orientation turns the same test round
    assert p_of(worse, 4000)[0, 1] == p_of(better, 4000)[1, 0]


def test_equal_systems_have_p_one_and_no_p_is_zero():
    cells = quality(2, 20, 1)
    same = p_of(scores("m", np.stack([cells[0], cells[0]])), 100)
    assert same[0, 1] == same[1, 0] == 1.0
    # standardised scores: a mean of zero, and sums that are not quite zero
    zero = cells[0] - cells[0].mean()
    still = p_of(scores("m", np.stack([zero, zero, zero[::-1]])), 100)
    assert still[0, 1] == still[1, 0] == 1.0
    apart = p_of(scores("m", np.stack([cells[0], cells[0] + 9])), 100)
    assert apart[1, 0] == 1 / 101


def test_a_metric_that_is_human_has_accuracy_one():
    cells = quality(5, 30, 1)
    human, metric = p_of(scores("human", cells)), p_of(scores("m", 10 * cells + 3))
    found = soft_pairwise_accuracy(human, metric)
    assert found.value == 1.0
    assert found.pairs == 10


def test_accuracy_by_hand():
    human, metric = np.full((3, 3), np.nan), np.full((3, 3), np.nan)
    upper = np.triu_indices(3, 1)
    human[upper], metric[upper] = [0.01, 0.5, 0.9], [0.05, 0.2, 0.9]
    assert soft_pairwise_accuracy(human, metric).value == pytest.approx(1 - 0.34 / 3)
    metric[0, 1] = np.nan
    found = soft_pairwise_accuracy(human, metric)
    assert found.value == pytest.approx(1 - 0.3 / 2)
    assert found.note == "1 pairs without a p are left out"


def test_the_opposite_metric_has_accuracy_zero_on_clear_differences():
    cells = np.linspace(0, 50, 4)[:, np.newaxis] + quality(4, 40, 1)
    found = soft_pairwise_accuracy(p_of(scores("h", cells)), p_of(scores("m", -cells)))
    assert found.value == pytest.approx(0, abs=0.01)


def test_without_pairs_there_is_no_accuracy():
    assert soft_pairwise_accuracy(np.full((1, 1), np.nan), np.full((1, 1), np.nan)).value is None
    apart = np.full((2, 6), np.nan)
    apart[0, :3], apart[1, 3:] = 1.0, 2.0
    assert np.isnan(p_of(scores("m", apart), 50)).all()
    with pytest.raises(ReplituneError, match="different systems"):
        soft_pairwise_accuracy(np.zeros((2, 2)), np.zeros((3, 3)))
