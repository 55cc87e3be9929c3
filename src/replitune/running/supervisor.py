"""Programs end with the process that started them, and jobs with their run.

A program runs in a session and a process group of its own. The group is ended when the program has
ended, when this process gets a signal, and also, by a guard that waits on a pipe, when this process is
killed. The program itself starts only after its guard, so that it is never without one.

After `kill -9` of Snakemake its jobs keep running. They would go on writing while the next run makes
the same files again, perhaps with other settings. So every job checks whether the Snakemake process
that started it (the Snakefile names it in an environment variable) is still alive: twice a second,
and before any file gets its final name.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import IO

from replitune.errors import ReplicaError, ReplituneError
from replitune.running.processes import Process

RUN = "REPLITUNE_RUN"
"""Environment variable: the Snakemake that starts jobs, as `Process` writes it."""
PERIOD = 0.5
"""Seconds between two checks that the run is alive."""
PATIENCE = 5.0
"""Seconds that a job has to end by itself after its run has ended."""
GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL: time to save a checkpoint."""
LAST = 5
"""How many lines of a failed program's messages its error repeats."""


# ---- programs that end with this process


class Program:
    """A running program; at the end of `with Program(...)`, it and all that it started are ended."""

    def __init__(
        self,
        command: Sequence[str | Path],
        what: str,
        *,
        threads: int = 1,
        converses: bool = False,
        stdout: int | IO[bytes] = PIPE,
        stderr: int | IO[bytes] = STDOUT,
        kept: int = LAST,
    ) -> None:
        """`what`: its name in messages. `converses`: whether we write to its standard input. `kept`: the
        length of `last_messages`."""
        self.what = what
        self.words = [str(word) for word in command]
        self.last_messages: deque[str] = deque(maxlen=kept)
        if shutil.which(self.words[0]) is None:
            raise self._cannot_start("no such program, or not allowed to be run")
        held = 'read -r go && exec "$@"' + ("" if converses else " </dev/null")
        variables = environment(threads)
        # some shells drop variables whose names they do not allow, such as bash functions
        odd = [f"{k}={v}" for k, v in variables.items() if not re.fullmatch(r"[A-Za-z_]\w*", k)]
        words = ["env", *odd, *self.words] if odd else self.words
        try:
            self.process = subprocess.Popen(
                ["sh", "-c", held, "sh", *words],
                stdin=PIPE,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                env=variables,
            )
            guard = f"read -r done || kill -s KILL -- -{self.process.pid}"
            self._guard = subprocess.Popen(
                ["sh", "-c", guard], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
            )
        except OSError as error:
            raise self._cannot_start(error.strerror) from None
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it was killed in the meantime
            self.process.stdin.write(b"go\n")
            self.process.stdin.flush()
            if not converses:
                self.process.stdin.close()

    def _cannot_start(self, reason: str | None) -> ReplituneError:
        return ReplituneError(
            f"{self.what}: cannot start {self.words[0]}", found=reason, fix="check its path"
        )

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def follow(self, each_line: Callable[[str], object] | None = None) -> int:
        """Pass on its messages, line by line, to the end. Returns the exit code, or minus the number of
        the signal that killed it."""
        # children that outlive the program would hold the pipe open
        threading.Thread(target=self._end_what_it_left, daemon=True).start()
        messages = self.process.stderr or self.process.stdout
        assert messages is not None
        for raw in messages:
            line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
            self.last_messages.append(line)
            (each_line or _into_the_log)(line)
        return self.process.wait()

    def check(self, code: int) -> None:
        """Raise an error for an exit code other than 0: a `ReplicaError` if the program failed, an
        ordinary one if it was killed (for lack of memory, say), because another try may succeed."""
        if code < 0 or code > 128:  # a shell says 128 + signal
            number = -code if code < 0 else code - 128
            known = 1 <= number < signal.NSIG
            name = signal.strsignal(number) if known else None
            raise ReplituneError(
                f"{self.what}: the program was killed",
                found=f"signal {number} ({name or 'unknown'})",
                fix="was there enough memory?" if number == signal.SIGKILL else None,
            )
        lines = [line[:300] for line in self.last_messages]
        if code in (126, 127):
            raise ReplituneError(f"{self.what}: no such program", found="; ".join(lines) or f"exit {code}")
        if code != 0:
            raise ReplicaError(
                f"{self.what}: {Path(self.words[0]).name} failed",
                found=f"exit code {code}" + "".join(f"\n            {line}" for line in lines),
            )

    def stop(self, grace: float = GRACE) -> None:
        """End the process group, including children that outlive the program."""
        self._end_group(grace)
        assert self._guard.stdin is not None
        if not self._guard.stdin.closed:  # it may have been stopped before
            self._guard.communicate(b"done\n")
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # bytes that the dead process never took
                    stream.close()

    def _end_what_it_left(self) -> None:
        self.process.wait()
        self._end_group(0)

    def _end_group(self, grace: float) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(grace)
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def run(
    command: Sequence[str | Path], what: str, *, stdout: IO[bytes] | None = None, threads: int = 1
) -> None:
    """Run a program to its end. Its messages go to the log, and so does its output without `stdout`."""
    with Program(
        command, what, threads=threads, stdout=stdout or PIPE, stderr=PIPE if stdout else STDOUT
    ) as program:
        program.check(program.follow())


def run_shell(command: str, what: str, *, stdout: IO[bytes] | None = None, threads: int = 1) -> None:
    """Run a shell command in the same way."""
    _into_the_log(f"$ {command}")
    run(["bash", "-euo", "pipefail", "-c", command], what, stdout=stdout, threads=threads)


def environment(threads: int) -> dict[str, str]:
    """The environment of a program, which may use as many threads as its job has, but no more."""
    number = str(threads)
    pools = ("OMP", "MKL", "NUMEXPR", "VECLIB", "RAYON")
    limits = {f"{pool}_NUM_THREADS": number for pool in pools}
    return {**os.environ, **limits, "OPENBLAS_NUM_THREADS": "1"}


def _into_the_log(line: str) -> None:
    print(line, flush=True)


# ---- jobs that end with their run


_watched: Process | None = None


def watch() -> None:
    """End this process soon after the run that started it has ended, even if that was before this call."""
    global _watched
    run = Process.read(os.environ.get(RUN, ""))
    if run is None or run.is_running is None:
        return  # started by hand, or where the run cannot be seen
    _watched = run
    threading.Thread(target=_look, name="watch", daemon=True).start()


def orphaned() -> bool:
    """Whether the run that started this job has ended."""
    return _watched is not None and not _watched.is_running


def leave_if_orphaned() -> None:
    """Called before a file gets its final name."""
    if orphaned():
        raise SystemExit(128 + signal.SIGTERM)


def _look() -> None:
    while not orphaned():
        time.sleep(PERIOD)
    os.kill(os.getpid(), signal.SIGTERM)  # so that temporary files are removed
    time.sleep(PATIENCE)
    os._exit(128 + signal.SIGTERM)
