"""Corrupted references behave like replicated systems: quality, luck, and segments apart."""

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.backends.corruption import MIX, corrupted_replica, replica_effects
from replitune.corpus.synthetic import synthetic_testset
from replitune.errors import ReplituneError
from replitune.streams import stream

SEGMENTS = 300


@pytest.fixture(scope="module")
def reference():
    return synthetic_testset(2011, "test1", SEGMENTS).references[0]


def bleu(hypotheses, reference):
    return sacrebleu.corpus_bleu(hypotheses, [reference], tokenize="none", force=True).score


def replica(reference, system="a", number=1, testset="test1", seed=1, errors=0.4, spread=0.01):
    return corrupted_replica(
        reference,
        seed=seed,
        system=system,
        replica=f"mert-{number:03d}",
        testset=testset,
        errors=errors,
        spread=spread,
    )


def scores(reference, systems, replicas, **settings):
    return np.array(
        [
            [bleu(replica(reference, s, k, **settings), reference) for k in range(1, replicas + 1)]
            for s in systems
        ]
    )


def test_no_errors_leave_the_reference(reference):
    assert replica(reference, errors=0.0) == [" ".join(line.split()) for line in reference]


def test_same_names_same_output_and_every_name_counts(reference):
    first = replica(reference)
    assert replica(reference) == first
    for other in ({"system": "b"}, {"number": 2}, {"testset": "test2"}, {"seed": 2}):
        assert replica(reference, **other) != first


def test_more_errors_lower_bleu(reference):
    mean = [scores(reference, "abc", 2, errors=e).mean() for e in (0.3, 0.36, 0.42, 0.48)]
    assert np.all(np.diff(mean) < -2)
    assert 25 < mean[-1] < mean[0] < 50


def test_equal_errors_have_equal_expected_bleu(reference):
    # two groups of 20 systems: the means differ by no more than three standard errors
    systems = scores(reference, [f"s{k}" for k in range(40)], 1)[:, 0]
    first, second = systems[:20], systems[20:]
    error = np.sqrt(first.var(ddof=1) / 20 + second.var(ddof=1) / 20)
    assert abs(first.mean() - second.mean()) < 3 * error
    # and the system names leave their trace: the spread over systems exceeds that over replicas
    within = scores(reference, ["s0", "s1", "s2"], 8).std(axis=1, ddof=1).mean()
    assert systems.std(ddof=1) > 1.5 * within


def test_the_replica_effect_is_a_few_tenths_of_bleu_and_grows_with_spread(reference):
    def spread_of(spread):
        return scores(reference, "abcd", 10, spread=spread).std(axis=1, ddof=1).mean()

    assert 0.25 < spread_of(0.01) < 0.75
    assert spread_of(0.08) > 2 * spread_of(0.01)


def test_the_replica_effect_is_shared_by_test_sets():
    """A lucky replica is lucky on every test set: correlation over replicas."""
    texts = [synthetic_testset(2011, name, 200).references[0] for name in ("test1", "test2")]
    first, second = (
        np.array([bleu(replica(text, number=k, testset=n, spread=0.1), text) for k in range(1, 21)])
        for n, text in zip(("test1", "test2"), texts, strict=True)
    )
    assert np.corrcoef(first, second)[0, 1] > 0.7


def test_systems_of_equal_quality_err_on_other_segments(reference):
    """Scores of segments correlate within a system more than between two."""

    def wrong(system, number):
        hypotheses = replica(reference, system, number)
        return np.array(
            [
                sacrebleu.sentence_bleu(h, [r], tokenize="none").score
                for h, r in zip(hypotheses, reference, strict=True)
            ]
        )

    a1, a2, b1 = wrong("a", 1), wrong("a", 2), wrong("b", 1)
    within = np.corrcoef(a1, a2)[0, 1]
    between = np.corrcoef(a1, b1)[0, 1]
    assert within > 0.75
    # hard segments are hard for both, and more so for one than for the other
    assert 0.1 < between < within - 0.25


def test_replicas_often_agree_on_a_segment(reference):
    first, second = replica(reference, number=1), replica(reference, number=2)
    same = np.mean([a == b for a, b in zip(first, second, strict=True)])
    assert 0.3 < same < 0.9


def test_segments_and_replicas_as_units_can_disagree(reference):
    """Two systems of equal quality: replicas alone see a difference, segments do not.

    With 8 replicas, Welch's t over replicas rejects for most pairs of systems, while a
    bootstrap over segments, which sees what a new test set would change, rejects seldom.
    """
    from scipy import stats

    pairs = 10
    by_replicas = by_segments = 0
    rng = np.random.default_rng(5)
    draws = rng.integers(SEGMENTS, size=(100, SEGMENTS))
    for p in range(pairs):
        systems = [f"x{p}", f"y{p}"]
        outputs = [[replica(reference, s, k) for k in range(1, 9)] for s in systems]
        values = [[bleu(h, reference) for h in system] for system in outputs]
        by_replicas += stats.ttest_ind(*values, equal_var=False).pvalue < 0.05
        metric = sacrebleu.BLEU(tokenize="none", force=True)
        sums = [np.array(metric._extract_corpus_statistics(system[0], [reference])) for system in outputs]
        delta = [
            metric._compute_score_from_stats(sums[1][d].sum(0).tolist()).score
            - metric._compute_score_from_stats(sums[0][d].sum(0).tolist()).score
            for d in draws
        ]
        by_segments += not np.quantile(delta, 0.025) < 0 < np.quantile(delta, 0.975)
    assert by_replicas >= pairs / 2
    assert by_segments < by_replicas


def test_effects_have_mean_one_and_the_mean_mix():
    effects = [replica_effects(0.1, stream(3, "test", k)) for k in range(4000)]
    factor = np.array([e.factor for e in effects])
    assert abs(factor.mean() - 1) < 4 * factor.std() / np.sqrt(4000)
    assert abs(np.log(factor).std() - 0.1) < 0.005
    mix = np.array([e.mix for e in effects])
    assert np.allclose(mix.sum(axis=1), 1)
    assert np.allclose(mix.mean(axis=0), MIX, atol=0.005)


def test_error_types_change_length_as_they_should(reference):
    """Substitution and swap keep the length, insertion adds, deletion removes."""
    tokens = sum(len(line.split()) for line in reference)
    output = replica(reference, errors=0.3, spread=0.0)
    length = sum(len(line.split()) for line in output)
    expected = tokens * (1 + 0.3 * (MIX[2] - MIX[1]))
    assert abs(length - expected) < 4 * np.sqrt(tokens * 0.3 * (MIX[1] + MIX[2]))


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    lines=st.lists(st.sampled_from(["", "a", "a b", "c d e f"]), max_size=6),
    errors=st.floats(0, 0.99),
    spread=st.floats(0, 1),
)
def test_any_corpus_keeps_its_segments_and_words(lines, errors, spread):
    output = replica(lines, errors=errors, spread=spread)
    assert len(output) == len(lines)
    known = {token for line in lines for token in line.split()}
    for line, made in zip(lines, output, strict=True):
        assert set(made.split()) <= known
        if not line:
            assert made == ""


@pytest.mark.parametrize(
    "bad", [{"errors": -0.1}, {"errors": 1.0}, {"spread": -1.0}, {"spread": float("nan")}]
)
def test_settings_out_of_range(reference, bad):
    with pytest.raises(ReplituneError, match="out of range"):
        replica(reference, **bad)
