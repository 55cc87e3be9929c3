"""A working folder from which a killed tuning run continues.

It holds one file per finished decoding and a small ``state.json``, which is written last, complete or
not at all. A fingerprint of settings and inputs guards against files of another run, the sha256 of
every file against a damaged disk, and a lock, which ends with its process, against two runs at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from replitune.running.files import atomic_open, bytes_of, remove, sha256_file
from replitune.running.locks import held
from replitune.settings import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from replitune.backends.interface import Backend, ReplicaJob

_STATE = "state.json"


def fingerprint(settings: Mapping[str, Any]) -> str:
    """SHA-256 of settings, hashes of inputs and the like (anything JSON can write)."""
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Checkpoint:
    """The state of one run in its folder, which `opened` has locked."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder = folder
        self.mark = mark
        self.files: dict[str, str] = {}

    def load(self) -> dict[str, Any] | None:
        """The saved state, or None. Files of a run with another fingerprint, and damaged ones,
        are removed."""
        state = self._whole_state()
        if state is not None:
            self.files = state["files"]
            content: dict[str, Any] = state["content"]
            return content
        for path in self.folder.iterdir():
            if path.name != "lock":
                remove(path)
        return None

    def _whole_state(self) -> dict[str, Any] | None:
        """The state, if it and all files that it names are as they were written."""
        try:
            state: dict[str, Any] = json.loads(bytes_of(self.folder / _STATE))
            recorded = state.pop("sha256")
            files = state["files"].items()
            whole = recorded == fingerprint(state) and all(
                sha256_file(self.folder / name) == sha256 for name, sha256 in files
            )
        except (OSError, ValueError, KeyError, AttributeError):
            return None
        return state if whole and state["fingerprint"] == self.mark else None

    def save_state(self, content: Mapping[str, Any]) -> None:
        """Save the state. JSON preserves numbers exactly: it writes the shortest text that reads back as
        the same number."""
        state = {"fingerprint": self.mark, "content": content, "files": self.files}
        state = json.loads(json.dumps(state, allow_nan=False))  # as it will be read
        with atomic_open(self.folder / _STATE) as handle:
            json.dump({**state, "sha256": fingerprint(state)}, handle, allow_nan=False)

    def save_arrays(self, name: str, arrays: Mapping[str, NDArray]) -> None:
        import numpy as np

        path = self.folder / f"{name}.npz"
        with atomic_open(path, "wb") as handle:
            np.savez(handle, allow_pickle=False, **arrays)
        self.files[path.name] = sha256_file(path)

    def load_arrays(self, name: str) -> dict[str, NDArray]:
        import numpy as np

        with np.load(self.folder / f"{name}.npz", allow_pickle=False) as file:
            return {key: file[key] for key in file.files}


@contextlib.contextmanager
def opened(folder: str | Path, mark: str) -> Iterator[Checkpoint]:
    """The locked checkpoint of a run; the folder is removed if the block ends without an error."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder / "lock", "another process is tuning in this folder"):
        yield Checkpoint(folder, mark)
        shutil.rmtree(folder)


@contextlib.contextmanager
def kept_folder(job: ReplicaJob, backend: Backend, stage: str = "train_replica") -> Iterator[Path]:
    """A folder for a program's own checkpoints that survives when the job is killed. It is locked while
    in use, emptied if it was made with other settings or inputs, and removed when the job is done."""
    if job.work is None:
        with TemporaryDirectory(prefix="replitune-work-") as name:
            yield Path(name)
        return
    mark = fingerprint(
        {
            "backend": [backend.name, backend.version],
            "settings": backend.stage_settings(stage),
            "seed": [job.seed, job.replica.id, job.paired],
            "tuning": [job.algorithm, job.nbest, plain(job.loop)],
            "train": [sha256_file(path) for path in job.train or ()],
            "dev": job.dev_sha256,
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
    """Names, sizes and times of a model's files, which distinguish models without reading them."""
    if folder is None:
        return []
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        [path.relative_to(folder).as_posix(), path.stat().st_size, path.stat().st_mtime_ns]
        for path in files
    ]
