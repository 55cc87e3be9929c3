"""Folders that jobs make whole or not at all, and folders from which killed jobs go on."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from replitune.running.files import put
from replitune.settings import plain

if TYPE_CHECKING:
    from replitune.backends.interface import Backend, ReplicaJob


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """An empty folder beside `out`; renamed to it on success, removed on failure."""
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.parent.absolute() / f".{out.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
    temporary.mkdir()
    try:
        yield temporary
        if out.is_dir():
            shutil.rmtree(out)
        put(temporary, out)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def kept_folder(job: ReplicaJob, backend: Backend, stage: str = "train_replica") -> Iterator[Path]:
    """A folder that survives a kill, for a program's own checkpoints: locked while in use,
    emptied when it stems from other settings or inputs, removed when the job is done."""
    if job.work is None:
        with TemporaryDirectory(prefix="replitune-work-") as name:
            yield Path(name)
        return
    from replitune.running.checkpoint import fingerprint, opened
    from replitune.running.files import sha256_file, sha256_lines

    dev = job.dev
    mark = fingerprint(
        {
            "backend": [backend.name, backend.version],
            "settings": backend.stage_settings(stage),
            "seed": [job.seed, job.replica.id, job.paired],
            "tuning": [job.algorithm, job.nbest, plain(job.loop)],
            "train": [sha256_file(path) for path in job.train or ()],
            "dev": [sha256_lines(x) for x in (dev.source or [], *dev.references)] if dev else [],
            "model": listing(job.model),
        }
    )
    with opened(job.work, mark) as checkpoint:
        if checkpoint.load() is None:
            checkpoint.save_state({})
        folder = checkpoint.folder.absolute() / "files"
        folder.mkdir(exist_ok=True)
        yield folder


def listing(folder: Path | None) -> list[Any]:
    """What tells one model from another without reading it: names, sizes, times."""
    if folder is None:
        return []
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        [path.relative_to(folder).as_posix(), path.stat().st_size, path.stat().st_mtime_ns]
        for path in found
    ]
