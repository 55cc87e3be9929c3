"""Readers of scores by name: ours, and those that other packages bring as entry points.

Each is asked in turn whether it knows a file, the general ones last.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replitune.errors import ReplituneError
from replitune.registry import Registry

if TYPE_CHECKING:
    from replitune.readers.interface import Reader, ScoreRows
    from replitune.readers.settings import ColumnNames


def _is_reader(brought: object) -> bool:
    from replitune.readers.interface import Reader

    return isinstance(brought, type) and issubclass(brought, Reader)


READERS: Registry[type[Reader]] = Registry(
    "reader of scores",
    {
        "parquet": "replitune.readers.parquet:Parquet",
        "jsonl": "replitune.readers.json_lines:JsonLines",
        "separated": "replitune.readers.separated:Separated",
    },
    group="replitune.readers",
    accepts=_is_reader,
    expected="a subclass of replitune.readers.interface.Reader",
)


def read_scores(paths: Sequence[str | Path], names: ColumnNames) -> list[ScoreRows]:
    """Every file by the reader that knows it."""
    from replitune.readers.interface import Beginning

    found = []
    # those of other packages first: ours take any table
    order = sorted(READERS.names, key=lambda name: name in READERS.own)
    for path in paths:
        beginning = Beginning.of(path)
        reader = next((r for r in map(READERS.__getitem__, order) if r.recognises(beginning)), None)
        if reader is None:
            raise ReplituneError(
                "not a file of scores", file=path, found=_shown(beginning.data),
                expected="a table as CSV, TSV, JSON lines or Parquet, with a column `score`",
            )  # fmt: skip
        found.append(reader.read(beginning.path, names))
    return found


def _shown(data: bytes) -> str:
    return repr(data[:16].decode("utf-8", "backslashreplace")) if data else "nothing"
