"""Vocabularies: the same text gives the same bytes; mistakes are explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from replitune.backends.marian.settings import VocabularySettings
from replitune.backends.marian.vocabulary import make_vocabularies, too_long, vocabulary_files
from replitune.corpus.synthetic import synthetic_train
from replitune.errors import ReplituneError

pytestmark = pytest.mark.nmt
sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("text")
    source, target = folder / "source.txt", folder / "target.txt"
    for path, lines in zip((source, target), synthetic_train(1, 200), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return source, target


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("shared", [True, False])
def test_the_same_text_gives_the_same_bytes(sides, tmp_path: Path, kind: str, shared: bool):
    settings = VocabularySettings(kind=kind, size=200, shared=shared)
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        files = make_vocabularies(*sides, settings, tmp_path / name)
        assert files == vocabulary_files(tmp_path / name)
        assert (files[0] == files[1]) is shared
        found.append([path.read_bytes() for path in files])
    assert found[0] == found[1]
    pieces = sentencepiece.SentencePieceProcessor(model_proto=found[0][0])
    assert pieces.get_piece_size() == 200
    assert (pieces.eos_id(), pieces.unk_id(), pieces.bos_id()) == (0, 1, -1)


def test_text_comes_back_as_it_was(sides, tmp_path: Path):
    file, _ = make_vocabularies(*sides, VocabularySettings(size=300), tmp_path)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(file))
    for line in sides[1].read_text(encoding="utf-8").splitlines():
        assert pieces.decode(pieces.encode(line)) == line


def test_separate_vocabularies_have_their_own_sizes(sides, tmp_path: Path):
    settings = VocabularySettings(size=(150, 250), shared=False)
    files = make_vocabularies(*sides, settings, tmp_path)
    sizes = [sentencepiece.SentencePieceProcessor(model_file=str(path)).get_piece_size() for path in files]
    assert sizes == [150, 250]
    with pytest.raises(ReplituneError, match="one size"):
        VocabularySettings(size=(150, 250), shared=True)


@pytest.mark.parametrize(("size", "message"), [(10, "too small"), (10**6, "at most")])
def test_a_size_that_the_text_cannot_have(sides, tmp_path: Path, size: int, message: str):
    with pytest.raises(ReplituneError, match=message):
        make_vocabularies(*sides, VocabularySettings(size=size), tmp_path)


def test_pairs_that_marian_would_leave_out_are_counted(sides, tmp_path: Path):
    # in a vocabulary of single characters, pieces are characters: one for each and for the
    # space before each word
    characters = len(set(sides[0].read_text("utf-8") + sides[1].read_text("utf-8")) - {"\n"})
    files = make_vocabularies(*sides, VocabularySettings(size=characters + 2), tmp_path)
    lines = [path.read_text(encoding="utf-8").splitlines() for path in sides]
    lengths = [max(len(side) + 2 for side in pair) for pair in zip(*lines, strict=True)]
    longest = sorted(lengths)[100]
    expected = sum(length > longest for length in lengths)
    assert too_long(sides, files, longest) == (expected, 200)
