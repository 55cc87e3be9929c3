import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from replitune.errors import ReplituneError
from replitune.metrics.chrf import Chrf, ChrfPlusPlus
from replitune.metrics.chrf_kernel import PUNCTUATION, WHITESPACE

LINE = st.text(
    st.sampled_from("abAB .,!()-'\"\t\u00a0\u2028\u3000éΣßİ漢字かな。🙂")
    | st.characters(exclude_characters="\0\r\n"),
    max_size=30,
) | st.sampled_from(["", " ", "a", "(hi)", "the cat sat on the mat.", "aaaa aaaa", "..", "a."])

OPTIONS = st.fixed_dictionaries(
    {
        "char_order": st.sampled_from([6, 6, 1, 3, 0, 9]),
        "word_order": st.sampled_from([2, 0, 1, 4]),
        "beta": st.sampled_from([2, 1, 3, 0]),
        "lowercase": st.booleans(),
        "whitespace": st.booleans(),
        "eps_smoothing": st.booleans(),
    }
).filter(lambda options: options["char_order"] + options["word_order"] > 0)


def sacrebleu_statistics(hyps, refs, **options):
    return np.array(CHRF(**options)._extract_corpus_statistics(hyps, refs))


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    st.lists(st.tuples(LINE, LINE, LINE, LINE), min_size=1, max_size=5), OPTIONS, st.sampled_from([1, 2, 3])
)
def test_statistics_and_score_equal_sacrebleus_in_every_option(lines, options, nrefs):
    hyps, *refs = (list(column) for column in zip(*lines, strict=True))
    refs = refs[:nrefs]
    ours = Chrf(**options)
    statistics = ours.statistics(hyps, refs)
    np.testing.assert_array_equal(statistics, sacrebleu_statistics(hyps, refs, **options))
    theirs = CHRF(**options)
    expected = theirs.corpus_score(hyps, refs).score
    assert ours.score(statistics.sum(axis=0)) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.text("ab", max_size=40), st.text("ab", max_size=40), st.text("ab ", max_size=40), OPTIONS)
def test_repetitive_text_equals_sacrebleu(hyp, first, second, options):
    statistics = Chrf(**options).statistics([hyp], [[first], [second]])
    expected = sacrebleu_statistics([hyp], [[first], [second]], **options)
    np.testing.assert_array_equal(statistics, expected)


def test_white_space_and_punctuation_are_pythons_and_sacrebleus():
    spaces = {chr(point) for point in range(sys.maxunicode + 1) if not chr(point).split()}
    assert {chr(point) for point in np.flatnonzero(WHITESPACE)} == spaces
    assert {chr(point) for point in np.flatnonzero(PUNCTUATION)} == CHRF._PUNCTS


def test_chrf_plus_plus_is_word_order_two():
    hyps, refs = ["a cat, sat (here)"], [["the cat sat here."]]
    metric = ChrfPlusPlus()
    assert metric.name == metric.id == "chrf++"
    expected = sacrebleu_statistics(hyps, refs, word_order=2)
    np.testing.assert_array_equal(metric.statistics(hyps, refs), expected)
    assert len(metric.statistic_names) == len(set(metric.statistic_names)) == 24
    assert metric.statistic_names[:3] == ("char_hyp_1", "char_ref_1", "char_match_1")


@pytest.mark.parametrize(
    "options", [{}, {"word_order": 2, "lowercase": True}, {"whitespace": True, "beta": 2}]
)
def test_signature_is_sacrebleus(options):
    theirs = CHRF(**options)
    theirs.corpus_score(["a"], [["b"]])
    assert f"nrefs:1|{Chrf(**options).signature()}|version" in theirs.get_signature().format()
    assert Chrf(beta=3).signature() != Chrf().signature()


def test_the_first_of_equally_good_references_counts():
    statistics = Chrf(char_order=1).statistics(["ab"], [["xyz"], ["uvwx"]])
    assert statistics.tolist() == [[2, 3, 0]]


def test_rows_do_not_depend_on_each_other():
    refs = [["a b c d", "c a", "xyz"], ["b a", "", "z y x"]]
    hyps = ["c d a b", "a c", "z x", "c d a b", ""]
    segments = np.array([2, 1, 2, 1, 0])
    metric = ChrfPlusPlus()
    prepared = metric.prepare(refs)
    together = metric.segment_statistics(hyps, segments, prepared)
    alone = [
        metric.segment_statistics([hyp], np.array([segment]), prepared)[0]
        for hyp, segment in zip(hyps, segments, strict=True)
    ]
    np.testing.assert_array_equal(together, alone)
    assert metric.segment_statistics([], np.array([], dtype=np.int64), prepared).shape == (0, 24)


def test_ten_thousand_words_are_counted():
    hyp = " ".join(f"word{i}" for i in range(10_000))
    expected = sacrebleu_statistics([hyp], [[hyp + " more"]], word_order=2)
    np.testing.assert_array_equal(ChrfPlusPlus().statistics([hyp], [[hyp + " more"]]), expected)


@pytest.mark.parametrize("smooth", [False, True])
def test_scores_of_a_batch_equal_sacrebleus_for_any_sums(smooth):
    generator = np.random.default_rng(4)
    totals = generator.integers(0, 4, size=(2, 50, 8, 2))
    matches = np.minimum(generator.integers(0, 4, size=(2, 50, 8, 1)), totals.min(-1)[..., None])
    sums = np.concatenate([totals, matches], axis=-1).reshape(2, 50, 24)
    sums[0, 0] = 0
    theirs = CHRF(word_order=2, eps_smoothing=smooth)
    expected = [[theirs._compute_f_score(row) for row in block.tolist()] for block in sums]
    scores = Chrf(word_order=2, eps_smoothing=smooth).score(sums)
    np.testing.assert_allclose(scores, expected, atol=1e-9)


@pytest.mark.parametrize("smooth", [False, True])
def test_gradient_is_the_finite_difference(smooth):
    hyps = ["the cat sat", "on a red mat", "ü"]
    refs = [["the cats sat", "on the mat .", "y"]]
    metric = Chrf(word_order=4, eps_smoothing=smooth)
    sums = metric.statistics(hyps, refs).sum(axis=0)
    points = np.stack([sums * 40.0, sums + np.where(sums > 0, 0.5, 0)])
    gradient = metric.gradient(points)
    step = 1e-4
    for k in np.flatnonzero(sums):
        shift = np.zeros(sums.size)
        shift[k] = step
        slope = (metric.score(points + shift) - metric.score(points - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[:, k], slope, rtol=1e-5, atol=1e-8)
    assert np.isfinite(metric.gradient(np.zeros((3, sums.size)))).all()


@pytest.mark.parametrize("options", [{"char_order": 0}, {"char_order": -1, "word_order": 2}, {"beta": -1}])
def test_impossible_options_are_refused(options):
    with pytest.raises(ReplituneError):
        Chrf(**options)
