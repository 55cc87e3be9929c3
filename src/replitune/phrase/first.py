"""The first decoding of a tuning run, under the start weights: the same for all replicas of a
system, so the first one to do it saves it for the others."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.running.files import atomic_open

Arrays = Mapping[str, NDArray]
SIZE = hashlib.sha256().digest_size


class FirstDecoding:
    """A file of arrays that are good for certain start weights (F,) and for what `mark` stands for:
    model, dev set, settings. A damaged file, or one made for something else, is ignored and
    replaced."""

    def __init__(self, path: Path, start: NDArray[np.float64], mark: str) -> None:
        self.path, self.start, self.mark = path, start, mark

    def load(self, weights: NDArray[np.float64]) -> Arrays | None:
        """The saved arrays, if they are for these weights."""
        if not np.array_equal(weights, self.start):
            return None
        try:
            data = self.path.read_bytes()
        except OSError:
            return None
        if data[:SIZE] != self._digest(data[SIZE:]):
            return None
        with np.load(io.BytesIO(data[SIZE:]), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    def save(self, weights: NDArray[np.float64], arrays: Arrays) -> None:
        if not np.array_equal(weights, self.start):
            return
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        data = buffer.getvalue()
        # Of two replicas at once, one may remove the other's temporary file: no harm.
        with contextlib.suppress(FileNotFoundError), atomic_open(self.path, "wb") as handle:
            handle.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        return hashlib.sha256(self.mark.encode() + data).digest()
