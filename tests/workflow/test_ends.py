"""How runs end that cannot go on: one message, last on the terminal, and no lock is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import resolve
from replitune.ledger.runs import read_run
from replitune.running.processes import Process, machine, mark_of

from .conftest import TINY, Snakemake, mark_incomplete, same_bytes

pytestmark = pytest.mark.workflow


def last_message(text: str) -> list[str]:
    """The lines from the last message of ours to the end."""
    lines = text.rstrip().splitlines()
    begins = [i for i, line in enumerate(lines) if line.startswith("replitune: ")]
    assert begins, text[-2000:]
    return lines[begins[-1] :]


def with_program(name: str) -> dict:
    """System b is a program that somebody else wrote."""
    command = {"backend": "command", "decode": "cat {source}", "programs": [name]}
    return {**TINY, "systems": {"a": TINY["systems"]["a"], "b": command}}


def test_a_missing_program_ends_the_run_and_leaves_no_lock(snakemake: Snakemake):
    snakemake.write(with_program("no-such-program"))
    for _ in range(2):
        ran = snakemake()
        assert ran.returncode == 1
        assert last_message(ran.stderr) == [
            "replitune: the program no-such-program is not on the PATH, or cannot be run",
            "  to do:    install it, or correct `programs` of system b",
        ]
        assert "Traceback" not in ran.stderr
    assert not list((snakemake.folder / "results").rglob("*.jsonl")), "before the first job"
    snakemake.write(with_program("cat"))
    snakemake.run("--rerun-incomplete", "results/tiny/decodes/t1/b/seed-001.txt")


def test_a_report_of_nothing_is_said_before_work(snakemake: Snakemake):
    snakemake.write(TINY)
    ran = snakemake("--report", "r.zip")
    assert ran.returncode == 1
    assert last_message(ran.stderr) == [
        "replitune: results/tiny/report.html: nothing to report yet",
        "  to do:    run the experiment first",
    ]
    assert not (snakemake.folder / "results").exists()


def test_what_failed_jobs_said_comes_last(snakemake: Snakemake):
    experiment = with_program("cat")
    experiment["systems"]["b"]["decode"] = "head -n 1 {source}; echo to the log >&2"
    experiment["systems"]["a2"] = {"backend": "command", "decode": "echo broken >&2; exit 3"}
    snakemake.write(experiment)
    ran = snakemake("--keep-going")
    assert ran.returncode == 1
    first, *rows = last_message(ran.stderr)
    assert first == "replitune: 4 jobs failed"
    assert (
        rows[-1] == "  put this right and run again (replitune run, make resume); what is done stays done"
    )
    text = "\n".join(rows)
    assert "exit code 3" in text
    assert "logs/decode/b/seed-001.log" in text
    assert "found:    1 lines" in text
    assert "and 1 more" in text, "replicas that say the same are counted"


def test_a_folder_that_cannot_be_written_is_one_message(snakemake: Snakemake):
    snakemake.write(TINY)
    (snakemake.folder / ".snakemake").write_text("a file")
    ran = snakemake()
    assert ran.returncode == 1
    assert "cannot be written" in last_message(ran.stderr)[0]
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("name", ["results", ""])
def test_a_read_only_folder_is_one_message(snakemake: Snakemake, name: str):
    folder = snakemake.folder / name
    folder.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)]).returncode != 0:
        pytest.skip("a file system in memory cannot be mounted here")
    try:
        snakemake.write(TINY)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        ran = snakemake()
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
    assert ran.returncode == 1
    said = last_message(ran.stderr)
    assert "cannot be written" in said[0]
    assert said[1] == "  found:    Read-only file system"
    assert "Traceback" not in ran.stderr


def test_results_of_two_pieces_are_one_message(finished: Snakemake, tmp_path: Path):
    shutil.copytree(finished.folder, tmp_path / "copy")
    runner = Snakemake(tmp_path / "copy")
    results = runner.folder / "results" / "tiny"
    index = results / ".made" / "stats" / "t1" / "bleu" / "a.parquet.json"
    index.write_text(index.read_text().replace('"sha256": "', '"sha256": "0'))
    (results / "manifest.json").unlink()
    ran = runner()
    assert ran.returncode == 1
    assert "is not what the workflow made" in "\n".join(last_message(ran.stderr))
    assert "Traceback" not in ran.stderr


def test_jobs_that_have_ended_do_not_wake_the_scheduler_again(snakemake: Snakemake):
    """Snakemake's limit of jobs a second would start a thread for each of them, every second."""
    seeds = 8
    command = {"backend": "command", "decode": "sleep 1; cat {source}"}
    snakemake.write(
        TINY
        | {
            "corpus": {"kind": "synthetic", "dev": 20, "tests": {"t": 20}},
            "systems": {"slow": command, "b": TINY["systems"]["b"]},
            "replicas": {"seeds": seeds},
            "tests": {"samples": 99, "methods": ["crossed"]},
        }
    )
    most = 0
    with snakemake.start("--until", "decode", cores=1) as process:
        main = psutil.Process(process.pid)
        while process.poll() is None:
            with contextlib.suppress(psutil.NoSuchProcess):
                most = max(most, main.num_threads())
            time.sleep(0.1)
        assert process.returncode == 0, process.stderr.read()[-3000:]
    assert 0 < most < seeds


