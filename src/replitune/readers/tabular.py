"""What all tables have in common: choosing columns, reading them, and reporting a wrong cell with
its line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replitune.errors import ReplituneError, option
from replitune.readers.columns import BOOLEANS, NUMBERS, RUN_COLUMN, Choice, choose
from replitune.readers.interface import Reader, ScoreRows, brief
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of
from replitune.running.files import GZIP_MAGIC, open_regular, read_bytes

ABSENT = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""Cells of a text file that mean a missing score."""

Numbered = tuple[int, dict[str, Any]]
"""The number of a line, and the cells of its row by column."""


class Tabular(Reader):
    """A table in one file format."""

    IS_TEXT: ClassVar[bool] = False
    """Whether all cells are text, numbers included."""

    @classmethod
    def read(cls, path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        header, first = cls.header(path)
        if not first:
            raise no_rows(str(path))
        choice = choose(header, first, names, str(path), metrics)

        try:
            return rows_of(cls.load(path, choice), choice, str(path), partial(cls.lines, path))
        except (pa.ArrowException, UnicodeDecodeError) as error:
            cls.explain(path, choice)
            raise ReplituneError(
                "cannot be read", file=path, found=str(error).split("\n")[0][:300]
            ) from None

    @staticmethod
    @abstractmethod
    def header(path: Path) -> tuple[list[str], dict[str, Any]]:
        """The names of the columns, and the first row."""

    @staticmethod
    @abstractmethod
    def load(path: Path, choice: Choice) -> pa.Table:
        """The chosen columns under their own names; raises `pa.ArrowException` if a row is wrong."""

    @staticmethod
    @abstractmethod
    def numbered(path: Path) -> Iterator[Numbered]:
        """All rows, one after the other, with their lines; a row that cannot be read is an
        error."""

    @classmethod
    def explain(cls, path: Path, choice: Choice) -> None:
        """Raise an error about the wrong cells, if there are any, of a file that could not be loaded."""
        kinds: dict[str, type] = {}
        wrong: list[str] = []
        first_line, whole = 0, 0
        for number, row in cls.numbered(path):
            for role, column in choice.columns:
                cell = row.get(column)
                if cell is None or (role in NUMBERS and cell in ABSENT):
                    continue
                if role in NUMBERS:
                    good = isinstance(cell, int | float)
                    as_text = cls.IS_TEXT and (number_of(cell) is not None or cell.lower() in BOOLEANS)
                    good = good or as_text
                else:
                    good = type(cell) is kinds.setdefault(column, type(cell))
                if not good:
                    whole += 1
                    first_line = first_line or number
                    if len(wrong) < 3:
                        wrong.append(f"line {number}: {column} is {cell!r}")
        if whole:
            raise ReplituneError(
                "a cell of the wrong type for its column",
                file=path,
                line=first_line,
                found=brief(wrong, whole),
                expected=f"numbers in `{'`, `'.join(choice.scores)}`, and ids of one kind in every "
                "other column",
                fix="write numbers with a decimal point, 0.75"
                if any("," in item for item in wrong)
                else None,
            )

    @classmethod
    def lines(cls, path: Path, rows: Sequence[int]) -> list[int]:
        """The line number of each of `rows`."""
        wanted, lines = set(rows), {}
        for row, (number, _) in enumerate(cls.numbered(path)):
            if row in wanted:
                lines[row] = number
        return [lines[row] for row in rows]


def no_rows(file: str | None) -> ReplituneError:
    return ReplituneError("a table without rows", file=file, expected="one row for each score")


def opened(path: Path) -> pa.NativeFile:
    """The content of a text file, decompressed and without a byte order mark."""
    with open_regular(path) as handle:
        start = handle.read(3)
    if start[:2] == GZIP_MAGIC:
        data = read_bytes(path)
        start = data[:3]
        source: pa.NativeFile = pa.BufferReader(data)
    else:
        source = pa.OSFile(str(path))
    if start == b"\xef\xbb\xbf":
        source.seek(3)
    return source


def rows_of(table: pa.Table, choice: Choice, name: str, line: Any, *, is_file: bool = True) -> ScoreRows:
    """The columns of a table, checked one by one."""
    file, place = (name, "line") if is_file else (None, "row")
    if table.num_rows == 0:
        raise no_rows(file)

    def refuse(what: str, bad: pa.ChunkedArray, expected: str) -> None:
        rows = pc.indices_nonzero(bad).to_pylist()
        numbers = line(rows[:3])
        raise ReplituneError(
            what,
            file=file,
            line=numbers[0] if is_file else None,
            found=f"{place} {brief(numbers, len(rows))}",
            expected=expected,
        )

    columns: dict[str, pa.ChunkedArray] = {}
    scores: list[pa.ChunkedArray] = []
    count = None if choice.count is None else _scores(table[choice.count], choice.count, file)
    for role, called in choice.columns:
        if role == "count":
            continue
        column = table[called]
        if pa.types.is_null(column.type):
            column = column.cast(pa.float64() if role == "score" else pa.string())
        if role == "score":
            scores.append(_scores(column, called, file))
            bad = pc.fill_null(pc.is_inf(scores[-1]), False)
            if pc.any(bad).as_py():
                refuse("a score that is not finite", bad, "finite numbers")
            if count is not None:
                bad = pc.or_(pc.less(scores[-1], 0), pc.greater(scores[-1], count))
                if pc.any(bad).as_py():
                    refuse(
                        f"`{called}` is not between 0 and `{choice.count}`", bad, "0 to the count of trials"
                    )
                scores[-1] = pc.if_else(pc.equal(count, 0), None, pc.divide(scores[-1], count))
            continue
        if column.null_count:
            refuse(f"an empty cell in column `{called}`", pc.is_null(column), f"a {role}")
        columns[role] = _ids(column, called, file)
    called = choice.scores[0] if choice.wide == "metric" and count is None else "score"
    names = {**choice.ids, "score": called}
    rows = ScoreRows(name, columns, line, names, choice.read_as, is_file)
    if len(scores) > 1:
        return _one_below_the_other(rows, choice, scores)
    columns["score"] = scores[0]
    return rows


def _one_below_the_other(rows: ScoreRows, choice: Choice, scores: Sequence[pa.ChunkedArray]) -> ScoreRows:
    """The rows of a table with a column for each metric, run or system; `rows` has no scores yet."""
    size, line = len(scores[0]), rows.line
    matches = [RUN_COLUMN.fullmatch(name) for name in choice.scores]
    is_run = choice.wide in ("replica", "sample") and all(matches)
    names = [
        match[2] if is_run and match else name for match, name in zip(matches, choice.scores, strict=True)
    ]
    columns = {
        role: pa.chunked_array(column.chunks * len(names), column.type)
        for role, column in rows.columns.items()
    }
    columns[choice.wide] = pa.chunked_array(
        [pa.DictionaryArray.from_arrays(np.full(size, n, np.int32), names) for n in range(len(names))]
    )
    columns["score"] = pa.chunked_array([chunk for column in scores for chunk in column.chunks])
    return replace(
        rows,
        columns=columns,
        line=lambda positions: line([row % size for row in positions]),
        called={**rows.called, choice.wide: matches[0][1] if is_run and matches[0] else ", ".join(names)},
    )


def _scores(column: pa.ChunkedArray, called: str, file: str | None) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        column = column.cast(pa.int8() if pa.types.is_boolean(kind) else kind)
    elif not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise ReplituneError(
            "the scores are not numbers",
            file=file,
            found=f"column `{called}` of {kind}: {brief([repr(x) for x in column[:4].to_pylist()])}",
            expected="numbers",
            fix=f"is `{called}` the score? {option('columns', {'score': 'NAME'})} says which",
        )
    column = column.cast(pa.float64())
    # NaN is a missing score
    return pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)


def _ids(column: pa.ChunkedArray, called: str, file: str | None) -> pa.ChunkedArray:
    """The ids as whole numbers or as a dictionary of texts; raises `pa.ArrowException` if a text is not
    UTF-8, which only some of pyarrow's readers check."""
    kind = column.type
    if pa.types.is_floating(kind):  # pandas stores whole numbers as floats if some are missing
        try:
            return column.cast(pa.int64())
        except pa.ArrowException:
            pass
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_dictionary(kind) and pa.types.is_integer(values):
        return column.cast(values).cast(pa.int64())
    texts = (pa.types.is_string(values), pa.types.is_large_string(values), pa.types.is_string_view(values))
    if not any(texts):
        raise ReplituneError(
            f"column `{called}` is neither text nor whole numbers",
            file=file,
            found=f"{kind}: {brief([repr(x) for x in column[:4].to_pylist()])}",
        )
    ids = column.cast(pa.dictionary(pa.int32(), pa.string()))
    for chunk in ids.chunks:
        chunk.dictionary.validate(full=True)
    return ids
