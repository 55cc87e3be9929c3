"""Run the same experiment under every condition that must not matter, and compare the bytes.

  make matrix                                      cores, threads, order of jobs, cold kernels,
                                                   replicas added to those of an earlier run,
                                                   other types of processor
  make matrix ARGS="--python OTHER/bin/python"     also another Python, with the project installed
  make matrix ARGS="--only slurm"                  on Slurm, where it can be started

Every cell runs the whole experiment from the beginning; the files of corpus, models, options, tuning,
decodes, derivations, stats, tests, tables and figures are compared with those of the first cell.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
KEPT = (
    "corpus",
    "models",
    "options",
    "tuning",
    "decodes",
    "derivations",
    "stats",
    "tests",
    "tables",
    "figures",
)
EXPERIMENT: dict[str, Any] = {
    "experiment": "matrix",
    "corpus": {"kind": "synthetic", "train": 300, "dev": 30, "tests": {"t": 30}},
    "systems": {
        # if they do not start together, later ones reuse the first decoding
        "p": {"backend": "phrase", "replicas": {"mert": 4, "mira": 1, "pro": 1, "mert-lattice": 2}},
        "h": {"backend": "hiero", "replicas": {"mert": 1, "mert-forest": 2}},
        "c": {"backend": "corruption", "replicas": {"seeds": 2}},
    },
    "tuning": {"nbest": 50, "iterations": 3, "patience": 3, "mert": {"restarts": 3}},
    "tests": {
        "samples": 500,
        "methods": [
            {"name": "crossed", "strata": "none"},
            {"name": "clark", "strata": "none"},
            {"name": "fu-ar", "strata": "none"},
        ],
    },
}


@dataclass(frozen=True)
class Cell:
    """One run of the experiment."""

    name: str
    arguments: tuple[str, ...]
    python: str = sys.executable
    cold: bool = False
    """Whether the cache of compiled kernels is empty."""
    environment: Mapping[str, str] = field(default_factory=dict)
    first: tuple[int, ...] = ()
    """Earlier runs with at most so many replicas of each kind, to which the next runs add."""


def cells(pythons: list[str]) -> Iterator[Cell]:
    stages = ("train", "tune", "decode", "score", "test", "report")
    yield Cell("2 cores", ("--cores", "2"))
    yield Cell("1 core", ("--cores", "1"))
    yield Cell("4 cores", ("--cores", "4"))
    for threads in (2, 4):
        given = ("--set-threads", *(f"{stage}={threads}" for stage in stages))
        yield Cell(f"{threads} threads in every job", ("--cores", "4", *given))
    for kernel in ("Haswell", "SkylakeX", "Zen", "Prescott"):
        yield Cell(f"BLAS of {kernel}", ("--cores", "2"), environment={"OPENBLAS_CORETYPE": kernel})
    beside = " ".join(np.show_config(mode="dicts")["SIMD Extensions"]["found"])
    yield Cell("numpy's SIMD off", ("--cores", "2"), environment={"NPY_DISABLE_CPU_FEATURES": beside})
    generic = {"NUMBA_CPU_NAME": "generic"}
    yield Cell("numba without AVX", ("--cores", "2"), cold=True, environment=generic)
    last = "results/matrix/decodes/t/p/pro-001.txt"
    yield Cell("other order: ilp scheduler", ("--cores", "2", "--scheduler", "ilp"))
    yield Cell("other order: last system first", ("--cores", "1", "--prioritize", last))
    yield Cell("cold kernels", ("--cores", "2"), cold=True)
    yield Cell("1 replica of each kind, then all", ("--cores", "2"), first=(1,))
    yield Cell("1, then 3, then all", ("--cores", "2"), first=(1, 3))
    for python in pythons:
        version = subprocess.check_output([python, "--version"], text=True).split()[1]
        yield Cell(f"Python {version}", ("--cores", "2"), python=python)
    yield Cell("slurm", ())


def run(cell: Cell, folder: Path, cold: Path) -> dict[str, str]:
    """The hashes of all files that must not depend on the cell."""
    folder.mkdir()
    command = [str(Path(cell.python).parent / "snakemake")]
    command += ["--snakefile", str(ROOT / "workflow/Snakefile")]
    command += ["--configfile", "x.json"]
    threads = {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}
    environment = {**os.environ, **threads, **cell.environment}
    if cell.cold:
        cold.mkdir()
        environment["NUMBA_CACHE_DIR"] = str(cold)
    for most in (*cell.first, sys.maxsize):
        (folder / "x.json").write_text(json.dumps(with_replicas(most)))
        if cell.name == "slurm":
            ran = on_slurm(command, folder, environment)
        else:
            asked = [*command, *cell.arguments]
            ran = subprocess.run(asked, cwd=folder, env=environment, capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"{cell.name}: {ran.stderr[-3000:]}")
    results = folder / "results" / "matrix"
    return {
        path.relative_to(results).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in KEPT
        for path in sorted((results / name).rglob("*"))
        if path.is_file() and path.name != "history.parquet"  # which contains times
    }


def with_replicas(most: int) -> dict[str, Any]:
    """The experiment with at most so many replicas of each kind."""
    found: dict[str, Any] = copy.deepcopy(EXPERIMENT)
    for system in found["systems"].values():
        system["replicas"] = {kind: min(n, most) for kind, n in system["replicas"].items()}
    return found


def on_slurm(
    command: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    sys.path.insert(0, str(ROOT / "tests" / "cluster"))
    from slurm import running

    with running() as slurm:
        profile = ["--workflow-profile", str(ROOT / "workflow" / "profiles" / "slurm")]
        profile += ["--slurm-status-command", "squeue", "--latency-wait", "10"]
        profile += ["--slurm-init-seconds-before-status-checks", "5"]
        return subprocess.run(
            [*command, *profile],
            cwd=folder,
            env={**environment, **slurm.environment},
            capture_output=True,
            text=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], metavar="PATH")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="cells so named")
    options = parser.parse_args()
    expected: dict[str, str] = {}
    different = 0
    with tempfile.TemporaryDirectory() as base:
        for number, cell in enumerate(cells(options.python)):
            wanted = not options.only or any(word in cell.name for word in options.only)
            if (number and not wanted) or (cell.name == "slurm" and "slurm" not in options.only):
                continue
            began = time.monotonic()
            found = run(cell, Path(base) / str(number), Path(base) / f"kernels{number}")
            if not number:
                expected = found
            differ = sorted(k for k in {*found, *expected} if found.get(k) != expected.get(k))
            different += len(differ)
            said = f"{len(differ)} differ: {' '.join(differ[:5])}" if differ else "the same"
            said = said if number else "to compare with"
            seconds = time.monotonic() - began
            print(f"{cell.name:<34} {len(found)} files, {said} ({seconds:.0f} s)", flush=True)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
