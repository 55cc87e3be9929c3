"""Tables of texts, scores and judgements: columns by name, and rows with the number of their line.

Columns are separated by tabs (no quoting: a cell is everything between two tabs), by commas with the
quoting of CSV, or by blanks. Files may be gzipped.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError, did_you_mean
from replitune.running.files import read_lines, read_text, split_lines


@dataclass(frozen=True)
class Table:
    """A table of text."""

    path: Path
    header: list[str]
    """Names of the columns; empty where the file has none."""
    width: int
    rows: Iterator[tuple[int, list[str]]]

    def place(self, column: str | int) -> int:
        """The index of a column, given by its name or by its number from 1."""
        if isinstance(column, int):
            if 1 <= column <= self.width:
                return column - 1
            raise ReplituneError(
                "no such column",
                file=self.path,
                found=str(column),
                expected=f"a number from 1 to {self.width}",
            )
        if self.header.count(column) != 1:
            twice = column in self.header
            raise ReplituneError(
                f"{'two columns are' if twice else 'no column is'} called {column}",
                file=self.path,
                line=1,
                found=", ".join(self.header) or "no header",
                fix=None if twice else did_you_mean(column, self.header, "{}"),
            )
        return self.header.index(column)


def read_table_of_segments(path: str | Path, has_header: bool) -> Table:
    """Columns separated by tabs, each row as it is: a blank line is a row, too."""
    rows = enumerate((line.split("\t") for line in read_lines(path)), start=1)
    return _table(Path(path), rows, has_header)


def read_table(path: str | Path, text: str | None = None) -> Table:
    """A table with a header, which shows what separates the columns. Rows without content are left out,
    and blanks around a cell are removed."""
    text = read_text(path) if text is None else text
    lines = split_lines(text)
    first = lines[0] if lines else ""
    if "\t" not in first and "," in first:
        rows = csv_rows(Path(path), text)
    else:
        # WMT's own files have blanks in the header, and blanks or tabs below it
        separator = "\t" if "\t" in first else None
        rows = enumerate((line.split(separator) for line in lines), start=1)
    stripped = ((line, [cell.strip() for cell in row]) for line, row in rows)
    return _table(Path(path), ((line, row) for line, row in stripped if any(row)), True)


def csv_rows(path: Path, text: str, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Rows, each with the number of its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ReplituneError(
            "not a line of CSV", file=path, line=reader.line_num, found=str(error)
        ) from None


def _table(path: Path, rows: Iterator[tuple[int, list[str]]], has_header: bool) -> Table:
    line, first = next(rows, (1, []))

    def full_rows() -> Iterator[tuple[int, list[str]]]:
        if first and not has_header:
            yield line, first
        for number, row in rows:
            if len(row) != len(first):
                raise ReplituneError(
                    "a row has too few or too many columns",
                    file=path,
                    line=number,
                    found=f"{len(row)} columns",
                    expected=f"{len(first)}, as on line {line}",
                    fix="cells must not contain tabs; in CSV, put a cell with a comma in quotation marks",
                )
            yield number, row

    return Table(path, first if has_header else [], len(first), full_rows())


# ---- cells


def number_of(cell: Any) -> float | None:
    """A cell as a finite number; None if it is not one."""
    try:
        value = math.nan if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def score_of(path: Path, line: int, cell: Any, absent: Sequence[str] = ("",)) -> float | None:
    """A cell as a score; None if it has none."""
    value = number_of(cell)
    if value is None and cell is not None and str(cell).lower() not in absent:
        raise ReplituneError(
            "the score is not a finite number",
            file=path,
            line=line,
            found=repr(cell),
            fix="where there is no score, leave the cell empty or leave out the row",
        )
    return value


def segment_of(path: Path, line: int, cell: Any) -> int:
    """The number of a segment."""
    value = number_of(cell)
    if value is None or not value.is_integer() or value < 0:
        raise ReplituneError(
            "the segment is not a whole number",
            file=path,
            line=line,
            found=repr(cell),
            expected="its place in the test set, from 0; judgements may count from 1, with "
            "--first-segment 1",
        )
    return int(value)
