"""Tables of scores as CSV or TSV, with a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from replitune.errors import ReplituneError
from replitune.readers.columns import BOOLEANS, NUMBERS, Choice
from replitune.readers.interface import Beginning
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
        separator, decimal = _marks(lines)
        rows = csv.reader(lines, delimiter=separator)
        try:
            names = next(rows, [])
            return names, dict(zip(names, _with_points(next(rows, []), decimal), strict=False))
        except csv.Error as error:
            raise ReplituneError(
                "not a line of CSV", file=path, line=rows.line_num, found=str(error)
            ) from None

    @staticmethod
    def load(path: Path, choice: Choice) -> pa.Table:
        separator, decimal = _marks(Beginning.from_file(path).lines)
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
        text = read_text(path)
        separator, decimal = _marks(Beginning.from_file(path).lines)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        header: list[str] | None = None
        try:
            for row in reader:
                if not row:
                    continue
                if header is None:
                    header = row
                    continue
                if len(row) != len(header):
                    raise ReplituneError(
                        "a row has too few or too many columns",
                        file=path,
                        line=reader.line_num,
                        found=f"{len(row)} columns",
                        expected=f"{len(header)}, as in the header",
                        fix="a cell has the separator only within quotation marks",
                    )
                yield reader.line_num, dict(zip(header, _with_points(row, decimal), strict=True))
        except csv.Error as error:
            raise ReplituneError(
                "not a line of CSV", file=path, line=reader.line_num, found=str(error)
            ) from None


def _separator(header: str) -> str | None:
    return next((sign for sign in SEPARATORS if sign in header), None)


def _marks(lines: Sequence[str]) -> tuple[str, str]:
    """What separates columns, and the decimal sign: a comma where numbers have it between tabs or
    semicolons."""
    separator = _separator(lines[0]) or ","
    cells = (cell.strip('"') for line in lines[1:] for cell in line.split(separator))
    return separator, "," if separator != "," and any(map(COMMA.fullmatch, cells)) else "."


def _with_points(row: list[str], decimal: str) -> list[str]:
    if decimal == ".":
        return row
    return [cell.replace(",", ".") if COMMA.fullmatch(cell) else cell for cell in row]
