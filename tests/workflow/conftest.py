"""Running Snakemake for real on experiments of seconds."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

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

    def write(self, experiment: dict, name: str = "x.yaml") -> Path:
        path = self.folder / name
        path.write_text(yaml.safe_dump(experiment, sort_keys=False), encoding="utf-8")
        return path

    def start(
        self, *arguments: str, cores: int = 2, configfile: str | None = "x.yaml"
    ) -> subprocess.Popen[str]:
        command = [str(Path(sys.executable).parent / "snakemake"), "--cores", str(cores)]
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
        process = self.start(*arguments, **options)
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run(self, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        ran = self(*arguments, **options)
        assert ran.returncode == 0, ran.stderr[-4000:]
        return ran

    def planned(self, *arguments: str, **options: object) -> dict[str, int]:
        """Number of jobs by rule that a dry run plans."""
        text = self.run("--dry-run", *arguments, **options)
        table = re.search(r"Job stats:\njob +count\n[- ]+\n(.*?)\n\n", text.stdout + text.stderr, re.S)
        if table is None:
            return {}
        rows = (line.split() for line in table[1].splitlines())
        return {name: int(count) for name, count in rows if name not in ("total", "all")}


@pytest.fixture
def snakemake(tmp_path: Path) -> Snakemake:
    return Snakemake(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    """The tiny experiment, run from scratch on two cores. Not to be changed by a test."""
    runner = Snakemake(tmp_path_factory.mktemp("finished"))
    runner.write(TINY)
    runner.run()
    return runner


def same_bytes(folder: Path) -> dict[str, str]:
    """sha256 of every result that must not depend on how it was made."""
    kept = ("corpus", "models", "tuning", "decodes", "stats", "tests", "tables", "figures")
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in kept
        for path in sorted((folder / name).rglob("*"))
        if path.is_file()
    }


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text("utf-8"))
