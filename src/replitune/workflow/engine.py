"""Runs Snakemake as a program that ends with the process that started it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.running import locks
from replitune.running.supervisor import GRACE, Program
from replitune.workflow.places import top


@dataclass(frozen=True)
class Engine:
    """How Snakemake is called for one experiment."""

    file: Path
    profile: Path
    folder: Path
    """The folder of its events and results."""
    config: Sequence[str] = ()
    """Words key=value."""
    cores: str | None = None
    options: Sequence[str] = ()
    """Any other options of Snakemake."""
    resources: Sequence[str] = ()
    """Words name=number: what all running jobs together may take."""

    @property
    def command(self) -> list[str]:
        options = list(self.options)
        lists = {
            "--config": list(self.config),
            "--logger": ["replitune"],
            "--resources": list(self.resources),
        }
        for option, words in lists.items():
            if option in options:  # of a repeated option, Snakemake uses only the last
                first = options.index(option) + 1
                options[first:first], lists[option] = words, []
        return [
            *(sys.executable, "-P", "-m", "snakemake"),
            *(word for option, words in lists.items() if words for word in (option, *words)),
            *("--logger-replitune-folder", str(self.folder)),
            *("--configfile", str(self.file)),
            *(
                "--snakefile",
                str(top() / "workflow" / "Snakefile"),
                "--workflow-profile",
                str(self.profile),
            ),
            *([] if self.cores is None else ["--cores", self.cores]),
            *options,
        ]

    def start(self, output: int) -> Program:
        return Program(self.command, "Snakemake", stdout=output)

    def release(self) -> None:
        """Release the lock of a Snakemake that was killed."""
        lock = self.folder / locks.RUN
        if not locks.is_abandoned(lock):
            return
        deadline = time.monotonic() + locks.PATIENCE
        while locks.any_at_work(self.folder):  # its jobs notice that it is gone, and end
            if time.monotonic() > deadline:
                raise ReplituneError(
                    "jobs of an earlier run are at work in this folder",
                    file=self.folder,
                    fix="wait for them, or end them (on Slurm: scancel)",
                )
            time.sleep(0.2)
        with Program([*self.command, "--unlock"], "Snakemake", stdout=subprocess.DEVNULL) as program:
            program.process.wait()


def interrupt(program: Program) -> None:
    """Interrupt Snakemake as Ctrl-C does: it ends its jobs and releases its lock. A second Ctrl-C does
    not wait for that; any later one changes nothing."""
    grace = GRACE
    try:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(program.process.pid, signal.SIGINT)
            program.process.wait(GRACE)
    except KeyboardInterrupt:
        grace = 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    program.stop(grace)
