"""What comet-score writes: with ``--to_json``, for each file of translations a list of segments with
their COMET scores; otherwise lines, ``FILE<tab>Segment 0<tab>score: 0.8123``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows, brief
from replitune.readers.names import runs_of_files
from replitune.readers.records import Records, json_of
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of
from replitune.running.files import read_lines

KEY = "COMET"
LISTS = re.compile(r'\{\s*"[^"]*"\s*:\s*[\[{]')
PRINTED = re.compile(r"(.*)\tSegment (\d+)\tscore: (\S+)(?:\t.*)?")


class Comet(Reader):
    """Systems and runs are taken from the names of the files of translations."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        text = beginning.text
        if text.lstrip()[:1] == "{":
            return '"mt":' in text and f'"{KEY}":' in text and LISTS.match(text.lstrip()) is not None
        return bool(beginning.lines) and PRINTED.fullmatch(beginning.lines[0]) is not None

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        packed = Beginning.from_file(path).text.lstrip()[:1] == "{"
        scores = list((_json_scores if packed else _line_scores)(path))
        files = list(dict.fromkeys(file for _, file, _, _ in scores))
        runs = runs_of_files(files)
        rows = Records(path)
        for line, file, segment, score in scores:
            system, run = runs[file]
            rows.add(line, score, system=system, replica=run, segment=segment)
        notes = [f"{file} is {system} run {run}" for file, (system, run) in runs.items()]
        called = {"system": "file", "replica": "file", "score": KEY.lower()}
        return rows.rows(called, (f"scores of comet-score; {brief(notes)}",))


FileScore = tuple[int, str, int, float]
"""Line, file of translations, segment, score."""


def _json_scores(path: Path) -> Iterator[FileScore]:
    content = json_of(path, "what comet-score writes with --to_json")
    for file, segments in content.items():
        for i, segment in enumerate(segments if isinstance(segments, list) else [segments]):
            score = number_of(segment.get(KEY)) if isinstance(segment, dict) else None
            if score is None:
                raise ReplituneError(
                    f"a segment without {KEY}",
                    file=path,
                    found=f"{file}, segment {i}",
                    expected=f"a number `{KEY}` for each segment",
                )
            yield 1, file, i, score


def _line_scores(path: Path) -> Iterator[FileScore]:
    for number, line in enumerate(read_lines(path), start=1):
        match = PRINTED.fullmatch(line)
        if match is None:
            if "\tscore: " in line or not line.strip():  # the mean of a file
                continue
            raise ReplituneError(
                "not a line of comet-score",
                file=path,
                line=number,
                found=line[:80],
                expected="FILE<tab>Segment 0<tab>score: 0.8123",
            )
        score = number_of(match[3])
        if score is None:
            raise ReplituneError("a score that is not finite", file=path, line=number, found=line)
        yield number, match[1], int(match[2]), score
