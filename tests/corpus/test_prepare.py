"""The corpus stage: part by part, whole files, an account of every input."""

import gzip
import hashlib
import json
import os

import pytest

from replitune.corpus.prepare import prepare_testset, prepare_train, write_inputs
from replitune.corpus.settings import files_of, list_testsets, list_texts, only, read_corpus
from replitune.corpus.testset import read_prepared
from replitune.errors import ReplituneError
from replitune.running.files import read_lines, write_lines
from replitune.settings import plain

SYNTHETIC = {"kind": "synthetic", "train": 60, "dev": 12, "tests": {"test1": 20, "test2": 9}}


def prepare(given, folder, *, seed: int, base=".") -> list[str]:
    """All texts, one after the other, as the jobs of the workflow do."""
    corpus = read_corpus(given)
    if corpus.train is not None:
        prepare_train(corpus, folder, seed=seed, base=base)
    for name in list_testsets(corpus):
        prepare_testset(corpus, name, folder, seed=seed, base=base)
    return write_inputs(corpus, folder, seed=seed)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "my corpora; it's data"
    write_lines(folder / "train.de", ["eins", "zwei", "drei\u2028x"])
    write_lines(folder / "train.en", ["one", "two", "three"])
    write_lines(folder / "dev.de", ["vier"])
    write_lines(folder / "dev.en", ["four"])
    write_lines(folder / "ids", ["d", "d"])
    write_lines(folder / "t.de", ["eins", "sechs"])
    (folder / "t.en.gz").write_bytes(gzip.compress(b"one\r\nsix\r\n"))
    write_lines(folder / "t.en2", ["1", "6"])
    return folder


FILES = {
    "kind": "files",
    "train": {"source": "train.de", "target": ["train.en"]},
    "dev": {"source": "dev.de", "references": "dev.en"},
    "tests": {"t": {"source": "t.de", "references": ["t.en.gz", "t.en2"], "documents": "ids"}},
}


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_synthetic_parts(tmp_path):
    assert prepare(SYNTHETIC, tmp_path, seed=1) == []
    assert set(content(tmp_path)) == {
        "train.source.txt",
        "train.target.txt",
        "dev.jsonl",
        "test1.jsonl",
        "test2.jsonl",
        "inputs.json",
        *(f"{part}.inputs.json" for part in ("train", "dev", "test1", "test2")),
    }
    assert len(read_lines(tmp_path / "train.source.txt")) == 60
    testset = read_prepared(tmp_path / "test1.jsonl")
    assert testset.segments == 20
    account = json.loads((tmp_path / "inputs.json").read_text())
    assert account["parts"]["test1"]["documents"] == len(set(testset.documents))


def test_jobs_in_any_order_write_the_same_bytes(tmp_path):
    prepare(SYNTHETIC, tmp_path / "a", seed=1)
    corpus = read_corpus(SYNTHETIC)
    for name in reversed(list_testsets(corpus)):
        prepare_testset(plain(only(corpus, name)), name, tmp_path / "b", seed=1)
    prepare_train(plain(only(corpus, "train")), tmp_path / "b", seed=1)
    write_inputs(SYNTHETIC, tmp_path / "b", seed=1)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_another_test_set_changes_no_other_file(tmp_path):
    prepare(SYNTHETIC, tmp_path / "a", seed=1)
    more = {**SYNTHETIC, "tests": {"test0": 5, **SYNTHETIC["tests"]}}
    prepare(more, tmp_path / "b", seed=1)
    a, b = content(tmp_path / "a"), content(tmp_path / "b")
    assert all(b[name] == a[name] for name in a if name != "inputs.json")


def test_files_with_awkward_names(data, tmp_path):
    out = tmp_path / "out"
    warnings = prepare(FILES, out, seed=1, base=data)
    assert read_lines(out / "train.source.txt") == ["eins", "zwei", "drei\u2028x"]
    assert read_lines(out / "train.target.txt") == ["one", "two", "three"]
    testset = read_prepared(out / "t.jsonl")
    assert testset.references == (["one", "six"], ["1", "6"])
    assert testset.documents == ["d", "d"]
    assert read_prepared(out / "dev.jsonl").documents is None

    account = json.loads((out / "inputs.json").read_text())
    first = account["parts"]["t"]["inputs"][0]
    assert first == {
        "path": "t.en.gz",
        "sha256": hashlib.sha256((data / "t.en.gz").read_bytes()).hexdigest(),
        "lines": 2,
    }
    assert [entry["path"] for entry in account["parts"]["t"]["inputs"]] == [
        "t.en.gz",
        "t.en2",
        "t.de",
        "ids",
    ]
    assert account["parts"]["t"]["in_training_data"] == {"source": 1, "target": 1, "pair": 1}
    assert account["parts"]["dev"]["in_training_data"] == {"source": 0, "target": 0, "pair": 0}
    assert len(warnings) == 1
    assert warnings[0].startswith("t: of 2 segments, 1 sources, 1 references and 1 whole pairs")


