"""Scores that are found one by one, in files of programs that are no tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.readers.interface import ScoreRows
from replitune.running.files import read_text


class Records:
    """Rows in the order in which they are found. Every row has the same ids."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: list[int] = []
        self.scores: list[float | None] = []
        self.ids: dict[str, list[str]] = {}

    def add(self, line: int, score: float | None, **ids: object) -> None:
        """`ids`: by what they are, those of `ColumnNames`. No score: it is missing."""
        self.places.append(line)
        self.scores.append(score)
        for role, id in ids.items():
            self.ids.setdefault(role, []).append(str(id))

    def __len__(self) -> int:
        return len(self.places)

    def rows(
        self,
        called: Mapping[str, str],
        read_as: Sequence[str] = (),
        whole: Mapping[str, str] | None = None,
    ) -> ScoreRows:
        """`called`: what ids are called in the file, where that is another name."""
        if not self.places:
            raise ReplituneError("no scores in this file", file=self.path)
        kind = pa.dictionary(pa.int32(), pa.string())
        columns = {
            role: pa.chunked_array([pa.array(ids).dictionary_encode().cast(kind)])
            for role, ids in self.ids.items()
        }
        columns["score"] = pa.chunked_array([pa.array(self.scores, pa.float64())])
        return ScoreRows(
            name=str(self.path),
            columns=columns,
            line=lambda rows: [self.places[row] for row in rows],
            called={role: called.get(role, role) for role in columns},
            read_as=tuple(read_as),
            whole=dict(whole or {}),
        )


class Numbering(dict[Any, str]):
    """Runs that a file names by something long, by their order: 1, 2, ..."""

    def __missing__(self, key: object) -> str:
        self[key] = number = str(len(self) + 1)
        return number


def json_of(path: Path, expected: str) -> Any:
    """The content of a file of one JSON value."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ReplituneError(
            "not whole JSON", file=path, line=getattr(error, "lineno", None), found=str(error),
            expected=expected,
        ) from None  # fmt: skip
