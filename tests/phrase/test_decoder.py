"""The decoder against enumeration in plain Python, and what it promises about its output."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from decoder_oracle import derivations, random_model, random_ngrams, random_table
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.phrase.decoder import Decoder
from replitune.phrase.features import PhraseLayout
from replitune.phrase.lm import LanguageModel
from replitune.phrase.model import PhraseModel
from replitune.phrase.settings import SearchSettings
from replitune.settings import read


def exact(limit: int) -> SearchSettings:
    """Settings under which nothing is pruned."""
    return SearchSettings(stack=3000, pop_limit=10**5, beam=0, distortion_limit=limit, options=1000)


def random_case(seed: int, words: int):
    rng = np.random.default_rng(seed)
    model, ngrams = random_model(rng, order=int(rng.integers(1, 5)))
    sentence = [f"f{i}" for i in rng.integers(0, 7, rng.integers(1, words + 1))]
    limit = int(rng.integers(-1, 5))
    weights = rng.normal(size=14) * 0.3
    if rng.random() < 0.7:
        weights = np.abs(weights)
    return model, ngrams, sentence, limit, weights


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_nbest_of_an_unpruned_search_is_the_enumeration(seed):
    model, ngrams, sentence, limit, weights = random_case(seed, 4)
    everything = list(derivations(model.table, ngrams, sentence, limit))
    expected = sorted((weights @ f - 100 * copied for _, f, copied in everything), reverse=True)
    decoder = Decoder(model, weights, exact(limit))
    line = " ".join(sentence)

    found = decoder.nbest([line], len(everything) + 5)
    assert len(found.score) == len(everything)
    np.testing.assert_allclose(found.score - 100 * found.copied, expected, atol=1e-5)
    np.testing.assert_allclose(found.score, found.features @ weights, atol=1e-9)
    ours = sorted((t, *np.round(f, 3)) for t, f in zip(found.texts(), found.features, strict=True))
    theirs = sorted((t, *np.round(f, 3)) for t, f, _ in everything)
    assert [row[0] for row in ours] == [row[0] for row in theirs]
    np.testing.assert_allclose(
        np.array([row[1:] for row in ours], float),
        np.array([row[1:] for row in theirs], float),
        atol=2.1e-3,
    )
    assert decoder.decode([line]) == found.texts()[:1]

    distinct = decoder.nbest([line], len(everything) + 5, distinct=True)
    assert sorted(distinct.texts()) == sorted({text for text, _, _ in everything})
    firsts = list(dict.fromkeys(found.texts()))
    assert distinct.texts() == firsts


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=40)
def test_best_of_an_unpruned_search_is_the_best_of_the_enumeration_for_longer_sentences(seed):
    model, ngrams, sentence, limit, weights = random_case(seed, 6)
    if limit < 0 or limit > 2:
        limit = 2
    best = max(
        weights @ f - 100 * copied for _, f, copied in derivations(model.table, ngrams, sentence, limit)
    )
    found = Decoder(model, weights, exact(limit)).nbest([" ".join(sentence)], 1)
    assert found.score[0] - 100 * found.copied[0] == pytest.approx(best, abs=1e-5)


def test_pruned_search_never_beats_the_unpruned_one_and_scores_what_it_says():
    for seed in range(30):
        model, _, sentence, limit, weights = random_case(seed, 6)
        line = " ".join(sentence)
        full = Decoder(model, weights, exact(limit)).nbest([line], 1)
        cut = SearchSettings(stack=3, pop_limit=5, distortion_limit=limit, options=2)
        pruned = Decoder(model, weights, cut).nbest([line], 3)
        best = full.score[0] - 100 * full.copied[0]
        assert (pruned.score - 100 * pruned.copied <= best + 1e-9).all()
        np.testing.assert_allclose(pruned.score, pruned.features @ weights, atol=1e-9)


@pytest.mark.parametrize("lift", [0.0, 0.4])
def test_early_discarding_changes_nothing(lift):
    """Bounds of +inf, with which nothing is discarded early, give the same n-best lists; also for
    a language model with positive back-off weights."""
    rng = np.random.default_rng(8)
    table = random_table(rng, phrases=40, options=8)
    ngrams = random_ngrams(rng, 3, 6)
    for backoffs in ngrams.backoffs[:-1]:
        backoffs += np.float32(lift)
    model = PhraseModel.build(table, LanguageModel.build(ngrams))
    lines = [" ".join(f"f{i}" for i in rng.integers(0, 6, 9)) for _ in range(10)]
    settings_ = SearchSettings(stack=5, pop_limit=60)
    decoder = Decoder(model, model.layout.sensible(), settings_)
    with_bounds = list(decoder.nbest(lines, 5).lines())
    prepare = decoder.prepare

    def boundless(lines):
        batch = prepare(lines)
        batch.options.cells["ceiling"] = np.inf
        return batch

    decoder.prepare = boundless
    assert list(decoder.nbest(lines, 5).lines()) == with_bounds


@pytest.mark.parametrize(
    "groups", [("tm",), ("lm",), ("tm", "lm", "distortion", "penalties"), ("lexro", "penalties")]
)
def test_left_out_features_have_no_columns_and_no_influence(groups):
    rng = np.random.default_rng(11)
    model, ngrams = random_model(rng, features=groups)
    layout = PhraseLayout.from_groups(groups)
    weights = np.abs(rng.normal(size=layout.dimension))
    full = layout.full(weights)
    for _ in range(10):
        sentence = [f"f{i}" for i in rng.integers(0, 6, 4)]
        everything = list(derivations(model.table, ngrams, sentence, 2))
        expected = sorted((full @ f - 100 * copied for _, f, copied in everything), reverse=True)
        found = Decoder(model, weights, exact(2)).nbest([" ".join(sentence)], len(everything) + 1)
        assert found.features.shape == (len(everything), layout.dimension)
        np.testing.assert_allclose(found.score - 100 * found.copied, expected, atol=1e-5)


def test_all_zero_weights_translate_every_word_and_are_reproducible():
    rng = np.random.default_rng(2)
    model, _ = random_model(rng)
    decoder = Decoder(model, np.zeros(14), SearchSettings())
    lines = [" ".join(f"f{i}" for i in rng.integers(0, 5, 6)) for _ in range(5)]
    found = decoder.nbest(lines, 10)
    assert (found.score == 0).all()
    assert all(found.texts())
    assert decoder.decode(lines) == decoder.decode(lines)


def test_blank_lines_are_blank_and_unknown_words_are_copied():
    model, _ = random_model(np.random.default_rng(4), phrases=5, longest=1)
    decoder = Decoder(model, model.layout.sensible(), SearchSettings(distortion_limit=0))
    lines = ["", "  \t ", "Ünbekannt\u00a0x <s>", "f0 ||| f1"]
    out = decoder.decode(lines)
    assert out[:3] == ["", "", "Ünbekannt\u00a0x <s>"]
    assert " ||| " in out[3]
    found = decoder.nbest(lines[:3], 2)
    assert found.segment.tolist() == [0, 1, 2]
    assert found.features[:2].tolist() == [[0.0] * 14] * 2
    assert found.copied.tolist() == [0, 0, 2]
    assert found.features[2, 8:].tolist() == [-2.0, 2.0, 0.0, 0.0, 0.0, 0.0]
    with pytest.raises(ReplituneError, match="separates the fields"):
        list(decoder.nbest(lines, 1).lines())


@pytest.mark.parametrize("limit", [0, 6, 70, -1])
def test_a_400_word_sentence_is_translated_whole(limit):
    """With one-word options of one word and no reordering weight, lengths must agree."""
    rng = np.random.default_rng(6)
    model, _ = random_model(rng, phrases=5, longest=1)
    source = [f"f{i}" for i in rng.integers(0, 6, 400)]
    decoder = Decoder(
        model, model.layout.sensible(), SearchSettings(stack=4, pop_limit=20, distortion_limit=limit)
    )
    found = decoder.nbest([" ".join(source)], 2)
    assert found.features[0, 9] == 400  # phrases of one word each
    assert found.copied[0] == source.count("f5")


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=15)
def test_wide_masks_and_narrow_ones_agree(seed):
    """No limit, with a mask of several words, finds what a limit as long as the sentence does."""
    rng = np.random.default_rng(seed)
    model, _ = random_model(rng, longest=2)
    line = " ".join(f"f{i}" for i in rng.integers(0, 6, 70))
    outputs = [
        Decoder(model, model.layout.sensible(), SearchSettings(stack=3, distortion_limit=k)).decode([line])
        for k in (-1, 140, 70)
    ]
    assert outputs[0] == outputs[1] == outputs[2]


def test_threads_and_batches_do_not_change_a_byte():
    rng = np.random.default_rng(9)
    model, _ = random_model(rng, phrases=40, options=6)
    lines = [" ".join(f"f{i}" for i in rng.integers(0, 7, rng.integers(0, 15))) for _ in range(40)]
    decoder = Decoder(model, model.layout.sensible(), SearchSettings(stack=20))
    one = list(decoder.nbest(lines, 20, threads=1).lines())
    assert list(decoder.nbest(lines, 20, threads=3).lines()) == one
    alone = [
        line.replace("0 |||", f"{i} |||", 1)
        for i, text in enumerate(lines)
        for line in decoder.nbest([text], 20).lines()
    ]
    assert alone == one
    assert decoder.decode(lines, threads=3) == [decoder.decode([line])[0] for line in lines]


def test_two_processes_give_the_same_bytes():
    script = (
        "import numpy as np\n"
        "from decoder_oracle import random_model\n"
        "from replitune.phrase.decoder import Decoder\n"
        "rng = np.random.default_rng(1)\n"
        "model, _ = random_model(rng)\n"
        "lines = [' '.join(f'f{i}' for i in rng.integers(0, 6, 8)) for _ in range(20)]\n"
        "for line in Decoder(model, model.layout.sensible()).nbest(lines, 30).lines():\n"
        "    print(line)\n"
    )
    here = Path(__file__).parent
    source = Path(__file__).parents[2] / "src"
    digests = set()
    for hash_seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": f"{source}{os.pathsep}{here}",
        }
        out = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=True
        )
        assert len(out.stdout.splitlines()) > 100
        digests.add(hashlib.sha256(out.stdout).hexdigest())
    assert len(digests) == 1


def test_nbest_lines_are_moses_format_and_read_back_exactly(tmp_path):
    rng = np.random.default_rng(12)
    model, _ = random_model(rng)
    found = Decoder(model, model.layout.sensible()).nbest(["f0 f1", "f2 f3 f4"], 4)
    found.write(tmp_path / "nbest.txt")
    rows = [line.split(" ||| ") for line in (tmp_path / "nbest.txt").read_text().splitlines()]
    assert [int(row[0]) for row in rows] == found.segment.tolist()
    assert [row[1] for row in rows] == found.texts()
    assert rows[0][2].split(" ")[0] == "LexicalReordering0="
    values = [[float(v) for v in row[2].split(" ") if not v.endswith("=")] for row in rows]
    np.testing.assert_array_equal(values, found.features)
    np.testing.assert_array_equal([float(row[3]) for row in rows], found.score)


def test_a_distinct_list_is_the_list_of_derivations_without_later_ones_of_the_same_words():
    rng = np.random.default_rng(13)
    model, _ = random_model(rng)
    lines = [" ".join(f"f{i}" for i in rng.integers(0, 6, 7)) for _ in range(5)]
    decoder = Decoder(model, model.layout.sensible(), SearchSettings(stack=20, pop_limit=60))
    for line in lines:
        every = decoder.nbest([line], 5000)
        found = decoder.nbest([line], 100, distinct=True)
        best: dict[str, float] = {}
        for text, score in zip(every.texts(), every.score.tolist(), strict=True):
            best.setdefault(text, score)
        assert 20 < len(best) < len(every.score)
        np.testing.assert_allclose(found.score, list(best.values())[:100], atol=1e-9)
        assert len(set(found.texts())) == len(found.texts())
        assert all(best[text] == pytest.approx(found.score[i]) for i, text in enumerate(found.texts()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stcak": 3}, "did you mean `stack`"),
        ({"stack": 0}, "at least 1"),
        ({"distortion_limit": -2}, "at least -1"),
        ({"beam": 1.0}, "less than 1"),
    ],
)
def test_wrong_settings_are_named(change, message):
    with pytest.raises(ReplituneError, match=message):
        read(SearchSettings, change)


@pytest.mark.parametrize("weights", [np.ones(13), np.full(14, np.nan)])
def test_wrong_weights_are_refused(weights):
    model, _ = random_model(np.random.default_rng(1))
    with pytest.raises(ReplituneError, match="weights do not fit"):
        Decoder(model, weights)
