"""kill -9 in the middle of `replitune tune --model`, for each tuner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.running.files import write_lines
from support import Ran

SETTINGS = {
    "mert": ["restarts=3"],
    "mira": ["epochs=20"],
    "pro": ["samples=500"],
    "mert-lattice": ["restarts=3", "decodings=8"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model and a dev set."""
    from replitune.cli.main import main

    folder = tmp_path_factory.mktemp("killed")
    source, target = synthetic_train(5, 400)
    dev = synthetic_testset(5, "dev", 60)
    for name, lines in {
        "train.src": source,
        "train.tgt": target,
        "dev.src": dev.source or [],
        "dev.tgt": dev.references[0],
    }.items():
        write_lines(folder / name, lines)
    words = ["--source", folder / "train.src", "--target", folder / "train.tgt"]
    words += ["--out", folder / "model", "--set", "lm_order=3"]
    assert main(["train", *map(str, words)]) == 0
    return folder


@pytest.mark.parametrize("algorithm", sorted(SETTINGS))
def test_a_run_that_is_killed_ends_in_the_same_bytes(
    replitune: Callable[..., Ran], files: Path, tmp_path: Path, algorithm: str
):
    words = [
        "tune",
        "--model",
        files / "model",
        "--source",
        files / "dev.src",
        "--refs",
        files / "dev.tgt",
        "--algorithm",
        algorithm,
        "--set",
        *SETTINGS[algorithm],
        "--loop",
        "iterations=8",
        "patience=8",
        "--nbest-size",
        30,
        "--seed",
        4,
    ]
    whole, resumed = tmp_path / "whole.json", tmp_path / "resumed.json"
    ran = replitune(*words, "--out", whole)
    assert ran.code == 0, ran.err

    words += ["--work", tmp_path / "work", "--out", resumed]
    running = subprocess.Popen(
        [sys.executable, "-m", "replitune.cli.main", *map(str, words)], stdout=subprocess.DEVNULL
    )
    state = tmp_path / "work" / "state.json"
    deadline = time.monotonic() + 120
    while not state.exists() and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL, "it was in the middle"
    assert state.exists()
    assert not resumed.exists()

    ran = replitune(*words)
    assert ran.code == 0, ran.err
    assert "resuming at iteration" in ran.out
    assert resumed.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "work").exists()
