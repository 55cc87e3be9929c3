"""Segment scores that something else computed: COMET, BLEURT, human judgement.

The file has the columns system, replica, segment (from 0) and score, and if it likes
document; as TSV with a header, JSON lines (either may be gzip), or Parquet. A segment without
a row, or with an empty score, is missing: score 0, count 0, and counted.

Or there is a file for each output, as scorers write them, with a number on each line (an empty
line: missing): then the name has the places {system}, {replica} (run-001) or {number} (1).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest
from replitune.metrics.base import HigherIsBetter, MeanMetric
from replitune.metrics.score_files import PLACES, ScoreFile, output_file
from replitune.running.files import read_lines, sha256_file
from replitune.settings import check_arguments

_COLUMNS = ("system", "replica", "segment", "score")
_NUMBER_AT_END = re.compile(r"\d+$")


@dataclass(frozen=True)
class SegmentScores:
    """The content of a file of segment scores."""

    path: Path
    scores: dict[str, dict[str, dict[int, float | None]]]
    """system -> replica -> segment -> score, None where the row has none."""
    documents: dict[int, str] | None
    """segment -> document, when the file has the column."""


class External(MeanMetric):
    """Mean of segment scores read from `file`."""

    name = "external"

    @check_arguments
    def __init__(
        self,
        file: ScoreFile,
        id: str | None = None,
        higher_is_better: HigherIsBetter = True,
    ) -> None:
        super().__init__(id, higher_is_better)
        if not isinstance(file, str):
            raise ReplituneError("the scores of one test set are in one file", found=str(file))
        self.file = Path(file)

    def signature(self) -> str:
        """The scores decide the number, so their hash is part of the signature; of scores in many
        files, the name that they are made of."""
        if self.is_many:
            return f"{super().signature()}|scores:{self.file.name}"
        return f"{super().signature()}|scores:{self._sha256[:16]}"

    @property
    def is_many(self) -> bool:
        """Whether each output has a file of its own."""
        return any(place in str(self.file) for place in PLACES)

    def file_of(self, system: str, replica: str) -> Path:
        """The file with the scores of one output."""
        return output_file(self.file, system, replica)

    @cached_property
    def _sha256(self) -> str:
        self.segment_scores  # noqa: B018 - says so when the file is not there or not right
        return sha256_file(self.file)

    @cached_property
    def segment_scores(self) -> SegmentScores:
        return read_segment_scores(self.file)

    def system_statistics(
        self, system: str, replicas: Sequence[str], n_segments: int
    ) -> tuple[NDArray[np.float64], int]:
        """Statistics (n, N, 2) of the named replicas, and how many segments are missing.

        A replica in the file may be named by its number alone, when one replica only has it.
        """
        if self.is_many:
            return self._from_lists(system, replicas, n_segments)
        content = self.segment_scores
        by_replica = content.scores.get(system)
        if by_replica is None:
            known = sorted(content.scores)
            close = nearest(system, known)
            raise ReplituneError(
                f"no scores for system {system}",
                file=content.path,
                found=f"systems {', '.join(known) or '(none)'}"
                + (f"; did you mean {close}?" if close else ""),
                expected=system,
            )
        out = np.zeros((len(replicas), n_segments, 2))
        for r, replica in enumerate(replicas):
            scores = _of_replica(content.path, system, replica, replicas, by_replica)
            if max(scores) >= n_segments:
                raise ReplituneError(
                    f"system {system}, replica {replica}: more segments than the test set has",
                    file=content.path,
                    found=f"segment {max(scores)}",
                    expected=f"segments 0 to {n_segments - 1}",
                )
            for segment, score in scores.items():
                if score is not None:
                    out[r, segment] = score, 1.0
        return out, int(out[..., 1].size - out[..., 1].sum())

    def _from_lists(
        self, system: str, replicas: Sequence[str], n_segments: int
    ) -> tuple[NDArray[np.float64], int]:
        """From a file for each replica, with a line for each segment."""
        out = np.zeros((len(replicas), n_segments, 2))
        for r, replica in enumerate(replicas):
            path = self.file_of(system, replica)
            lines = read_lines(path)
            if len(lines) != n_segments:
                raise ReplituneError(
                    f"a wrong number of scores for {system} {replica}",
                    file=path,
                    found=f"{len(lines)} lines",
                    expected=f"{n_segments}, one for each segment",
                )
            for segment, line in enumerate(lines):
                score = _score(path, segment + 1, line.strip())
                if score is not None:
                    out[r, segment] = score, 1.0
        return out, int(out[..., 1].size - out[..., 1].sum())


def _of_replica(
    path: Path,
    system: str,
    replica: str,
    replicas: Sequence[str],
    by_replica: Mapping[str, dict[int, float | None]],
) -> dict[int, float | None]:
    if replica in by_replica:
        return by_replica[replica]
    number = _number(replica)
    if number is not None and sum(_number(other) == number for other in replicas) == 1:
        for key, scores in by_replica.items():
            if key.isdecimal() and int(key) == number:
                return scores
    raise ReplituneError(
        f"no scores for replica {replica} of system {system}",
        file=path,
        found=f"replicas {', '.join(sorted(by_replica)) or '(none)'}",
        expected=", ".join(replicas),
    )


def _number(replica: str) -> int | None:
    match = _NUMBER_AT_END.search(replica)
    return int(match.group()) if match else None


def read_segment_scores(path: str | Path) -> SegmentScores:
    """Read and check a file of segment scores: TSV, JSON lines or Parquet."""
    path = Path(path)
    scores: dict[str, dict[str, dict[int, float | None]]] = {}
    documents: dict[int, str] = {}
    for line, row in _rows(path):
        system, replica = str(row["system"]), str(row["replica"])
        segment = _segment(path, line, row["segment"])
        of_replica = scores.setdefault(system, {}).setdefault(replica, {})
        if segment in of_replica:
            raise ReplituneError(
                f"system {system}, replica {replica}, segment {segment} is there twice",
                file=path,
                line=line,
                expected="one score each",
            )
        of_replica[segment] = _score(path, line, row["score"])
        document = row.get("document")
        if document is not None and documents.setdefault(segment, str(document)) != str(document):
            raise ReplituneError(
                f"segment {segment} is in two documents",
                file=path,
                line=line,
                found=f"{documents[segment]} and {document}",
            )
    return SegmentScores(path, scores, documents or None)


def _segment(path: Path, line: int, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column that had gaps somewhere on its way
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise ReplituneError(
            "segment is not a whole number",
            file=path,
            line=line,
            found=repr(value),
            expected="0 for the first segment, 1, 2, ...",
        )
    return int(text)


def _score(path: Path, line: int, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = math.nan
    if isinstance(value, bool) or not math.isfinite(score):
        raise ReplituneError(
            "score is not a finite number",
            file=path,
            line=line,
            found=repr(value),
            fix="leave the score empty, or the row out, where there is none",
        )
    return score


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(line, row) of any of the formats; in Parquet the first row has number 1."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in (".parquet", ".pq"):
        return _parquet_rows(path)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return _json_rows(path)
    if suffix in (".tsv", ".tab", ".txt"):
        return _tsv_rows(path)
    raise ReplituneError(
        "unknown format of segment scores",
        file=path,
        expected="a name ending in .tsv, .jsonl or .parquet (.tsv.gz, .jsonl.gz)",
    )


def _check_columns(path: Path, names: Sequence[str], line: int | None = None) -> None:
    missing = [name for name in _COLUMNS if name not in names]
    if missing:
        raise ReplituneError(
            f"no column {', '.join(missing)}",
            file=path,
            line=line,
            found=", ".join(names) or "nothing",
            expected=", ".join(_COLUMNS) + ", and document if you like",
        )


def _tsv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    lines = read_lines(path)
    names = lines[0].split("\t") if lines else []
    _check_columns(path, names, line=1)
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) != len(names):
            raise ReplituneError(
                "a row has too few or too many cells",
                file=path,
                line=number,
                found=f"{len(cells)} cells",
                expected=f"{len(names)}, as in the header",
            )
        yield number, dict(zip(names, cells, strict=True))


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ReplituneError(
                "not a line of JSON", file=path, line=number, found=str(error)
            ) from None
        if not isinstance(row, dict):
            raise ReplituneError(
                "not a JSON object", file=path, line=number, expected="{...} on each line"
            )
        _check_columns(path, [*row, *({"score"} - {*row})], line=number)  # no score: missing
        yield number, {"score": None, **row}


def _parquet_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.exists():
        raise ReplituneError("no such file", file=path)
    try:
        content = pq.ParquetFile(path)
        _check_columns(path, content.schema_arrow.names)
        wanted = [name for name in (*_COLUMNS, "document") if name in content.schema_arrow.names]
        number = 0
        for batch in content.iter_batches(columns=wanted):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except pa.ArrowException as error:
        raise ReplituneError("not a readable Parquet file", file=path, found=str(error)) from None
