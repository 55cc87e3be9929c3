"""One process does a job."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
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
