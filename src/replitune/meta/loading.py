"""From segment statistics and files of judgements to scores that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import codes
from replitune.errors import ReplituneError
from replitune.meta.human import HumanJudgements
from replitune.meta.human_cells import cell_means, note_on_counting
from replitune.meta.scores import Scores, human_scores
from replitune.significance.settings import require_system
from replitune.statistics.segments import SegmentStatistics


@dataclass(frozen=True)
class MetaData:
    """The same systems and segments by metrics and by humans."""

    metrics: list[Scores]
    humans: list[Scores]
    documents: NDArray[np.int32]
    notes: tuple[str, ...]


def load(
    stores: Sequence[SegmentStatistics],
    judgements: Sequence[HumanJudgements],
    *,
    systems: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    first_segment: int = 0,
    segments: str = "all",
) -> MetaData:
    """Match what was scored with what was judged.

    Without `systems`, both must have the same systems, except those in `exclude`. Where the
    judgements say which replicas were judged, the metrics use only these; otherwise a system's
    score is the mean over its replicas. With `segments` "judged", only those segments are kept of
    which people judged the outputs of every system.
    """
    first = stores[0]
    numbers = _numbers(first)
    every = {name for store in stores for name in store.systems} | _judged(judgements)
    for name in exclude:
        require_system(name, sorted(every))
    wanted = first.systems if systems is None else systems
    names = tuple(name for name in wanted if name not in exclude)
    for store in stores:
        if not np.array_equal(_numbers(store), numbers) or not np.array_equal(
            store.documents, first.documents
        ):
            raise ReplituneError(
                f"{store.metric.id} and {first.metric.id} were not scored on the same segments "
                "and documents"
            )
        for name in names:
            require_system(name, list(store.systems))
        extra = sorted((set(store.systems) - set(exclude)) ^ set(names))
        if systems is None and extra:
            raise ReplituneError(
                f"{store.metric.id} and {first.metric.id} have different systems",
                found=", ".join(extra),
                fix="score all systems with all metrics, or name them with --systems or --exclude",
            )
    notes = [note for given in judgements for note in given.notes]
    others = list(exclude) if systems is None else sorted(_judged(judgements) - set(names))
    if others:
        notes.append(f"systems left out as asked: {', '.join(others)}")
    humans: list[Scores] = []
    for given in judgements:
        for criterion in given.judgements:
            if criterion in {human.name for human in humans}:
                raise ReplituneError(f"{criterion} was judged in two files", file=given.path)
            means = cell_means(given, criterion, names, numbers, first=first_segment, others=others)
            humans.append(human_scores(criterion, names, means))
    if first_segment == 0:
        notes += note_on_counting([row for given in judgements for row in given.rows], numbers)
    humans.sort(key=lambda human: human.name)
    metrics = [
        Scores(store.metric.id, store.metric, tuple(store.systems[name] for name in names))
        for store in stores
    ]
    replicas = _judged_replicas(judgements, names)
    if replicas is not None:
        for metric in metrics:
            _check_replicas(metric, replicas, judgements[0])
        metrics = [metric.with_replicas(replicas) for metric in metrics]
    elif any(item.n > 1 for item in metrics[0].statistics):
        notes.append(
            "the judgements do not say which run was judged (a column `replica`): a system's "
            "score is the mean over its runs"
        )
    data = MetaData(metrics, humans, first.documents, tuple(notes))
    return data if segments == "all" else _judged_segments(data, judgements[0])


def _judged_segments(data: MetaData, given: HumanJudgements) -> MetaData:
    """Only segments of which people judged the outputs of every system."""
    judged = np.logical_and.reduce([human.present.all(axis=0) for human in data.humans])
    if not judged.any():
        raise ReplituneError(
            "no segment of which the outputs of every system were judged",
            file=given.path,
            fix="leave `segments: judged` out: then all segments count",
        )
    return MetaData(
        [metric.on_segments(judged) for metric in data.metrics],
        [human.on_segments(judged) for human in data.humans],
        codes(data.documents[judged].tolist()),
        (*data.notes, f"{judged.sum()} of {len(judged)} segments, those that people judged"),
    )


def _numbers(store: SegmentStatistics) -> NDArray[np.int64]:
    return np.arange(store.segments) if store.numbers is None else store.numbers


def _judged(judgements: Sequence[HumanJudgements]) -> set[str]:
    return {row.system for given in judgements for row in given.rows}


def _judged_replicas(
    judgements: Sequence[HumanJudgements], names: Sequence[str]
) -> dict[str, list[str]] | None:
    """The judged replicas of each system, from all files; None if any judgement does not name one."""
    judged: dict[str, set[str]] = {name: set() for name in names}
    for row in (row for given in judgements for row in given.rows):
        if row.replica is None:
            return None
        judged.setdefault(row.system, set()).add(row.replica)
    return {name: sorted(judged[name]) for name in names}


def _check_replicas(metric: Scores, replicas: dict[str, list[str]], given: HumanJudgements) -> None:
    for item in metric.statistics:
        for replica in replicas[item.name]:
            if replica not in item.replicas:
                raise ReplituneError(
                    f"system {item.name} has no run {replica!r} under {metric.name}",
                    file=given.path,
                    found=replica,
                    expected=", ".join(item.replicas),
                )
