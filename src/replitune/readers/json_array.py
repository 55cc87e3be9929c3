"""Tables of scores as JSON over several lines: an array of objects (pandas' ``orient="records"``),
columns (pandas' default), an object that holds such an array, or objects one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.readers.columns import NUMBERS, Choice
from replitune.readers.interface import Beginning
from replitune.readers.records import json_values
from replitune.readers.tabular import Numbered, Tabular

EXPECTED = "an array of objects, [{...}, ...], or an object on each line"

HOLDS_OBJECTS = re.compile(r'\{\s*"[^"]*"\s*:\s*(?:\{|\[\s*\{)')


class JsonArray(Tabular):
    """Objects are numbered from 1, in place of lines."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        text = beginning.text.lstrip()
        if text[:1] == "[":
            return text[1:].lstrip()[:1] in ("{", "]")
        # an object that does not end on its first line, or the only object, whose first value holds others
        lines = beginning.lines
        only = len(lines) == 1 and HOLDS_OBJECTS.match(text) is not None
        return text[:1] == "{" and (only or lines[0].rstrip()[-1:] in ("{", "[", ","))

    @staticmethod
    def header(path: Path) -> tuple[list[str], dict[str, Any]]:
        first = next((row for _, row in JsonArray.numbered(path)), {})
        return list(first), first

    @staticmethod
    def load(path: Path, choice: Choice) -> pa.Table:
        rows = [row for _, row in JsonArray.numbered(path)]
        columns = {}
        for role, name in choice.columns:
            cells = [row.get(name) for row in rows]
            is_float = role in NUMBERS and not any(isinstance(cell, bool) for cell in cells)
            columns[name] = pa.array(cells, pa.float64() if is_float else None)
        return pa.table(columns)

    @staticmethod
    def numbered(path: Path) -> Iterator[Numbered]:
        for number, row in enumerate(_rows(path), start=1):
            if not isinstance(row, dict):
                raise ReplituneError(
                    "not a JSON object", file=path, line=number, found=repr(row)[:60], expected=EXPECTED
                )
            yield number, row


def _rows(path: Path) -> list[Any]:
    values = json_values(path, EXPECTED)
    if len(values) != 1 or not isinstance(values[0], dict):
        return values[0] if len(values) == 1 else values
    parts = values[0]
    tables = [
        name
        for name, part in parts.items()
        if isinstance(part, list) and part and isinstance(part[0], dict)
    ]
    if len(tables) == 1:
        return list(parts[tables[0]])
    columns = [part for part in parts.values() if isinstance(part, dict)]
    if columns and len(columns) == len(parts):
        return [{name: part.get(row) for name, part in parts.items()} for row in columns[0]]
    if not tables and any(not isinstance(part, dict | list) for part in parts.values()):
        return [parts]
    raise ReplituneError(
        "which part of this JSON is the table?",
        file=path,
        found=", ".join(parts)[:200],
        expected=EXPECTED,
        fix=f"""write it alone: jq -c '.["{(tables or list(parts))[0]}"][]' {path.name} > scores.jsonl""",
    )
