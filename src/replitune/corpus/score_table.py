"""The segments of a table of scores as a test set without texts.

Their ids are its references, and it has documents if the table does. `file#TESTSET` chooses one of
several test sets in a table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from replitune.corpus.content import FileContent
from replitune.errors import ReplituneError
from replitune.readers.arranged import Arranged
from replitune.readers.names import split_part
from replitune.readers.registry import read_file
from replitune.readers.settings import ColumnNames


def read_segments(path: str | Path) -> FileContent:
    """Every segment once, in an order that does not depend on that of the rows."""
    file, testset = split_part(path, ending="")
    rows = read_file(file, ColumnNames())
    if "segment" not in rows.columns:
        raise ReplituneError(
            "no column for the segment",
            file=file,
            found=", ".join(rows.called.values()),
            fix="an experiment needs scores of segments; `replitune compare --scores` does not",
        )
    table = Arranged([rows])
    _, kept = table.testset(testset)
    there = np.zeros(len(table.segments), bool)
    there[table.where[kept]] = True
    pairs = table.segments[there]
    ids = [table.ids.names[n] for n in pairs[:, 1]]
    if table.documents is None:
        return FileContent(path, [ids])
    documents = [table.documents.names[d] for d in pairs[:, 0]]
    return FileContent(path, [ids], documents=documents)
