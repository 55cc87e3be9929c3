"""Snakemake, as a program that ends with the one that started it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.running.supervisor import GRACE, Program
from replitune.workflow.places import top

STATE = Path(".snakemake")
"""Snakemake's own folder, where it is started."""

ANSWERS = {
    "-n",
    "--dry-run",
    "--dryrun",
    "-h",
    "--help",
    "-v",
    "--version",
    "-l",
    "--list",
    "--list-rules",
    "--list-target-rules",
    "--lint",
    "--dag",
    "--rulegraph",
    "--filegraph",
    "--d3dag",
    "-S",
    "--summary",
    "-D",
    "--detailed-summary",
    "--report",
    "--unlock",
    "--print-compilation",
    "--list-changes",
    "--cleanup-metadata",
    "--archive",
    "--generate-unit-tests",
}
"""Options with which Snakemake runs no job, and answers instead."""


@dataclass(frozen=True)
class Engine:
    """How Snakemake is called for one experiment."""

    file: Path
    profile: Path
    config: Sequence[str] = ()
    """key=value"""
    cores: str | None = None
    options: Sequence[str] = ()
    """Any others of Snakemake's."""

    @property
    def answers(self) -> bool:
        return not ANSWERS.isdisjoint(word.partition("=")[0] for word in self.options)

    @property
    def command(self) -> list[str]:
        config, options = list(self.config), list(self.options)
        if "--config" in options:  # of several, Snakemake takes the last
            first = options.index("--config") + 1
            options[first:first] = config
            config = []
        return [
            *(sys.executable, "-P", "-m", "snakemake"),
            *(["--config", *config] if config else []),
            *("--configfile", str(self.file)),
            *("--snakefile", str(top() / "Snakefile"), "--workflow-profile", str(self.profile)),
            *([] if self.cores is None else ["--cores", self.cores]),
            *options,
        ]

    def start(self, output: int) -> Program:
        return Program(self.command, "Snakemake", stdout=output)

    def unlock(self) -> None:
        """Release what a run that was killed has locked."""
        command = [*self.command, "--unlock"]
        with Program(command, "Snakemake", stdout=subprocess.DEVNULL) as program:
            program.process.wait()


def interrupt(program: Program) -> None:
    """As Ctrl-C does: Snakemake ends its jobs, and gives its lock back. A second Ctrl-C does not
    wait for that."""
    try:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(program.process.pid, signal.SIGINT)
            program.process.wait(GRACE)
    except KeyboardInterrupt:
        program.stop(grace=0)
        raise


@contextlib.contextmanager
def alone() -> Iterator[bool]:
    """While no other `replitune run` is at work in this folder; whether the one before was killed
    and left Snakemake's lock."""
    STATE.mkdir(exist_ok=True)
    with open(STATE / "replitune.lock", "a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ReplituneError(
                "another run is at work in this folder", file=Path.cwd(), fix="wait for it, or end it"
            ) from None
        handle.seek(0)
        killed = bool(handle.read())
        handle.write("" if killed else "at work\n")
        handle.flush()
        try:
            yield killed and _locked()
        finally:
            if not _locked():
                handle.truncate(0)


def _locked() -> bool:
    """Whether Snakemake has locked its folder, or did, and was killed."""
    return any((STATE / "locks").glob("*"))
