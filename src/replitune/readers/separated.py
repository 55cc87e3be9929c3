"""Tables of scores as CSV or TSV, with a header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from replitune.errors import ReplituneError
from replitune.readers.columns import BOOLEANS, NUMBERS, Choice
from replitune.readers.interface import Beginning
from replitune.readers.table import csv_rows
from replitune.readers.tabular import ABSENT, Numbered, Tabular, opened
from replitune.running.files import read_text

SEPARATORS = "\t,;"

COMMA = re.compile(r"[+-]?\d*,\d+")
"""A number with a decimal comma."""


class Separated(Tabular):
    """The header shows what separates the columns: tabs, or else commas or semicolons."""

    IS_TEXT = True

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return (
            bool(beginning.lines)
            and "\0" not in beginning.text
            and (_separator(beginning.lines[0]) is not None)
        )

    @staticmethod
    def header(path: Path) -> tuple[list[str], dict[str, Any]]:
        lines = Beginning.from_file(path).lines
        separator, decimal = _marks(path, lines)
        rows = csv_rows(path, "\n".join(lines), separator)
        _, names = next(rows, (0, []))
        _, first = next(rows, (0, []))
        return names, dict(zip(names, _with_points(first, decimal), strict=False))

    @staticmethod
    def load(path: Path, choice: Choice) -> pa.Table:
        numbers = [name for role, name in choice.columns if role in NUMBERS]
        separator, decimal = _marks(path, Beginning.from_file(path).lines, numbers)
        text = pa.dictionary(pa.int32(), pa.string())
        first = Separated.header(path)[1]
        with opened(path) as source:
            return pyarrow.csv.read_csv(
                source,
                parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=[name for _, name in choice.columns],
                    column_types={
                        name: text
                        if role not in NUMBERS
                        else pa.bool_()
                        if str(first.get(name)).lower() in BOOLEANS
                        else pa.float64()
                        for role, name in choice.columns
                    },
                    null_values=list(ABSENT),
                    decimal_point=decimal,
                ),
            )

    @staticmethod
    def numbered(path: Path) -> Iterator[Numbered]:
        separator, decimal = _marks(path, Beginning.from_file(path).lines)
        rows = ((line, row) for line, row in csv_rows(path, read_text(path), separator) if row)
        _, header = next(rows, (0, []))
        for line, row in rows:
            if len(row) != len(header):
                raise ReplituneError(
                    "a row has too few or too many columns",
                    file=path,
                    line=line,
                    found=f"{len(row)} columns",
                    expected=f"{len(header)}, as in the header",
                    fix="put a cell that contains the separator in quotation marks",
                )
            yield line, dict(zip(header, _with_points(row, decimal), strict=True))


def _separator(header: str) -> str | None:
    return next((sign for sign in SEPARATORS if sign in header), None)


def _marks(path: Path, lines: Sequence[str], columns: Sequence[str] = ()) -> tuple[str, str]:
    """What separates columns, and the decimal sign of `columns`, or else of all: a comma if a cell between
    tabs or semicolons is a number with one."""
    separator = _separator(lines[0]) or ","
    names, *rows = (row for _, row in csv_rows(path, "\n".join(lines), separator))
    cells = (cell for row in rows for n, cell in zip(names, row, strict=False) if n in (columns or names))
    return separator, "," if separator != "," and any(map(COMMA.fullmatch, cells)) else "."


def _with_points(row: list[str], decimal: str) -> list[str]:
    if decimal == ".":
        return row
    return [cell.replace(",", ".") if COMMA.fullmatch(cell) else cell for cell in row]
