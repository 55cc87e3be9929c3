import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.ribes_score import kendall_tau

from replitune.errors import ReplituneError
from replitune.metrics.ribes import Ribes
from replitune.metrics.ribes_kernel import aligned_positions

HYPS = [
    "he read the book because he was interested in world history",
    "Bob hit John yesterday",
    "the book was read by the boy",
    "a b a b c a",
    "x",
    "x y",
    "a a a",
    "",
    "the the cat the",
    "A b",
    "c d",
]
REFS = [
    [
        "he was interested in world history because he read the book",
        "John hit Bob yesterday",
        "the boy read the book",
        "a b c a b a",
        "x",
        "x",
        "a a",
        "a b",
        "the cat the the dog",
        "A B c",
        "",
    ],
    [
        "because he was interested in world history he read the book",
        "yesterday John hit Bob",
        "the boy has read the book",
        "c a a b b a",
        "y",
        "x z",
        "b a a",
        "",
        "cat the the the",
        "b a",
        "",
    ],
]
# What the official script, version 1.03.1, prints for these (options -z -s).
PRINTED = {
    1: [0.309091, 0.5, 0.183865, 0.4, 1, 0.840896, 0, 0, 0.325103, 0.951229, None],
    2: [0.490909, 0.5, 0.183865, 0.4, 1, 0.840896, 0, 0, 0.840896, 0.951229, None],
}
PRINTED_MEAN = {1: 0.451018, 2: 0.520780}


def occurrences(ngram, words):
    size = len(ngram)
    return [i for i in range(len(words) - size + 1) if words[i : i + size] == ngram]


def aligned_by_counting(hyp, ref):
    """The rule read literally: grow the window, look left and then right."""
    positions = []
    for i in range(len(hyp)):
        for window in range(len(hyp)):
            left, right = hyp[max(0, i - window) : i + 1], hyp[i : i + window + 1]
            if window <= i and len(occurrences(left, hyp)) == len(occurrences(left, ref)) == 1:
                positions.append(occurrences(left, ref)[0] + window)
                break
            fits = i + window < len(hyp)
            if fits and len(occurrences(right, hyp)) == len(occurrences(right, ref)) == 1:
                positions.append(occurrences(right, ref)[0])
                break
    return positions


def ribes_by_definition(hyp, ref):
    if not hyp:
        return 0.0
    positions = aligned_by_counting(hyp, ref)
    # kendall_tau is normalised, and 0 for fewer than two words
    tau = 1.0 if len(positions) == len(ref) == 1 else kendall_tau(positions)
    precision = len(positions) / len(hyp)
    return tau * precision**0.25 * min(1, math.exp(1 - len(ref) / len(hyp))) ** 0.10


@pytest.mark.parametrize("nrefs", [1, 2])
def test_score_is_what_the_official_script_prints(nrefs):
    metric = Ribes()
    statistics = metric.statistics(HYPS, REFS[:nrefs])
    expected = [[0, 0] if score is None else [100 * score, 1] for score in PRINTED[nrefs]]
    np.testing.assert_allclose(statistics, expected, atol=5e-5)
    mean = metric.score(statistics.sum(axis=0))
    assert mean == pytest.approx(100 * PRINTED_MEAN[nrefs], abs=5e-5)


WORDS = st.lists(st.sampled_from("abcd"), max_size=10) | st.permutations("abcdeab")


@settings(deadline=None, derandomize=True, max_examples=300)
@given(WORDS, WORDS.filter(bool))
def test_segment_score_is_the_definition(hyp, ref):
    statistics = Ribes().statistics([" ".join(hyp)], [[" ".join(ref)]])
    assert statistics[0].tolist() == pytest.approx([100 * ribes_by_definition(hyp, ref), 1])


@pytest.mark.parametrize(
    ("hyp", "ref", "expected"),
    [
        ("Bob hit John yesterday", "John hit Bob yesterday", [2, 1, 0, 3]),
        ("the book was read by the boy", "the boy read the book", [3, 4, 2, 0, 1]),
    ],
)
def test_alignments_are_those_of_isozaki_et_al(hyp, ref, expected):
    # Isozaki et al. (2010), (H1, R1) and (H2, R2), counted from 0
    ids = {word: i for i, word in enumerate(ref.split())}
    words = np.array([ids.get(word, -1) for word in hyp.split()])
    against = np.array([ids[word] for word in ref.split()])
    assert aligned_positions(words, against).tolist() == expected


def test_case_and_exponents_are_options():
    hyps, refs = ["A b c"], [["a b c d"]]
    assert Ribes().statistics(hyps, refs)[0, 0] == pytest.approx(100 * math.exp(-1 / 3) ** 0.1)
    plain = Ribes(alpha=0, beta=0, lowercase=False).statistics(hyps, refs)
    assert plain.tolist() == [[100, 1]]
    assert Ribes().signature() == "case:lc|alpha:0.25|beta:0.1|tok:none|aggregation:mean"
    with pytest.raises(ReplituneError):
        Ribes(alpha=-1)


def test_rows_do_not_depend_on_each_other():
    metric = Ribes()
    prepared = metric.prepare(REFS)
    segments = np.array([3, 2, 1, 0])
    together = metric.segment_statistics(HYPS[:4], segments, prepared)
    alone = [
        metric.segment_statistics([hyp], np.array([segment]), prepared)[0]
        for hyp, segment in zip(HYPS[:4], segments, strict=True)
    ]
    np.testing.assert_array_equal(together, alone)


def test_thousands_of_words_are_scored():
    words = [f"w{i}" for i in range(3000)]
    statistics = Ribes().statistics([" ".join(words)], [[" ".join(words[::-1])]])
    assert statistics.tolist() == [[0, 1]]


def test_score_and_gradient_are_those_of_a_mean():
    sums = np.array([[150.0, 2.0], [0.0, 0.0]])
    assert Ribes().score(sums).tolist() == [75, 0]
    assert Ribes().gradient(sums).tolist() == [[0.5, -37.5], [0, 0]]
