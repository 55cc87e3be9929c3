"""Several backends in one experiment, and replicas that cannot be made."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import pytest

from replitune.running.files import read_lines

from .conftest import Snakemake, manifest, same_bytes

pytestmark = pytest.mark.workflow

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
    """The experiment, run from scratch on two cores."""
    runner = Snakemake(tmp_path_factory.mktemp("mixed"))
    give_outputs(runner.folder)
    runner.write(MIXED)
    runner.run()
    return runner


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
    log = (results / "logs" / "tune" / "shell" / "seed-001.log").read_text()
    assert log.endswith("\n2\n"), "OMP_NUM_THREADS is the rule's threads"
    said = manifest(results)
    assert said["jobs"]["tune/shell/seed-001"]["threads"] == "2"


def test_resources_of_a_system_reach_the_jobs_of_this_system_only(mixed: Snakemake):
    plan = mixed.run("--dry-run", "--forceall")
    text = plan.stdout + plan.stderr
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
        changed = copy.deepcopy(MIXED)
        changed["systems"]["shell"].update(settings)
        mixed.write(changed, "changed.yaml")
        planned = mixed.planned(configfile="changed.yaml")
        return {key: planned[key] for key in planned if key not in last}

    assert plan() == {}
    assert plan(resources={"threads": 1}) == {}
    assert plan(decode="cat {source}") == {"decode": 2, "score": 2, "test": 1}
    again = {"train_replica": 2, "decode": 2, "score": 2, "test": 1}
    assert plan(tune="echo {seed} > {output}/seed") == again
    assert plan(revision=2) == {"train": 1, **again}


def test_a_failed_replica_stops_its_own_system_and_says_why(snakemake: Snakemake, replitune):
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
    snakemake.run()
    after = same_bytes(results)
    assert {name: after[name] for name in before} == before
    record = json.loads((results / "tuning" / "shell" / "seed-002" / "failed.json").read_text())
    assert record["failed"]["replica"] == "seed-002"
    page = (results / "report.html").read_text()
    assert "Missing replicas" in page
    assert "shell seed-002 on t" in page
    assert "diverged" in page
    log = (results / "logs" / "score" / "t" / "bleu" / "shell.log").read_text()
    assert "1 of 3 replicas are missing: seed-002" in log
    assert "Nothing to be done" in snakemake.run().stderr

    # an archive knows which replicas are missing, and is run again like any other
    archive = snakemake.folder / "failing.tar.gz"
    ran = replitune("archive", results, "--out", archive)
    assert ran.code == 0, ran.err
    shutil.unpack_archive(archive, snakemake.folder, filter="data")
    again = Snakemake(snakemake.folder / "failing")
    again.run(configfile="experiment.yaml")
    ran = replitune("verify", again.folder / "results" / "failing", "--against", again.folder)
    assert ran.code == 0, ran.out + ran.err
    assert "shell seed-002 on t" in (again.folder / "results/failing/report.html").read_text()

    # no longer allowed: the record is refused, not scored
    snakemake.write(failing(False))
    ran = snakemake("--keep-going", "--forcerun", "score")
    assert ran.returncode == 1
    assert "could not be made" in ran.stderr


def test_a_missing_program_is_named_before_anything_runs_but_not_in_a_dry_run(snakemake: Snakemake):
    experiment = failing(False)
    experiment["systems"]["shell"]["programs"] = ["no-such-decoder"]
    snakemake.write(experiment)
    snakemake.run("--dry-run")
    ran = snakemake()
    assert ran.returncode == 1
    assert "the program no-such-decoder is not on the PATH" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (snakemake.folder / "results" / "failing" / "corpus").exists()
    snakemake.run("--nolock", "results/failing/corpus/t.jsonl")
