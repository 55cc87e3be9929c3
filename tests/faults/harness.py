"""Runs that are hit at seeded moments, and what must be true afterwards.

After every hit: no file has its final name and another content than in an undisturbed run; no
process of the run is left; nothing is written any more. And in the end, after `--unlock` and
`--rerun-incomplete` (what `replitune run` does), the bytes of the undisturbed run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

import warm
from support import ROOT

EXPERIMENT = {
    "experiment": "f",
    "corpus": {"kind": "synthetic", "train": 150, "dev": 20, "tests": {"t": 20}},
    "systems": {
        "p": {"backend": "phrase", "features": ["tm", "lm", "penalties"], "replicas": {"mert": 2}},
        "h": {
            "backend": "hiero",
            "features": ["tm", "lm", "glue"],
            "training": {"extraction": "tight"},
            "replicas": {"mert-forest": 1},
        },
        "c": {"backend": "corruption", "errors": 0.3, "replicas": {"seeds": 2}},
    },
    "tuning": {"nbest": 20, "iterations": 4, "patience": 4, "mert": {"restarts": 2}},
    "tests": {"samples": 99, "methods": [{"name": "clark", "strata": "none"}]},
}
STAGES = {
    "corpus": ["corpus"],
    "train": ["models"],
    "table": ["options"],
    "tune": ["tuning"],
    "decode": ["decodes"],
    "score": ["stats"],
    "derive": ["derivations"],
    "test": ["tests"],
    "report": ["tables", "figures", "report.html"],
    "manifest": ["manifest.json"],
}
"""What each command of the workflow makes."""
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
PATIENCE = 600.0
"""Seconds without a new job, or for a run to end, after which something hangs."""


def contents(results: Path) -> dict[str, str]:
    """sha256 of every result, by name; seconds stand in histories."""
    found = {}
    for name in KEPT:
        for path in sorted((results / name).rglob("*")):
            parts = path.relative_to(results).parts
            if path.name == "history.parquet" or any(part.startswith(".") for part in parts):
                continue
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                found["/".join(parts)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def descendants(pid: int) -> Iterator[int]:
    """Processes below one, nearest first."""
    children: list[int] = []
    with contextlib.suppress(OSError):  # it may end while it is looked at
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                children += map(int, path.read_text().split())
    yield from children
    for child in children:
        yield from descendants(child)


def command_of(pid: int) -> str:
    """The stage of a `replitune job`, or nothing."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    if len(words) < 4 or not words[1].endswith(b"/replitune") or words[2] != b"job":
        return ""
    return "corpus" if words[3] == b"account" else words[3].decode()


