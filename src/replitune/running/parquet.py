"""Parquet files of whatever origin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from replitune.running.files import memory

NARROWEST = 4
"""Bytes of a value in memory: of an index into texts, or of a small number."""


def parquet_file(path: str | Path, **options: Any) -> pq.ParquetFile:
    """The file, to be read; `pa.ArrowException` where it is damaged.

    Columns have room for as many rows as the file says before the first one is read, so one wrong
    bit could take all memory.
    """
    try:
        file = pq.ParquetFile(path, **options)
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"names of columns: {error}") from None
    metadata = file.metadata
    # not of its columns: where these are damaged, to ask for them ends the process
    rows = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise pa.ArrowInvalid("its numbers of rows contradict each other")
    if rows * metadata.num_columns * NARROWEST > memory():
        raise pa.ArrowInvalid(
            f"{rows:,} rows of {metadata.num_columns} columns are more than the memory of this machine"
        )
    return file
