"""Tables of scores as one JSON array of objects: ``orient="records"`` of pandas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.readers.columns import Choice
from replitune.readers.interface import Beginning
from replitune.readers.records import json_of
from replitune.readers.tabular import Numbered, Tabular


class JsonArray(Tabular):
    """Its objects are numbered from 1, as lines would be."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        text = beginning.text.lstrip()
        return text[:1] == "[" and text[1:].lstrip()[:1] in ("{", "]")

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
            is_float = role == "score" and not any(isinstance(cell, bool) for cell in cells)
            columns[name] = pa.array(cells, pa.float64() if is_float else None)
        return pa.table(columns)

    @staticmethod
    def numbered(path: Path) -> Iterator[Numbered]:
        for number, row in enumerate(json_of(path, "an array of objects, [{...}, ...]"), start=1):
            if not isinstance(row, dict):
                raise ReplituneError(
                    "not a JSON object",
                    file=path,
                    line=number,
                    found=repr(row)[:60],
                    expected="an array of objects, [{...}, ...]",
                )
            yield number, row
