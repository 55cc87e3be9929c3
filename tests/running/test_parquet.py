"""What a damaged Parquet file says of its size is not believed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replitune.errors import ReplituneError
from replitune.running.parquet import parquet_file
from replitune.statistics.store import read_systems

TABLE = pa.table(
    {
        "system": ["a"] * 4,
        "replica": ["1", "1", "2", "2"],
        "segment": [0, 1, 0, 1],
        "score": [0.1, 0.2, 0.3, 0.4],
    }
)


def test_a_number_of_rows_that_is_wrong_by_a_bit_is_refused(tmp_path: Path):
    path, damaged = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(TABLE, path)
    assert parquet_file(path).read() == TABLE
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    most = 0
    for place in range(footer, len(data) - 8):
        for bit in range(8):
            flipped = bytes([data[place] ^ 1 << bit])
            damaged.write_bytes(data[:place] + flipped + data[place + 1 :])
            try:
                said = pq.read_metadata(damaged)
                rows = [said.num_rows, said.row_group(0).num_rows]
            except (pa.ArrowException, UnicodeDecodeError, OSError, IndexError):
                continue
            if rows != [4, 4]:
                most = max(most, *rows)
                with pytest.raises(ReplituneError, match="numbers of rows contradict each other"):
                    read_systems([damaged])
    assert most > 4, "there were such bits"


def test_more_rows_than_memory_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    monkeypatch.setattr("replitune.running.parquet.memory", lambda: 63)
    with pytest.raises(ReplituneError, match="4 rows of 4 columns are more than the memory"):
        read_systems([path])
