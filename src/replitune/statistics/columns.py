"""Columns of a store's table as arrays, whatever types their writer chose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric, Metric


class Names:
    """Numbers for the names in one column, in order of appearance; the column is read batch by batch."""

    def __init__(self, path: Path, column: str, nullable: bool = False) -> None:
        self._path, self._column, self._nullable = path, column, nullable
        self._known: dict[str | int, int] = {}
        self._dictionary: pa.Array | None = None
        self._entries: list[str | int | None] = []
        self._numbers = np.empty(0, np.int32)

    def numbers(self, column: pa.Array) -> NDArray[np.int32]:
        """(rows,) the numbers of names that are text or integers; null is -1."""
        if column.null_count and not self._nullable:
            raise ReplituneError(f"null in column `{self._column}`", file=self._path)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
        if not text and not pa.types.is_integer(kind):
            raise ReplituneError(
                f"column `{self._column}` is not text",
                file=self._path,
                found=str(column.type),
                expected="strings",
            )
        encoded = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
        if self._dictionary is None or not encoded.dictionary.equals(self._dictionary):
            self._read_entries(encoded.dictionary)
        places = np.asarray(pc.fill_null(encoded.indices.cast(pa.int32()), -1))
        used = np.zeros(len(self._entries) + 1, bool)
        used[places] = True
        for place in np.flatnonzero(used[:-1] & (self._numbers[:-1] < 0)):
            name = self._entries[place]
            if name is not None:
                self._numbers[place] = self._known.setdefault(name, len(self._known))
        return self._numbers[places]

    def _read_entries(self, dictionary: pa.Array) -> None:
        try:
            self._entries = dictionary.to_pylist()
        except UnicodeDecodeError as error:  # pyarrow decodes texts only here
            raise ReplituneError(
                f"text in column `{self._column}` that is not UTF-8",
                file=self._path,
                found=str(error),
                fix="write the file again",
            ) from None
        self._dictionary = dictionary
        self._numbers = np.full(len(self._entries) + 1, -1, np.int32)

    @property
    def keys(self) -> list[str | int]:
        """The names, by number."""
        return list(self._known)

    def sorted(self, numbers: NDArray[np.int32]) -> list[str]:
        """The names, sorted; `numbers` of the column are changed in place to positions in this order."""
        order = sorted(self._known)
        place = {key: k for k, key in enumerate(order)}
        numbers[:] = np.array([place[key] for key in self._known], np.int32)[numbers]
        return [str(key) for key in order]


def integers(column: pa.Array, path: Path, name: str) -> NDArray[np.int64]:
    if column.null_count or not pa.types.is_integer(column.type):
        raise ReplituneError(f"column `{name}` must hold whole numbers", file=path, found=str(column.type))
    return np.asarray(column).astype(np.int64)


def narrowed(counts: NDArray) -> NDArray:
    """The same counts, in 16 bits if these are enough."""
    if counts.dtype.kind != "i" or max(counts.max(initial=0), -counts.min(initial=0)) >= 2**15:
        return counts
    return counts.astype(np.int16)


def statistics(table: pa.RecordBatch, metric: Metric, path: Path, first: int) -> NDArray:
    """(rows, K) of a batch that starts at row `first`, checked finite; a mean metric may lack `count`."""
    names = list(metric.statistic_names)
    kind = np.int32 if metric.integer_statistics else np.float64
    values = np.empty((table.num_rows, len(names)), kind)
    for k, name in enumerate(names):
        if name not in table.schema.names:
            if name == "count" and isinstance(metric, MeanMetric):
                values[:, k] = 1
                continue
            raise ReplituneError(
                f"column `{name}` is missing",
                file=path,
                found=", ".join(table.schema.names),
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
                found=f"{numbers[row]} in row {first + row}",
                expected="finite numbers",
            )
        if metric.integer_statistics and not np.array_equal(numbers.astype(kind), numbers):
            raise ReplituneError(f"column `{name}` must hold counts below 2**31", file=path)
        values[:, k] = numbers
    _require_possible(values, metric, path, first)
    return narrowed(values)


LENGTHS = ("ref_len", "ref_length")
"""Statistics that count words of the references."""


def _require_possible(values: NDArray, metric: Metric, path: Path, first: int) -> None:
    """Refuse statistics (rows, K) that no text can have."""
    names = metric.statistic_names
    column = dict(zip(names, values.T, strict=True))
    signed = metric.signed_statistics
    if signed is None:
        signed = () if metric.integer_statistics else names
    rules = [(column[name] < 0, f"`{name}` of at least 0") for name in names if name not in signed]
    rules += [(column[a] > column[b], f"`{a}` at most `{b}`") for a, b in metric.bounds()]
    for bad, expected in rules:
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            refuse(values[row], f"row {first + row}", metric, path, expected)


def require_lengths(values: NDArray, replicas: Sequence[str], metric: Metric, path: Path) -> None:
    """Refuse statistics (n, N, K) that are not all 0 although the references have no words."""
    for k, name in enumerate(metric.statistic_names):
        if name in LENGTHS and not values[..., k].any() and values.any():
            r, i, _ = np.argwhere(values)[0]
            refuse(
                values[r, i],
                f"run {replicas[r]}, segment {i}",
                metric,
                path,
                f"a `{name}` above 0 in some segment",
            )


def refuse(statistics: NDArray, where: str, metric: Metric, path: Path, expected: str) -> NoReturn:
    named = zip(metric.statistic_names, statistics, strict=True)
    raise ReplituneError(
        f"impossible statistics of {metric.id}",
        file=path,
        found=f"{where}: " + ", ".join(f"{name} {value:g}" for name, value in named),
        expected=expected,
        fix="make them again with `replitune score`",
    )