def test_several_training_files_follow_each_other(data, tmp_path):
    train = {"source": ["train.de", "t.de"], "target": ["train.en", "t.en.gz"]}
    prepare_train({**FILES, "train": train}, tmp_path / "out", seed=1, base=data)
    assert read_lines(tmp_path / "out" / "train.target.txt")[2:] == ["three", "one", "six"]


def test_an_experiment_without_training_data(data, tmp_path):
    corpus = {"kind": "files", "tests": FILES["tests"]}
    prepare(corpus, tmp_path / "out", seed=1, base=data)
    assert set(content(tmp_path / "out")) == {"t.jsonl", "t.inputs.json", "inputs.json"}


def test_formats_and_their_settings_reach_the_reader(data, tmp_path):
    (data / "t.tsv").write_text("a\tb\nx\ty\n")
    spec = {"references": "t.tsv", "columns": {"references": "b", "source": "a"}}
    testset = prepare_testset(
        {"kind": "files", "tests": {"t": spec}}, "t", tmp_path / "out", seed=1, base=data
    )
    assert testset.source == ["x"]
    assert testset.references == (["y"],)


JOINED = {
    "parts": {
        "late": {"source": "t.de", "references": "t.en.gz", "documents": "ids"},
        "early": {"source": "dev.de", "references": "dev.en", "documents": "one id"},
    }
}


def test_a_joined_test_set_is_its_parts_one_after_the_other(data, tmp_path):
    """Labels stay with segments; documents of different parts stay different."""
    write_lines(data / "one id", ["d"])
    corpus = {**FILES, "tests": {"all": JOINED}}
    testset = prepare_testset(corpus, "all", tmp_path / "out", seed=1, base=data)
    assert testset.source == ["eins", "sechs", "vier"]
    assert testset.references == (["one", "six", "four"],)
    assert testset.parts == ["late", "late", "early"]
    assert testset.documents == ["late/d", "late/d", "early/d"]
    assert read_prepared(tmp_path / "out" / "all.jsonl") == testset
    account = json.loads((tmp_path / "out" / "all.inputs.json").read_text())
    assert account["parts"] == {"late": 2, "early": 1}
    files = ["t.en.gz", "t.de", "ids", "dev.en", "dev.de", "one id"]
    assert [entry["path"] for entry in account["inputs"]] == files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"references": ["dev.en", "dev.en"]}, r"early: 2 reference\(s\), a source, no documents"),
        ({"source": None}, r"(?s)no source, no documents.*1 reference\(s\), a source"),
        ({"references": "nowhere.en"}, "no such file"),
        ({"reference": "dev.en"}, "unknown key `reference` in corpus.tests.all.parts.early"),
    ],
)
def test_parts_that_do_not_go_together(data, tmp_path, change, message):
    parts = {**JOINED["parts"], "early": {"source": "dev.de", "references": "dev.en", **change}}
    corpus = {**FILES, "tests": {"all": {"parts": parts}}}
    with pytest.raises(ReplituneError, match=message):
        prepare_testset(corpus, "all", tmp_path / "out", seed=1, base=data)
    assert not (tmp_path / "out" / "all.jsonl").exists()


def test_segments_seen_in_training_are_counted_and_whole_pairs_warned_of(data, tmp_path):
    write_lines(data / "train.de", ["eins", "zwei", "x"])
    write_lines(data / "train.en", ["two", "six", "x"])
    write_lines(data / "u.de", ["eins", "zwei", "zwei", *"abcdefghijklmnopqrstuvwyz" * 3])
    write_lines(data / "u.en", ["one", "six", "two", *"abcdefghijklmnopqrstuvwyz" * 3])
    tests = {"u": {"source": "u.de", "references": "u.en"}}
    (warning,) = prepare({**FILES, "tests": tests}, tmp_path, seed=1, base=data)
    assert warning.startswith("u: of 78 segments, 3 sources, 2 references and 1 whole pairs")
    write_lines(data / "u.en", ["one", "6", "two", *"abcdefghijklmnopqrstuvwyz" * 3])
    assert prepare({**FILES, "tests": tests}, tmp_path, seed=1, base=data) == []
    account = json.loads((tmp_path / "inputs.json").read_text())
    assert account["parts"]["u"]["in_training_data"] == {"source": 3, "target": 1, "pair": 0}


