"""`train`, `tune` and `decode` on bare files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.running.files import read_lines, write_lines
from replitune.tuning.weights import read_weights
from support import Ran


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training text, a dev set, and a trained model."""
    from replitune.cli.main import main

    folder = tmp_path_factory.mktemp("bare")
    source, target = synthetic_train(3, 400)
    dev = synthetic_testset(3, "dev", 15)
    write_lines(folder / "train.src", source)
    write_lines(folder / "train.tgt", target)
    write_lines(folder / "dev.src", dev.source or [])
    write_lines(folder / "dev.tgt", dev.references[0])
    words = ["--source", folder / "train.src", "--target", folder / "train.tgt"]
    words += ["--out", folder / "model", "--set", "lm_order=3"]
    assert main(["train", *map(str, words)]) == 0
    return folder


def tune(replitune: Callable[..., Ran], files: Path, out: Path, *more: object) -> Ran:
    return replitune(
        "tune",
        "--model",
        files / "model",
        "--source",
        files / "dev.src",
        "--refs",
        files / "dev.tgt",
        "--algorithm",
        "pro",
        "--loop",
        "iterations=2",
        "--nbest-size",
        20,
        "--out",
        out,
        *more,
    )


def decode(replitune: Callable[..., Ran], files: Path, *more: object) -> Ran:
    return replitune("decode", "--model", files / "model", *more)


def test_tuned_weights_decode(replitune: Callable[..., Ran], files: Path, tmp_path: Path):
    weights, out = tmp_path / "w.json", tmp_path / "out.txt"
    ran = tune(replitune, files, weights, "--history", tmp_path / "h.parquet")
    assert ran.code == 0, ran.err
    assert "iteration 0: dev bleu" in ran.out
    said = json.loads(weights.read_text())
    assert said["algorithm"] == "pro"
    assert len(said["weights"]["TranslationModel0"]) == 4
    ran = decode(
        replitune,
        files,
        "--weights",
        weights,
        "--source",
        files / "dev.src",
        "--out",
        out,
        "--nbest",
        3,
        "--nbest-out",
        tmp_path / "nbest.txt",
    )
    assert ran.code == 0, ran.err
    assert len(read_lines(out)) == 15
    assert read_lines(tmp_path / "nbest.txt")[0].startswith("0 ||| ")
    tuned = replitune(
        "tune",
        "--nbest",
        tmp_path / "nbest.txt",
        "--refs",
        files / "dev.tgt",
        "--algorithm",
        "mira",
        "--out",
        tmp_path / "w.ini",
    )
    assert tuned.code == 0, tuned.err
    assert set(read_weights(tmp_path / "w.ini")) == set(said["weights"])


def test_the_same_seed_gives_the_same_bytes_and_another_others(
    replitune: Callable[..., Ran], files: Path, tmp_path: Path
):
    found = []
    for number, seed in enumerate((1, 1, 2)):
        path = tmp_path / f"{number}.json"
        assert tune(replitune, files, path, "--seed", seed).code == 0
        found.append(json.loads(path.read_text())["weights"])
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_blank_lines_unknown_words_and_zero_weights(
    replitune: Callable[..., Ran], files: Path, tmp_path: Path
):
    write_lines(tmp_path / "in.txt", ["", "neverseen123", read_lines(files / "dev.src")[0]])
    assert tune(replitune, files, tmp_path / "w.json").code == 0
    weights = json.loads((tmp_path / "w.json").read_text())["weights"]
    zero = {"weights": {name: [0.0] * len(row) for name, row in weights.items()}}
    (tmp_path / "zero.json").write_text(json.dumps(zero))
    for name in ("w.json", "zero.json"):
        ran = decode(
            replitune,
            files,
            "--weights",
            tmp_path / name,
            "--source",
            tmp_path / "in.txt",
            "--out",
            tmp_path / "out.txt",
        )
        assert ran.code == 0, ran.err
        lines = read_lines(tmp_path / "out.txt")
        assert lines[:2] == ["", "neverseen123"]
        assert lines[2]


def test_a_dev_set_of_one_line_is_enough(replitune: Callable[..., Ran], files: Path, tmp_path: Path):
    for side in ("src", "tgt"):
        write_lines(tmp_path / f"dev.{side}", read_lines(files / f"dev.{side}")[:1])
    ran = replitune(
        "tune",
        "--model",
        files / "model",
        "--source",
        tmp_path / "dev.src",
        "--refs",
        tmp_path / "dev.tgt",
        "--algorithm",
        "mert",
        "--loop",
        "iterations=2",
        "--nbest-size",
        10,
        "--set",
        "restarts=1",
        "--out",
        tmp_path / "w.json",
    )
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("train", ["--set", "lm_ordr=3"], "did you mean `lm_order`"),
        ("train", ["--set", "lm_order=9"], "at most 6"),
        ("train", ["--set", "lm_order=x"], "not allowed"),
        ("train", ["--subset", "middle"], "middle"),
        ("decode", ["--weights", "missing.json"], "no such file"),
        ("decode", [], "--weights"),
        ("tune", ["--algorithm", "mert", "--set", "restart=3"], "restarts"),
        ("tune", ["--algorithm", "mert", "--loop", "iterations=0"], "at least 1"),
        ("tune", ["--algorithm", "mert", "--metric", "blue"], "did you mean"),
    ],
)
def test_mistakes(
    replitune: Callable[..., Ran],
    files: Path,
    tmp_path: Path,
    command: str,
    arguments: list[str],
    message: str,
):
    sides = {
        "train": ["--source", files / "train.src", "--target", files / "train.tgt"],
        "decode": ["--model", files / "model", "--source", files / "dev.src"],
        "tune": ["--model", files / "model", "--source", files / "dev.src"],
    }[command]
    if command == "tune":
        sides += ["--refs", files / "dev.tgt"]
    ran = replitune(command, *sides, *arguments, "--out", tmp_path / "out")
    assert ran.code == 2, ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out").exists()


def test_unequal_sides_are_named(replitune: Callable[..., Ran], files: Path, tmp_path: Path):
    ran = replitune(
        "train", "--source", files / "train.src", "--target", files / "dev.tgt", "--out", tmp_path / "m"
    )
    assert ran.code == 2
    assert "400" in ran.err
    assert "15" in ran.err


def test_a_language_model_that_is_cut_off(replitune: Callable[..., Ran], files: Path, tmp_path: Path):
    path = tmp_path / "cut.arpa"
    path.write_text("\\data\\\nngram 1=3\nngram 2=5\n\n\\1-grams:\n-1 <unk>\n-1 a -0.3\n")
    ran = replitune(
        "train",
        "--source",
        files / "train.src",
        "--target",
        files / "train.tgt",
        "--lm-arpa",
        path,
        "--out",
        tmp_path / "m",
    )
    assert ran.code == 2
    assert "cut.arpa" in ran.err
    assert not (tmp_path / "m").exists()
