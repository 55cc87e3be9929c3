"""Measure what a job takes to start, and Snakemake to run one; prints Markdown tables.

    python benchmarks/bench_jobs.py [--replicas 20] [--cores 32] [--rounds 5]

First, CPU seconds of whole jobs of an experiment so small that they do next to nothing; each is run
again by its recorded command, and the best of some rounds counts. Then, for a run of 7 systems x
replicas on dev and a test set, CPU seconds of Snakemake's own process and of the jobs with their
shells.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
SMALL = {
    "experiment": "small",
    "corpus": {"kind": "synthetic", "train": 200, "dev": 20, "tests": {"t1": 20, "t2": 20}},
    "systems": {
        "shell": {"backend": "command", "decode": "cat {source}", "replicas": {"seeds": 2}},
        "phrase": {"backend": "phrase", "features": ["tm", "lm"], "replicas": {"mert": 2}},
    },
    "tuning": {"nbest": 10, "iterations": 1},
    "metrics": ["bleu", "ter"],
    "tests": {"samples": 99, "methods": ["crossed", "clark"]},
}
MANY = {
    "experiment": "many",
    "corpus": {"kind": "synthetic", "dev": 5, "tests": {"t": 5}},
    "systems": {f"s{i}": {"backend": "command", "decode": "cat {source}"} for i in range(7)},
}
CLOCK = os.sysconf("SC_CLK_TCK")


def snakemake(folder: Path, experiment: dict[str, Any], *arguments: str) -> tuple[float, float]:
    """CPU seconds of Snakemake's own process, as last seen, and of all processes that it started."""
    (folder / "x.yaml").write_text(yaml.safe_dump(experiment))
    command = [str(BIN / "snakemake"), "--snakefile", str(ROOT / "workflow/Snakefile")]
    command += ["--configfile", "x.yaml"]
    command += ["--workflow-profile", str(ROOT / "workflow/profiles/workstation")]
    with open(folder / "said", "wb") as said:
        run = subprocess.Popen([*command, *arguments], cwd=folder, stdout=said, stderr=said)
    times = [0.0] * 4
    while run.poll() is None:
        fields = Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()
        if fields[0] != "Z":
            times = [int(ticks) / CLOCK for ticks in fields[11:15]]
        time.sleep(0.05)
    if run.returncode:
        sys.exit((folder / "said").read_text()[-3000:])
    return times[0] + times[1], times[2] + times[3]


def starts(folder: Path, rounds: int) -> None:
    snakemake(folder, SMALL, "--cores", "2")
    print("| job | CPU s | peak MB |\n|---|---|---|")
    results = folder / "results" / "small"
    shown: set[tuple[str, str]] = set()
    for path in sorted((results / "logs").rglob("*.json")):
        record = json.loads(path.read_text())
        stage = record["command"][2]
        job = (stage, "phrase" if "phrase" in path.as_posix() else "")
        if job in shown:
            continue
        shown.add(job)
        best = min(again(folder, results, record) for _ in range(rounds))
        print(f"| {' '.join(filter(None, job))} | {best:.2f} | {record['peak_rss_mb']:.0f} |")


def again(folder: Path, results: Path, record: dict[str, Any]) -> float:
    """CPU seconds of a job that can reuse nothing."""
    for name in record["outputs"]:
        (results / ".made" / f"{name}.json").unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(BIN / "replitune"), *record["command"][1:]]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def many(folder: Path, replicas: int, cores: int) -> None:
    experiment = {**MANY, "replicas": {"seeds": replicas}}
    own, jobs = snakemake(folder, experiment, "--cores", str(cores), "--until", "decode")
    decoded = len(list((folder / "results/many/decodes").rglob("*.txt")))
    print(f"\n| {decoded} translations, --cores {cores} | CPU s | each, s |\n|---|---|---|")
    print(f"| Snakemake's own process | {own:.1f} | {own / decoded:.4f} |")
    print(f"| jobs and their shells | {jobs:.1f} | {jobs / decoded:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=20)
    parser.add_argument("--cores", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        starts(Path(first), options.rounds)
        many(Path(second), options.replicas, options.cores)


if __name__ == "__main__":
    main()
