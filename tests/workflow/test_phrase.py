"""Training, tuning and decoding through the workflow, on a very small language pair."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import psutil
import pytest

from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import resolve
from replitune.running.files import remove
from support import run_again

from .conftest import Snakemake, same_bytes

PHRASE = {
    "experiment": "phrase",
    "corpus": {"kind": "synthetic", "train": 400, "dev": 30, "tests": {"t": 20}},
    "systems": {
        "plain": {"backend": "phrase", "features": ["tm", "lm", "distortion", "penalties"]},
        "half": {"backend": "phrase", "subset": "odd", "training": {"lm_order": 3}},
    },
    "replicas": {"mert": 2, "pro": 1},
    "tuning": {"nbest": 20, "iterations": 4, "patience": 4, "mert": {"restarts": 2}},
    "tests": {"samples": 99, "methods": ["crossed", "clark"]},
}


@pytest.fixture(scope="module")
def phrase(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    """The experiment's results. Not to be changed by a test."""
    return Snakemake.made_once(tmp_path_factory, "phrase", lambda made: made.in_process(PHRASE))


def test_weights_history_and_decodes_are_there(phrase: Snakemake):
    results = phrase.folder / "results" / "phrase"
    for name in (
        "models/plain/model.json",
        "tuning/plain/mert-002/weights.json",
        "tuning/half/pro-001/history.parquet",
        "decodes/t/half/pro-001.txt",
        "decodes/dev/plain/mert-001.txt",
        "report.html",
    ):
        assert (results / name).is_file(), name
    left = {path.name for path in (results / "tuning").glob("*/.work/*")}
    assert left == {"first-lists.npz"}, "checkpoints are gone; what replicas share is not"
    assert "200 of 400 pairs" in (results / "logs" / "train" / "half.log").read_text()


def test_replicas_of_a_tuner_differ_by_chance_only(phrase: Snakemake):
    tuning = phrase.folder / "results" / "phrase" / "tuning" / "plain"
    weights = [(tuning / f"mert-{n:03d}" / "weights.json").read_text() for n in (1, 2)]
    assert weights[0] != weights[1]


def results_without_seconds(folder: Path) -> dict[str, str]:
    """history.parquet holds seconds; everything else must not change."""
    return {k: v for k, v in same_bytes(folder).items() if not k.endswith("history.parquet")}


@pytest.mark.workflow
def test_kill_9_of_a_tuning_job_and_of_snakemake_ends_in_the_same_bytes(
    phrase: Snakemake, snakemake: Snakemake
):
    shutil.copytree(phrase.folder, snakemake.folder, dirs_exist_ok=True)
    for name in ("tuning", "decodes", "stats", "tests", "studies", "report.html", "manifest.json"):
        remove(snakemake.folder / "results" / "phrase" / name)
    running = snakemake.start(cores=1)
    work = snakemake.folder / "results" / "phrase" / "tuning"
    deadline = time.monotonic() + 300
    while not list(work.glob("*/.work/*/state.json")):
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    children = psutil.Process(running.pid).children(recursive=True)
    for process in (psutil.Process(running.pid), *children):
        with_pid = process.pid
        if psutil.pid_exists(with_pid):
            os.kill(with_pid, signal.SIGKILL)
    running.communicate()
    assert list(work.glob("*/.work/*/state.json")), "the checkpoint survives"
    snakemake.run("--unlock")
    snakemake.run("--rerun-incomplete", cores=1)
    logs = (snakemake.folder / "results" / "phrase" / "logs" / "tune").rglob("*.log")
    assert any("resuming at iteration" in log.read_text() for log in logs)
    assert results_without_seconds(snakemake.folder / "results" / "phrase") == (
        results_without_seconds(phrase.folder / "results" / "phrase")
    )


def test_a_change_of_features_tunes_again_and_trains_nothing():
    changed = {**PHRASE, "systems": {**PHRASE["systems"]}}
    changed["systems"]["plain"] = {"backend": "phrase", "features": ["tm", "lm", "penalties"]}
    again = run_again(PHRASE, changed)
    assert not {"train", "table"} & {*again}
    assert again["tune"] == 3
    assert again["decode"] == 3


def test_another_test_set_needs_its_tables_and_nothing_else_of_the_systems():
    corpus = {**PHRASE["corpus"], "tests": {"t": 20, "u": 20}}
    again = run_again(PHRASE, {**PHRASE, "corpus": corpus})
    assert not {"train", "tune"} & {*again}
    assert again["table"] == 2


def test_full_tables_are_parts_of_models():
    systems = {name: {**system, "tables": "full"} for name, system in PHRASE["systems"].items()}
    experiment = Experiment(resolve({**PHRASE, "systems": systems}))
    assert not any(job.stage == "table" for job in jobs_of(experiment))
