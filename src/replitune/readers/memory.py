"""Tables of scores in memory: from pandas or pyarrow, as columns or as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.readers.columns import choose
from replitune.readers.interface import ScoreRows, brief
from replitune.readers.settings import ColumnNames
from replitune.readers.tabular import rows_of

NAME = "the table"
EXPECTED = "a DataFrame, a pyarrow table, a mapping of columns, records, or paths"


def rows_in_memory(table: Any, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
    """The rows of a DataFrame, a pyarrow table, a mapping of columns, or records, counted from 0."""
    arrow = _as_arrow(table)
    first = arrow.slice(0, 1).to_pylist()
    choice = choose(arrow.column_names, first[0] if first else {}, names, NAME, metrics)
    return rows_of(arrow, choice, NAME, list, is_file=False)


def _as_arrow(table: Any) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, list | tuple):
        table = _columns(table)
    if hasattr(table, "reset_index") and any(name is not None for name in table.index.names):
        table = table.reset_index()
    columns = {}
    if not hasattr(table, "items"):
        raise ReplituneError("not a table", found=type(table).__name__, expected=EXPECTED)
    for name, column in table.items():
        try:
            # pandas' NaN is a missing value
            columns[str(name)] = pa.array(column, from_pandas=True)
        except (pa.ArrowException, TypeError) as error:
            raise ReplituneError(
                f"column `{name}` holds values of several kinds",
                found=brief(_of_each_kind(column)) or str(error).split("\n")[0],
                expected="texts or numbers, not both",
            ) from None
    try:
        return pa.table(columns)
    except pa.ArrowException as error:
        raise ReplituneError("columns of different lengths", found=str(error)) from None


def _columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Mappings, a row each, as columns; what a row does not have is empty."""
    names: dict[str, None] = {}
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise ReplituneError("not a table", found=f"row {row}: {record!r}"[:200], expected=EXPECTED)
        names.update(dict.fromkeys(map(str, record)))
    return {name: [record.get(name) for record in records] for name in names}


def _of_each_kind(column: Any) -> list[str]:
    """The first value of each kind, with its row."""
    examples: dict[type, str] = {}
    for row, value in enumerate(column):
        if value is not None:
            examples.setdefault(type(value), f"row {row}: {value!r}")
    return list(examples.values())


def columns_of_arrays(
    scores: Any, systems: Sequence[str] | None, documents: Sequence[Any] | None, metric: str
) -> pa.Table:
    """Scores (systems, replicas[, segments]), or (replicas[, segments]) by system, as a table of rows; with
    samples of runs (systems, runs, samples, segments), or (runs, samples, segments) by system."""
    if isinstance(scores, Mapping):
        if systems is not None:
            raise ReplituneError("names of systems given twice", fix="leave `systems` out")
        named = {str(name): np.asarray(array) for name, array in scores.items()}
    else:
        array = np.asarray(scores)
        if array.ndim not in (2, 3, 4):
            raise ReplituneError(
                "not an array of systems x runs x segments",
                found=f"shape {array.shape}",
                expected="three axes, two without segments, or four with samples of runs",
            )
        names = [_letter(s) for s in range(len(array))] if systems is None else list(systems)
        if len(names) != len(array) or len(set(names)) != len(names):
            raise ReplituneError(
                "`systems` does not name each system once",
                found=", ".join(map(str, names)),
                expected=f"{len(array)} different names",
            )
        named = dict(zip(map(str, names), array, strict=True))
    shapes = {name: array.shape for name, array in named.items()}
    nested = all(array.ndim == 3 for array in named.values())
    segments = {shape[2:] if nested else shape[1:] for shape in shapes.values()}
    if len(segments) != 1 or len(next(iter(segments))) > 1:
        raise ReplituneError(
            "systems have different segments",
            found=", ".join(f"{name}: {shape}" for name, shape in shapes.items()),
            expected="an array (runs, segments) of each, with the same segments",
        )
    for name, array in named.items():
        if array.dtype.kind not in "fiub":
            raise ReplituneError(f"the scores of {name} are not numbers", found=str(array.dtype))
    sizes = [array.size for array in named.values()]
    (shape,) = segments
    per_run = shape[0] if shape else 1
    samples = {name: array.shape[1] if nested else 1 for name, array in named.items()}
    outputs = sum(len(array) * samples[name] for name, array in named.items())
    columns = {
        "system": pa.DictionaryArray.from_arrays(
            np.repeat(np.arange(len(named), dtype=np.int32), sizes), list(named)
        ),
        "replica": np.concatenate(
            [np.repeat(np.arange(1, len(a) + 1), samples[name] * per_run) for name, a in named.items()]
        ),
        metric: np.concatenate([a.astype(np.float64).ravel() for a in named.values()]),
    }
    if nested:
        columns["sample"] = np.concatenate(
            [
                np.tile(np.repeat(np.arange(1, samples[name] + 1), per_run), len(a))
                for name, a in named.items()
            ]
        )
    if shape:
        columns["segment"] = np.tile(np.arange(per_run), outputs)
    if documents is not None:
        if not shape or len(documents) != per_run:
            raise ReplituneError(
                "not one document for each segment",
                found=f"{len(documents)} documents",
                expected=f"{per_run} segments" if shape else "scores of segments",
            )
        columns["document"] = list(map(str, documents)) * outputs
    return pa.table(columns)


def _letter(s: int) -> str:
    """A, B, ..., Z, A2, ..."""
    return chr(ord("A") + s % 26) + (str(s // 26 + 1) if s >= 26 else "")
