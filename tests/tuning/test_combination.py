from __future__ import annotations

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.tuning.combination import Combination, get_objective

HYPS = ["a b c d e", "a a b", "x y z w"]
REFS = [["a b c d f", "a b a", "x y z v w"], ["a b c e", "a b", "x z"]]


def test_a_word_is_one_metric():
    assert isinstance(get_objective("bleu:tokenize=none"), Bleu)


def test_scores_are_the_weighted_sum_of_corpus_scores():
    metric = get_objective("0.25*bleu:tokenize=none + 2*bleu:max_ngram_order=2")
    parts = [Bleu(tokenize="none"), Bleu(max_ngram_order=2)]
    sums = metric.statistics(HYPS, REFS).sum(axis=0)
    expected = [p.score(p.statistics(HYPS, REFS).sum(axis=0)) for p in parts]
    assert metric.score(sums) == pytest.approx(0.25 * expected[0] + 2 * expected[1])
    assert metric.direction == 1
    assert metric.integer_statistics
    assert len(set(metric.statistic_names)) == len(metric.statistic_names) == 16


def test_a_difference_has_the_direction_of_its_terms():
    error = MeanMetric(higher_is_better=False)
    halves = Combination([(0.5, error), (-0.5, Bleu())])
    assert halves.direction == -1
    assert not halves.integer_statistics
    statistics = np.concatenate([[30.0, 1.0], Bleu().statistics(HYPS, REFS).sum(axis=0)])
    bleu = Bleu().score(Bleu().statistics(HYPS, REFS).sum(axis=0))
    assert halves.score(statistics) == pytest.approx((30.0 - bleu) / 2)


@pytest.mark.parametrize("word", ["0.5*bleu - 0.5*bleu:max_ngram_order=2", "0*bleu", "* + bleu"])
def test_terms_that_make_no_objective(word):
    with pytest.raises(ReplituneError):
        get_objective(word)
