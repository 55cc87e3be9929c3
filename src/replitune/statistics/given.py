"""Rows of scores as the segment statistics of one test set; everything that does not fit is reported.

Given scores become a metric that is a mean of segment scores (`metrics.base.MeanMetric`): each score
is a statistic, with a count of 1. If there is only one score per run, the test set has one segment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune import __version__
from replitune.errors import ReplituneError, did_you_mean, option
from replitune.metrics.base import MeanMetric
from replitune.readers.arranged import Arranged
from replitune.readers.directions import higher_is_better
from replitune.readers.interface import ScoreRows, brief
from replitune.registry import Entry
from replitune.replicas import Design
from replitune.running.files import sha256_lines
from replitune.statistics.segments import SegmentStatistics, StoreMetadata
from replitune.statistics.systems import SystemStatistics

Directions = Mapping[str, bool] | bool | None
"""Whether higher is better: for all metrics, or for each one that was named."""


@dataclass(frozen=True)
class Given:
    """One test set under each metric."""

    testset: str | None
    """Its name, if the table has one."""
    stores: list[SegmentStatistics]
    segments: list[str]
    """Their ids, in order."""
    read_as: tuple[str, ...]
    warnings: tuple[str, ...]
    undirected: tuple[str, ...] = ()
    """Metrics for which nothing says whether higher or lower is better; higher is assumed."""
    design: Design = "runs"
    """What the table's columns say that replicas are."""

    @property
    def run_level(self) -> bool:
        """Whether there is one score for each run, and no segments."""
        return self.stores[0].segments == 1


def arrange(
    tables: Sequence[ScoreRows],
    *,
    metrics: Sequence[str] | None = None,
    testset: str | None = None,
    directions: Directions = None,
    allow_missing: bool = False,
    tuners: Collection[str] = (),
) -> Given:
    """The statistics of the chosen test set and metrics. `tuners`: their names, which runs may be
    named after. `directions`: for metrics that it does not name, the direction is guessed from the name."""
    table = Arranged(tables, tuners)
    name, rows = table.testset(testset)
    chosen = _metrics(table, table.metrics_of(rows), metrics, directions)
    grid = table.grid(chosen, rows, allow_missing=allow_missing)
    names, numbers = None, np.arange(len(grid.segments), dtype=np.int32)
    if table.documents is not None:  # the segments of each follow each other
        starts = np.r_[True, grid.segments[1:, 0] != grid.segments[:-1, 0]]
        names = tuple(table.documents.names[d] for d in grid.segments[starts, 0])
        numbers = np.cumsum(starts, dtype=np.int32) - 1
    lines = table.segment_names(grid.segments)
    runs_of = table.runs_of_systems(grid.runs)
    read_as, undirected, stores = [*table.read_as], [], []
    for m, scores in grid.values.items():
        id = table.metrics.names[m]
        of_system = {system: scores[own] for system, own in runs_of.items()}
        _one_scale(table, id, of_system)
        higher = _direction(id, directions, float(scores.max(initial=0.0)))
        if higher is None:
            undirected.append(id)
        elif not higher and not _said(id, directions):
            read_as.append(f"{id}: lower is better, by its name ({option('higher_is_better', [id])})")
        metric = MeanMetric(id, higher is not False)
        systems = {}
        for system, own in of_system.items():
            outputs = grid.runs[runs_of[system], 1].tolist()
            statistics = np.ones((*own.shape, 2))
            statistics[..., 0] = own
            systems[system] = SystemStatistics(
                system,
                tuple(table.outputs.ids.names[r] for r in outputs),
                tuple(table.outputs.groups[r] for r in outputs),
                statistics,
            )
        signature = f"{metric.signature()}|scores:{_sha256(of_system)[:16]}|version:{__version__}"
        metadata = StoreMetadata(
            metric=Entry("mean", {"higher_is_better": False} if higher is False else {}, id).word,
            id=id,
            signature=signature,
            direction=-1 if higher is False else 1,
            testset=name or "",
            reference_sha256=sha256_lines(lines),  # statistics of other segments are not taken for these
            decode_sha256={},
        )
        by_system = dict.fromkeys(systems, metadata)
        stores.append(SegmentStatistics(name or "", metric, signature, systems, numbers, names, by_system))
    return Given(
        name, stores, lines, tuple(read_as), grid.warnings, tuple(undirected), table.outputs.design
    )


def _metrics(
    table: Arranged, known: Sequence[str], wanted: Sequence[str] | None, directions: Directions
) -> list[str]:
    """The chosen metrics, of those that the table has."""
    for name in (*(wanted or ()), *(directions if isinstance(directions, Mapping) else ())):
        if name not in known:
            raise ReplituneError(
                f"no metric is called {name!r} in this table",
                file=table.tables[0].file,
                found=", ".join(known),
                fix=did_you_mean(name, known, "{!r}"),
            )
    return list(dict.fromkeys(wanted or known))


def _said(metric: str, directions: Directions) -> bool:
    return isinstance(directions, bool) or (directions is not None and metric in directions)


def _direction(metric: str, directions: Directions, greatest: float) -> bool | None:
    """Whether higher is better, as the user says, or else as the metric's name does; `greatest`: its
    largest value."""
    if isinstance(directions, bool):
        return directions
    if directions and metric in directions:
        return directions[metric]
    return higher_is_better(metric, greatest)


def _one_scale(table: Arranged, metric: str, own: Mapping[str, NDArray[np.float64]]) -> None:
    """Refuse systems with scores from 0 to 1 beside others with scores from 0 to 100."""
    ones = [name for name, values in own.items() if values.min() >= 0 and 0 < values.max() <= 1]
    hundreds = [name for name, values in own.items() if values.min() >= 0 and 1 < values.max() <= 100]
    least = min((own[name].mean() for name in hundreds), default=0.0)
    if ones and hundreds and least > 20 * max(own[name].mean() for name in ones):
        raise ReplituneError(
            f"systems on different scales of {metric}",
            file=table.tables[0].file,
            found=f"{brief(ones)} from 0 to 1, {brief(hundreds)} from 0 to 100",
            fix="bring all scores to one scale",
        )


def _sha256(scores: Mapping[str, NDArray[np.float64]]) -> str:
    """Of the scores of all systems."""
    digest = hashlib.sha256()
    for name in sorted(scores):
        digest.update(scores[name].tobytes())
    return digest.hexdigest()
