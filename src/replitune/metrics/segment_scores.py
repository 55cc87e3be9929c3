"""The content of a file of segment scores, by system, replica and segment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.readers.coding import WHOLE, Coded, coded, in_rows, together
from replitune.readers.interface import ScoreRows, brief
from replitune.readers.registry import read_file
from replitune.readers.settings import ColumnNames

Cells = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Segments, and the score of each, NaN where there is none."""


@dataclass(frozen=True)
class SegmentScores:
    """The content of a file of segment scores."""

    path: Path
    scores: dict[str, dict[str, Cells]]
    """system -> replica -> segments and scores."""
    documents: dict[int, str] | None
    """segment -> document, when the file has the column."""


def read_segment_scores(
    path: str | Path, metric: str | None = None, owner: str | None = None
) -> SegmentScores:
    """Read and check a file of segment scores. `metric` chooses from a file with several. `owner` is the
    system of all rows, whatever the file calls it."""
    rows = read_file(path, ColumnNames(), () if metric is None else (metric,))
    rows = rows if owner is None else rows.of_system(owner)
    kept = _rows_of(rows, metric)
    missing = [role for role in ("system", "segment") if not rows.has(role)]
    if missing:
        raise ReplituneError(
            f"no column {', '.join(missing)}",
            file=path,
            found=", ".join(rows.called.values()),
            expected="system, replica, segment, score",
        )
    system, replica, segment = (_coded(rows, role) for role in ("system", "replica", "segment"))
    numbers = _numbers(rows, segment)
    run, runs = together(system, replica)
    cell = run.astype(np.int64) * (int(numbers.max()) + 1) + numbers
    order = kept[np.argsort(cell[kept], kind="stable")]
    again = order[1:][cell[order][1:] == cell[order][:-1]]
    if len(again):
        row = int(again.min())
        named = f"system {system.names[system.codes[row]]}, run "
        named += f"{replica.names[replica.codes[row]]}, segment {numbers[row]}"
        raise ReplituneError(
            f"{named} occurs twice", file=path, line=rows.line([row])[0], expected="one score each"
        )
    values = in_rows([rows.columns["score"]])
    scores: dict[str, dict[str, Cells]] = {}
    starts = np.searchsorted(run[order], np.arange(len(runs) + 1))
    for r, (s, k) in enumerate(runs):
        own = order[starts[r] : starts[r + 1]]
        if len(own):
            of_system = scores.setdefault(system.names[s], {})
            of_system[replica.names[k]] = (numbers[own], values[own])
    return SegmentScores(Path(path), scores, _documents(rows, numbers))


def _coded(rows: ScoreRows, role: str) -> Coded:
    """A column, or the one value of all rows; without runs, each system has one."""
    if rows.has(role):
        return coded([rows.column(role)])
    return Coded(np.zeros(rows.rows, np.int32), ["1"])


def _rows_of(rows: ScoreRows, metric: str | None) -> NDArray[np.int64]:
    """The rows of the metric; all rows if the file has only one metric, or names none."""
    if "metric" not in rows.columns:
        return np.arange(rows.rows)
    metrics = coded([rows.columns["metric"]])
    if metrics.distinct == 1:
        return np.arange(rows.rows)
    if metric not in metrics.names:
        raise ReplituneError(
            f"{metrics.distinct} metrics in one file",
            file=rows.name,
            found=brief(metrics.names),
            fix=f"choose one by its name: external:file=...,id={metrics.names[0]}",
        )
    return np.flatnonzero(metrics.codes == metrics.names.index(metric))


def _numbers(rows: ScoreRows, segment: Coded) -> NDArray[np.int64]:
    """The number of each row's segment (R,)."""
    ids = np.array([int(n) if WHOLE.fullmatch(n) else -1 for n in segment.names], np.int64)
    if (ids < 0).any():
        row = int(np.flatnonzero(ids[segment.codes] < 0)[0])
        raise ReplituneError(
            "the segment is not a whole number",
            file=rows.name,
            line=rows.line([row])[0],
            found=repr(segment.names[segment.codes[row]]),
            expected="its place in the test set, from 0",
        )
    return ids[segment.codes]


def _documents(rows: ScoreRows, numbers: NDArray[np.int64]) -> dict[int, str] | None:
    """The document of each segment."""
    if "document" not in rows.columns:
        return None
    document = coded([rows.columns["document"]])
    _, first, at = np.unique(numbers, return_index=True, return_inverse=True)
    other = np.flatnonzero(document.codes != document.codes[first][at])
    if len(other):
        row = int(other[0])
        names = [document.names[document.codes[i]] for i in (first[at[row]], row)]
        raise ReplituneError(
            f"segment {numbers[row]} is in two documents",
            file=rows.name,
            line=rows.line([row])[0],
            found=" and ".join(names),
        )
    return {int(numbers[row]): document.names[document.codes[row]] for row in first}
