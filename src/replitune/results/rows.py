"""Results on disk: rows of pairs and of systems, histograms of distributions, rows of studies."""

from __future__ import annotations

import json
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
from replitune.significance.base import DETAILS, OF_PEOPLE
from replitune.significance.studies.power import Estimate

METADATA_KEY = b"replitune"

Histogram = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Edges (bins + 1,) and counts (bins,)."""
Pair = tuple[str, str, str]
"""System A, system B, and the test."""


def _schema(*columns: tuple[pa.DataType, str]) -> pa.Schema:
    """Columns by their type, names separated by blanks."""
    return pa.schema([(name, kind) for kind, names in columns for name in names.split()])


TESTS = _schema(
    (pa.string(), "method a b"),
    (pa.float64(), "score_a score_b delta se df ci_low ci_high ci_level p p_adjusted p_min"),
    (pa.bool_(), "exact"),
    (pa.string(), "correction alternative unit aggregation pairing replica_a replica_b"),
    (pa.int32(), "n_a n_b segments documents"),
    (pa.int64(), "samples seed"),
    (pa.string(), "scope run_kind"),
    (pa.float64(), " ".join(DETAILS)),
    (pa.map_(pa.string(), pa.float64()), "details"),
    (pa.string(), "note"),
)

JUDGED_TESTS = pa.unify_schemas([TESTS, _schema((pa.float64(), " ".join(OF_PEOPLE)))])
SYSTEMS = _schema(
    (pa.string(), "system statistic replica"),
    (pa.float64(), "value ci_low ci_high"),
    (pa.string(), "method"),
    (pa.int32(), "n"),
    (pa.string(), "note"),
)
"""`statistic` is avg, s_sel, s_dev, s_test, median_replica, next_run (its prediction
interval), ci, or score (of one replica)."""

OVERLAPS = _schema((pa.string(), "a b method"), (pa.float64(), "ratio"), (pa.string(), "note"))

VARIANCES = _schema(
    (pa.string(), "a b method source about"), (pa.float64(), "sd low high n share share_low share_high")
)
"""A row for each `significance.variances.VarianceRow` of each pair."""

HISTOGRAMS = _schema(
    (pa.string(), "method a b"), (pa.int32(), "bin"), (pa.float64(), "left right"), (pa.int64(), "count")
)

ANSWERS = _schema(
    (pa.string(), "a b method state ahead behind"),
    (pa.float64(), "size low high p"),
    (pa.string(), "sentence next answer"),
)
"""The answer about each pair; the column `answer` has all of it as JSON (docs/answer.schema.json)."""

NOTES = _schema(
    (pa.string(), "row code text run"),
    (pa.list_(pa.string()), "systems"),
    (pa.string(), "a b system statistic method"),
)
"""Notes, each with the row of the other files that it is about: a test, a system or an overlap."""


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


def write_table(
    path: str | Path,
    rows: Sequence[Mapping[str, object]],
    schema: pa.Schema,
    metadata: Mapping[str, object] | None = None,
) -> None:
    """Write the columns of `schema`, and `metadata` as JSON."""
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    table = pa.table(columns, schema=schema)
    if metadata is not None:
        text = json.dumps(metadata, sort_keys=True, ensure_ascii=False)
        table = table.replace_schema_metadata({METADATA_KEY: text.encode()})
    _write(path, table)


def _write(path: str | Path, table: pa.Table) -> None:
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_tests(path: str | Path) -> list[dict[str, Any]]:
    """Rows of tests; columns that only some tests report are in `details`."""
    table = read_table(path, JUDGED_TESTS if "judged" in _read(path).column_names else TESTS)
    for row in table:
        counted = {name: row.pop(name) for name in (*DETAILS, *OF_PEOPLE) if name in row}
        known = {name: value for name, value in counted.items() if value is not None}
        row["details"] = {**known, **dict(row["details"])}
    return table


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


def read_metadata(path: str | Path, names: Sequence[str]) -> dict[str, Any]:
    """These names from the metadata that `write_table` wrote."""
    metadata: dict[str, Any] = json.loads((_read(path).schema.metadata or {}).get(METADATA_KEY, b"{}"))
    missing = [name for name in names if name not in metadata]
    if missing:
        raise ReplituneError(
            f"`{missing[0]}` is missing in the metadata",
            file=path,
            found=", ".join(metadata) or "no metadata of replitune",
            expected=", ".join(names),
            fix="it was written by another version: run the workflow again",
        )
    return {name: metadata[name] for name in names}


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
