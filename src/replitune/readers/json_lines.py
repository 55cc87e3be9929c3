"""Tables of scores as JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from replitune.errors import ReplituneError
from replitune.readers.columns import NUMBERS, Choice
from replitune.readers.interface import Beginning
from replitune.readers.tabular import Numbered, Tabular, opened
from replitune.running.files import read_text, split_lines

BLOCK, LARGEST_BLOCK = 1 << 23, (1 << 31) - 1
"""Bytes that are parsed at once; a line must be shorter, so the larger number is for long lines."""

KINDS: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}


class JsonLines(Tabular):
    """The first line names the columns."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return beginning.text.lstrip()[:1] == "{"

    @staticmethod
    def header(path: Path) -> tuple[list[str], dict[str, Any]]:
        lines = Beginning.from_file(path).lines
        first = _row(path, 1, lines[0] if lines else "")
        return list(first), first

    @staticmethod
    def load(path: Path, choice: Choice) -> pa.Table:
        first = JsonLines.header(path)[1]
        fields = []
        for role, name in choice.columns:
            kind = KINDS.get(type(first[name]), pa.float64())
            if role in NUMBERS and kind == pa.int64():
                kind = pa.float64()
            fields.append((name, kind))
        options = pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
        )

        def parsed(block: int) -> pa.Table:
            with opened(path) as source:
                size = max(1, min(block, source.size()))
                reading = pyarrow.json.ReadOptions(block_size=size)
                return pyarrow.json.read_json(source, read_options=reading, parse_options=options)

        try:
            return parsed(BLOCK)
        except pa.ArrowInvalid:
            return parsed(LARGEST_BLOCK)

    @staticmethod
    def numbered(path: Path) -> Iterator[Numbered]:
        for number, text in enumerate(split_lines(read_text(path)), start=1):
            if text.strip():
                yield number, _row(path, number, text)


def _row(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReplituneError(
            "not a line of JSON",
            file=path,
            line=number,
            found=f"{error}: {text[:60]!r}",
            expected="one whole object {...} on each line",
            fix="was the file cut off? write it again",
        ) from None
    if not isinstance(row, dict):
        raise ReplituneError(
            "not a JSON object", file=path, line=number, found=text[:60], expected="{...} on each line"
        )
    return row
