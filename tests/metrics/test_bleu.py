"""BLEU against sacrebleu, finite differences, and multi-bleu's printed value."""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.metrics.base import full_signature
from replitune.metrics.bleu import Bleu, BleuPlusOne
from replitune.metrics.registry import get_metric
from replitune.running.files import read_lines

from .oracles import central_differences, corpora

OPTIONS = st.fixed_dictionaries(
    {
        "tokenize": st.sampled_from(["none", "13a", "intl", "zh", "char"]),
        "lowercase": st.booleans(),
        "smooth_method": st.sampled_from(["none", "floor", "add-k", "exp"]),
        "effective_order": st.booleans(),
        "max_ngram_order": st.sampled_from([1, 2, 3, 4, 4, 6]),
    }
).flatmap(
    lambda options: st.fixed_dictionaries(
        {
            **{key: st.just(value) for key, value in options.items()},
            "smooth_value": st.sampled_from([None, 0.0, 0.01, 0.5, 2.0])
            if options["smooth_method"] in ("floor", "add-k")
            else st.none(),
        }
    )
)


def sacrebleu_statistics(oracle, hyps, refs):
    """sacrebleu's rows with our order of columns: matches, totals, hyp_len, ref_len."""
    rows = np.array(oracle._extract_corpus_statistics(hyps, refs))
    return np.concatenate([rows[:, 2:], rows[:, :2]], axis=1)


@settings(deadline=None, derandomize=True, max_examples=400)
@given(corpora(), OPTIONS)
def test_statistics_and_scores_equal_sacrebleu_s(corpus, options):
    hyps, refs = corpus
    metric, oracle = Bleu(**options), sacrebleu.BLEU(force=True, **options)
    statistics = metric.statistics(hyps, refs)
    assert statistics.dtype == np.int32
    np.testing.assert_array_equal(statistics, sacrebleu_statistics(oracle, hyps, refs))
    expected = oracle.corpus_score(hyps, refs).score
    assert metric.score(statistics.sum(axis=0)) == pytest.approx(expected, rel=1e-13, abs=1e-300)
    rows = [oracle.sentence_score(h, list(r)).score for h, *r in zip(hyps, *refs, strict=True)]
    np.testing.assert_allclose(metric.score(statistics), rows, rtol=1e-13, atol=1e-300)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(OPTIONS, st.integers(1, 3))
def test_signature_is_sacrebleu_s(options, nrefs):
    options["max_ngram_order"] = 4
    oracle = sacrebleu.BLEU(**options)
    oracle.corpus_score(["a"], [["a"]] * nrefs)
    versions = {"version": sacrebleu.__version__}
    assert full_signature(Bleu(**options), nrefs, versions) == str(oracle.get_signature())


def test_what_sacrebleu_leaves_out_of_its_signature_is_in_ours():
    metric = Bleu(max_ngram_order=2, ref_length="shortest")
    assert metric.signature() == "case:mixed|eff:no|tok:13a|smooth:exp|order:2|reflen:shortest"


@settings(deadline=None, derandomize=True, max_examples=50)
@given(corpora())
def test_shortest_reference_length_is_the_minimum_and_changes_nothing_else(corpus):
    hyps, refs = corpus
    closest = Bleu(tokenize="none").statistics(hyps, refs)
    shortest = Bleu(tokenize="none", ref_length="shortest").statistics(hyps, refs)
    np.testing.assert_array_equal(closest[:, :-1], shortest[:, :-1])
    expected = [min(len(r.split()) for r in row) for row in zip(*refs, strict=True)]
    np.testing.assert_array_equal(shortest[:, -1], expected)


def test_of_two_equally_close_references_the_shorter_counts():
    metric = Bleu(tokenize="none")
    refs = [["a b c d e"], ["a b c"], ["a b c d e f g"]]
    assert metric.statistics(["a b c d"], refs)[0, -1] == 3
    assert metric.statistics(["a b c d e f"], refs)[0, -1] == 5


@pytest.mark.realdata
def test_multi_bleu_prints_18_54_on_the_multeval_example():
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder:
        pytest.skip("REPLITUNE_DATA names no folder")
    data = Path(folder) / "multeval-example"
    hyps = read_lines(data / "hyps.lc.tok.en.baseline.opt0.gz")
    refs = [read_lines(data / "refs.test2010.lc.tok.en.0.gz")]
    metric = Bleu(tokenize="none", smooth_method="none")
    statistics = metric.statistics(hyps, refs)
    assert f"{metric.score(statistics.sum(axis=0)):.2f}" == "18.54"
    oracle = sacrebleu.BLEU(tokenize="none", force=True)
    np.testing.assert_array_equal(statistics, sacrebleu_statistics(oracle, hyps, refs))


SMOOTHINGS = ["none", "floor", "add-k", "exp"]


@pytest.mark.parametrize("smooth", SMOOTHINGS)
@pytest.mark.parametrize("effective", [False, True])
def test_gradient_equals_finite_differences(smooth, effective):
    metric = Bleu(smooth_method=smooth, effective_order=effective)
    rng = np.random.default_rng(7)
    totals = 500.0 - 40 * np.arange(4) + rng.random((40, 4))
    matches = totals * rng.uniform(0.05, 0.9, (40, 4))
    lengths = rng.uniform(300, 700, (40, 2))
    sums = np.concatenate([matches, totals, lengths], axis=1)
    gradient = metric.gradient(sums)
    for row, found in zip(sums, gradient, strict=True):
        np.testing.assert_allclose(found, central_differences(metric.score, row), rtol=2e-5, atol=1e-8)


