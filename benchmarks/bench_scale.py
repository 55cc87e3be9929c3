"""Measure how the costs of planning and testing grow; prints Markdown tables.

    python benchmarks/bench_scale.py plan [--jobs 1000 10000 50000]
    python benchmarks/bench_scale.py store [--systems 10 30 100] [--replicas 60] [--segments 3000]

`plan`: CPU seconds of a whole dry run of experiments with so many jobs. `store`: simulated BLEU
statistics of so many systems are written as `replitune score` writes them, then a separate process
runs `replitune test` on all systems against one baseline: CPU seconds and peak memory.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import yaml

from replitune.metrics.registry import get_metric
from replitune.statistics.segments import StoreMetadata
from replitune.statistics.store import write_store
from replitune.statistics.systems import SystemStatistics
from replitune.streams import stream

ROOT = Path(__file__).resolve().parent.parent
MOST_SEEDS = 100
TESTSETS = 4


def ran(command: list[str], folder: Path) -> tuple[float, float, str]:
    """CPU seconds and peak MB of a command, and what it printed."""
    with open(folder / "said", "w+") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode:
        sys.exit(text[-3000:])
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text


def plan(sizes: list[int]) -> None:
    print("| jobs | CPU s | ms per job beyond the first row | peak RSS MB |\n|---|---|---|---|")
    first: tuple[int, float] | None = None
    for size in sizes:
        systems = max(2, round(size / (MOST_SEEDS * TESTSETS)))
        seeds = max(1, round(size / (systems * TESTSETS)))
        experiment = {
            "experiment": "scale",
            "corpus": {"kind": "synthetic", "tests": {f"t{i}": 10 for i in range(TESTSETS - 1)}},
            "systems": {f"s{i:04d}": {"backend": "corruption"} for i in range(systems)},
            "replicas": {"seeds": seeds},
            "tests": {"pairs": {"baseline": "s0000"}},
        }
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "x.yaml").write_text(yaml.safe_dump(experiment))
            command = [str(Path(sys.executable).parent / "snakemake"), "--dry-run", "--quiet"]
            command += ["rules", "--cores", "2", "--snakefile", str(ROOT / "workflow/Snakefile")]
            seconds, memory, text = ran([*command, "--configfile", "x.yaml"], folder)
        found = re.search(r"^total\s+(\d+)", text, re.M)
        jobs = int(found[1]) if found else 0
        slope = "" if first is None else f"{1e3 * (seconds - first[1]) / (jobs - first[0]):.2f}"
        first = first or (jobs, seconds)
        print(f"| {jobs:,} | {seconds:.1f} | {slope} | {memory:.0f} |", flush=True)


def simulate(folder: Path, system: int, replicas: int, segments: int) -> int:
    """Write BLEU statistics of one system; returns their bytes on disk."""
    rng = stream(2011, "scale", system)
    metric = get_metric("bleu")
    name = f"s{system:04d}"
    ids = tuple(f"seed-{r:03d}" for r in range(1, replicas + 1))
    length = stream(2011, "scale", "lengths").integers(8, 45, segments)
    # replicas agree on most segments, as replicas of one tuner do
    share = np.clip(0.5 + 0.002 * (system % 50) + 0.1 * rng.normal(size=segments), 0.05, 0.95)
    same = rng.random((replicas, segments)) < 0.7
    quality = np.where(same, share, np.clip(share + 0.05 * rng.normal(size=same.shape), 0.02, 1))
    columns = {}
    for n in range(4):
        total = np.maximum(length - n, 0)
        columns[f"match_{n + 1}"] = np.floor(total * quality ** (n + 1))
        columns[f"total_{n + 1}"] = np.broadcast_to(total, quality.shape)
    columns["hyp_len"] = columns["ref_len"] = np.broadcast_to(length, quality.shape)
    statistics = np.stack([columns[k] for k in metric.statistic_names], axis=-1).astype(np.int32)
    metadata = StoreMetadata(
        metric="bleu",
        id="bleu",
        signature="simulated",
        direction=1,
        testset="t",
        reference_sha256="0" * 64,
        decode_sha256={name: dict.fromkeys(ids, "0" * 64)},
    )
    path = folder / f"{name}.parquet"
    write_store(
        path,
        [SystemStatistics(name, ids, (None,) * replicas, statistics)],
        metric,
        metadata,
        [f"d{i // 20}" for i in range(segments)],
    )
    return path.stat().st_size


def store(sizes: list[int], replicas: int, segments: int, methods: list[str], intervals: list[str]) -> None:
    drawn = f"{' '.join(methods)}, intervals {' '.join(intervals)}"
    print(f"{replicas} replicas, {segments} segments, {drawn}, baseline pairs\n")
    print("| systems | rows | MB on disk | CPU s | CPU s per pair | peak RSS MB |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder, size, made = Path(temporary) / "stats", 0, 0
        folder.mkdir()
        for systems in sizes:
            for system in range(made, systems):
                size += simulate(folder, system, replicas, segments)
            made = systems
            command = [sys.executable, "-m", "replitune", "test", str(folder)]
            command += ["--pairs", "baseline=s0000", "--methods", *methods]
            command += ["--intervals", *intervals]
            seconds, memory, _ = ran([*command, "--out", "t.parquet"], Path(temporary))
            print(
                f"| {systems:,} | {systems * replicas * segments:,} | {size / 1e6:.0f} "
                f"| {seconds:.1f} | {seconds / (systems - 1):.2f} | {memory:.0f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("plan", "store"))
    parser.add_argument("--jobs", nargs="+", type=int, default=[1000, 10_000, 50_000])
    parser.add_argument("--systems", nargs="+", type=int, default=[10, 30, 100])
    parser.add_argument("--replicas", type=int, default=60)
    parser.add_argument("--segments", type=int, default=3000)
    parser.add_argument("--methods", nargs="+", default=["crossed", "clark"])
    parser.add_argument("--intervals", nargs="+", default=["riezler", "clark", "fu"])
    options = parser.parse_args()
    if options.what == "plan":
        plan(sorted(options.jobs))
    else:
        sizes = sorted(options.systems)
        store(sizes, options.replicas, options.segments, options.methods, options.intervals)


if __name__ == "__main__":
    main()
