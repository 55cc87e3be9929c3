"""Runs that get a signal at random moments, by `replitune run` and by plain Snakemake: one that ends well
has made everything, whatever the one before it left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from support import run_file

from .conftest import POINTS
from .harness import COMMAND, Faults, alive, command_of, contents, descendants
from .test_kills import tell

pytestmark = pytest.mark.workflow

SMALL = {
    "experiment": "f",
    "corpus": {"kind": "synthetic", "dev": 20, "tests": {"t": 20}},
    "systems": {name: {"backend": "corruption", "errors": 0.3} for name in "ab"},
    "replicas": {"seeds": 2},
    "tests": {"samples": 99, "methods": ["crossed"]},
}
MARKS = (".kernels", "logs/kernels/kernels.json", "stats/t/bleu/a.parquet", "report.html", "manifest.json")
"""Files at whose appearance every second run is hit."""


class Stopped(Faults):
    def begin(self, plain: bool) -> subprocess.Popen[bytes]:
        if plain:
            if [*(self.folder / ".snakemake" / "locks").glob("*")]:
                self.unlock()
            return self.start("--rerun-incomplete")
        (self.folder / "x.yaml").write_text(yaml.safe_dump(self.experiment, sort_keys=False))
        with open(self.folder / "out.txt", "wb") as out:
            command = [str(Path(sys.executable).parent / "replitune"), *COMMAND]
            return subprocess.Popen(
                command, cwd=self.folder, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait_for_a_moment(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Until a mark appears, or for a time that is often shorter than the run."""
        absent = [mark for mark in MARKS if not (self.results / mark).exists()]
        if absent and self.rng.random() < 0.5:
            mark = self.results / self.rng.choice(absent)
            while process.poll() is None and not mark.exists():
                time.sleep(0.001)
            time.sleep(self.rng.choice((0, 0.01, 0.1)))
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.rng.uniform(0.1, 1) * seconds)

    def send(self, process: subprocess.Popen[bytes], number: signal.Signals, program: str) -> None:
        """As a terminal does it: to the whole group, except SIGTERM."""
        below = list(descendants(process.pid))
        at_work = {stage for stage in map(command_of, below) if stage}
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGTERM:
                process.send_signal(number)
            else:
                os.killpg(process.pid, number)
            self.counts[f"{program}, {min(at_work, default='no job')}", number.name] += 1
        if self.end(process) != 0:
            self.all_ends(below)

    def all_ends(self, below: list[int]) -> None:
        """Soon no process of the run lives, and nothing is written; one may have been started meanwhile."""

        def seen() -> dict[Path, int]:
            return {path: path.lstat().st_mtime_ns for path in self.results.rglob("*") if path.exists()}

        deadline, before = time.monotonic() + 60, None
        while (now := None if any(map(alive, below)) else seen()) is None or now != before:
            assert time.monotonic() < deadline, "it goes on"
            before = now
            time.sleep(1)

    def require_everything(self) -> None:
        assert contents(self.results) == self.expected, self.said()[-2000:]
        assert (self.results / "report.html").exists()
        assert (self.results / "manifest.json").exists()

    def forget_everything(self) -> None:
        for name in ("results", ".snakemake"):
            shutil.rmtree(self.folder / name, ignore_errors=True)


@pytest.mark.skipif(POINTS < 2, reason="many moments: make faults")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda n: n.name)
def test_a_run_that_ends_well_has_made_everything(tmp_path: Path, number: signal.Signals):
    (tmp_path / "whole").mkdir()
    file = tmp_path / "whole" / "x.yaml"
    file.write_text(yaml.safe_dump(SMALL, sort_keys=False))
    run_file(file)
    (tmp_path / number.name).mkdir()
    faults = Stopped(tmp_path / number.name, contents(file.parent / "results/f"), experiment=SMALL)
    began = time.monotonic()
    assert faults.end(faults.begin(plain=False)) == 0, faults.said()
    seconds = time.monotonic() - began
    faults.require_everything()
    faults.forget_everything()
    while faults.counts.total() < POINTS:
        plain = faults.rng.random() < 0.5
        process = faults.begin(plain)
        faults.wait_for_a_moment(process, seconds)
        if process.poll() is None:
            faults.send(process, number, "snakemake" if plain else "run")
        faults.nothing_is_wrong()
        if process.returncode == 0:
            faults.require_everything()
            faults.forget_everything()
    for plain in (False, True):
        assert faults.end(faults.begin(plain)) == 0, faults.said()[-3000:]
        faults.require_everything()
    tell(faults)
