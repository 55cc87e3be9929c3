"""An experiment on a real Slurm of four nodes, of which one dies."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml

from support import ROOT, run_file

from .slurm import Slurm

pytestmark = [pytest.mark.cluster, pytest.mark.workflow]

EXPERIMENT = {
    "experiment": "c",
    "corpus": {"kind": "synthetic", "dev": None, "tests": {"t": 30}},
    "systems": {
        "a": {"backend": "corruption", "errors": 0.3},
        "b": {"backend": "corruption", "errors": 0.2},
    },
    "replicas": {"seeds": 2},
    "tests": {"samples": 99, "methods": ["clark"]},
    "studies": {"power": False},
}
PROFILE = [
    "--workflow-profile",
    str(ROOT / "workflow" / "profiles" / "slurm"),
    "--slurm-status-command",
    "squeue",
    "--slurm-init-seconds-before-status-checks",
    "1",  # see SQUEUE
    "--slurm-keep-successful-logs",
    "--slurm-logdir",
    "slurm-logs",
    "--latency-wait",
    "10",
    "--default-resources",
    "mem_mb=500",
    "runtime=5",
    "slurm_account=none",
    "slurm_partition=main",
]
# Decodes go as an array here, and so in no group.
GROUPS = yaml.safe_load((ROOT / "workflow/profiles/slurm/config.yaml").read_text())["groups"]
ARRAYS = [
    *("--groups", *(group for group in GROUPS if group != "decode=decode")),
    *("--slurm-array-jobs", "decode", "--slurm-disable-memory-fudge", "--jobs", "unlimited"),
]
# All that lies between two looks is one submission here.
BY_LOOKS = [
    *("--groups", "decode=batch", "batch=batch"),
    *(f"{rule}=end" for rule in ("corpus_inputs", "score", "test", "report", "manifest")),
    *("--group-components", "batch=20", "end=20"),
]


def start(
    folder: Path, environment: dict[str, str], *arguments: str, experiment: dict = EXPERIMENT
) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    (folder / "x.yaml").write_text(yaml.safe_dump(experiment, sort_keys=False))
    command = [str(Path(sys.executable).parent / "snakemake"), "--configfile", "x.yaml"]
    command += ["--snakefile", str(ROOT / "workflow/Snakefile"), *arguments]
    with open(folder / "out.txt", "wb") as out:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)


def made_here(folder: Path, experiment: dict) -> Path:
    """The same experiment, made without Snakemake and Slurm."""
    folder.mkdir()
    (folder / "x.yaml").write_text(yaml.safe_dump(experiment, sort_keys=False))
    run_file(folder / "x.yaml")
    return folder


def contents(folder: Path) -> dict[str, str]:
    results = folder / "results" / "c"
    kept = ("corpus", "decodes", "looks", "stats", "tests", "tables", "figures")
    return {
        path.relative_to(results).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in kept
        for path in sorted((results / name).rglob("*"))
        if path.is_file() and path.name != ".snakemake_timestamp"
    }


def processes(folder: Path) -> list[tuple[str, int]]:
    """Stage and process of every job that runs for the experiment in `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            named = len(words) > 3 and words[1].endswith(b"/replitune") and words[2] == b"job"
            if named and os.readlink(process / "cwd") == str(folder):
                found.append((words[3].decode(), int(process.name)))
    return found


class Trouble(threading.Thread):
    """Kills a job, cancels a job and switches off a node, each once, while a run goes on."""

    def __init__(self, slurm: Slurm, folder: Path) -> None:
        super().__init__(daemon=True)
        self.slurm, self.folder = slurm, folder
        self.made: dict[str, int] = {}
        """Slurm's number of the job that was hit."""
        self.over = threading.Event()

    def run(self) -> None:
        troubles = {"decode": self.kill, "score": self.cancel, "test": self.switch_off}
        while troubles and not self.over.is_set():
            for stage, pid in processes(self.folder):
                if stage in troubles:
                    with contextlib.suppress(OSError, KeyError):
                        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                        said = dict(word.decode().partition("=")[::2] for word in words if word)
                        job, first = int(said["SLURM_JOB_ID"]), said.get("SLURM_ARRAY_TASK_MIN")
                        if said.get("SLURM_ARRAY_TASK_ID") != first:
                            continue  # of an array, the first is hit
                        troubles.pop(stage)(pid, job)
                        self.made[stage] = job
            time.sleep(0.05)

    def kill(self, pid: int, job: int) -> None:
        os.kill(pid, signal.SIGKILL)  # what the kernel does to a job that takes too much memory

    def cancel(self, pid: int, job: int) -> None:
        self.slurm("scancel", str(job))

    def switch_off(self, pid: int, job: int) -> None:
        self.slurm.kill_node(self.slurm.jobs()[job]["node"])


def test_a_failing_a_cancelled_job_and_a_dead_node_change_no_byte(slurm: Slurm, tmp_path: Path):
    local = made_here(tmp_path / "local", EXPERIMENT)
    folder = tmp_path / "slurm"
    remote = start(folder, slurm.environment, *PROFILE, *ARRAYS)
    trouble = Trouble(slurm, folder)
    trouble.start()
    try:
        code = remote.wait(1500)
    finally:
        remote.kill()
        trouble.over.set()
        trouble.join()
    said = (folder / "out.txt").read_text()
    assert code == 0, said[-4000:]
    assert contents(folder) == contents(local)

    jobs = slurm.jobs()
    hit = {stage: jobs[number] for stage, number in trouble.made.items()}
    assert {stage: job["state"] for stage, job in hit.items()} == {
        "decode": "FAILED",
        "score": "CANCELLED",
        "test": "NODE_FAIL",
    }
    for job in hit.values():
        again = [
            other
            for number, other in jobs.items()
            if other["comment"] == job["comment"] and other["state"] == "COMPLETED"
        ]
        assert again, "it was tried again"
        assert megabytes(again[-1]["memory"]) == 2 * megabytes(job["memory"]), "with more memory"
        assert minutes(again[-1]["limit"]) == 2 * minutes(job["limit"]), "and more time"
    decodes = [job["state"] for job in jobs.values() if "decode" in job["comment"]]
    assert sorted(decodes) == ["COMPLETED"] * 4 + ["FAILED"], "only what was killed is tried again"
    assert any((folder / "slurm-logs").rglob("*.log")), "logs are collected"


def megabytes(text: str) -> float:
    return float(text.rstrip("MG")) * (1024 if text.endswith("G") else 1)


def minutes(text: str) -> float:
    """`D-HH:MM:SS`, `HH:MM:SS` or `MM:SS`."""
    days, _, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    seconds = sum(part * 60**i for i, part in enumerate(reversed(parts)))
    return int(days or 0) * 24 * 60 + seconds / 60


def test_looks_change_no_byte(slurm: Slurm, tmp_path: Path):
    """Jobs on nodes know of the looks before them."""
    experiment = {
        **EXPERIMENT,
        "systems": {**EXPERIMENT["systems"], "b": {"backend": "corruption", "errors": 0.27}},
        "replicas": {"seeds": 4, "until": "settled", "looks": [3]},
        "tests": {"methods": [{"name": "crossed", "unit": "segment"}], "intervals": []},
    }
    local, folder = made_here(tmp_path / "local", experiment), tmp_path / "slurm"
    before = max(slurm.jobs())
    remote = start(folder, slurm.environment, *PROFILE, *BY_LOOKS, experiment=experiment)
    assert remote.wait(1500) == 0, (folder / "out.txt").read_text()[-3000:]
    assert contents(folder) == contents(local)
    assert "looks/2.json" in contents(folder)
    jobs = [job["comment"] for number, job in slurm.jobs().items() if number > before]
    assert [sum(name in job for job in jobs) for name in ("batch", "end")] == [2, 1], "groups are jobs"
