"""Tables of scores as Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.readers.columns import Choice
from replitune.readers.interface import Beginning
from replitune.readers.tabular import Numbered, Tabular
from replitune.running.parquet import parquet_file


class Parquet(Tabular):
    """Rows are numbered from 1, in place of lines."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return beginning.data[:4] == b"PAR1"

    @staticmethod
    def header(path: Path) -> tuple[list[str], dict[str, Any]]:
        try:
            content = parquet_file(path)
            batch = next(content.iter_batches(1), None)
            first = batch.slice(0, 1).to_pylist() if batch is not None else []
        except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
            raise ReplituneError(
                "not a readable Parquet file", file=path, found=str(error).split("\n")[0][:300]
            ) from None
        return list(content.schema_arrow.names), first[0] if first else {}

    @staticmethod
    def load(path: Path, choice: Choice) -> pa.Table:
        columns = [name for _, name in choice.columns]
        schema = parquet_file(path).schema_arrow
        kinds = (pa.string(), pa.large_string())
        texts = [name for name in columns if schema.field(name).type in kinds]
        return parquet_file(path, read_dictionary=texts, memory_map=True).read(columns=columns)

    @staticmethod
    def numbered(path: Path) -> Iterator[Numbered]:
        batches = (batch.to_pylist() for batch in parquet_file(path).iter_batches())
        yield from enumerate(chain.from_iterable(batches), start=1)

    @classmethod
    def explain(cls, path: Path, choice: Choice) -> None:
        """Nothing to say: columns have types, so no cell has another."""

    @classmethod
    def lines(cls, path: Path, rows: Sequence[int]) -> list[int]:
        return [row + 1 for row in rows]
