"""The segments of a table of scores as a test set without texts: their ids are its references, and it
has documents if the table does. `file#TESTSET` chooses one of several test sets in a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from replitune.corpus.content import FileContent
from replitune.errors import ReplituneError
from replitune.readers.coding import coded, in_order
from replitune.readers.interface import brief
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
    segment = coded([rows.columns["segment"]])
    document = coded([rows.columns["document"]]) if "document" in rows.columns else None
    _, pairs, segment, document = in_order(segment, document)
    if "testset" in rows.columns:
        named = coded([rows.columns["testset"]])
        if testset is None and named.distinct > 1:
            raise ReplituneError(
                f"{named.distinct} test sets in one table",
                file=file,
                found=brief(named.names),
                fix=f"choose one: {file.name}#{named.names[0]}",
            )
        if testset is not None and testset not in named.names:
            raise ReplituneError("no such test set", file=file, found=testset, expected=brief(named.names))
        if testset is not None:
            kept = named.codes == named.names.index(testset)
            there = np.zeros(len(pairs), bool)
            there[in_order(segment, document)[0][kept]] = True
            pairs = pairs[there]
    ids = [segment.names[n] for n in pairs[:, 1]]
    if document is None:
        return FileContent(path, [ids])
    documents = [document.names[d] for d in pairs[:, 0]]
    return FileContent(path, [ids], documents=documents)
