"""Arrays of a model folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from replitune.errors import ReplituneError
from replitune.running.files import atomic_open


def starts(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """(n + 1,) where each of n consecutive stretches begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def stretches(begin: NDArray[Any], lengths: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stretches of an array, put end to end: ((n + 1,) where each begins in the result, the positions
    of their elements in the array)."""
    start = starts(lengths)
    return start, np.arange(start[-1]) + np.repeat(begin - start[:-1], lengths)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A plain read-only view of an array in memory or in a file: one array type, so that kernels are
    compiled once."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write one .npy file of a model."""
    with atomic_open(path, "wb") as handle:
        np.save(handle, np.asarray(array))


class ArrayFile(AbstractContextManager["ArrayFile"]):
    """One .npy file of a model that is written block by block; columns: shape of an element."""

    def __init__(self, path: Path, dtype: DTypeLike, columns: tuple[int, ...] = ()) -> None:
        self._stack = ExitStack()
        self._file = self._stack.enter_context(atomic_open(path, "wb"))
        self._dtype, self._columns, self._length = np.dtype(dtype), columns, 0
        self._write_header()

    def _write_header(self) -> None:
        # numpy pads it, so that it can be rewritten with any length
        shape = (self._length, *self._columns)
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, block: NDArray[Any]) -> None:
        self._length += len(block)
        self._file.write(np.ascontiguousarray(block, self._dtype).data)

    def __len__(self) -> int:
        return self._length

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self._file.seek(0)
            self._write_header()
        self._stack.__exit__(*error)


def load_array(path: Path) -> NDArray[Any]:
    """Memory-map one .npy file of a model."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        reason = "no such file"
    except (EOFError, OSError, ValueError) as error:
        reason = str(error)
    raise damaged_model(path, reason)


def damaged_model(path: Path, reason: str) -> ReplituneError:
    return ReplituneError(
        "the model is incomplete or damaged", file=path, found=reason, fix="train or copy it again"
    )