@pytest.mark.parametrize("ended", ["killed", "stopped"])
def test_a_run_that_ended_with_the_kernels_forgets_nothing(snakemake: Snakemake, ended: str):
    """Snakemake would make the kernels again, and end well without anything else."""
    snakemake.write(TINY)
    snakemake.run("--until", "kernels")
    results = snakemake.folder / "results" / "tiny"
    if ended == "killed":
        dead = subprocess.Popen(["sleep", "100"])
        owner = Process(machine(), dead.pid, mark_of(dead.pid) or "")
        dead.kill()
        dead.wait()
        (results / ".run.lock").write_bytes(owner.written)
    mark_incomplete(snakemake.folder, "results/tiny/.kernels")
    planned = snakemake.planned("--rerun-incomplete")
    assert "kernels" not in planned, "their record says that they are compiled"
    assert planned["report"] == planned["manifest"] == 1
    (results / "logs/kernels/kernels.json").unlink()
    planned = snakemake.planned("--rerun-incomplete")
    assert planned["kernels"] == planned["report"] == planned["manifest"] == 1


def test_what_is_asked_for_is_there_when_a_run_ends_well(snakemake: Snakemake):
    """Snakemake ends well when a job that others wait for is made again and their input is ancient."""
    snakemake.write(TINY)
    results = snakemake.folder / "results" / "tiny"
    results.mkdir(parents=True)
    (results / ".kernels").touch()
    wrong = snakemake.folder / "Snakefile"
    wrong.write_text(
        f"include: {str(snakemake.snakefile)!r}\n"
        "rule again:\n    output: AT.kernels\n    shell: 'touch {output}'\n"
    )
    (snakemake.folder / ".snakemake").mkdir()
    mark_incomplete(snakemake.folder, "results/tiny/.kernels")
    ran = replace(snakemake, snakefile=wrong)("--rerun-incomplete", "all")
    assert ran.returncode == 1
    assert "Snakemake ended before everything was made" in "\n".join(last_message(ran.stderr))


def test_sigterm_lets_running_jobs_end(snakemake: Snakemake):
    """Snakemake's handler takes a lock that the interrupted thread has most of the time here."""
    go = snakemake.folder / "go"
    program = f"touch begun; while [ ! -e {go} ]; do sleep 0.1; done; cat {{source}}"
    experiment = with_program("cat")
    experiment["systems"]["b"]["decode"] = program
    snakemake.write(experiment)
    with snakemake.start("--until", "decode") as process:
        while not (snakemake.folder / "begun").exists():
            assert process.poll() is None
            time.sleep(0.1)
        process.terminate()
        time.sleep(1)
        go.touch()
        _, err = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "the run was stopped" in err, err[-2000:]
    assert list((snakemake.folder / "results/tiny/decodes/t1/b").glob("*.txt"))


def test_without_undocumented_parts_of_snakemake_a_run_is_the_same(
    finished: Snakemake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("REPLITUNE_WITHOUT_PROBES", "1")
    snakemake = Snakemake(tmp_path, cold=True)
    snakemake.write(TINY)
    ran = snakemake.run()
    for library in ("numba", "pyarrow", "snakemake"):
        assert f"warning: without undocumented parts of {library}: " in ran.stderr
    results = snakemake.folder / "results" / "tiny"
    assert same_bytes(results) == same_bytes(finished.folder / "results" / "tiny")
    names = {job.name for job in jobs_of(Experiment(resolve(TINY)))}
    assert read_run(results).planned == names
