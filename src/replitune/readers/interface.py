"""What a reader of scores is, and what it returns."""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replitune.errors import ReplituneError, did_you_mean
from replitune.readers.settings import ColumnNames
from replitune.running.files import GZIP_MAGIC, open_regular, unpacked_bytes

ENOUGH = 1 << 16
"""Bytes at the beginning of a file, by which its format is recognised; more if it has longer lines."""

FEW = 3
"""How many examples of a mistake are shown."""


@dataclass(frozen=True)
class Beginning:
    """The first bytes of a file."""

    path: Path
    data: bytes
    """Decompressed."""

    @classmethod
    def from_file(cls, path: str | Path) -> Beginning:
        path = Path(path)
        try:
            if path.is_dir():
                return cls(path, b"")
            with open_regular(path) as packed:
                is_packed = packed.peek(2)[:2] == GZIP_MAGIC
                size = path.stat().st_size
                most = unpacked_bytes(size) if is_packed else size
                handle = gzip.GzipFile(fileobj=packed) if is_packed else packed
                data = handle.read(ENOUGH)
                # the header and the first row of a table, however long they are
                while b"\0" not in data and data.count(b"\n") < 2 and (more := handle.readline(most)):
                    data += more
        except (FileNotFoundError, ValueError):
            raise ReplituneError(
                "no such file", file=path, fix=f"check the path; a relative one starts at {Path.cwd()}"
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ReplituneError("gzip data is damaged or cut off", file=path, found=str(error)) from None
        return cls(path, data)

    @cached_property
    def text(self) -> str:
        """Without a byte order mark; bytes that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace").removeprefix("\ufeff")

    def has_keys(self, first: str, *keys: str) -> bool:
        """Whether it is JSON that begins with `first`, and names these keys."""
        return self.text.lstrip()[:1] == first and all(f'"{key}"' in self.text for key in keys)

    @cached_property
    def lines(self) -> list[str]:
        """Complete lines that are not blank; if the file is one long line, its beginning."""
        lines = self.text.split("\n")
        if len(self.data) >= ENOUGH and len(lines) > 1:
            lines.pop()
        return [line.removesuffix("\r") for line in lines if line.strip()]


@dataclass(frozen=True)
class ScoreRows:
    """The content of one file, or of one table in memory: rows with one score each."""

    name: str
    """What it is called in messages."""
    columns: Mapping[str, pa.ChunkedArray]
    """By role, as in `ColumnNames`. `score` is float64, null where there is none;
    `replica`, `segment` and the others are texts or whole numbers."""
    line: Callable[[Sequence[int]], list[int]]
    """Gives the lines in the file, from 1, of rows, from 0."""
    called: Mapping[str, str]
    """What each column is called in the file."""
    read_as: tuple[str, ...] = ()
    """How the file was understood, to be shown to the user."""
    is_file: bool = True
    whole: Mapping[str, str] = field(default_factory=dict)
    """Ids of all rows for roles without a column: `system`, `replica`, `testset`."""
    evaluation: str | None = None
    """The id of the evaluation, if the file is a single one. The runs of another evaluation of the same
    system are other runs."""

    @property
    def file(self) -> str | None:
        """The file of an error about these rows; None in memory."""
        return self.name if self.is_file else None

    @property
    def rows(self) -> int:
        return len(self.columns["score"])

    def has(self, role: str) -> bool:
        return role in self.columns or role in self.whole

    def column(self, role: str) -> pa.ChunkedArray:
        """The column of a role, made from the one id of all rows if there is no column."""
        if role in self.columns:
            return self.columns[role]
        same = pa.DictionaryArray.from_arrays(np.zeros(self.rows, np.int32), [self.whole[role]])
        return pa.chunked_array([same])

    def ids(self, role: str) -> list[str]:
        """The distinct ids of a role."""
        column = self.columns.get(role)
        known = [self.whole.get(role)] if column is None else column.unique().to_pylist()
        return [str(id) for id in known if id is not None]

    def with_whole(self, role: str, name: str) -> ScoreRows:
        return replace(self, whole={**self.whole, role: name})

    def only(self, role: str, name: str) -> ScoreRows:
        """The rows with one id."""
        if self.whole.get(role) == name:
            return self
        column = self.columns.get(role)
        kept = (
            [] if column is None else pc.indices_nonzero(pc.equal(column.cast("string"), name)).to_numpy()
        )
        if not len(kept):
            known = self.ids(role)
            raise ReplituneError(
                f"no {role} is called {name!r}",
                file=self.name,
                found=brief(known),
                fix=did_you_mean(name, known, "{}"),
            )
        return replace(
            self,
            columns={key: values.take(kept) for key, values in self.columns.items()},
            line=lambda rows: self.line([int(kept[row]) for row in rows]),
        )

    def of_system(self, system: str) -> ScoreRows:
        """The rows as those of the system `system`, whatever the file calls it."""
        own = self.columns.get("system")
        if own is not None and len(own.unique()) > 1:
            raise ReplituneError(
                "a file with a column of systems was given as one system",
                file=self.name,
                found=f"{system}={self.name}",
                fix="leave the name out",
            )
        columns = {role: column for role, column in self.columns.items() if role != "system"}
        notes = tuple(text for text in self.read_as if "system is" not in text)
        return replace(self.with_whole("system", system), columns=columns, read_as=notes)


class Reader(ABC):
    """Reads one kind of score file."""

    @staticmethod
    @abstractmethod
    def recognises(beginning: Beginning) -> bool:
        """Whether a file is of this kind, by its content."""

    @staticmethod
    @abstractmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        """Read the whole file or folder. `names`: what the user says that columns are
        called. `metrics`: those that are wanted, if any were named; a reader may return others, too."""


def brief(items: Sequence[object], whole: int | None = None, separator: str = "; ") -> str:
    """The first `FEW` items, and how many more there are."""
    shown = separator.join(map(str, items[:FEW]))
    rest = (len(items) if whole is None else whole) - min(len(items), FEW)
    return f"{shown} and {rest:,} more" if rest > 0 else shown
