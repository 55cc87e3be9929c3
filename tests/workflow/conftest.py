"""Running Snakemake for real on experiments of seconds.

What an experiment contains is tested without Snakemake (`Snakemake.in_process`). Snakemake itself
is started for what only it does: the order of jobs, locks, interruptions, what is run again,
resources, checkpoints, modules; by a process that has imported it before (warm.py).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

import warm
from support import ROOT, made_once, run_file

TINY = {
    "experiment": "tiny",
    "corpus": {"kind": "synthetic", "dev": 20, "tests": {"t1": 40, "t2": 30}},
    "systems": {
        "a": {"backend": "corruption", "errors": 0.3},
        "b": {"backend": "corruption", "errors": 0.2},
    },
    "replicas": {"seeds": 2},
    "tests": {
        "samples": 99,
        "methods": ["crossed", "clark"],
        "margin": {"bleu": 5},
        "suites": {"both": {"t1": 2, "t2": 1}},
    },
}


@dataclass(frozen=True)
class Snakemake:
    """Snakemake in a folder of its own."""

    folder: Path
    snakefile: Path = ROOT / "workflow" / "Snakefile"
    cold: bool = False
    """Every process imports what it needs; otherwise see warm.py."""

    def write(self, experiment: dict, name: str = "x.yaml") -> Path:
        path = self.folder / name
        path.write_text(yaml.safe_dump(experiment, sort_keys=False), encoding="utf-8")
        return path

    def start(
        self,
        *arguments: str,
        cores: int = 2,
        configfile: str | None = "x.yaml",
        program: str = str(Path(sys.executable).parent / "snakemake"),
    ) -> subprocess.Popen[str]:
        """A process of its own, which may be sent signals, or killed."""
        command = [program, "--cores", str(cores)]
        command += ["--snakefile", str(self.snakefile), "--directory", str(self.folder)]
        if configfile is not None:
            command += ["--configfile", str(self.folder / configfile)]
        return subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "NO_COLOR": "1"},
        )

    def __call__(self, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        program = {} if self.cold else {"program": warm.program("snakemake")}
        process = self.start(*arguments, **program, **options)
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run(self, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        ran = self(*arguments, **options)
        assert ran.returncode == 0, ran.stderr[-4000:]
        return ran

    def planned(self, *arguments: str, **options: object) -> dict[str, int]:
        """Number of jobs by rule that a dry run plans."""
        ran = self.run("--dry-run", *arguments, **options)
        return count_jobs(ran.stdout + ran.stderr)

    @classmethod
    def made_once(
        cls, factory: pytest.TempPathFactory, name: str, make: Callable[[Snakemake], object]
    ) -> Snakemake:
        """A folder that is filled once in a session. Not to be changed by a test."""
        return cls(made_once(factory, name, lambda folder: make(cls(folder))))

    def in_process(self, experiment: dict, **overrides: object) -> Snakemake:
        """The folder with what a run makes, made without Snakemake."""
        run_file(self.write(experiment), **overrides)
        return self


def count_jobs(printed: str) -> dict[str, int]:
    """The table of jobs that Snakemake prints at first: their number by rule."""
    table = re.search(r"Job stats:\njob +count\n[- ]+\n(.*?)\n\n", printed, re.S)
    if table is None:
        return {}
    rows = (line.split() for line in table[1].splitlines())
    return {name: int(count) for name, count in rows if name not in ("total", "all")}


@pytest.fixture(scope="session", autouse=True)
def compiled(kernels: None) -> None:
    """Before any of these tests."""


@pytest.fixture
def snakemake(tmp_path: Path) -> Snakemake:
    return Snakemake(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    """The tiny experiment, run from scratch on two cores. Not to be changed by a test."""

    def make(runner: Snakemake) -> None:
        runner.write(TINY)
        printed = replace(runner, cold=True).run().stderr
        (runner.folder / "printed.txt").write_text(printed)

    return Snakemake.made_once(tmp_path_factory, "finished", make)


def mark_incomplete(folder: Path, name: str) -> None:
    """As `kill -9` of Snakemake leaves it, after the job has made a file and before this is noted."""
    marks = folder / ".snakemake" / "incomplete"
    marks.mkdir(exist_ok=True)
    (marks / base64.urlsafe_b64encode(name.encode()).decode()).write_text("")


def same_bytes(folder: Path) -> dict[str, str]:
    """sha256 of every result that must not depend on how it was made."""
    kept = ("corpus", "models", "tuning", "decodes", "stats", "tests", "tables", "figures")
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in kept
        for path in sorted((folder / name).rglob("*"))
        if path.is_file() and path.name != ".snakemake_timestamp"
    }


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text("utf-8"))
