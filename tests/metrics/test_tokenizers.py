"""Tokenisers against sacrebleu's own classes."""

from __future__ import annotations

import pickle
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from replitune.errors import ReplituneError
from replitune.metrics import tokenizers
from replitune.metrics.tokenizers import get_tokenizer

from .oracles import LINE

ORACLES = {name: BLEU(tokenize=name) for name in ("none", "13a", "intl", "zh", "char")}


def oracle_tokens(name: str, line: str, lowercase: bool) -> list[str]:
    oracle = ORACLES[name]
    oracle.lowercase = lowercase
    return oracle._preprocess_segment(line).split()


# What the rules of 13a look at, densely: runs of stops, digits, dashes, entities, white space.
DENSE = st.text(alphabet="a0-.,&;<>'\"$ \n\t\x85", max_size=16)
SKIPPED = st.sampled_from(["<skipped>", "&amp;lt;", "&quot;", "-\n", "\n", "0", ".", ",", "-", " "])
ANY = st.one_of(LINE, DENSE, st.lists(SKIPPED, max_size=8).map("".join), st.text(max_size=20))


@pytest.mark.parametrize("name", sorted(ORACLES))
@settings(deadline=None, derandomize=True, max_examples=300)
@example(lines=["5...5", "5.,a", ".", "", ",", "1,5-6", "a\n", "-\n.", "\n"], lowercase=False)
@example(lines=["ΑΣ", "ΣΑ Σ", "İ", "ǅ"], lowercase=True)
@given(lines=st.lists(ANY, max_size=6), lowercase=st.booleans())
def test_tokens_equal_sacrebleu_s(name, lines, lowercase):
    expected = [oracle_tokens(name, line, lowercase) for line in lines]
    assert get_tokenizer(name)(lines, lowercase) == expected


def test_blocks_make_no_difference(monkeypatch):
    lines = [f"{i}.{i}, the <skipped>-{i}- &amp; ..{i}" for i in range(50)]
    whole = get_tokenizer("13a")(lines)
    monkeypatch.setattr(tokenizers, "_BLOCK", 7)
    assert get_tokenizer("13a")(lines) == whole


NEED_MORE = sorted({*get_args(tokenizers.Name)} - {*ORACLES})


@pytest.mark.parametrize("name", NEED_MORE)
def test_a_tokeniser_that_needs_more_works_or_says_what_to_do(name):
    tokenizer = get_tokenizer(name)  # naming it needs nothing
    try:
        tokens = tokenizer(["猫が座った。 cat"])
    except ReplituneError as error:
        message = str(error)
        assert name in message
        assert "pip install" in message or "import sacrebleu" in message
        with pytest.raises(ReplituneError):
            _ = tokenizer.signature
    else:
        oracle = BLEU(tokenize=name)
        assert tokens == [oracle._preprocess_segment("猫が座った。 cat").split()]
        assert tokenizer.signature == oracle.tokenizer_signature


def test_a_missing_model_is_not_downloaded_but_named(monkeypatch, tmp_path):
    pytest.importorskip("sentencepiece")
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", str(tmp_path))
    with pytest.raises(ReplituneError, match="not on this machine") as caught:
        get_tokenizer("flores200")(["a"])
    assert str(tmp_path) in caught.value.file


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_a_tokeniser_survives_pickling(name):
    again = pickle.loads(pickle.dumps(get_tokenizer(name)))
    assert again(["a b."]) == get_tokenizer(name)(["a b."])


def test_an_unknown_tokeniser_names_the_nearest():
    with pytest.raises(ReplituneError, match="did you mean `intl`"):
        get_tokenizer("int")
