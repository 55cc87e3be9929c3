"""A job of the workflow ends with the run that started it, and is alone in doing its work.

After `kill -9` of Snakemake its jobs live on. They would go on writing while the next run makes
the same files again, perhaps with other settings. So every job looks for the Snakemake process
that started it (named in an environment variable by the Snakefile): once a second, and before
any file gets its final name.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from replitune.errors import ReplituneError

RUN = "REPLITUNE_RUN"
"""Environment variable: number of the Snakemake process that starts jobs on this machine."""
PERIOD = 0.5
"""Seconds between two looks at it."""
PATIENCE = 15.0
"""Seconds in which the job of a run that was killed notices, and ends."""

_watched: tuple[int, str] | None = None


def watch() -> None:
    """End this process soon after the run that started it has ended."""
    global _watched
    named = os.environ.get(RUN, "")
    if not named.isdigit() or int(named) not in _ancestors():
        return  # started by hand, or where processes cannot be seen
    _watched = (int(named), _started(int(named)))
    threading.Thread(target=_look, name="watch", daemon=True).start()


def orphaned() -> bool:
    """Whether the run that started this job has ended."""
    return _watched is not None and _started(_watched[0]) != _watched[1]


def leave_if_orphaned() -> None:
    """Called before a file gets its final name."""
    if orphaned():
        raise SystemExit(128 + signal.SIGTERM)


def _look() -> None:
    while not orphaned():
        time.sleep(PERIOD)
    os.kill(os.getpid(), signal.SIGTERM)  # removes temporary files on the way out
    time.sleep(PATIENCE / 3)
    os._exit(128 + signal.SIGTERM)


def _fields(pid: int) -> list[str]:
    """State, parent, ... of a process; empty when there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    fields = text[text.rindex(")") + 2 :].split()
    return [] if fields[0] in "ZX" else fields


def _started(pid: int) -> str:
    """When a process was started: tells it from a later one with the same number."""
    fields = _fields(pid)
    return fields[19] if fields else ""


def _ancestors() -> Iterator[int]:
    pid = os.getppid()
    while pid > 1:
        yield pid
        fields = _fields(pid)
        pid = int(fields[1]) if fields else 0


@contextlib.contextmanager
def only_one(log: str | Path) -> Iterator[None]:
    """Do a job of the workflow, known by its log, while no other process does it.

    The lock is a byte of ``results/<experiment>/.lock`` that belongs to the job: it goes with the
    process that has it. (Snakemake removes logs before a job, so they cannot be locked.) A log
    elsewhere has no lock, and neither has a file system without locks.
    """
    parts = Path(log).absolute().parts
    if "logs" not in parts:
        yield
        return
    last = len(parts) - 1 - parts[::-1].index("logs")
    job = "/".join(parts[last:])
    digest = hashlib.blake2b(job.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    with open(Path(*parts[:last]) / ".lock", "ab") as handle:
        _lock(handle, int.from_bytes(digest) >> 2, log)
        yield


def _lock(handle: IO[bytes], byte: int, log: str | Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            return
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                return
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
        if time.monotonic() > deadline:
            raise ReplituneError(
                "another process is doing this job", file=log, fix="wait for it, or end it"
            )
        time.sleep(0.2)
