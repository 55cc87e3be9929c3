"""Opens Parquet files from any source safely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from replitune.running.files import memory, require_regular

NARROWEST = 4
"""The fewest bytes of a value in memory: an index into texts, or a small number."""


def parquet_file(path: str | Path, **options: Any) -> pq.ParquetFile:
    """The file, opened for reading; `pa.ArrowException` if it is damaged.

    Reading starts by allocating memory for all rows that the file claims to have, so one wrong bit
    could use up all memory.
    """
    require_regular(path)
    try:
        file = pq.ParquetFile(path, **options)
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"names of columns: {error}") from None
    metadata = file.metadata
    # metadata of columns is not read: if it is damaged, reading it crashes the process
    rows = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise pa.ArrowInvalid("its numbers of rows contradict each other")
    if rows * metadata.num_columns * NARROWEST > memory():
        raise pa.ArrowInvalid(
            f"{rows:,} rows of {metadata.num_columns} columns are more than the memory of this machine"
        )
    return file
