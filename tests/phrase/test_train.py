"""Whole training runs on small text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_lm import trained_lm

import replitune
from phrase_models import train_phrase_system, write_arpa
from replitune.errors import ReplituneError
from replitune.phrase.arpa import NgramModel
from replitune.phrase.segmentation import Splitters
from replitune.phrase.settings import PhraseSettings
from replitune.phrase.table import PhraseTable
from replitune.phrase.train import Cleaned, clean
from replitune.running.files import sha256_file
from replitune.settings import plain, read

WORDS = {"das": "the", "haus": "house", "buch": "book", "ein": "a", "ist": "is", "klein": "small"}
SMALL = PhraseSettings(alignment="fast_align", lm_order=3)


def text(segments: int = 60) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(0)
    source = [rng.permutation(list(WORDS))[: rng.integers(1, 6)].tolist() for _ in range(segments)]
    return [" ".join(s) for s in source], [" ".join(WORDS[w] for w in s) for s in source]


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def best(table: PhraseTable, word: str) -> str:
    """The first translation option of a one-word phrase."""
    number = table.source_vocab.index(word)
    for s in range(len(table.option_start) - 1):
        words = table.source_words[table.source_start[s] : table.source_start[s + 1]]
        if words.tolist() == [number]:
            option = table.option_start[s]
            words = table.target_words[table.target_start[option] : table.target_start[option + 1]]
            return " ".join(table.target_vocab[w] for w in words)
    raise KeyError(word)


def test_a_model_folder_is_whole_and_says_what_it_is(tmp_path: Path) -> None:
    source, target = text()
    said: list[str] = []
    out = train_phrase_system(source, target, SMALL, tmp_path / "m" / "baseline", progress=said.append)
    assert out == tmp_path / "m" / "baseline"
    assert [path.name for path in out.parent.iterdir()] == ["baseline"], "nothing left behind"
    summary = json.loads((out / "model.json").read_text())
    files = content(out)
    del files["model.json"]
    assert set(summary["files"]) == set(files)
    assert all(sha256_file(out / name) == digest for name, digest in summary["files"].items())
    assert summary["settings"]["alignment"] == "fast_align"
    assert sum(summary["features"].values()) == 14
    assert summary["counts"]["kept"] == summary["counts"]["pairs"] == 60
    table, lm = PhraseTable.load(out), NgramModel.load(out / "lm")
    assert isinstance(table.scores, np.memmap)
    assert summary["counts"]["options"] == len(table.scores)
    assert table.option_start[-1] == len(table.scores) == len(table.target_start) - 1
    assert table.target_start[-1] == len(table.target_words)
    assert table.source_start[-1] == len(table.source_words)
    assert table.scores.shape == (len(table.scores), 4)
    assert table.reordering.shape == (len(table.scores), 6)
    assert {word: best(table, word) for word in WORDS} == WORDS
    assert Splitters.load(out) == Splitters()
    assert lm.order == 3
    assert said[0].startswith("60 pairs: 60 kept; dropped 0")


def test_threads_and_repetition_do_not_change_a_byte(tmp_path: Path) -> None:
    source, target = text(30)
    for name, threads in (("one", 1), ("two", 2)):
        train_phrase_system(source, target, PhraseSettings(), tmp_path / name, threads=threads)
    assert content(tmp_path / "one") == content(tmp_path / "two")


@pytest.mark.parametrize("size", [1, 7])
def test_blocks_do_not_change_a_byte(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = text(30)
    train_phrase_system(source, target, PhraseSettings(), tmp_path / "whole")
    for name in ("pairs.BLOCK", "pairs.MOST", "scores.BLOCK", "kneser_ney.BLOCK"):
        monkeypatch.setattr(f"replitune.phrase.{name}", size)
    train_phrase_system(source, target, PhraseSettings(), tmp_path / "parts")
    assert content(tmp_path / "whole") == content(tmp_path / "parts")


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    source, target = text(30)
    settings = {
        "alignment": "eflomal",
        "lm_order": 2,
        "source_segmentation": "compounds",
        "target_segmentation": "bpe",
        "bpe_merges": 5,
    }
    program = (
        "import sys\n"
        "from replitune.phrase.train import PhraseSettings, phrase_kind, train_system\n"
        f"settings = PhraseSettings(**{settings!r})\n"
        f"train_system(phrase_kind(settings), {source!r}, {target!r}, settings, sys.argv[1])\n"
    )
    package = str(Path(replitune.__file__).parents[1])
    for name, hash_seed in (("one", "1"), ("two", "2")):
        environment = {**os.environ, "PYTHONPATH": package, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", program, str(tmp_path / name)]
        subprocess.run(command, env=environment, check=True)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_an_older_model_is_replaced(tmp_path: Path) -> None:
    source, target = text(20)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "old.txt").write_text("old")
    train_phrase_system(source, target, SMALL, tmp_path / "m")
    assert not (tmp_path / "m" / "old.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_bad_pairs_are_dropped_and_counted(tmp_path: Path) -> None:
    source, target = text(30)
    bad = [("", "the"), ("das", " \t"), ("", ""), ("das", "the " * 50), ("x " * 101, "y " * 90)]
    with_bad = tmp_path / "with"
    said: list[str] = []
    train_phrase_system(
        [*(s for s, _ in bad), *source],
        [*(t for _, t in bad), *target],
        SMALL,
        with_bad,
        progress=said.append,
    )
    counts = json.loads((with_bad / "model.json").read_text())["counts"]
    assert (counts["pairs"], counts["kept"]) == (35, 30)
    assert (counts["dropped_empty"], counts["dropped_long"], counts["dropped_ratio"]) == (3, 1, 1)
    assert "30 kept; dropped 3 with an empty side, 1 longer than 100 words, 1 with" in said[0]
    train_phrase_system(source, target, SMALL, tmp_path / "without")
    one, two = content(with_bad), content(tmp_path / "without")
    del one["model.json"], two["model.json"]
    assert one == two


def test_features_that_are_left_out_are_not_listed(tmp_path: Path) -> None:
    settings = PhraseSettings(alignment="fast_align", lm_order=2, features=("tm", "lm"))
    train_phrase_system(*text(10), settings, tmp_path / "m")
    features = json.loads((tmp_path / "m" / "model.json").read_text())["features"]
    assert features == {"LM0": 1, "TranslationModel0": 4}


def test_limits_are_inclusive() -> None:
    def cleaned(source: int, max_length: int) -> Cleaned:
        return clean(np.array([source]), np.array([1]), max_length, 9)

    assert cleaned(9, 9).kept.all()
    assert cleaned(10, 10).ratio == 1
    assert cleaned(9, 8).long == 1


def test_more_text_for_the_language_model(tmp_path: Path) -> None:
    source, target = text(20)
    said: list[str] = []
    train_phrase_system(
        source, target, SMALL, tmp_path / "m", lm_text=["a blue house", ""], progress=said.append
    )
    assert any("20 lines of the training text, 1 more (1 blank lines left out)" in s for s in said)
    lm = NgramModel.load(tmp_path / "m" / "lm")
    expected = trained_lm([*(t.split() for t in target), ["a", "blue", "house"]], 3)
    assert lm.words == expected.words
    assert np.array_equal(lm.logprobs[2], expected.logprobs[2])
    assert "blue" not in PhraseTable.load(tmp_path / "m").target_vocab
    assert "lm_text" in json.loads((tmp_path / "m" / "model.json").read_text())["inputs"]


def test_a_ready_language_model(tmp_path: Path) -> None:
    source, target = text(20)
    write_arpa(trained_lm([["the", "house"], ["a", "tree"]], 4), tmp_path / "lm.arpa")
    train_phrase_system(source, target, SMALL, tmp_path / "m", lm_arpa=tmp_path / "lm.arpa")
    lm = NgramModel.load(tmp_path / "m" / "lm")
    assert lm.order == 4
    assert "tree" in lm.words
    summary = json.loads((tmp_path / "m" / "model.json").read_text())
    assert summary["inputs"]["lm_arpa"] == sha256_file(tmp_path / "lm.arpa")
    (tmp_path / "cut.arpa").write_text((tmp_path / "lm.arpa").read_text()[:200])
    with pytest.raises(ReplituneError):
        train_phrase_system(source, target, SMALL, tmp_path / "n", lm_arpa=tmp_path / "cut.arpa")
    assert not (tmp_path / "n").exists()
    with pytest.raises(ReplituneError, match="both a language model and text"):
        train_phrase_system(
            source, target, SMALL, tmp_path / "n", lm_arpa=tmp_path / "lm.arpa", lm_text=["a"]
        )


def test_splitting_is_stored_with_the_model(tmp_path: Path) -> None:
    source, target = text(40)
    settings = PhraseSettings(
        alignment="fast_align",
        lm_order=2,
        source_segmentation="compounds",
        target_segmentation="bpe",
        bpe_merges=3,
    )
    source = [*source, "dashaus ist hausbuch"]
    target = [*target, "the house is a house book"]
    settings = read(PhraseSettings, {**plain(settings), "compound_min_length": 3})
    train_phrase_system(source, target, settings, tmp_path / "m")
    splitters = Splitters.load(tmp_path / "m")
    assert splitters.split("das  hausbuch") == "das haus buch"
    pairs = splitters.target
    assert pairs is not None
    assert splitters.join(" ".join(pairs.apply(["the", "house"]))) == "the house"
    table, lm = PhraseTable.load(tmp_path / "m"), NgramModel.load(tmp_path / "m" / "lm")
    assert "hausbuch" not in table.source_vocab
    assert set(table.target_vocab[3:]) == {p for t in target for p in pairs.apply(t.split())}
    assert table.target_vocab == lm.words


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": ["tm", "lx"]}, "features.1 is not one of"),
        ({"features": ["tm", "tm"]}, "distinct"),
        ({"features": []}, "one or more"),
        ({"alignment": "hmn"}, "did you mean `hmm`"),
        ({"symmetrisation": "final"}, "symmetrisation is not one of"),
        ({"max_phrase_length": 9}, "at most 8"),
        ({"lm_order": 7}, "at most 6"),
        ({"lm_prune": [1]}, "must begin with 0"),
        ({"lm_prune": [0, 2, 1]}, "must begin with 0"),
        ({"lm_prune": [0, 0, 1], "lm_order": 2}, "at most one number per order"),
        ({"lm_ordre": 3}, "did you mean `lm_order`"),
        ({"max_length": 500}, "at most 200"),
        ({"reordering_smoothing": 0.0}, "at least 0.001"),
        ({"target_segmentation": "compounds"}, "target_segmentation is not one of"),
    ],
)
def test_wrong_settings(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ReplituneError, match=message):
        read(PhraseSettings, change, "training")


def test_wrong_text(tmp_path: Path) -> None:
    def refused(source: list[str], target: list[str], **change: str) -> ReplituneError:
        settings = read(PhraseSettings, {**plain(SMALL), **change})
        with pytest.raises(ReplituneError) as error:
            train_phrase_system(source, target, settings, tmp_path / "m")
        assert list(tmp_path.iterdir()) == []
        return error.value

    assert "differ in length" in str(refused(["a", "b"], ["a"]))
    assert "no pair is left" in str(refused([], []))
    assert "no pair is left" in str(refused(["", "a"], ["b", ""]))
    reserved = refused(["a", "", "b c"], ["a", "x", "b </s>"])
    assert "</s> in line 3" in str(reserved), "counted in the text as it was given"
    assert refused(["a"], ["b ||| c"]).line == 1, "it would break n-best lists"
    joiner = refused(["a", "b"], ["a", "b@@ c"], target_segmentation="bpe")
    assert "b@@ in line 2" in str(joiner)


def test_one_pair_is_enough(tmp_path: Path) -> None:
    train_phrase_system(["das"], ["the"], PhraseSettings(), tmp_path / "m")
    table = PhraseTable.load(tmp_path / "m")
    assert best(table, "das") == "the"
    assert np.exp(table.scores[0]).tolist() == pytest.approx([1, 1, 1, 1])


def test_another_format_is_refused(tmp_path: Path) -> None:
    train_phrase_system(["das"], ["the"], SMALL, tmp_path / "m")
    (tmp_path / "m" / "table.json").write_text('{"format": 0}')
    with pytest.raises(ReplituneError, match="unknown format"):
        PhraseTable.load(tmp_path / "m")


@pytest.mark.parametrize("name", ["scores.npy", "lm/ngrams2.npy"])
def test_a_model_that_is_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    train_phrase_system(*text(10), SMALL, tmp_path / "m")
    whole = (tmp_path / "m" / name).read_bytes()

    def load() -> None:
        PhraseTable.load(tmp_path / "m")
        NgramModel.load(tmp_path / "m" / "lm")

    load()
    for size in (0, 5, 100, len(whole) - 1):
        (tmp_path / "m" / name).write_bytes(whole[:size])
        with pytest.raises(ReplituneError, match="incomplete or damaged") as error:
            load()
        assert error.value.file == str(tmp_path / "m" / name)
    (tmp_path / "m" / name).unlink()
    with pytest.raises(ReplituneError, match="no such file"):
        load()
