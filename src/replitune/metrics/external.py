"""Segment scores that were computed elsewhere: COMET, BLEURT, human judgement.

The file is any that a reader of scores knows (replitune.readers): a table with the columns system,
replica, segment (from 0) and score, and perhaps document and metric, or the output of a program. A
segment without a row, or with an empty score, is missing: it has score 0 and count 0, and the
number of missing segments is reported.

Or each output has a file of its own, as scorers write them: any such file of one run, or a number on
each line (an empty line: missing). Then the name contains {system}, {replica} (run-001) or {number} (1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest
from replitune.extras import needs
from replitune.metrics.base import HigherIsBetter, MeanMetric
from replitune.metrics.score_files import PLACES, ScoreFile, output_file, replica_number
from replitune.readers.table import number_of, score_of
from replitune.running.files import read_text, sha256_file, split_lines
from replitune.settings import check_arguments

Cells = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Segments, and the score of each, NaN where there is none."""


class External(MeanMetric):
    """Mean of segment scores read from `file`."""

    name = "external"

    @check_arguments
    def __init__(
        self, file: ScoreFile, id: str | None = None, higher_is_better: HigherIsBetter = True
    ) -> None:
        super().__init__(id, higher_is_better)
        if not isinstance(file, str):
            raise ReplituneError(
                "the scores of one test set must be in one file", found=str(file), fix="name that file"
            )
        self.file = Path(file)

    @property
    def ignores(self) -> Collection[str]:
        """Its scores were computed elsewhere, perhaps of better texts."""
        return "case", "spaces", "marks"

    def signature(self) -> str:
        """Includes a hash of the scores, which decide the number; for scores in many files, their
        name with its places."""
        if self.is_many:
            return f"{super().signature()}|scores:{self.file.name}"
        return f"{super().signature()}|scores:{self._sha256[:16]}"

    @property
    def is_many(self) -> bool:
        """Whether each output has a file of its own."""
        return any(place in str(self.file) for place in PLACES)

    @cached_property
    def _sha256(self) -> str:
        self.segment_scores  # noqa: B018 - refuses a missing or wrong file
        return sha256_file(self.file)

    @cached_property
    def segment_scores(self) -> dict[str, dict[str, Cells]]:
        """By system and run."""
        return segment_scores(self.file, self.id)

    def system_statistics(
        self, system: str, replicas: Sequence[str], n_segments: int
    ) -> tuple[NDArray[np.float64], int]:
        """Statistics (n, N, 2) of the named replicas, and how many segments are missing.

        The file may name a replica by its number alone, if only one replica has that number.
        """
        read = self._from_files if self.is_many else self._from_table
        out = np.zeros((len(replicas), n_segments, 2))
        for r, (segments, scores) in enumerate(read(system, replicas, n_segments)):
            known = ~np.isnan(scores)
            out[r, segments[known], 0] = scores[known]
            out[r, segments[known], 1] = 1.0
        return out, int(out[..., 1].size - out[..., 1].sum())

    def _from_table(self, system: str, replicas: Sequence[str], n_segments: int) -> Iterator[Cells]:
        """Segments and scores of each replica, from one file."""
        by_replica = self.segment_scores.get(system)
        if by_replica is None:
            known = sorted(self.segment_scores)
            close = nearest(system, known)
            raise ReplituneError(
                f"no scores for system {system}",
                file=self.file,
                found=f"systems {', '.join(known) or '(none)'}"
                + (f"; did you mean {close}?" if close else ""),
                expected=system,
            )
        for replica in replicas:
            cells = _replica_cells(self.file, system, replica, replicas, by_replica)
            last = int(cells[0].max())
            if last >= n_segments:
                raise ReplituneError(
                    f"system {system}, run {replica}: more segments than the test set has",
                    file=self.file,
                    found=f"segment {last}",
                    expected=f"segments 0 to {n_segments - 1}",
                )
            yield cells

    def _from_files(self, system: str, replicas: Sequence[str], n_segments: int) -> Iterator[Cells]:
        """The same from a file for each replica."""
        for replica in replicas:
            path = output_file(self.file, system, replica)
            segments, scores = self._from_file(path, system)
            if len(segments) != n_segments or (n_segments and segments.max() >= n_segments):
                raise ReplituneError(
                    f"a wrong number of scores for {system} {replica}",
                    file=path,
                    found=f"{len(segments)}, up to segment {segments.max(initial=0)}",
                    expected=f"{n_segments}, one for each segment, from 0",
                )
            yield segments, scores

    def _from_file(self, path: Path, system: str) -> Cells:
        lines = [line.strip() for line in split_lines(read_text(path))]
        first = next(filter(None, lines), "")
        if first and number_of(first) is None:
            runs = segment_scores(path, self.id, system)[system]
            if len(runs) > 1:
                raise ReplituneError(
                    "the file of one output has scores of several runs", file=path, found=", ".join(runs)
                )
            return next(iter(runs.values()))
        scores = [score_of(path, number, line) for number, line in enumerate(lines, start=1)]
        return np.arange(len(scores)), np.array(scores, dtype=np.float64)