def changed(key, value):
    return {**FILES, key: value}


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"kind": "sythetic"}, "did you mean `synthetic`"),
        ({}, "key `kind` is missing in corpus"),
        (changed("train", {"source": "train.de", "target": "dev.en"}), "1 lines in dev.en"),
        (changed("train", {"source": "train.de"}), "`target` is missing in corpus.train"),
        (changed("train", {"source": ["train.de"] * 2, "target": "train.en"}), "2 source files"),
        (changed("train", {"source": "empty", "target": "empty"}), "no segments"),
        (changed("train", {"source": "none", "target": "train.en"}), "no such file"),
        (changed("train", ["train.de"]), "corpus.train is not allowed"),
        (changed("dev", {"reference": "dev.en"}), "did you mean `references`"),
        (changed("dev", {"source": "dev.de"}), "without references"),
        (changed("tests", {"dev": FILES["dev"]}), "cannot be called dev"),
        (changed("tests", {"train": FILES["dev"]}), "cannot be called train"),
        (changed("tests", {"t": {"references": "t.en2", "source": ["a", "b"]}}), "t.source is not"),
        (changed("tests", {"t": {"references": "t.en2", "documents": "dev.de"}}), "2 lines, as in"),
        (changed("tests", {"t": {"references": 5}}), "references is not allowed"),
        (changed("tests", {"t": {"references": [["a"]]}}), "references.0 is not allowed"),
        (changed("tests", {"t": {"references": "t.en2", "format": "tvs"}}), "did you mean `tsv`"),
        (changed("tests", {"t": {"references": "a", "columns": {"reference": 1}}}), "unknown key"),
        (changed("tests", {"t": {**JOINED, "source": "t.de"}}), "`parts` and nothing else"),
        (changed("tests", {"t": {"parts": {"all": JOINED}}}), "parts cannot have parts"),
        (changed("tests", {"t": {"references": "wmt41/de-en", "format": "sacrebleu"}}), "wmt14"),
        ({**SYNTHETIC, "train": -1}, "a whole number or null, at least 1"),
        ({**SYNTHETIC, "tests": {"t": 0}}, "a whole number, at least 1"),
        ({**SYNTHETIC, "dev": "many"}, "corpus.dev is not allowed"),
    ],
)
def test_mistakes_leave_nothing_half_written(data, tmp_path, corpus, message):
    (data / "empty").write_text("")
    out = tmp_path / "out"
    with pytest.raises(ReplituneError, match=message):
        prepare(corpus, out, seed=1, base=data)
    left = content(out) if out.exists() else {}
    assert "inputs.json" not in left
    assert not any(name.endswith(".tmp") for name in left)


def test_the_texts_of_a_corpus_and_their_files():
    corpus = read_corpus({**FILES, "tests": {"t": FILES["tests"]["t"], "all": JOINED}})
    assert list_texts(corpus) == ["train", "dev", "t", "all"]
    assert files_of(corpus, "train") == ["train.de", "train.en"]
    assert files_of(corpus, "dev") == ["dev.en", "dev.de"]
    assert files_of(corpus, "all") == ["t.en.gz", "t.de", "ids", "dev.en", "dev.de", "one id"]
    assert [place for place, _ in corpus.described] == [
        ("dev",),
        ("tests", "t"),
        ("tests", "all", "parts", "late"),
        ("tests", "all", "parts", "early"),
    ]
    fetched = {"t": {"references": ["wmt14/de-en"], "format": "sacrebleu"}}
    assert files_of(read_corpus({"kind": "files", "tests": fetched}), "t") == []
    assert files_of(read_corpus(SYNTHETIC), "train") == []


def test_the_settings_of_one_text_are_those_of_a_corpus_that_has_no_other():
    corpus = read_corpus(FILES)
    part = only(corpus, "t")
    assert list_texts(part) == ["t"]
    assert part.tests["t"] == corpus.tests["t"]
    assert read_corpus(plain(part)) == part


def test_an_unknown_test_set(tmp_path):
    with pytest.raises(ReplituneError, match="one of dev, test1, test2"):
        prepare_testset(SYNTHETIC, "test3", tmp_path, seed=1)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    prepare_testset(SYNTHETIC, "dev", tmp_path, seed=1)
    before = content(tmp_path)

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        prepare_testset(SYNTHETIC, "dev", tmp_path, seed=2)
    assert content(tmp_path) == before
