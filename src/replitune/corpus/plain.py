"""Plain text: a segment a line, gz or not; documents from a file of ids or from blank lines; and
the prepared form that knows all of it."""

from __future__ import annotations

from pathlib import Path

from replitune.corpus.content import FileContent, Role
from replitune.corpus.testset import read_prepared
from replitune.errors import ReplituneError
from replitune.running.files import read_lines


def read_plain(path: str | Path, role: Role) -> FileContent:
    """One stream, a segment a line; blank lines are blank segments."""
    return FileContent.from_lines(path, role, read_lines(path))


def read_blank_separated(path: str | Path, role: Role) -> FileContent:
    """Documents with one or more blank lines between them, named 1, 2, ... in order.

    A blank line is never a segment here; blank lines at the start and at the end mean nothing.
    """
    segments, documents = [], []
    document, inside = 0, False
    for line in read_lines(path):
        if not line.strip():
            inside = False
            continue
        if not inside:
            document += 1
            inside = True
        segments.append(line)
        documents.append(str(document))
    return FileContent.from_lines(path, role, segments, documents)


def read_prepared_content(path: str | Path, role: Role) -> FileContent:
    """A prepared test set, as the corpus stage writes it: references, source and documents."""
    testset = read_prepared(path)
    if role == "source" and testset.source is None:
        raise ReplituneError("no source in this file", file=path)
    return FileContent(path, list(testset.references), testset.source, testset.documents)