def _replica_cells(
    path: Path, system: str, replica: str, replicas: Sequence[str], by_replica: Mapping[str, Cells]
) -> Cells:
    if replica in by_replica:
        return by_replica[replica]
    number = replica_number(replica)
    if number is not None and sum(replica_number(other) == number for other in replicas) == 1:
        for key, scores in by_replica.items():
            if key.isdecimal() and int(key) == number:
                return scores
    raise ReplituneError(
        f"no scores for run {replica} of system {system}",
        file=path,
        found=f"runs {', '.join(sorted(by_replica)) or '(none)'}",
        expected=", ".join(replicas),
    )


def segment_scores(
    path: str | Path, metric: str | None = None, owner: str | None = None
) -> dict[str, dict[str, Cells]]:
    """The scores of a file by system and run. `metric` chooses from a file with several. `owner` is the
    system of all rows, whatever the file calls it."""
    needs("tables", "scores of segments in a table")
    from replitune.readers.arranged import Arranged
    from replitune.readers.coding import WHOLE
    from replitune.readers.interface import brief
    from replitune.readers.registry import read_file
    from replitune.readers.settings import ColumnNames

    rows = read_file(path, ColumnNames(), () if metric is None else (metric,))
    rows = rows if owner is None else rows.of_system(owner)
    missing = [role for role in ("system", "segment") if not rows.has(role)]
    if missing:
        raise ReplituneError(
            f"no column {', '.join(missing)}",
            file=path,
            found=", ".join(rows.called.values()),
            expected="system, replica, segment, score",
        )
    table = Arranged([rows])
    known = table.metrics.names
    if len(known) > 1 and metric not in known:
        raise ReplituneError(
            f"{len(known)} metrics in one file",
            file=path,
            found=brief(known),
            fix=f"choose one by its name: external:file=...,id={known[0]}",
        )
    numbers = np.array([int(id) if WHOLE.fullmatch(id) else -1 for id in table.ids.names])
    number = numbers[table.segments[:, 1]]
    if (number < 0).any():
        row = int(np.flatnonzero(number[table.where] < 0)[0])
        raise ReplituneError(
            "the segment is not a whole number",
            **table.at(row),
            found=repr(table.ids.names[table.segments[table.where[row], 1]]),
            expected="its place in the test set, from 0",
        )
    _, first, counts = np.unique(number, return_index=True, return_counts=True)
    if table.documents is not None and (counts > 1).any():
        twice = number[first[counts > 1][0]]
        rows_of = np.flatnonzero(number[table.where] == twice)
        inside = table.segments[table.where[rows_of], 0]
        row = int(rows_of[inside != inside[0]][0])
        names = [table.documents.names[d] for d in dict.fromkeys(inside.tolist())]
        raise ReplituneError(
            f"segment {twice} is in two documents", **table.at(row), found=" and ".join(names)
        )
    chosen = known[0] if metric not in known else metric
    scores: dict[str, dict[str, Cells]] = {}
    for (system, output), own in table.cells(chosen):
        segments = number[table.where[own]]
        order = np.argsort(segments, kind="stable")
        of_system = scores.setdefault(table.systems.names[system], {})
        of_system[table.outputs.given[output]] = (segments[order], table.scores[own][order])
    return scores
