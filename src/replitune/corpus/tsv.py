"""Tab-separated columns: source, references, documents in one file.

No quoting: a field is everything between two tabs, quotation marks included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from replitune.corpus.content import FileContent, Role
from replitune.corpus.settings import Column, Columns, as_list
from replitune.errors import ReplituneError
from replitune.readers.table import read_table_of_segments

SOURCE = re.compile(r"src|source(_sentence|_text)?", re.IGNORECASE)
REFERENCE = re.compile(r"(ref|reference|target|tgt)[-_ ]?([0-9]+|[a-z])?", re.IGNORECASE)
DOCUMENT = re.compile(r"doc|docid|doc[-_ ]id|document|document[-_ ]id", re.IGNORECASE)


def read_tsv(path: str | Path, role: Role, columns: Columns) -> FileContent:
    """What the columns name; a file that is read for its source needs no references."""
    single = [column for column in (columns.source, columns.document) if column is not None]
    named = [*as_list(columns.references), *single]
    has_header = not named or any(isinstance(column, str) for column in named)
    table = read_table_of_segments(path, has_header if columns.header is None else columns.header)
    rows = [row for _, row in table.rows]
    if not table.width:
        return FileContent.from_lines(path, role, [])
    if not named:
        columns = _recognise(table.header, path)
    references = as_list(columns.references)
    if role == "reference" and not references:
        raise ReplituneError(
            "no column of references",
            file=path,
            found=", ".join(table.header) or f"{table.width} columns",
            fix="name them: columns: {references: [...], source: ..., document: ...}",
        )

    def column(which: Column | None) -> list[str] | None:
        if which is None:
            return None
        place = table.place(which)
        return [row[place] for row in rows]

    return FileContent(
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
