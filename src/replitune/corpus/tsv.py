"""Tab-separated columns: source, references, documents in one file.

No quoting: a field is all between two tabs, quotation marks included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replitune.corpus.parts import Parts, Role
from replitune.errors import ReplituneError
from replitune.running.files import read_lines

Column = str | int
"""A name from the header, or a number from 1."""

SOURCE = re.compile(r"src|source(_sentence|_text)?", re.IGNORECASE)
REFERENCE = re.compile(r"(ref|reference|target|tgt)[-_ ]?([0-9]+|[a-z])?", re.IGNORECASE)
DOCUMENT = re.compile(r"doc|docid|doc[-_ ]id|document|document[-_ ]id", re.IGNORECASE)


@dataclass(frozen=True)
class Columns:
    """Which columns to read; nothing named: those that the header calls source, reference
    (reference1, ref_B, ...) and document."""

    references: tuple[Column, ...] = ()
    source: Column | None = None
    document: Column | None = None
    header: bool | None = None
    """None: there is a header unless all columns are given by number."""

    @classmethod
    def of(cls, given: Mapping[str, Any] | Columns | None) -> Columns:
        """Columns from an experiment file: {references: [...], source: ..., document: ...}."""
        if given is None:
            return cls()
        if isinstance(given, Columns):
            return given
        known = ("references", "source", "document", "header")
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise ReplituneError(
                "unknown key in columns", found=unknown[0], expected=f"one of {', '.join(known)}"
            )
        references = given.get("references") or ()
        if isinstance(references, str | int):
            references = (references,)
        return cls(
            tuple(references), given.get("source"), given.get("document"), given.get("header")
        )

    @property
    def wanted(self) -> list[Column]:
        single = [column for column in (self.source, self.document) if column is not None]
        return [*self.references, *single]

    @property
    def has_header(self) -> bool:
        if self.header is not None:
            return self.header
        return not self.wanted or any(isinstance(column, str) for column in self.wanted)


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
    header = rows.pop(0) if columns.has_header else None
    if not columns.wanted:
        columns = _recognise(header or [], path)
    if role == "reference" and not columns.references:
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
        references=[column(which) or [] for which in columns.references],
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

    references = tuple(name for name in header if REFERENCE.fullmatch(name))
    return Columns(references, one(SOURCE, "sources"), one(DOCUMENT, "documents"))


def _position(which: Column, header: Sequence[str] | None, width: int, path: str | Path) -> int:
    if isinstance(which, int) and not isinstance(which, bool):
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
