"""Tab-separated columns: source, references, documents in one file.

No quoting: a field is all between two tabs, quotation marks included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from replitune.corpus.parts import Parts, Role
from replitune.corpus.settings import Column, Columns
from replitune.errors import ReplituneError
from replitune.running.files import read_lines

SOURCE = re.compile(r"src|source(_sentence|_text)?", re.IGNORECASE)
REFERENCE = re.compile(r"(ref|reference|target|tgt)[-_ ]?([0-9]+|[a-z])?", re.IGNORECASE)
DOCUMENT = re.compile(r"doc|docid|doc[-_ ]id|document|document[-_ ]id", re.IGNORECASE)


def read_tsv(path: str | Path, role: Role, columns: Columns | None = None) -> Parts:
    """All that the columns name; read as a source only, no references are needed."""
    columns = columns or Columns()
    rows = [line.split("\t") for line in read_lines(path)]
    if not rows:
        return Parts.of_lines(path, role, [])
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ReplituneError(
                "number of columns differs",
                file=path,
                line=number,
                found=f"{len(row)} columns",
                expected=f"{width} columns, as on line 1",
                fix="tabs inside a field are not possible in a .tsv file",
            )
    named = [*_listed(columns.references), *_listed(columns.source), *_listed(columns.document)]
    has_header = not named or any(isinstance(column, str) for column in named)
    header = rows.pop(0) if (has_header if columns.header is None else columns.header) else None
    if not named:
        columns = _recognise(header or [], path)
    references = _listed(columns.references)
    if role == "reference" and not references:
        raise ReplituneError(
            "no column of references",
            file=path,
            found=f"columns {', '.join(header)}" if header else f"{width} columns",
            fix="name them: columns: {references: [...], source: ..., document: ...}",
        )

    def column(which: Column | None) -> list[str] | None:
        if which is None:
            return None
        i = _position(which, header, width, path)
        return [row[i] for row in rows]

    return Parts(
        path,
        references=[column(which) or [] for which in references],
        source=column(columns.source),
        documents=column(columns.document),
    )


def _recognise(header: Sequence[str], path: str | Path) -> Columns:
    def one(pattern: re.Pattern[str], what: str) -> str | None:
        matches = [name for name in header if pattern.fullmatch(name)]
        if len(matches) > 1:
            raise ReplituneError(
                f"more than one column of {what}",
                file=path,
                line=1,
                found=", ".join(matches),
                fix="name the columns: columns: {references: [...], source: ..., document: ...}",
            )
        return matches[0] if matches else None

    return Columns(
        references=[name for name in header if REFERENCE.fullmatch(name)],
        source=one(SOURCE, "sources"),
        document=one(DOCUMENT, "documents"),
    )


def _listed(columns: Column | list[Column] | None) -> list[Column]:
    if isinstance(columns, list):
        return columns
    return [] if columns is None else [columns]


def _position(which: Column, header: Sequence[str] | None, width: int, path: str | Path) -> int:
    if isinstance(which, int):
        if 1 <= which <= width:
            return which - 1
        raise ReplituneError(
            "no such column", file=path, found=str(which), expected=f"a number from 1 to {width}"
        )
    names = list(header or [])
    if names.count(str(which)) != 1:
        raise ReplituneError(
            "no such column" if str(which) not in names else "two columns of the same name",
            file=path,
            line=1,
            found=str(which),
            expected=f"one of {', '.join(names)}" if names else "a column number: no header",
        )
    return names.index(str(which))
