"""Several backends in one experiment, and replicas that cannot be made."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import shutil
from pathlib import Path

import pytest

from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.running.files import read_lines
from support import ROOT, run_again, run_file

from .conftest import Snakemake, count_jobs, same_bytes

NOISE = (
    "awk -v seed=$(cat {trained}/seed) 'BEGIN {srand(seed)} "
    '{if (rand() < 0.5) $1 = "noise"; print}\' '
    "{source}"
)
FAILS = "[ {number} != 2 ] || { echo diverged >&2; exit 7; }; "
MIXED = {
    "experiment": "mixed",
    "corpus": {"kind": "synthetic", "train": 300, "dev": 15, "tests": {"t": 12}},
    "systems": {
        "smt": {"backend": "phrase", "training": {"lm_order": 3}},
        "shell": {
            "backend": "command",
            "train": "cut -d' ' -f1 {source} | sort -u > {output}/words",
            "tune": "cp {model}/words {output}; echo {seed} > {output}/seed; echo $OMP_NUM_THREADS",
            "decode": NOISE,
            "programs": ["awk"],
            "resources": {"threads": 2, "gpu": 1},
        },
        "files": {"backend": "outputs", "files": {"t": "given/run*.txt"}},
    },
    "replicas": {"pro": 1, "seeds": 2},
    "tuning": {"nbest": 20, "iterations": 2},
    "tests": {"samples": 99, "methods": [{"name": "clark", "strata": "none"}]},
}


def failing(allowed: bool) -> dict:
    """A small experiment in which one of three trainings diverges."""
    experiment = copy.deepcopy(MIXED)
    del experiment["systems"]["smt"]
    del experiment["systems"]["files"]
    experiment["systems"]["made"] = {"backend": "corruption", "replicas": {"seeds": 2}}
    experiment["systems"]["shell"]["replicas"] = {"seeds": 3}
    experiment["systems"]["shell"]["tune"] = FAILS + MIXED["systems"]["shell"]["tune"]
    return experiment | {"experiment": "failing", "allow_missing_replicas": allowed}


def give_outputs(folder: Path) -> None:
    (folder / "given").mkdir()
    for n in (1, 2):
        lines = [f"the house number {i % (n + 3)}\n" for i in range(12)]
        (folder / "given" / f"run{n}.txt").write_text("".join(lines))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    """The experiment's results. Not to be changed by a test."""

    def make(runner: Snakemake) -> None:
        give_outputs(runner.folder)
        runner.in_process(MIXED)

    return Snakemake.made_once(tmp_path_factory, "mixed", make)


def test_each_system_has_the_replicas_and_files_of_its_backend(mixed: Snakemake):
    results = mixed.folder / "results" / "mixed"
    for name in (
        "models/smt/model.json",
        "models/shell/words",
        "tuning/smt/pro-001/weights.json",
        "tuning/shell/seed-002/seed",
        "decodes/t/smt/pro-001.txt",
        "decodes/dev/shell/seed-002.txt",
        "decodes/t/files/run-002.txt",
        "report.html",
    ):
        assert (results / name).is_file(), name
    assert not (results / "decodes" / "dev" / "files").exists()
    seeds = [(results / f"tuning/shell/seed-00{n}/seed").read_text() for n in (1, 2)]
    assert len(set(seeds)) == 2
    decoded = read_lines(results / "decodes" / "t" / "shell" / "seed-001.txt")
    assert len(decoded) == 12


@pytest.mark.workflow
def test_resources_of_a_system_reach_the_jobs_of_this_system_only(mixed: Snakemake, tmp_path: Path):
    replica = "results/mixed/tuning/shell/seed-001"
    runner = Snakemake(tmp_path / "copy")
    shutil.copytree(mixed.folder, runner.folder)
    shutil.rmtree(runner.folder / replica)
    runner.run("--rerun-incomplete", replica)  # (a target after --configfile would be one more)
    log = (runner.folder / "results/mixed/logs/tune/shell/seed-001.log").read_text()
    assert log.endswith("\n2\n"), "OMP_NUM_THREADS is the rule's threads"
    record = json.loads((runner.folder / "results/mixed/logs/tune/shell/seed-001.json").read_text())
    assert record["threads"] == "2"
    # of a rule without a message Snakemake prints all that there is
    workflow = shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    for path in (workflow / "rules").glob("*.smk"):
        path.write_text(re.sub(r"\n +message:\n[^\n]*", "", path.read_text()))
    plan = Snakemake(runner.folder, workflow / "Snakefile").run("--dry-run", "--forceall")
    text = plan.stdout + plan.stderr
    assert text.count("gpu=1") == 1 + 2 + 2, "a training, and two replicas trained and decoded"
    jobs = [part for part in text.split("\n\n") if "resources:" in part]
    assert jobs
    for part in jobs:
        of_shell = "wildcards: system=shell" in part or "system=shell, replica" in part
        decodes_or_trains = any(f"rule {r}:" in part for r in ("train", "train_replica", "decode"))
        if "system=shell" in part and decodes_or_trains:
            assert "gpu=1" in part, part
        elif not of_shell:
            assert "gpu=1" not in part, part


