"""How a replica was tuned: ``history.parquet``, a row per decoding of dev."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replitune.running.files import atomic_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Iteration:
    """One iteration of the loop around a decoder."""

    iteration: int
    dev_score: float
    """Corpus score of the decoder's output under this iteration's weights."""
    pool_score: float | None
    """Score of the next weights on the pool; None after the last decoding."""
    pool_size: int
    """Including what this iteration's decoding, and its tuning on lattices, added."""
    new_hypotheses: int
    change: float | None
    """Largest change of a weight by tuning, both vectors with L1 norm 1."""
    seconds: float
    tune_seconds: float


def write_history(path: str | Path, rows: Sequence[Any], kind: type = Iteration) -> None:
    """Write a table with the fields of the dataclass `kind` as columns, perhaps without rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = {
        "iteration": pa.int32(),
        "epoch": pa.int32(),
        "update": pa.int64(),
        "pool_size": pa.int64(),
        "new_hypotheses": pa.int64(),
    }
    columns = {f.name: [getattr(row, f.name) for row in rows] for f in fields(kind)}
    schema = pa.schema([(name, whole.get(name, pa.float64())) for name in columns])
    with atomic_path(path) as temporary:
        pq.write_table(pa.table(columns, schema=schema), temporary)


def read_dev_scores(path: str | Path) -> NDArray[np.float64] | None:
    """Dev score by iteration; None if the history has no dev scores."""
    import numpy as np

    from replitune.running.parquet import parquet_file

    with parquet_file(path) as file:
        if "dev_score" not in file.schema_arrow.names:
            return None
        column = file.read(columns=["dev_score"])["dev_score"]
    scores = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return scores if np.isfinite(scores).any() else None
