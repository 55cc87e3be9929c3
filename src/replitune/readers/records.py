"""Scores collected one by one, from files of other programs that are not tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.readers.interface import ScoreRows
from replitune.running.files import read_text

T = TypeVar("T", dict, list)

BLANKS = re.compile(r"\s*")


class Records:
    """Rows in the order in which they are found. Every row has ids for the same roles."""

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
        self,
        called: Mapping[str, str],
        read_as: Sequence[str] = (),
        whole: Mapping[str, str] | None = None,
        evaluation: str | None = None,
    ) -> ScoreRows:
        """`called`: the file's own names for the roles, where they differ."""
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
            evaluation=evaluation,
        )

    def add_trials(self, trials: Mapping[str, Sequence[tuple[int, float | None]]], **ids: object) -> str:
        """Add the trials (line, score) of each segment, in order: trial k is sample k. If segments
        have different numbers of trials, there is one, with their means. Returns what to tell the user."""
        counts = sorted({len(own) for own in trials.values()})
        for segment, own in trials.items():
            if len(counts) == 1:
                for number, (line, score) in enumerate(own, start=1):
                    self.add(line, score, segment=segment, sample=number, **ids)
            else:
                known = [score for _, score in own if score is not None]
                mean = sum(known) / len(known) if known else None
                self.add(own[0][0], mean, segment=segment, sample=1, **ids)
        if len(counts) == 1:
            return "each trial is a sample" if counts[0] > 1 else "one trial"
        return f"segments have {counts[0]} to {counts[-1]} trials; their mean is the score"


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
    """The content of a file with one JSON value."""
    (value,) = json_values(path, expected, most=1)
    return value


def json_values(path: Path, expected: str, most: float = math.inf) -> list[Any]:
    """The JSON values of a file, one after the other."""
    text, values, at = read_text(path, is_json=True), list[Any](), 0
    decode = json.JSONDecoder().raw_decode
    try:
        while not values or at < len(text):
            if len(values) == most:
                raise json.JSONDecodeError("Extra data", text, at)
            value, end = decode(text, BLANKS.match(text, at).end())  # type: ignore[union-attr]
            values.append(value)
            at = BLANKS.match(text, end).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError) as error:
        raise ReplituneError(
            "incomplete or damaged JSON",
            file=path,
            line=getattr(error, "lineno", None),
            found=str(error),
            expected=expected,
        ) from None
    return values
