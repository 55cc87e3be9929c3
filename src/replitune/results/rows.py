"""Results as Parquet: histograms of distributions, rows of studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.running.files import atomic_path
from replitune.running.parquet import parquet_file
from replitune.significance.studies.power import Estimate

Histogram = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Edges (bins + 1,) and counts (bins,)."""
Pair = tuple[str, str, str]
"""System A, system B, and the test."""


HISTOGRAMS = pa.schema(
    [
        *((name, pa.string()) for name in ("method", "a", "b")),
        ("bin", pa.int32()),
        ("left", pa.float64()),
        ("right", pa.float64()),
        ("count", pa.int64()),
    ]
)


def write_histograms(path: str | Path, histograms: Mapping[Pair, Histogram]) -> None:
    """Distributions in bins of equal width, in whose range the observed difference is."""
    columns: dict[str, list[object]] = {name: [] for name in HISTOGRAMS.names}
    for (a, b, method), (edges, counts) in histograms.items():
        bins = len(counts)
        columns["method"] += [method] * bins
        columns["a"] += [a] * bins
        columns["b"] += [b] * bins
        columns["bin"] += range(bins)
        columns["left"] += edges[:-1].tolist()
        columns["right"] += edges[1:].tolist()
        columns["count"] += counts.tolist()
    _write(path, pa.table(columns, schema=HISTOGRAMS))


def read_histograms(path: str | Path) -> dict[Pair, Histogram]:
    table = _table(path, HISTOGRAMS)
    names = [table[name].to_pylist() for name in ("a", "b", "method")]
    left, right, count = (table[name].to_numpy() for name in ("left", "right", "count"))
    # a distribution begins at its bin 0
    starts = np.flatnonzero(table["bin"].to_numpy() == 0).tolist()
    return {
        (names[0][start], names[1][start], names[2][start]): (
            np.append(left[start:end], right[end - 1]),
            np.array(count[start:end], dtype=np.int64),
        )
        for start, end in pairwise([*starts, len(left)])
    }


Row = TypeVar("Row")
ENDS = {"value": "{}", "low": "{}_low", "high": "{}_high"}
"""The columns of an estimate, by its parts."""


def row_schema(kind: type) -> pa.Schema:
    """The columns for a class whose fields are numbers, strings, lists of numbers or None."""
    types: dict[Any, pa.DataType] = {
        float: pa.float64(),
        int: pa.int64(),
        bool: pa.bool_(),
        str: pa.string(),
        list[float]: pa.list_(pa.float64()),
    }
    columns = []
    for name, hint in get_type_hints(kind).items():
        choices = (hint, *get_args(hint)) if hint not in types else (hint,)
        known = [type(one) if isinstance(one, str) else one for one in choices]
        names = ENDS.values() if get_origin(hint) is Estimate else ("{}",)
        columns += [(each.format(name), next(types[t] for t in known if t in types)) for each in names]
    return pa.schema(columns)


def write_rows(path: str | Path, rows: Sequence[Any], kind: type) -> None:
    """Rows of the dataclass `kind` as Parquet."""
    write_table(path, [flat(row) for row in rows], row_schema(kind))


def flat(row: Any) -> dict[str, Any]:
    """The fields of a row; an estimate as three."""
    fields = {**vars(row)}
    for name, value in vars(row).items():
        if isinstance(value, Estimate):
            fields |= {column.format(name): getattr(value, part) for part, column in ENDS.items()}
    return fields


def read_rows(path: str | Path, kind: type[Row]) -> list[Row]:
    estimates = [name for name, hint in get_type_hints(kind).items() if get_origin(hint) is Estimate]
    rows = read_table(path, row_schema(kind))
    for row in rows:
        for name in estimates:
            row[name] = Estimate(*[row.pop(column.format(name)) for column in ENDS.values()])
    return [kind(**row) for row in rows]


def write_table(path: str | Path, rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> None:
    """Write the columns of `schema`."""
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    _write(path, pa.table(columns, schema=schema))


def _write(path: str | Path, table: pa.Table) -> None:
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_table(path: str | Path, schema: pa.Schema) -> list[dict[str, Any]]:
    """The rows of a file with these columns."""
    rows: list[dict[str, Any]] = _table(path, schema).to_pylist()
    return rows


def _table(path: str | Path, schema: pa.Schema) -> pa.Table:
    table = _read(path)
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise ReplituneError(
            f"column `{missing[0]}` is missing", file=path, found=", ".join(table.column_names)
        )
    return table.select(schema.names)


def _read(path: str | Path) -> pa.Table:
    try:
        return parquet_file(path).read()
    except (OSError, pa.ArrowException) as error:
        raise ReplituneError(
            "not a readable Parquet file",
            file=path,
            found=str(error).split("\n")[0],
            fix="remove it and run the workflow again",
        ) from None
