"""Locks: one process per job, one per working folder, one Snakemake per experiment.

The lock of a folder is a file that names its owner, or is empty. The kernel locks the file, too, if
the file system allows it. If it does not (ENOSYS, ENOLCK), or only within one machine, the file itself
decides: on the owner's machine, by whether the owner's process is running; elsewhere, or if the name is
damaged, by the file's time, which a living owner keeps updating.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from replitune.errors import ReplituneError
from replitune.running.files import bytes_of, flush, open_regular
from replitune.running.processes import Process

PATIENCE = 15.0
"""Seconds within which a job notices that its run was killed, and ends."""
RUN = ".run.lock"
"""Lock file in an experiment's folder, held by the Snakemake that works on it."""
BEAT = 5.0
"""Seconds between two signs of life of an owner."""
SILENCE = 20.0
"""Seconds without a sign of life after which an owner on another machine counts as dead."""
WIDTH = 512
"""Bytes of every lock. They are written at once, so that a lock that changes owners is never empty."""
WITHOUT = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
"""Errors of file systems without locks."""


# ---- a folder


def owner_of(path: Path) -> Process | None:
    """The process that holds a lock, or held it when it was killed."""
    try:
        return Process.read(bytes_of(path))
    except OSError:
        return None


def is_held(path: Path) -> bool:
    """Whether the owner of a lock is alive. If the owner is on another machine, or its name is damaged,
    this takes some seconds."""
    owner = owner_of(path)
    if owner is not None and owner.is_running is not None:
        return owner.is_running
    begin, first = time.monotonic(), _sign(path)
    while _has_owner(path) and time.monotonic() < begin + SILENCE:
        time.sleep(0.5)
        if _sign(path) != first:  # clocks of other machines are not compared
            return _has_owner(path)
    return False


def _has_owner(path: Path) -> bool:
    """Whether a lock has an owner, alive or dead."""
    with contextlib.suppress(OSError):
        return path.stat().st_size > 0
    return False


def died_here(path: Path) -> bool:
    """Whether the owner was a process on this machine that was killed."""
    owner = owner_of(path)
    return owner is not None and owner.is_running is False


def is_abandoned(path: Path) -> bool:
    """Whether the owner was killed."""
    return _has_owner(path) and not is_held(path)


@contextlib.contextmanager
def held(path: Path, taken: str) -> Iterator[None]:
    """Hold a lock until the end of the block, or of the process; `taken` is the message if another
    process holds it."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0) as handle:
        if not _take(handle, path):
            raise ReplituneError(taken, file=path.parent, found=_whose(path), fix="wait for it, or end it")
        done = threading.Event()
        beating = threading.Thread(target=_beat, args=(handle.fileno(), done), name="lock", daemon=True)
        beating.start()
        try:
            yield
        finally:
            done.set()
            beating.join()
            handle.truncate(0)


def _whose(path: Path) -> str | None:
    owner = owner_of(path)
    return None if owner is None else f"process {owner.number} on {owner.host}"


def _take(handle: IO[bytes], path: Path) -> bool:
    alone = True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in WITHOUT:
            return False
        alone = False
    owner = owner_of(path)
    # with the kernel's lock, an owner on this machine must be dead
    if not (alone and owner is not None and owner.is_running is not None) and is_held(path):
        return False
    mine = Process.this()
    handle.write(mine.written.ljust(WIDTH))
    handle.truncate()
    flush(path)
    if not alone:
        time.sleep(0.5)  # another process may have seen the same dead owner: the last one to write gets it
    return owner_of(path) == mine


def _sign(path: Path) -> int:
    """The time of the file, which is opened to read it, because network file systems cache it."""
    try:
        with open_regular(path) as handle:
            return os.fstat(handle.fileno()).st_mtime_ns
    except OSError:
        return 0


def _beat(file: int, done: threading.Event) -> None:
    while not done.wait(BEAT):
        with contextlib.suppress(OSError):  # a network may fail for a while
            os.utime(file)


# ---- a job


@contextlib.contextmanager
def only_one(log: str | Path) -> Iterator[None]:
    """Make sure that no other process does the same job of the workflow, which is named by its log.

    The lock is a byte of ``results/<experiment>/.lock`` that belongs to the job; it is released when
    the process ends. (Snakemake removes logs before a job, so these cannot be locked.) There is no
    lock for a log elsewhere, or on a file system without locks.
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
    """Whether some process, on any machine, is doing this job. (On a file system without locks, always
    False.)"""
    place = _place(log)
    return place is not None and _is_locked(place[0], place[1], 1)


def any_at_work(results: Path) -> bool:
    """Whether some process is doing a job of these results."""
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
    """Whether another process has locked these bytes; a length of 0 means all bytes from `byte` on."""
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, byte, length, 0)
    try:
        with open_regular(path) as handle:
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
            if error.errno in WITHOUT:
                return
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
        if time.monotonic() > deadline:
            raise ReplituneError(
                "another process is doing this job", file=log, fix="wait for it, or end it"
            )
        time.sleep(0.2)
