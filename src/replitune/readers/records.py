"""Scores that are found one by one, in files of programs that are no tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.readers.interface import ScoreRows
from replitune.running.files import read_text

T = TypeVar("T", dict, list)


class Records:
    """Rows in the order in which they are found. Every row has the same ids."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: list[int] = []
        self.scores: list[float | None] = []
        self.ids: dict[str, list[str]] = {}

    def add(self, line: int, score: float | None, **ids: object) -> None:
        """`ids`: by role, as in `ColumnNames`. A score of None or NaN is missing."""
        if score is not None and not math.isfinite(score):
            if math.isinf(score):
                raise ReplituneError(
                    "a score that is not finite", file=self.path, line=line, found=str(score)
                )
            score = None
        self.places.append(line)
        self.scores.append(score)
        for role, id in ids.items():
            self.ids.setdefault(role, []).append(str(id))

    def __len__(self) -> int:
        return len(self.places)

    def rows(
        self, called: Mapping[str, str], read_as: Sequence[str] = (), whole: Mapping[str, str] | None = None
    ) -> ScoreRows:
        """`called`: the file's own names of the ids, where they differ."""
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
    """Numbers 1, 2, ... for runs that have long names in the file."""

    def __missing__(self, key: object) -> str:
        self[key] = number = str(len(self) + 1)
        return number


WORDS: dict[type, str] = {dict: "an object {...}", list: "a list [...]"}


def of_kind(kind: type[T], value: Any, path: Path, line: int, what: str) -> T:
    """Part of a JSON value that must be an object or a list; null counts as an empty one."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ReplituneError(
            f"`{what}` has the wrong type",
            file=path,
            line=line,
            found=repr(value)[:60],
            expected=WORDS[kind],
        )
    return value


def json_of(path: Path, expected: str) -> Any:
    """The content of a file of one JSON value."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ReplituneError(
            "incomplete or damaged JSON",
            file=path,
            line=getattr(error, "lineno", None),
            found=str(error),
            expected=expected,
        ) from None