def test_a_changed_command_runs_again_what_depends_on_it(mixed: Snakemake):
    last = {"report": 1, "manifest": 1}

    def plan(**settings: object) -> dict[str, int]:
        after = copy.deepcopy(MIXED)
        after["systems"]["shell"].update(settings)
        with contextlib.chdir(mixed.folder):  # where outputs are given
            again = run_again(MIXED, after)
        return {key: again[key] for key in again if key not in last}

    assert plan() == {}
    assert plan(resources={"threads": 1}) == {}
    assert plan(decode="cat {source}") == {"decode": 2, "score": 2, "test": 1}
    again = {"train_replica": 2, "decode": 2, "score": 2, "test": 1}
    assert plan(tune="echo {seed} > {output}/seed") == again
    assert plan(revision=2) == {"train": 1, **again}


@pytest.mark.workflow
def test_a_failed_replica_stops_its_own_system_and_says_why(
    snakemake: Snakemake, replitune, monkeypatch: pytest.MonkeyPatch
):
    snakemake.write(failing(False))
    ran = snakemake("--keep-going")
    assert ran.returncode == 1
    assert "tune of system shell: bash failed" in ran.stderr
    assert "exit code 7" in ran.stderr
    assert "diverged" in ran.stderr
    results = snakemake.folder / "results" / "failing"
    assert (results / "stats" / "t" / "bleu" / "made.parquet").is_file()
    assert (results / "decodes" / "t" / "shell" / "seed-003.txt").is_file()
    assert not (results / "stats" / "t" / "bleu" / "shell.parquet").exists()
    assert not (results / "tuning" / "shell" / "seed-002").exists()

    # allowed: what there is is not made again, and the rest is tested
    before = same_bytes(results)
    snakemake.write(failing(True))
    jobs = count_jobs(snakemake.run().stderr)
    assert (jobs["train_replica"], jobs["decode"]) == (1, 1)
    after = same_bytes(results)
    assert {name: after[name] for name in before} == before
    record = json.loads((results / "tuning" / "shell" / "seed-002" / "failed.json").read_text())
    assert record["failed"]["replica"] == "seed-002"
    page = (results / "report.html").read_text()
    assert "shell has no seed-002 on t" in page
    assert "diverged" in page
    log = (results / "logs" / "score" / "t" / "bleu" / "shell.log").read_text()
    assert "1 of 3 runs are missing: seed-002" in log
    assert snakemake.planned() == {}

    # an archive knows which replicas are missing, and is run again like any other
    archive = snakemake.folder / "failing.tar.gz"
    ran = replitune("archive", results, "--out", archive)
    assert ran.code == 0, ran.err
    shutil.unpack_archive(archive, snakemake.folder, filter="data")
    again = Snakemake(snakemake.folder / "failing")
    run_file(again.folder / "experiment.yaml")
    ran = replitune("verify", again.folder / "results" / "failing", "--against", again.folder)
    assert ran.code == 0, ran.out + ran.err
    assert "shell has no seed-002 on t" in (again.folder / "results/failing/report.html").read_text()

    # no longer allowed: the record is refused, not scored
    stage = Experiment(resolve(failing(False))).stage("score", testset="t", metric="bleu", system="shell")
    monkeypatch.chdir(snakemake.folder)
    ran = replitune("job", "score", "--settings", stage.json)
    assert ran.code == 2
    assert "could not be made" in ran.err


@pytest.mark.workflow
def test_a_missing_program_stops_neither_a_dry_run_nor_jobs_without_it(snakemake: Snakemake):
    experiment = failing(False)
    experiment["systems"]["shell"]["programs"] = ["no-such-decoder"]
    snakemake.write(experiment)
    snakemake.run("--dry-run")
    snakemake.run("--nolock", "results/failing/corpus/t.jsonl")
