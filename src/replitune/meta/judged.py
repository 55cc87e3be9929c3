"""Human judgements as one more metric of a comparison (`tests.human`): scores of one run of each system,
or of the runs that were judged, where somebody judged them; other metrics can be control variates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.meta.human import SCORES, HumanJudgements, Judgement, read_human
from replitune.meta.human_cells import cell_means, note_on_counting
from replitune.meta.scores import Scores, cells_of
from replitune.metrics.base import MeanMetric
from replitune.readers.columns import called_like, plain
from replitune.readers.table import read_table, score_of
from replitune.registry import Entry
from replitune.running.files import read_text, split_lines
from replitune.significance.controlled import Controls, Judgements
from replitune.statistics.segments import SegmentStatistics, StoreMetadata
from replitune.statistics.systems import SystemStatistics


def human_statistics(
    path: str | Path,
    like: SegmentStatistics,
    controls: Sequence[SegmentStatistics] = (),
    *,
    first_segment: int | None = None,
    score: str | None = None,
    name: str | None = None,
) -> tuple[list[SegmentStatistics], list[str]]:
    """For each criterion of the file, the judged systems of `like` on its segments; and notes about
    the file.

    Parameters
    ----------
    controls
        Metrics that sharpen the judgements, of the same systems and segments.
    first_segment
        Number of the first segment in the file; None: 1 if the largest is the number of segments.
    score
        The column of scores, if it has none of the usual names.
    name
        A name for the only criterion of the file; None: criteria keep the names that the file has.
    """
    ranked = _ranking(path, list(like.systems))
    if ranked is not None and name is None:
        return [], [ranked]
    given = read_human(path, score=score)
    if name is not None:
        if len(given.judgements) > 1:
            raise ReplituneError(
                "more than one criterion", file=path, found=", ".join(given.judgements), expected="one"
            )
        given = replace(given, judgements=dict(zip([name], given.judgements.values(), strict=True)))
    names, notes = _names(given, list(like.systems))
    known, numbers = [row for row in given.rows if row.system in names], np.arange(like.segments)
    first = _first(known, like.segments) if first_segment is None else first_segment
    if first_segment is None:
        notes += [f"{path}: segments are counted from 1"] if first else note_on_counting(known, numbers)
    stores = []
    for criterion, every in given.judgements.items():
        rows = [replace(row, system=names[row.system]) for row in every if row.system in names]
        systems = [name for name in like.systems if any(row.system == name for row in rows)]
        if len(systems) < 2:
            raise ReplituneError(
                "fewer than two of the systems were judged",
                file=path,
                found=", ".join(sorted({row.system for row in rows})) or "none of them",
                expected=", ".join(like.systems),
            )
        one = HumanJudgements(Path(path), {criterion: rows})
        if controls:
            stores.append(_controlled(one, criterion, systems, like, controls, first))
            continue
        cells = cell_means(one, criterion, systems, numbers, first=first)
        statistics = {
            system: SystemStatistics(system, ("run-001",), (None,), cells_of(row[np.newaxis]))
            for system, row in zip(systems, cells, strict=True)
        }
        stores.append(_as_store(MeanMetric(criterion), statistics, like))
    return stores, [*given.notes, *notes]


def earlier_judgements(
    path: str | Path, systems: Sequence[str], segments: int, first_segment: int | None
) -> list[Judgement]:
    """The judgements of a file to which more are to be added, with segments counted from 0."""
    given = read_human(path)
    names, _ = _names(given, systems)
    rows = [row for row in given.rows if row.system in names]
    first = _first(rows, segments) if first_segment is None else first_segment
    for row in rows:
        if row.probability is not None:
            raise ReplituneError(
                "segments that were chosen with probabilities cannot be added to",
                file=path,
                line=row.line,
                expected="judgements of segments chosen at random, or none",
                fix="leave the judgements out, and judge a new sample",
            )
        if not first <= row.segment < segments + first:
            raise ReplituneError(f"no segment {row.segment} in this test set", file=path, line=row.line)
    return [replace(row, system=names[row.system], segment=row.segment - first) for row in rows]


def _first(rows: Sequence[Judgement], segments: int) -> int:
    """Number of the first segment: 1 if the largest is the number of segments, otherwise 0."""
    return int(max((row.segment for row in rows), default=0) == segments)


def _controlled(
    given: HumanJudgements,
    criterion: str,
    systems: Sequence[str],
    like: SegmentStatistics,
    controls: Sequence[SegmentStatistics],
    first: int,
) -> SegmentStatistics:
    """The judged runs of each system, with the scores of all its runs by the metrics."""
    rows = given.judgements[criterion]
    weights = _weights(given.path, rows, like.segments, first)
    runs_known = all(row.replica is not None for row in rows)
    helped, raters, statistics = {}, {}, {}
    for name in systems:
        own = [row for row in rows if row.system == name]
        replicas = controls[0].systems[name].replicas
        judged = sorted({row.replica or "" for row in own}) if runs_known else [replicas[0]]
        for row in own if runs_known else ():
            if row.replica not in replicas:
                raise ReplituneError(
                    f"system {name} has no run {row.replica!r}",
                    file=given.path,
                    line=row.line,
                    found=row.replica,
                    expected=", ".join(replicas),
                )
        known = runs_known or len(replicas) == 1
        place = np.array([replicas.index(run) for run in judged]) if known else None
        helped[name] = Controls(replicas, segment_scores(controls, name, replicas), place)
        by_run = {run: [row for row in own if not runs_known or row.replica == run] for run in judged}
        numbers = cells_of(_means(given.path, criterion, by_run, like, first)) * weights[:, np.newaxis]
        statistics[name] = SystemStatistics(name, tuple(judged), (None,) * len(judged), numbers)
        by_rater: dict[str, list[Judgement]] = {}
        for row in own:
            if row.annotator is not None:
                by_rater.setdefault(row.annotator, []).append(row)
        of_raters = _means(given.path, criterion, by_rater, like, first)
        raters[name] = dict(zip(by_rater, of_raters, strict=True))
    weighted = any(row.probability is not None for row in rows)
    names = tuple(store.metric.id for store in controls)
    return _as_store(Judgements(criterion, names, helped, raters, weighted), statistics, like)


def _means(
    path: Path, criterion: str, rows: Mapping[str, list[Judgement]], like: SegmentStatistics, first: int
) -> NDArray[np.float64]:
    """(.., N) mean judgement of each list of rows, named by its key in place of the system."""
    named = [replace(row, system=name) for name, own in rows.items() for row in own]
    if not named:
        return np.empty((0, like.segments))
    judgements = HumanJudgements(path, {criterion: named})
    return cell_means(judgements, criterion, list(rows), np.arange(like.segments), first=first)


def _weights(path: Path, rows: Sequence[Judgement], segments: int, first: int) -> NDArray[np.float64]:
    """(N,) 1 / probability of each judged segment; 1 where the probability is not known."""
    weights = np.ones(segments)
    known: dict[int, float | None] = {}
    for row in rows:
        if known.setdefault(row.segment, row.probability) != row.probability:
            raise ReplituneError(
                f"segment {row.segment} has two probabilities",
                file=path,
                line=row.line,
                found=f"{row.probability} and {known[row.segment]}",
                expected="the probability with which the segment was chosen, the same in all its rows",
            )
        if row.probability is not None and 0 <= row.segment - first < segments:
            weights[row.segment - first] = 1 / row.probability
    return weights


def segment_scores(
    controls: Sequence[SegmentStatistics], name: str, replicas: Sequence[str]
) -> NDArray[np.float64]:
    """(R, N, M) scores of every run by every metric, higher is better."""
    scores = []
    for store in controls:
        system = store.systems[name]
        system = system.take([system.replicas.index(replica) for replica in replicas])
        one = Scores(store.metric.id, store.metric, (system,)).corpus_scores(system.statistics)
        missing = int(np.isnan(one).any(axis=0).sum())
        if missing:
            raise ReplituneError(
                f"{store.metric.id} has no score for {missing} segments of {name}",
                fix="a metric that sharpens judgements needs scores of all segments: leave it out, "
                "or score them",
            )
        scores.append(one)
    return np.stack(scores, axis=-1)


def _ranking(path: str | Path, systems: Sequence[str]) -> str | None:
    """A note on the order of systems if the file has one score each: without segments there is no test."""
    text = read_text(path)
    first = next(iter(split_lines(text)), "")
    named = re.split(r"[\t ,]+", first)
    header = [plain(name) for name in named]
    column = called_like("system", named)
    score = next((name for name in SCORES if name in header), None)
    if called_like("segment", named) or column is None or score is None:
        return None
    table = read_table(path, text)
    scores: dict[str, float] = {}
    for line, row in table.rows:
        value = score_of(table.path, line, row[header.index(score)])
        name = row[named.index(column)]
        name = name if name in systems else re.sub(r"\.\d+$", "", name)
        if value is not None and name in systems:
            scores[name] = value
    order = sorted(scores, key=lambda name: (-scores[name], name))
    listed = ", ".join(f"{name} {scores[name]:.3g}" for name in order) or "none of the systems"
    return f"{path}: scores of whole systems, which cannot be tested; best first: {listed}"


def _as_store(
    metric: MeanMetric, statistics: Mapping[str, SystemStatistics], like: SegmentStatistics
) -> SegmentStatistics:
    (reference, *_) = {known.reference_sha256 for known in like.metadata.values()} or {""}
    metadata = StoreMetadata(
        metric=Entry("mean", {}, metric.id).word,
        id=metric.id,
        signature=metric.signature(),
        direction=1,
        testset=like.testset,
        reference_sha256=reference,
        decode_sha256={},
    )
    return replace(
        like,
        metric=metric,
        signature=metric.signature(),
        systems=statistics,
        metadata=dict.fromkeys(statistics, metadata),
    )


def _names(given: HumanJudgements, systems: Sequence[str]) -> tuple[Mapping[str, str], list[str]]:
    """What judged systems are called here: WMT adds the number of a submission, ``NAME.123``."""
    names, notes, others = {}, [], []
    for name in sorted({row.system for row in given.rows}):
        plain = re.sub(r"\.\d+$", "", name)
        if name in systems or plain in systems:
            names[name] = name if name in systems else plain
        else:
            others.append(name)
    if any(name != here for name, here in names.items()):
        notes.append(f"{given.path}: numbers at the ends of names are left out (NAME.123)")
    if others:
        notes.append(f"{given.path}: judged and not compared: {', '.join(others)}")
    missing = [name for name in systems if name not in names.values()]
    if missing:
        notes.append(f"{given.path}: not judged: {', '.join(missing)}")
    return names, notes
