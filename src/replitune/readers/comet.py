"""What comet-score writes: with ``--to_json`` a list of segments by file of translations, each with
its COMET; or its lines, ``FILE<tab>Segment 0<tab>score: 0.8123``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from replitune.corpus.table import number_of
from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows, few
from replitune.readers.settings import ColumnNames
from replitune.running.files import read_lines, read_text

KEY = "COMET"
PRINTED = re.compile(r"(.*)\tSegment (\d+)\tscore: (\S+)(?:\t.*)?")

RUN = re.compile(r"(.+?)[._-](?:(?:run|seed)[._-]?)?(\d+)", re.ASCII)
"""The name of a system, and the number of a run."""


class Comet(Reader):
    """Systems and runs are read off the names of the files of translations."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        text = beginning.text
        if text.lstrip()[:1] == "{":
            return '"mt":' in text and f'"{KEY}":' in text and not text.startswith('{"')
        return bool(beginning.lines) and PRINTED.fullmatch(beginning.lines[0]) is not None

    @staticmethod
    def read(path: Path, names: ColumnNames) -> ScoreRows:
        packed = Beginning.of(path).text.lstrip()[:1] == "{"
        found = list((_of_json if packed else _of_lines)(path))
        files = list(dict.fromkeys(file for _, file, _, _ in found))
        runs = {file: _system_and_run(file) for file in files}
        if len(set(runs.values())) < len(files):
            runs = {file: (file, "1") for file in files}
        said = [f"{file} is {system} run {run}" for file, (system, run) in runs.items()]
        text = pa.string()
        return ScoreRows(
            name=str(path),
            columns={
                "system": _column([runs[file][0] for _, file, _, _ in found], text),
                "replica": _column([runs[file][1] for _, file, _, _ in found], text),
                "segment": _column([segment for _, _, segment, _ in found], pa.int64()),
                "score": pa.chunked_array([np.array([score for *_, score in found])]),
            },
            line=lambda rows: [found[row][0] for row in rows],
            called={
                "system": "file",
                "replica": "file",
                "segment": "segment",
                "score": KEY.lower(),
            },
            read_as=(f"scores of comet-score; {few(said)}",),
        )


def _column(values: list[object], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


Found = tuple[int, str, int, float]
"""Line, file of translations, segment, score."""


def _of_json(path: Path) -> Iterator[Found]:
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ReplituneError(
            "not whole JSON", file=path, line=getattr(error, "lineno", None), found=str(error),
            expected="what comet-score writes with --to_json",
        ) from None  # fmt: skip
    for file, segments in content.items():
        for i, segment in enumerate(segments if isinstance(segments, list) else [segments]):
            score = number_of(segment.get(KEY)) if isinstance(segment, dict) else None
            if score is None:
                raise ReplituneError(
                    f"no {KEY} of a segment", file=path, found=f"{file}, segment {i}",
                    expected=f"a number `{KEY}` of each segment",
                )  # fmt: skip
            yield 1, file, i, score


def _of_lines(path: Path) -> Iterator[Found]:
    for number, line in enumerate(read_lines(path), start=1):
        found = PRINTED.fullmatch(line)
        if found is None:
            if "\tscore: " in line or not line.strip():  # the mean of a file
                continue
            raise ReplituneError(
                "not a line of comet-score", file=path, line=number, found=line[:80],
                expected="FILE<tab>Segment 0<tab>score: 0.8123",
            )  # fmt: skip
        score = number_of(found[3])
        if score is None:
            raise ReplituneError("a score that is not finite", file=path, line=number, found=line)
        yield number, found[1], int(found[2]), score


def _system_and_run(file: str) -> tuple[str, str]:
    """``out/new.run2.txt`` is run 2 of new."""
    stem = re.sub(r"(?:\.(?:txt|out|hyp|mt|gz|[a-z]{2}))+$", "", Path(file).name)
    found = RUN.fullmatch(stem)
    return (found[1], found[2]) if found else (stem or file, "1")
