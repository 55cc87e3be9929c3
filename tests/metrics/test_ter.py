import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import translation_edit_rate
from sacrebleu.metrics.ter import TER

from replitune.metrics.ter import Ter

# Text that exercises every tokenisation rule: CJK, kana, full-width signs, XML, digits.
LINE = st.text(
    st.sampled_from("aAbéΣßİ .,-'s&;:\"()09\t\u00a0\u2028\u3000。、「（！漢字かなカナ㐀㋿￥🙂")
    | st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]),
    max_size=25,
) | st.sampled_from(["", " ", "&quot;a&amp;b's", "漢字ab かな。", "it 's", "1,000.5-6", "x ."])


def sacrebleu_statistics(hyps, refs, **options):
    metric = TER(**options)
    return np.array(metric._extract_corpus_statistics(hyps, refs), dtype=np.float64)


def words(*ids):
    return " ".join(f"w{i}" for i in ids)


def assert_equal_edits(hyp, ref):
    expected = translation_edit_rate(hyp.split(), ref.split())
    assert tuple(Ter().statistics([hyp], [[ref]])[0]) == expected


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    st.lists(st.tuples(LINE, LINE, LINE), min_size=1, max_size=5),
    st.tuples(*[st.booleans()] * 4),
    st.booleans(),
)
def test_statistics_equal_sacrebleus_in_every_option(lines, options, two_references):
    names = ("normalized", "no_punct", "asian_support", "case_sensitive")
    chosen = dict(zip(names, options, strict=True))
    hyps, *refs = (list(column) for column in zip(*lines, strict=True))
    refs = refs[: 1 + two_references]
    ours = Ter(**chosen)
    statistics = ours.statistics(hyps, refs)
    np.testing.assert_array_equal(statistics, sacrebleu_statistics(hyps, refs, **chosen))
    theirs = TER(**chosen)
    expected = theirs.corpus_score(hyps, refs).score
    assert ours.score(statistics.sum(axis=0)) == pytest.approx(expected, abs=1e-9)
    signature = theirs.get_signature().format()
    assert f"nrefs:{len(refs)}|{ours.signature()}|version:" in signature


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.permutations(range(14)), st.lists(st.integers(0, 13), max_size=6))
def test_permuted_sentences_equal_sacrebleu(order, extra):
    assert_equal_edits(words(*order, *extra), words(*range(14)))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.lists(st.integers(0, 3), max_size=30), st.lists(st.integers(0, 3), max_size=30))
def test_repetitive_sentences_equal_sacrebleu(hyp, ref):
    assert_equal_edits(words(*hyp), words(*ref))


@pytest.mark.parametrize("seed", range(8))
def test_long_sentences_equal_sacrebleu(seed):
    generator = np.random.default_rng(seed)
    n, m = generator.integers(1, 60, size=2)
    hyp, ref = generator.integers(0, 25, size=n), generator.integers(0, 25, size=m)
    assert_equal_edits(words(*hyp), words(*ref))


def test_blocks_further_apart_than_the_beam_is_wide_stay_apart():
    front, back = [f"a{i}" for i in range(30)], [f"b{i}" for i in range(32)]
    hyp, ref = " ".join(back + front), " ".join(front + back)
    assert_equal_edits(hyp, ref)
    # an edit distance without beam would find that three shifts do (sacrebleu: 3)
    assert Ter().statistics([hyp], [[ref]])[0, 0] == 62


@pytest.mark.parametrize(("n", "m"), [(1, 400), (2, 301), (7, 400), (400, 1), (300, 7)])
def test_extreme_length_ratios_equal_sacrebleu(n, m):
    hyp = words(*(i % 40 for i in range(n)))
    ref = words(*((i * 7) % 40 for i in range(m)))
    assert_equal_edits(hyp, ref)


@pytest.mark.parametrize("seed", [3, 4])
def test_search_gives_up_at_the_limit_of_candidates_as_sacrebleu_does(seed):
    # without the limit, sacrebleu gives 23 and 14
    generator = np.random.default_rng(seed)
    common = generator.integers(0, 6, size=45)
    hyp, ref = words(*generator.permutation(common)), words(*common)
    assert_equal_edits(hyp, ref)
    assert Ter().statistics([hyp], [[ref]])[0, 0] == {3: 28, 4: 19}[seed]


