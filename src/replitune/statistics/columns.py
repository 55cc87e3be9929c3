"""Columns of a store's table as arrays, whatever types their writer chose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric, Metric


def strings(
    column: pa.ChunkedArray, path: Path, name: str, nullable: bool = False
) -> tuple[NDArray[np.int64], list[str]]:
    """Codes (rows,) in sorted order of the names; integers count as names; null is -1."""
    if column.null_count and not nullable:
        raise ReplituneError(f"null in column `{name}`", file=path)
    if pa.types.is_integer(column.type):
        numbers = np.asarray(column)
        unique, codes = np.unique(numbers, return_inverse=True)
        return codes.astype(np.int64), [str(value) for value in unique]
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        raise ReplituneError(
            f"column `{name}` is not text", file=path, found=str(column.type), expected="strings"
        )
    encoded = column.cast(pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    try:
        names = encoded.chunk(0).dictionary.to_pylist() if encoded.num_chunks else []
    except UnicodeDecodeError as error:  # pyarrow reads texts as bytes
        raise ReplituneError(
            f"text in column `{name}` that is not UTF-8",
            file=path,
            found=str(error),
            fix="write the file again",
        ) from None
    raw = np.concatenate(
        [np.asarray(pc.fill_null(chunk.indices, -1), np.int64) for chunk in encoded.chunks]
    )
    used = np.unique(raw[raw >= 0])
    sorted_names = sorted(names[code] for code in used)
    position = {value: code for code, value in enumerate(sorted_names)}
    translate = np.full(len(names) + 1, -1, np.int64)
    for code in used:
        translate[code] = position[names[code]]
    return translate[raw], sorted_names


def integers(column: pa.ChunkedArray, path: Path, name: str) -> NDArray[np.int64]:
    if column.null_count or not pa.types.is_integer(column.type):
        raise ReplituneError(f"column `{name}` must hold whole numbers", file=path, found=str(column.type))
    return np.asarray(column).astype(np.int64)


def statistics(table: pa.Table, metric: Metric, path: Path) -> NDArray:
    """(rows, K), checked finite; `count` may be left out of a mean metric."""
    names = list(metric.statistic_names)
    kind = np.int32 if metric.integer_statistics else np.float64
    values = np.empty((table.num_rows, len(names)), kind)
    for k, name in enumerate(names):
        if name not in table.column_names:
            if name == "count" and isinstance(metric, MeanMetric):
                values[:, k] = 1
                continue
            raise ReplituneError(
                f"column `{name}` is missing",
                file=path,
                found=", ".join(table.column_names),
                expected=f"the statistics of {metric.id}: {', '.join(names)}",
            )
        column = table[name]
        number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if not number or column.null_count:
            raise ReplituneError(
                f"column `{name}` must hold numbers without nulls",
                file=path,
                found=f"{column.type}, {column.null_count} nulls",
            )
        numbers = np.asarray(column)
        if not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise ReplituneError(
                f"column `{name}` has a value that is not finite",
                file=path,
                found=f"{numbers[row]} in row {row}",
                expected="finite numbers",
            )
        if metric.integer_statistics and not np.array_equal(numbers.astype(kind), numbers):
            raise ReplituneError(f"column `{name}` must hold counts below 2**31", file=path)
        values[:, k] = numbers
    _require_possible(values, metric, path)
    return values


LENGTHS = ("ref_len", "ref_length")
"""Words of the references."""


def _require_possible(values: NDArray, metric: Metric, path: Path) -> None:
    """Refuse statistics (rows, K) that no text has."""
    names = metric.statistic_names
    column = dict(zip(names, values.T, strict=True))
    signed = metric.signed_statistics
    if signed is None:
        signed = () if metric.integer_statistics else names
    no = np.zeros(len(values), bool)
    rules = [(column[name] < 0, f"`{name}` of at least 0") for name in names if name not in signed]
    rules += [(column[a] > column[b], f"`{a}` at most `{b}`") for a, b in metric.bounds()]
    for name in {*names}.intersection(LENGTHS):
        worded = values.any(axis=1)
        rules.append((no if column[name].any() else worded, f"a `{name}` above 0 in some segment"))
    for bad, expected in rules:
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            shown = ", ".join(f"{name} {value:g}" for name, value in zip(names, values[row], strict=True))
            raise ReplituneError(
                f"statistics of {metric.id} that no text has",
                file=path,
                found=f"row {row}: {shown}",
                expected=expected,
                fix="make them again with `replitune score`",
            )
