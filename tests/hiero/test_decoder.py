"""The decoder against enumeration in plain Python, and what it promises about its output."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hiero_oracle import derivations, random_model
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.hiero.decoder import Decoder
from replitune.hiero.model import HieroLayout
from replitune.hiero.settings import HieroSearchSettings

MANY = 3000


def exact(span: int) -> HieroSearchSettings:
    """Settings under which nothing is pruned."""
    return HieroSearchSettings(pop_limit=50_000, max_span=span, options=1000)


def random_case(seed: int, words: int):
    rng = np.random.default_rng(seed)
    model, rules, ngrams = random_model(rng, order=int(rng.integers(1, 6)))
    sentence = [f"f{i}" for i in rng.integers(0, 5, rng.integers(1, words + 1))]
    span = int(rng.integers(1, 7))
    weights = rng.normal(size=8) * 0.3
    if rng.random() < 0.7:
        weights = np.abs(weights)
    return model, rules, ngrams, sentence, span, weights


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=120)
def test_nbest_of_an_unpruned_search_is_the_enumeration(seed):
    model, rules, ngrams, sentence, span, weights = random_case(seed, 4)
    everything = list(derivations(rules, ngrams, sentence, span))
    assume(len(everything) < MANY)
    expected = sorted((weights @ f - 100 * copied for _, f, copied in everything), reverse=True)
    decoder = Decoder(model, weights, exact(span))
    line = " ".join(sentence)

    found = decoder.nbest([line], len(everything) + 5)
    assert len(found.score) == len(everything)
    np.testing.assert_allclose(found.score - 100 * found.copied, expected, atol=1e-4)
    np.testing.assert_allclose(found.score, found.features @ weights, atol=1e-9)
    ours = sorted((t, *np.round(f, 3)) for t, f in zip(found.texts(), found.features, strict=True))
    theirs = sorted((t, *np.round(f, 3)) for t, f, _ in everything)
    assert [row[0] for row in ours] == [row[0] for row in theirs]
    np.testing.assert_allclose(
        np.sort(found.features, axis=0), np.sort([f for _, f, _ in everything], axis=0), atol=1e-4
    )
    assert decoder.decode([line]) == found.texts()[:1]

    distinct = decoder.nbest([line], len(everything) + 5, distinct=True)
    assert sorted(distinct.texts()) == sorted({text for text, _, _ in everything})
    firsts = [found.score[found.texts().index(text)] for text in distinct.texts()]
    np.testing.assert_allclose(distinct.score, firsts, atol=1e-4)


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_best_of_an_unpruned_search_is_the_best_of_the_enumeration_for_longer_sentences(seed):
    model, rules, ngrams, sentence, span, weights = random_case(seed, 6)
    best = -np.inf
    for number, (_, values, copied) in enumerate(derivations(rules, ngrams, sentence, span)):
        best = max(best, weights @ values - 100 * copied)
        assume(number < 20_000)
    found = Decoder(model, weights, exact(span)).nbest([" ".join(sentence)], 1)
    assert found.score[0] - 100 * found.copied[0] == pytest.approx(best, abs=1e-4)


def test_pruned_search_never_beats_the_unpruned_one_and_scores_what_it_says():
    for seed in range(40):
        model, _, _, sentence, span, weights = random_case(seed, 7)
        line = " ".join(sentence)
        full = Decoder(model, weights, exact(span)).nbest([line], 1)
        best = full.score[0] - 100 * full.copied[0]
        for pops in (1, 3, 10):
            cut = HieroSearchSettings(pop_limit=pops, max_span=span, options=2)
            decoder = Decoder(model, weights, cut)
            pruned = decoder.nbest([line], 3)
            assert (pruned.score - 100 * pruned.copied <= best + 1e-5).all()
            np.testing.assert_allclose(pruned.score, pruned.features @ weights, atol=1e-9)
            assert decoder.decode([line]) == pruned.texts()[:1]


@pytest.mark.parametrize("groups", [("tm",), ("lm",), ("tm", "lm", "penalties"), ("glue", "tm")])
def test_left_out_features_have_no_columns_and_no_influence(groups):
    rng = np.random.default_rng(11)
    model, rules, ngrams = random_model(rng, features=groups, sides=15)
    layout = HieroLayout.from_groups(groups)
    weights = np.abs(rng.normal(size=layout.dimension))
    full = layout.full(weights)
    for _ in range(10):
        sentence = [f"f{i}" for i in rng.integers(0, 5, 3)]
        everything = list(derivations(rules, ngrams, sentence, 3))
        expected = sorted((full @ f - 100 * copied for _, f, copied in everything), reverse=True)
        found = Decoder(model, weights, exact(3)).nbest([" ".join(sentence)], len(everything) + 1)
        assert found.features.shape == (len(everything), layout.dimension)
        np.testing.assert_allclose(found.score - 100 * found.copied, expected, atol=1e-4)


def test_all_zero_weights_translate_every_word_and_are_reproducible():
    rng = np.random.default_rng(2)
    model, _, _ = random_model(rng)
    decoder = Decoder(model, np.zeros(8))
    lines = [" ".join(f"f{i}" for i in rng.integers(0, 5, 6)) for _ in range(5)]
    found = decoder.nbest(lines, 10)
    assert (found.score == 0).all()
    assert all(found.texts())
    assert decoder.decode(lines) == decoder.decode(lines)


def test_blank_lines_are_blank_and_words_without_a_rule_are_copied():
    model, _, _ = random_model(np.random.default_rng(4))
    decoder = Decoder(model, model.layout.sensible())
    lines = ["", "  ", "zebra f3 <s>", "e1"]
    assert decoder.decode(lines)[:2] == ["", ""]
    found = decoder.nbest(lines, 1)
    assert found.copied.tolist()[:2] == [0, 0]
    assert "zebra" in found.texts()[2].split()
    assert found.texts()[3] == "e1"
    assert not found.features[:2].any()
    assert found.features[3].tolist()[1:] == [-1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert decoder.decode([]) == []


@pytest.mark.parametrize("span", [10, 20])
def test_a_400_word_sentence_is_translated_whole(span):
    rng = np.random.default_rng(6)
    model, _, _ = random_model(rng)
    line = " ".join(f"f{i}" for i in rng.integers(0, 5, 400))
    decoder = Decoder(model, model.layout.sensible(), HieroSearchSettings(pop_limit=10, max_span=span))
    found = decoder.nbest([line], 5, distinct=True)
    assert len(set(found.texts())) == 5
    words = line.split()
    unknown, without_own = words.count("f4"), words.count("f3")
    assert unknown <= found.copied[0] <= unknown + without_own


def test_threads_and_batches_do_not_change_a_byte():
    rng = np.random.default_rng(9)
    model, _, _ = random_model(rng, sides=60)
    lines = [" ".join(f"f{i}" for i in rng.integers(0, 5, rng.integers(0, 12))) for _ in range(40)]
    decoder = Decoder(model, model.layout.sensible(), HieroSearchSettings(pop_limit=15))
    one = list(decoder.nbest(lines, 20, threads=1).lines())
    assert list(decoder.nbest(lines, 20, threads=3).lines()) == one
    assert list(decoder.nbest(decoder.match(lines), 20).lines()) == one
    alone = [
        line.replace("0 |||", f"{i} |||", 1)
        for i, text in enumerate(lines)
        for line in decoder.nbest([text], 20).lines()
    ]
    assert alone == one
    assert decoder.decode(lines, threads=3) == [decoder.decode([line])[0] for line in lines]


@pytest.mark.parametrize("weights", [np.ones(7), np.full(8, np.nan)])
def test_wrong_weights_are_refused(weights):
    model, _, _ = random_model(np.random.default_rng(1))
    with pytest.raises(ReplituneError, match="weights do not fit"):
        Decoder(model, weights)


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=40)
def test_the_forest_of_an_unpruned_search_has_all_derivations(seed):
    from test_forest import derivations as of_forest

    from replitune.tuning.forest import Forest

    model, rules, ngrams, sentence, span, weights = random_case(seed, 4)
    everything = list(derivations(rules, ngrams, sentence, span))
    assume(len(everything) < MANY)
    decoder = Decoder(model, weights, exact(span))
    packed, vocabulary = decoder.forests([" ".join(sentence), ""], 1e6)
    assert packed.nodes[1] == 0
    forest = Forest(
        packed.head,
        packed.one,
        packed.two,
        packed.symbol_start,
        packed.symbols,
        packed.features,
        int(packed.nodes[0]),
    )
    found = of_forest(forest)
    ours = sorted(" ".join(vocabulary[w] for w in words) for words, _ in found)
    assert ours == sorted(text for text, _, _ in everything)
    np.testing.assert_allclose(
        np.sort([f for _, f in found], axis=0), np.sort([f for _, f, _ in everything], axis=0), atol=1e-4
    )
    best, _ = decoder.forests([" ".join(sentence)], 1.0)
    top = best.envelope(weights, np.zeros(8)).features[0] @ weights
    copied = decoder.nbest([" ".join(sentence)], 1)
    assert top == pytest.approx(copied.score[0], abs=1e-4)


def spelt(part) -> tuple[list[str], list[str]]:
    """(source words, target words) of a derivation, put together again."""
    begin, end, source, target, inside = part
    parts = [spelt(gap) for gap in inside]
    sides = []
    for side, text in enumerate((source, target)):
        words: list[str] = []
        for word in text.split():
            gap = {"X1": 0, "X2": 1}.get(word)
            words += [word] if gap is None else parts[gap][side]
        sides.append(words)
    assert len(sides[0]) == end - begin
    return sides[0], sides[1]


def test_derivations_put_together_are_the_source_and_the_translation():
    with_gaps = 0
    for seed in range(60):
        model, _, _, sentence, span, weights = random_case(seed, 9)
        decoder = Decoder(model, weights, HieroSearchSettings(pop_limit=20, max_span=span))
        lines = [" ".join([*sentence, "zebra"]), ""]
        found, blank = decoder.derivations(lines)
        assert blank == []
        assert [part[0] for part in found] == [0, *(part[1] for part in found[:-1])]
        sides = [spelt(part) for part in found]
        assert [*chain(*(source for source, _ in sides))] == lines[0].split()
        assert " ".join(chain(*(target for _, target in sides))) == decoder.decode(lines)[0]
        with_gaps += any(part[4] for part in found)
    assert with_gaps > 10