def test_a_moved_block_costs_one_edit():
    # Snover et al. (2006): a shift of any number of words over any distance costs 1.
    statistics = Ter().statistics(["d e f a b c"], [["a b c d e f"]])
    assert statistics.tolist() == [[1, 6]]


@pytest.mark.parametrize(
    ("hyp", "ref", "expected"),
    [("", "", [0, 0]), ("", "a b", [2, 2]), ("a b c", "", [3, 0]), (" ", "\u2028", [0, 0])],
)
def test_empty_sides_are_defined(hyp, ref, expected):
    statistics = Ter().statistics([hyp], [[ref]])
    assert statistics.tolist() == [expected]
    score = TER().corpus_score([hyp], [[ref]]).score
    assert Ter().score(statistics.sum(axis=0)) == score


def test_reference_length_is_the_mean_over_references():
    statistics = Ter().statistics(["a b"], [["a b c"], ["a b"], ["a b c"]])
    assert statistics.tolist() == [[0, 8 / 3]]


def test_ten_thousand_words_are_scored():
    long = words(*range(10_000))
    statistics = Ter().statistics([long, long], [["a b", words(*range(5, 10_000))]])
    assert statistics.tolist() == [[10_000, 2], [5, 9_995]]


def test_rows_do_not_depend_on_each_other():
    refs = [["a b c d", "c a", "x y z"], ["b a", "", "z y x"]]
    hyps = ["c d a b", "a c", "z x", "c d a b", ""]
    segments = np.array([0, 1, 2, 1, 0])
    metric = Ter()
    prepared = metric.prepare(refs)
    together = metric.segment_statistics(hyps, segments, prepared)
    alone = [
        metric.segment_statistics([hyp], np.array([segment]), prepared)[0]
        for hyp, segment in zip(hyps, segments, strict=True)
    ]
    np.testing.assert_array_equal(together, alone)
    assert metric.segment_statistics([], np.array([], dtype=np.int64), prepared).shape == (0, 2)


def test_scores_of_a_batch_and_of_zero_sums_are_finite():
    sums = np.array([[[0.0, 0.0], [3.0, 0.0]], [[1.0, 4.0], [8.0, 4.0]]])
    assert Ter().score(sums).tolist() == [[0.0, 100.0], [25.0, 200.0]]
    assert np.isfinite(Ter().gradient(sums)).all()


def test_gradient_is_the_finite_difference():
    point = np.array([[310.0, 1200.5], [7.0, 3.0]])
    step = 1e-4
    for k in range(2):
        shift = np.zeros(2)
        shift[k] = step
        slope = (Ter().score(point + shift) - Ter().score(point - shift)) / (2 * step)
        np.testing.assert_allclose(Ter().gradient(point)[:, k], slope, rtol=1e-6)


@pytest.mark.realdata
def test_multeval_example_is_tercoms_and_a_sample_is_sacrebleus():
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder:
        pytest.skip("REPLITUNE_DATA is not set")

    def read(name):
        path = Path(folder, "multeval-example", name)
        return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]

    hyps, refs = read("hyps.lc.tok.en.baseline.opt0.gz"), read("refs.test2010.lc.tok.en.0.gz")
    metric = Ter()
    statistics = metric.statistics(hyps, [refs])
    # tercom prints 0.6552 for this file
    assert round(float(metric.score(statistics.sum(axis=0))), 2) == 65.52
    sample = range(0, len(hyps), 40)
    expected = sacrebleu_statistics([hyps[i] for i in sample], [[refs[i] for i in sample]])
    np.testing.assert_array_equal(statistics[sample], expected)


def test_a_segment_that_no_reference_has_is_an_error():
    metric = Ter()
    with pytest.raises(IndexError, match=r"0 \.\. 0"):
        metric.segment_statistics(["a"], np.array([1]), metric.prepare([["a"]]))


def test_lines_with_nul_are_tokenised_one_by_one():
    hyps, refs = ["a \0 b", "c.", ""], [["a b", "c .", "\0"]]
    for options in ({}, {"normalized": True}, {"no_punct": True}):
        expected = sacrebleu_statistics(hyps, refs, **options)
        np.testing.assert_array_equal(Ter(**options).statistics(hyps, refs), expected)
