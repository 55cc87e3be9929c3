"""One process does a job."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from replitune.errors import ReplituneError

PATIENCE = 15.0
"""Seconds in which the job of a run that was killed notices, and ends."""


@contextlib.contextmanager
def only_one(log: str | Path) -> Iterator[None]:
    """Do a job of the workflow, known by its log, while no other process does it.

    The lock is a byte of ``results/<experiment>/.lock`` that belongs to the job: it goes with the
    process that has it. (Snakemake removes logs before a job, so they cannot be locked.) A log
    elsewhere has no lock, and neither has a file system without locks.
    """
    place = _place(log)
    if place is None:
        yield
        return
    path, byte = place
    with open(path, "ab") as handle:
        _lock(handle, byte, log)
        yield


def is_at_work(log: str | Path) -> bool:
    """Whether some process, on whatever machine, does this job. (A file system without locks
    knows of none.)"""
    place = _place(log)
    return place is not None and _is_locked(place[0], place[1], 1)


def any_at_work(results: Path) -> bool:
    """Whether some process does a job of these results."""
    return _is_locked(results / ".lock", 0, 0)


def _place(log: str | Path) -> tuple[Path, int] | None:
    """The file of locks, and the byte of the job."""
    parts = Path(log).absolute().parts
    if "logs" not in parts:
        return None
    last = len(parts) - 1 - parts[::-1].index("logs")
    job = "/".join(parts[last:])
    digest = hashlib.blake2b(job.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return Path(*parts[:last]) / ".lock", int.from_bytes(digest) >> 2


def _is_locked(path: Path, byte: int, length: int) -> bool:
    """Asks, and takes nothing; a length of 0 is all that follows."""
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, byte, length, 0)
    try:
        with open(path, "rb") as handle:
            answer = fcntl.fcntl(handle, fcntl.F_GETLK, asked)
    except OSError:
        return False
    kind: int = struct.unpack("hhqqi4x", answer)[0]
    return kind != fcntl.F_UNLCK


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
