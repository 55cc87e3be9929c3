"""What commands on segment statistics share: reading one test set, and rows as Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from replitune.errors import ReplituneError
from replitune.files import atomic_path
from replitune.stats.store import SegmentStatistics, read_stores


def one_testset(store: str, testset: str | None) -> list[SegmentStatistics]:
    """All metrics of one test set: of the only one, or of `testset`."""
    stores = read_stores(store)
    if testset is not None and any(item.testset for item in stores):
        stores = [item for item in stores if item.testset in (testset, "")]
    names = {item.testset for item in stores}
    if not stores or len(names) > 1:
        raise ReplituneError(
            "exactly one test set is needed",
            file=store,
            found=", ".join(sorted(names)) or "none",
            fix="choose one with --testset",
        )
    return stores


def write_rows(path: str | Path, rows: Sequence[Any], kind: type) -> None:
    """Rows of a dataclass of numbers, words and None as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    hints = get_type_hints(kind)
    types = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string()}
    columns, schema = {}, []
    for field in fields(kind):
        plain = next(
            t
            for t in types
            if t in getattr(hints[field.name], "__args__", ()) or (hints[field.name] is t)
        )
        schema.append((field.name, types[plain]))
        columns[field.name] = [getattr(row, field.name) for row in rows]
    with atomic_path(path) as temporary:
        pq.write_table(pa.table(columns, schema=pa.schema(schema)), temporary, compression="zstd")