@pytest.mark.parametrize("smooth", ["floor", "exp"])
def test_gradient_holds_a_smoothed_zero_count_still(smooth):
    metric = Bleu(smooth_method=smooth)
    sums = np.array([30.0, 9, 0, 0, 60, 50, 40, 30, 60, 70])
    found = metric.gradient(sums)
    assert (found[2:4] == 0).all()
    away = [0, 1, 4, 5, 6, 7, 8, 9]  # where the score is smooth
    expected = central_differences(metric.score, sums)
    np.testing.assert_allclose(found[away], expected[away], rtol=1e-5)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.integers(0, 4), min_size=10, max_size=10), st.sampled_from(SMOOTHINGS), st.booleans())
def test_every_sum_has_a_finite_score_and_gradient(sums, smooth, effective):
    metric = Bleu(smooth_method=smooth, effective_order=effective)
    assert 0 <= metric.score(np.array(sums)) < math.inf
    assert np.isfinite(metric.gradient(np.array(sums))).all()


def test_scores_of_a_batch_are_the_scores_of_its_rows():
    metric = Bleu()
    rng = np.random.default_rng(3)
    sums = rng.integers(0, 50, (2, 3, 5, 10))
    scores, gradients = metric.score(sums), metric.gradient(sums)
    assert scores.shape == (2, 3, 5)
    assert gradients.shape == sums.shape
    for index in np.ndindex(2, 3, 5):
        assert scores[index] == metric.score(sums[index])
        np.testing.assert_array_equal(gradients[index], metric.gradient(sums[index]))


def test_rows_do_not_depend_on_their_neighbours_or_their_order():
    metric = Bleu()
    hyps = ["the cat sat .", "", "on 5.5 mats", "the cat sat ."]
    prepared = metric.prepare([["the cat sat on a mat .", "x", "on 5.5 mats"]])
    segments = np.array([0, 1, 2, 2])
    rows = metric.segment_statistics(hyps, segments, prepared)
    for order in ([3, 1, 0, 2], [2], [0, 0]):
        again = metric.segment_statistics([hyps[i] for i in order], segments[order], prepared)
        np.testing.assert_array_equal(again, rows[order])


def test_ten_thousand_tokens_and_empty_sides():
    long = " ".join(f"w{i % 997}" for i in range(10_000))
    hyps, refs = [long, "", "a b", ""], [[long, "a b c", "", ""]]
    metric, oracle = Bleu(tokenize="none"), sacrebleu.BLEU(tokenize="none", force=True)
    found = metric.statistics(hyps, refs)
    np.testing.assert_array_equal(found, sacrebleu_statistics(oracle, hyps, refs))
    assert metric.score(found).tolist() == [pytest.approx(100.0), 0, 0, 0]
    assert metric.statistics([], [[]]).shape == (0, 10)


def test_references_and_segments_must_fit():
    with pytest.raises(ReplituneError, match=r"different numbers of segments\n.*2, 1"):
        Bleu().prepare([["a", "b"], ["a"]])
    with pytest.raises(ReplituneError, match="no references"):
        Bleu().prepare([])
    with pytest.raises(IndexError):
        Bleu().statistics(["a", "b"], [["a"]])


def test_kink_is_announced_near_equal_lengths_and_near_zero_counts_only():
    metric = Bleu()
    spread = np.diag([25.0] * 10)
    smooth = np.array([400.0, 200, 100, 50, 500, 450, 400, 350, 500, 600])
    assert metric.kink(smooth, spread) is None
    near = smooth.copy()
    near[-1] = 514  # sd of the difference is 7.07
    assert "length" in metric.kink(near, spread)
    near[-1] = 515
    assert metric.kink(near, spread) is None
    together = spread.copy()
    together[-1, -2] = together[-2, -1] = 24  # lengths that vary together
    near[-1] = 503
    assert metric.kink(near, together) is None
    near[-1], near[3] = 600, 9
    assert "4-grams" in metric.kink(near, spread)
    assert Bleu(smooth_method="add-k").kink(near, spread) is None


def neubig_eq_105(hyp: list[str], ref: list[str]) -> float:
    """Sentence BLEU+1 written from the equation."""
    logs = 0.0
    for n in range(1, 5):
        grams = [Counter(zip(*(side[i:] for i in range(n)), strict=False)) for side in (hyp, ref)]
        match, count = sum((grams[0] & grams[1]).values()), sum(grams[0].values())
        add = int(n > 1)
        if match + add == 0:
            return 0.0
        logs += math.log((match + add) / (count + add)) / 4
    brevity = 0.0 if len(hyp) >= len(ref) else 1 - len(ref) / len(hyp)
    return 100 * math.exp(brevity + logs)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(corpora(max_refs=1))
def test_bleu_plus_one_is_the_mean_of_neubig_s_equation_105(corpus):
    hyps, refs = corpus
    metric = BleuPlusOne(tokenize="none")
    statistics = metric.statistics(hyps, refs)
    expected = [neubig_eq_105(h.split(), r.split()) for h, r in zip(hyps, refs[0], strict=True)]
    np.testing.assert_allclose(statistics[:, 0], expected, rtol=1e-12)
    assert metric.score(statistics.sum(axis=0)) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"smooth_method": "flor"}, "did you mean 'floor'"),
        ({"ref_length": "average"}, "closest, shortest"),
        ({"tokenize": "13"}, "did you mean '13a'"),
        ({"smooth_method": "exp", "smooth_value": 1.0}, "only with floor or add-k"),
        ({"smooth_method": "add-k", "smooth_value": -1.0}, "at least 0"),
        ({"smooth_method": "add-k", "smooth_value": math.nan}, "at least 0"),
        ({"max_ngram_order": 0}, "at least 1, at most 16"),
    ],
)
def test_a_wrong_option_says_what_is_allowed(options, said):
    with pytest.raises(ReplituneError, match=said.replace("'", ".")):
        get_metric({"name": "bleu", "options": options})
