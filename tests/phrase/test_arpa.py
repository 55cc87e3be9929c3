"""ARPA files: ours, other people's, and broken ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from made_lm import arpa_model, trained_lm

from phrase_models import write_arpa
from replitune.errors import ReplituneError
from replitune.phrase.arpa import NgramModel

FOREIGN = """\
made by hand; text before the header is comment
ngram 1=77

\\data\\
ngram 1=5
ngram  2 = 2

\\1-grams:
-1.5\t<UNK>
-99\t<s>\t-0.25
-0.5\t</s>
-0.25\ta\t-inf
-inf b

\\2-grams:
-0.125\t<s> a
-0.5\ta  <UNK>

\\end\\
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "lm.arpa"
    path.write_text(text, encoding="utf-8")
    return path


def test_other_peoples_files(tmp_path: Path) -> None:
    model = arpa_model(write(tmp_path, FOREIGN))
    assert model.words == ["<unk>", "<s>", "</s>", "a", "b"]
    assert [grams.tolist() for grams in model.ngrams] == [[[0], [1], [2], [3], [4]], [[1, 3], [3, 0]]]
    assert model.logprobs[0].tolist() == [-1.5, -99, -0.5, -0.25, -99]
    assert model.backoffs[0].tolist() == [0, -0.25, 0, -99, 0]
    assert model.logprobs[1].tolist() == [-0.125, -0.5]
    assert model.backoffs[1].tolist() == [0, 0]


def test_gz_crlf_and_a_missing_unk(tmp_path: Path) -> None:
    text = (
        FOREIGN.replace("-1.5\t<UNK>\n", "")
        .replace("1=5", "1=4")
        .replace(" = 2", "=1")
        .replace("-0.5\ta  <UNK>\n", "")
    )
    path = tmp_path / "lm.gz"
    path.write_bytes(gzip.compress(text.replace("\n", "\r\n").encode()))
    model = arpa_model(path)
    assert model.words == ["<s>", "</s>", "a", "b", "<unk>"]
    assert model.ngrams[0].tolist() == [[0], [1], [2], [3], [4]]
    assert model.logprobs[0][4] == -100
    assert model.backoffs[0][4] == 0


def trained(order: int = 3) -> NgramModel:
    return trained_lm([["the", "house"], ["the", "old", "house", "."], [], ["a", "\u00a0x\u2028"]], order)


def same(one: NgramModel, two: NgramModel) -> bool:
    arrays = (
        zip(one.ngrams, two.ngrams, strict=True),
        zip(one.logprobs, two.logprobs, strict=True),
        zip(one.backoffs, two.backoffs, strict=True),
    )
    return one.words == two.words and all(
        np.array_equal(a, b) and a.dtype == b.dtype for pairs in arrays for a, b in pairs
    )


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_reading_gives_what_was_written(order: int, tmp_path: Path) -> None:
    model = trained(order)
    write_arpa(model, tmp_path / "lm.arpa")
    assert same(arpa_model(tmp_path / "lm.arpa"), model)


def test_folders(tmp_path: Path) -> None:
    loaded = trained()
    assert isinstance(loaded.ngrams[2], np.memmap)


def test_parts_of_a_section_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained()
    write_arpa(model, tmp_path / "lm.arpa")
    monkeypatch.setattr("replitune.phrase.arpa.CHUNK", 2)
    assert same(arpa_model(tmp_path / "lm.arpa"), model)


def test_a_file_cut_off_anywhere_is_an_error(tmp_path: Path) -> None:
    write_arpa(trained(), tmp_path / "whole.arpa")
    lines = (tmp_path / "whole.arpa").read_text(encoding="utf-8").split("\n")
    for kept in range(lines.index("\\end\\")):
        path = write(tmp_path, "\n".join(lines[:kept]) + "\n")
        with pytest.raises(ReplituneError) as error:
            arpa_model(path)
        assert error.value.file == str(path)
        if kept > 1:
            assert error.value.line is not None
    assert same(arpa_model(write(tmp_path, "\n".join(lines))), trained())


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("-0.125\t<s> a\n", "-0.125\t<s> c\n", 16, "is not a unigram"),
        ("-0.125\t<s> a\n", "-0.125\t<s>\n", 16, "wrong 2-gram line"),
        ("-0.125\t<s> a\n", "-0.1x25\t<s> a\n", 16, "wrong 2-gram line"),
        ("-0.125\t<s> a\n", "0.125\t<s> a\n", 16, "impossible log probability"),
        ("-0.25\ta", "nan\ta", 12, "impossible log probability"),
        ("\t-0.25\n", "\tnan\n", 10, "impossible back-off"),
        ("-0.5\ta  <UNK>\n", "-0.5\ta  <UNK>\n-0.5\ta b\n", 18, "more n-grams"),
        ("-inf b\n", "-inf a\n", 13, "listed twice"),
        ("-inf b\n", "", 13, "wrong 1-gram line"),
        ("ngram 1=5\n", "ngram 1=4\n", 13, "do not match the header"),
        ("ngram 1=5\n", "", 5, "wrong line in the header"),
        ("\\2-grams:", "\\3-grams:", 15, "do not match the header"),
    ],
)
def test_broken_lines_are_named(old: str, new: str, line: int, message: str, tmp_path: Path) -> None:
    assert FOREIGN.count(old) == 1
    with pytest.raises(ReplituneError, match=message) as error:
        arpa_model(write(tmp_path, FOREIGN.replace(old, new)))
    assert error.value.line == line


def test_not_a_language_model(tmp_path: Path) -> None:
    with pytest.raises(ReplituneError, match="not an ARPA file"):
        arpa_model(write(tmp_path, "hello\n"))
    with pytest.raises(ReplituneError, match="no such file"):
        arpa_model(tmp_path / "nothing.arpa")
    with pytest.raises(ReplituneError, match="a binary KenLM file"):
        arpa_model(write(tmp_path, "mmap lm http://kheafield.com/code format version 5\n\0"))
    with pytest.raises(ReplituneError, match="lists no n-grams"):
        arpa_model(write(tmp_path, "\\data\\\n\n\\end\\\n"))
    without = FOREIGN.replace("-0.5\t</s>\n", "").replace("ngram 1=5", "ngram 1=4")
    with pytest.raises(ReplituneError, match="has no </s>"):
        arpa_model(write(tmp_path, without))
