"""Human judgements as one more metric of a comparison: a run of each system, scored where somebody
judged it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from replitune.errors import ReplituneError
from replitune.meta.human import NAMES, SCORES, HumanJudgements, read_human
from replitune.meta.human_cells import cell_means
from replitune.metrics.base import MeanMetric
from replitune.readers.table import read_table, score_of
from replitune.registry import Entry
from replitune.running.files import read_text, split_lines
from replitune.statistics.store import SegmentStatistics, StoreMetadata
from replitune.statistics.systems import SystemStatistics


def human_statistics(
    path: str | Path, like: SegmentStatistics
) -> tuple[list[SegmentStatistics], list[str]]:
    """Of each criterion of the file, the judged systems of `like` on its segments; and notes
    about it."""
    ranked = _ranking(path, list(like.systems))
    if ranked is not None:
        return [], [ranked]
    given = read_human(path)
    names, notes = _names(given, list(like.systems))
    stores = []
    for criterion, rows in given.judgements.items():
        rows = [replace(row, system=names[row.system]) for row in rows if row.system in names]
        systems = [name for name in like.systems if any(row.system == name for row in rows)]
        last = max((row.segment for row in rows), default=0)
        first = 1 if last == like.segments else 0
        if len(systems) < 2:
            raise ReplituneError(
                "fewer than two of the systems were judged",
                file=path,
                found=", ".join(sorted({row.system for row in rows})) or "none of them",
                expected=", ".join(like.systems),
            )
        if first:
            notes.append(f"{path}: segments are counted from 1")
        one = HumanJudgements(Path(path), {criterion: rows})
        cells = cell_means(one, criterion, systems, np.arange(like.segments), first=first)
        stores.append(_store(criterion, systems, cells, like))
    return stores, [*given.notes, *notes]


def _ranking(path: str | Path, systems: Sequence[str]) -> str | None:
    """The order by a file of one score for each system, which has no segments and so no test."""
    text = read_text(path)
    first = next(iter(split_lines(text)), "")
    header = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in re.split(r"[\t ,]+", first)]
    if {*header} & {*NAMES["segment"]} or not {*header} & {*NAMES["system"]}:
        return None
    score = next((name for name in SCORES if name in header), None)
    if score is None:
        return None
    table = read_table(path, text)
    column = next(i for i, name in enumerate(header) if name in NAMES["system"])
    scores: dict[str, float] = {}
    for line, row in table.rows:
        value = score_of(table.path, line, row[header.index(score)])
        name = row[column] if row[column] in systems else re.sub(r"\.\d+$", "", row[column])
        if value is not None and name in systems:
            scores[name] = value
    order = sorted(scores, key=lambda name: (-scores[name], name))
    listed = ", ".join(f"{name} {scores[name]:.3g}" for name in order) or "none of the systems"
    return f"{path}: scores of systems, which have no test; best first: {listed}"


def _store(
    criterion: str, systems: Sequence[str], cells: np.ndarray, like: SegmentStatistics
) -> SegmentStatistics:
    judged = ~np.isnan(cells)
    numbers = np.stack([np.where(judged, cells, 0.0), judged.astype(float)], axis=-1)
    metric = MeanMetric(criterion)
    statistics = {
        name: SystemStatistics(name, ("run-001",), (None,), np.ascontiguousarray(numbers[s : s + 1]))
        for s, name in enumerate(systems)
    }
    (reference, *_) = {known.reference_sha256 for known in like.metadata.values()} or {""}
    metadata = StoreMetadata(
        metric=Entry("mean", {}, criterion).word,
        id=criterion,
        signature=metric.signature(),
        higher_is_better=True,
        testset=like.testset,
        reference_sha256=reference,
        decode_sha256={},
    )
    return replace(
        like,
        metric=metric,
        signature=metric.signature(),
        systems=statistics,
        metadata=dict.fromkeys(systems, metadata),
    )


def _names(given: HumanJudgements, systems: Sequence[str]) -> tuple[Mapping[str, str], list[str]]:
    """What judged systems are called here: WMT adds the number of a submission, ``NAME.123``."""
    names, notes, others = {}, [], []
    for name in sorted({row.system for rows in given.judgements.values() for row in rows}):
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
