"""Results on disk: rows of pairs and of systems, histograms of distributions, rows of studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from replitune.errors import ReplituneError
from replitune.running.files import atomic_path
from replitune.significance.base import TestResult

TESTS = pa.schema(
    [
        ("method", pa.string()),
        ("a", pa.string()),
        ("b", pa.string()),
        ("score_a", pa.float64()),
        ("score_b", pa.float64()),
        ("delta", pa.float64()),
        ("se", pa.float64()),
        ("df", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("p", pa.float64()),
        ("p_adjusted", pa.float64()),
        ("p_min", pa.float64()),
        ("exact", pa.bool_()),
        ("alternative", pa.string()),
        ("unit", pa.string()),
        ("aggregation", pa.string()),
        ("pairing", pa.string()),
        ("replica_a", pa.string()),
        ("replica_b", pa.string()),
        ("n_a", pa.int32()),
        ("n_b", pa.int32()),
        ("segments", pa.int32()),
        ("documents", pa.int32()),
        ("samples", pa.int64()),
        ("seed", pa.int64()),
        ("generalises_to", pa.string()),
        ("won", pa.float64()),
        ("lost", pa.float64()),
        ("tied", pa.float64()),
        ("note", pa.string()),
    ]
)
"""`won`, `lost` and `tied`: shares of the test sets drawn, from B's side, where a test counts
them."""

COUNTED = ("won", "lost", "tied")

SYSTEMS = pa.schema(
    [
        ("system", pa.string()),
        ("statistic", pa.string()),
        ("replica", pa.string()),
        ("value", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("method", pa.string()),
        ("n", pa.int32()),
        ("note", pa.string()),
    ]
)

HISTOGRAMS = pa.schema(
    [
        ("method", pa.string()),
        ("a", pa.string()),
        ("b", pa.string()),
        ("bin", pa.int32()),
        ("left", pa.float64()),
        ("right", pa.float64()),
        ("count", pa.int64()),
    ]
)


@dataclass(frozen=True)
class SystemRow:
    """One row of `<metric>.systems.parquet`."""

    system: str
    statistic: str
    """avg, s_sel, s_dev, s_test, median_replica, ci, or score (of one replica)."""
    value: float | None
    method: str | None = None
    n: int | None = None
    replica: str | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class OverlapRow:
    """How far the intervals of two systems overlap: a row of `<metric>.overlaps.parquet`."""

    a: str
    b: str
    method: str
    """Of the interval: riezler, clark, fu."""
    ratio: float | None
    note: str | None = None


def write_tests(path: str | Path, results: Sequence[TestResult]) -> None:
    """One row per (pair, method); the distributions go to :func:`write_histograms`."""
    _write(path, [{**vars(result), **result.details} for result in results], TESTS)


def write_system_rows(path: str | Path, rows: Sequence[SystemRow]) -> None:
    _write(path, [vars(row) for row in rows], SYSTEMS)


def write_histograms(path: str | Path, results: Iterable[TestResult]) -> None:
    """Distributions as 200 equal bins, the observed difference in range."""
    from replitune.significance.run import histogram

    columns: dict[str, list[object]] = {name: [] for name in HISTOGRAMS.names}
    for result in results:
        counts, edges = histogram(result)
        bins = len(counts)
        columns["method"] += [result.method] * bins
        columns["a"] += [result.a] * bins
        columns["b"] += [result.b] * bins
        columns["bin"] += range(bins)
        columns["left"] += edges[:-1].tolist()
        columns["right"] += edges[1:].tolist()
        columns["count"] += counts.tolist()
    table = pa.table(columns, schema=HISTOGRAMS)
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


Row = TypeVar("Row")


def row_schema(kind: type) -> pa.Schema:
    """The columns of a dataclass of numbers, words, lists of numbers and None."""
    types: dict[Any, pa.DataType] = {
        float: pa.float64(),
        int: pa.int64(),
        bool: pa.bool_(),
        str: pa.string(),
        list[float]: pa.list_(pa.float64()),
    }
    hints = get_type_hints(kind)
    columns = []
    for field in fields(kind):
        hint = hints[field.name]
        choices = (hint, *get_args(hint)) if hint not in types else (hint,)
        columns.append((field.name, next(types[t] for t in choices if t in types)))
    return pa.schema(columns)


def write_rows(path: str | Path, rows: Sequence[Any], kind: type) -> None:
    """Rows of the dataclass `kind` as Parquet."""
    _write(path, [vars(row) for row in rows], row_schema(kind))


def read_rows(path: str | Path, kind: type[Row]) -> list[Row]:
    return [kind(**row) for row in _read(path, row_schema(kind))]


def _write(path: str | Path, rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> None:
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    with atomic_path(path) as temporary:
        pq.write_table(pa.table(columns, schema=schema), temporary, compression="zstd")


def read_tests(path: str | Path) -> list[TestResult]:
    names = {field.name for field in fields(TestResult)}
    return [
        TestResult(
            **{key: value for key, value in row.items() if key in names},
            details={key: row[key] for key in COUNTED if row[key] is not None},
        )
        for row in _read(path, TESTS)
    ]


def read_system_rows(path: str | Path) -> list[SystemRow]:
    return [SystemRow(**row) for row in _read(path, SYSTEMS)]


def read_histograms(path: str | Path) -> list[dict[str, object]]:
    return _read(path, HISTOGRAMS)


def _read(path: str | Path, schema: pa.Schema) -> list[dict]:
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        raise ReplituneError(
            "not a readable Parquet file",
            file=path,
            found=str(error).split("\n")[0],
            fix="remove it and run the workflow again",
        ) from None
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise ReplituneError(
            f"column `{missing[0]}` is missing", file=path, found=", ".join(table.column_names)
        )
    return table.select(schema.names).to_pylist()
