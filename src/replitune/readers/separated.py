"""Tables of scores as CSV or TSV, with a header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from replitune.errors import ReplituneError
from replitune.readers.columns import Choice
from replitune.readers.interface import Beginning
from replitune.readers.tabular import ABSENT, Numbered, Tabular, opened
from replitune.running.files import read_text

SEPARATORS = "\t,;"


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
        rows = csv.reader(lines, delimiter=_separator(lines[0]) or ",")
        try:
            names = next(rows, [])
            return names, dict(zip(names, next(rows, []), strict=False))
        except csv.Error as error:
            raise ReplituneError(
                "not a line of CSV", file=path, line=rows.line_num, found=str(error)
            ) from None

    @staticmethod
    def load(path: Path, choice: Choice) -> pa.Table:
        separator = _separator(Beginning.from_file(path).lines[0]) or ","
        text = pa.dictionary(pa.int32(), pa.string())
        with opened(path) as source:
            return pyarrow.csv.read_csv(
                source,
                parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=[name for _, name in choice.columns],
                    column_types={
                        name: pa.float64() if role == "score" else text for role, name in choice.columns
                    },
                    null_values=list(ABSENT),
                ),
            )

    @staticmethod
    def numbered(path: Path) -> Iterator[Numbered]:
        text = read_text(path)
        separator = _separator(text.lstrip().split("\n", 1)[0]) or ","
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
                yield reader.line_num, dict(zip(header, row, strict=True))
        except csv.Error as error:
            raise ReplituneError(
                "not a line of CSV", file=path, line=reader.line_num, found=str(error)
            ) from None


def _separator(header: str) -> str | None:
    return next((sign for sign in SEPARATORS if sign in header), None)