def alive(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    return False


@dataclass
class Faults:
    """A folder with a run that is hit."""

    folder: Path
    expected: dict[str, str] = field(default_factory=dict)
    """Of the undisturbed run."""
    seed: int = 2011
    """Of the moments; the name of the folder, which is the test's, is part of it."""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Hits by stage and kind."""
    experiment: Mapping[str, Any] = field(default_factory=lambda: EXPERIMENT)

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.seed}/{self.folder.name}")

    @property
    def results(self) -> Path:
        return self.folder / "results" / "f"

    def start(
        self, *arguments: str, cores: int = 2, program: str = str(Path(sys.executable).parent / "snakemake")
    ) -> subprocess.Popen[bytes]:
        """Snakemake in a session of its own, as in a terminal."""
        (self.folder / "x.yaml").write_text(yaml.safe_dump(self.experiment, sort_keys=False))
        command = [program, "--cores", str(cores)]
        command += ["--snakefile", str(ROOT / "workflow/Snakefile"), "--configfile", "x.yaml"]
        with open(self.folder / "out.txt", "wb") as out:
            return subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, "NO_COLOR": "1"},
                start_new_session=True,
            )

    def end(self, process: subprocess.Popen[bytes]) -> int:
        """Its exit code; a hang is a failure."""
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise AssertionError("the run hangs: " + self.said()[-2000:]) from None

    def run(self, *arguments: str, cores: int = 2) -> int:
        """A run that nobody hits."""
        return self.end(self.start(*arguments, cores=cores, program=warm.program("snakemake")))

    def said(self) -> str:
        return (self.folder / "out.txt").read_text(errors="replace")

    def unlock(self) -> None:
        assert self.run("--unlock") == 0, self.said()

    def resume(self) -> None:
        """As `replitune run` once there is no lock; ends in the bytes of the undisturbed run."""
        self.touch_what_is_from_the_future()
        assert self.run("--rerun-incomplete") == 0, self.said()[-3000:]
        assert contents(self.results) == self.expected
        assert not [path for path in self.results.rglob(".*") if path.suffix in (".tmp", ".old")], "remains"

    def touch_what_is_from_the_future(self) -> None:
        command = ["find", "results", "-newermt", "now", "-exec", "touch", "{}", "+"]
        subprocess.run(command, cwd=self.folder, check=True)

    def forget(self, stage: str) -> None:
        """Remove what a stage has made, and what depends on it."""
        names = list(STAGES)
        for later in names[names.index(stage) :]:
            for name in STAGES[later]:
                path = self.results / name
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)

    def nothing_is_wrong(self) -> None:
        """What has its final name is whole and right."""
        for name, sha256 in contents(self.results).items():
            assert self.expected[name] == sha256, f"{name} is wrong"

    def nothing_is_left(self, processes: list[int]) -> None:
        """No process of the run lives on, and nothing is written."""
        deadline = time.monotonic() + 30
        while left := [pid for pid in processes if alive(pid)]:
            assert time.monotonic() < deadline, f"orphans: {left}"
            time.sleep(0.02)
        before = {path: path.lstat().st_mtime_ns for path in self.results.rglob("*")}
        time.sleep(0.1)
        after = {path: path.lstat().st_mtime_ns for path in self.results.rglob("*")}
        assert after == before

    def jobs(self, process: subprocess.Popen[bytes]) -> Iterator[tuple[int, str]]:
        """Every job of a run, when it appears: process and stage."""
        seen: set[int] = set()
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None:
            if time.monotonic() > deadline:
                os.killpg(process.pid, signal.SIGKILL)
                raise AssertionError("the run hangs: " + self.said()[-2000:])
            for pid in descendants(process.pid):
                if pid not in seen and (stage := command_of(pid)):
                    seen.add(pid)
                    deadline = time.monotonic() + PATIENCE
                    yield pid, stage
            time.sleep(0.02)

    def seconds(self, stage: str) -> float:
        """How long a job of this stage takes, by the undisturbed run, and a little more."""
        return float(json.loads((self.folder / "seconds.json").read_text())[stage]) + 0.2

    def kill_jobs(self, points: dict[str, int]) -> None:
        """`kill -9` of so many jobs of each stage in one run that tries again by itself."""
        left = Counter(points)
        process = self.start("--retries", "200", "--rerun-incomplete")
        for pid, stage in self.jobs(process):
            if left[stage] <= 0:
                continue
            time.sleep(self.rng.uniform(0, self.seconds(stage)))
            with contextlib.suppress(ProcessLookupError):
                if not alive(pid):
                    continue
                os.kill(pid, signal.SIGKILL)
                left[stage] -= 1
                self.counts[stage, "job killed"] += 1
                self.nothing_is_wrong()
        assert self.end(process) == 0, self.said()[-3000:]
        assert contents(self.results) == self.expected

    def stop_run(self, stage: str, kind: str, *arguments: str) -> bool:
        """End Snakemake while it does a stage: by SIGKILL, by SIGTERM, or by Ctrl-C. False when
        the stage was over too soon."""
        process = self.start(*arguments)
        for _, found in self.jobs(process):
            if found == stage:
                time.sleep(self.rng.uniform(0, self.seconds(stage)))
                break
        process.send_signal(signal.SIGSTOP)  # it starts no more jobs while they are counted
        processes = list(descendants(process.pid))
        if process.poll() is not None:
            return False
        if kind == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGKILL if kind == "SIGKILL" else signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        self.end(process)
        self.counts[stage, kind] += 1
        self.nothing_is_left(processes)
        self.nothing_is_wrong()
        return True


COMMAND = ("run", "x.yaml", "--cores", "2", "--plain")
"""Of `replitune`."""
FLUSHES = "flushes"
"""A file beside the results of the undisturbed run: what it flushed, where that could be seen."""


def preloaded(folder: Path, flushes: Path) -> dict[str, str]:
    """Variables for a run of which every flush is written down, by a library that is built in a
    folder; none where that cannot be."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        return {}
    library, source = folder / "flushes.so", Path(__file__).with_name("flushes.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "FLUSHES": str(flushes)}


def undisturbed(folder: Path) -> None:
    """Make a run without faults, with the seconds that its jobs took."""
    run = Faults(folder)
    (folder / "x.yaml").write_text(yaml.safe_dump(run.experiment, sort_keys=False))
    command = [str(Path(sys.executable).parent / "replitune"), *COMMAND]
    with tempfile.TemporaryDirectory() as place:
        environment = os.environ | preloaded(Path(place), folder / FLUSHES)
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    seconds: dict[str, float] = {}
    for path in (run.results / "benchmarks").rglob("*.tsv"):
        stage = path.relative_to(run.results / "benchmarks").parts[0]
        header, row = (line.split("\t") for line in path.read_text().splitlines())
        seconds[stage] = max(seconds.get(stage, 0.0), float(row[header.index("s")]))
    (folder / "seconds.json").write_text(json.dumps(seconds))


def copied(source: Path, folder: Path) -> Faults:
    """A finished run that a test may hit."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    return Faults(folder, contents(source / "results" / "f"))


def fresh(source: Path, folder: Path) -> Faults:
    """An empty folder, to be run and hit."""
    shutil.copy(source / "seconds.json", folder)
    return Faults(folder, contents(source / "results" / "f"))
