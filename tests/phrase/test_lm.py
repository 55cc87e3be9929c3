"""The language model automaton: the definition of back-off, KenLM, files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from decoder_oracle import random_ngrams, sentence_logprob
from hypothesis import given, settings
from hypothesis import strategies as st

from phrase_models import write_arpa
from replitune.phrase.arpa import NgramModel
from replitune.phrase.lm import Automaton, LanguageModel, step


def score_words(automaton: Automaton, state: int, words: np.ndarray) -> tuple[float, int]:
    """(log probability of the words after `state`, the state after them)."""
    total = 0.0
    for word in words:
        logprob, state = step(automaton, state, word)
        total += logprob
    return total, state


def score(lm: LanguageModel, sentence: list[str]) -> float:
    """Natural log probability of a sentence with its end."""
    unknown = lm.ids["<unk>"]
    words = np.array([*(lm.ids.get(word, unknown) for word in sentence), lm.end], np.int32)
    return float(score_words(lm.automaton, lm.begin, words)[0])


def random_sentence(rng: np.random.Generator, words: int) -> list[str]:
    """Some words known to the model, some not."""
    return [f"e{i}" for i in rng.integers(0, words + 2, rng.integers(0, 12))]


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([0.0, 0.1, 0.3, 0.6]))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_score_is_the_definition_of_back_off_for_pruned_models(seed, order, density):
    rng = np.random.default_rng(seed)
    ngrams = random_ngrams(rng, order, 4, density)
    lm = LanguageModel.build(ngrams)
    for _ in range(10):
        sentence = random_sentence(rng, 4)
        assert score(lm, sentence) == pytest.approx(sentence_logprob(ngrams, sentence), abs=1e-5)


@pytest.mark.parametrize("order", [2, 3, 4, 5, 6])
def test_score_is_kenlm_s_of_the_same_arpa_file(tmp_path, order):
    kenlm = pytest.importorskip("kenlm")
    rng = np.random.default_rng(order)
    ngrams = random_ngrams(rng, order, 6, 0.35, closed=True)
    write_arpa(ngrams, tmp_path / "lm.arpa")
    theirs = kenlm.Model(str(tmp_path / "lm.arpa"))
    ours = LanguageModel.build(ngrams)
    for _ in range(300):
        sentence = random_sentence(rng, 6)
        expected = theirs.score(" ".join(sentence)) * math.log(10)
        assert score(ours, sentence) == pytest.approx(expected, abs=1e-4)


def test_a_state_keeps_only_what_can_matter():
    """After "a b" with no n-gram that starts with b, the history is forgotten."""
    words = ["<unk>", "<s>", "</s>", "a", "b"]
    ngrams = [np.arange(5, dtype=np.int32)[:, None], np.array([[3, 4]], np.int32)]
    logprobs = [np.full(5, -1, np.float32), np.array([-0.5], np.float32)]
    backoffs = [np.array([0, 0, 0, -0.25, 0], np.float32), np.zeros(1, np.float32)]
    lm = LanguageModel.build(NgramModel(words, ngrams, logprobs, backoffs))
    states = [
        score_words(lm.automaton, lm.begin, np.array(history, np.int32))[1]
        for history in ([3], [4], [3, 4], [4, 3], [0])
    ]
    root = lm.automaton.root
    assert states == [3, root, root, 3, root]


@given(st.integers(0, 10**6), st.integers(1, 5))
@settings(deadline=None, derandomize=True, max_examples=25)
def test_equal_states_give_equal_probabilities_and_high_bounds_them(seed, order):
    rng = np.random.default_rng(seed)
    ngrams = random_ngrams(rng, order, 3, 0.4)
    lm = LanguageModel.build(ngrams)
    automaton = lm.automaton
    of_state: dict[int, np.ndarray] = {}
    for _ in range(60):
        history = rng.integers(3, 6, rng.integers(0, 6)).astype(np.int32)
        state = score_words(automaton, lm.begin, history)[1]
        next_words = np.array(
            [score_words(automaton, state, np.array([w], np.int32))[0] for w in range(2, 6)]
        )
        np.testing.assert_array_equal(of_state.setdefault(state, next_words), next_words)
        assert (next_words <= lm.high[2:6] + 1e-6).all()


def test_saved_model_is_mapped_and_scores_the_same(tmp_path):
    rng = np.random.default_rng(3)
    lm = LanguageModel.build(random_ngrams(rng, 4, 5))
    lm.save(tmp_path)
    loaded = LanguageModel.load(tmp_path)
    assert isinstance(loaded.nodes, np.memmap)
    for _ in range(20):
        sentence = random_sentence(rng, 5)
        assert score(loaded, sentence) == score(lm, sentence)


def test_a_model_without_unk_gives_unknown_words_kenlm_s_probability():
    words = ["<s>", "</s>", "a"]
    one = np.arange(3, dtype=np.int32)[:, None]
    lm = LanguageModel.build(
        NgramModel(words, [one], [np.full(3, -1, np.float32)], [np.zeros(3, np.float32)])
    )
    assert score(lm, ["zzz"]) == pytest.approx(-101 * math.log(10), rel=1e-6)
