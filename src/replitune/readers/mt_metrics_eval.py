"""Scores as mt-metrics-eval keeps them, in the files ``metric-scores/LP/METRIC-REF.seg.score`` of a test
set's folder, or in one such file: ``SYSTEM<tab>SCORE`` on each line, the segments of a system in order,
`None` where there is no score. A file with one line for each system has no segments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows, brief
from replitune.readers.records import Records
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of
from replitune.running.files import read_lines

SUFFIX = ".seg.score"
LINE = re.compile(r"(\S+)[\t ](\S+)")


class MtMetricsEval(Reader):
    """A metric is named after its file, ``COMET-refA``; human judgements are ``human.mqm``."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        if beginning.path.is_dir():
            return any(True for _ in _files(beginning.path))
        return bool(beginning.lines) and all(map(_cells, beginning.lines))

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        if not path.is_dir():
            return _one_file(path)
        files = list(_files(path))
        wanted = [file for file in files if _metric(file, path) in metrics] or files
        rows = Records(path)
        for file in wanted:
            documents = _documents(file)
            for line, system, score, segment in _scores(file):
                own = {} if documents is None else {"document": documents[segment]}
                rows.add(
                    line,
                    score,
                    system=system,
                    segment=segment,
                    metric=_metric(file, path),
                    language=_language(file),
                    **own,
                )
        notes = [f"{len(wanted)} files of mt-metrics-eval, {brief([f.name for f in wanted])}"]
        return rows.rows({"score": "score"}, notes, {"testset": _root(wanted[0]).name})


def _one_file(path: Path) -> ScoreRows:
    rows = Records(path)
    scores = list(_scores(path))
    segments = max(segment for *_, segment in scores)
    for line, system, score, segment in scores:
        rows.add(line, score, system=system, **({"segment": segment} if segments else {}))
    name = re.sub(r"\.(?:seg|sys)\.score(?:\.gz)?$", "", path.name)
    return rows.rows({"score": name}, ["a system and a score on each line"])


def _cells(line: str) -> tuple[str, float | None] | None:
    match = LINE.fullmatch(line.strip())
    if match is None or number_of(match[1]) is not None:
        return None
    score = number_of(match[2])
    return (match[1], score) if score is not None or match[2] in ("None", "nan") else None


def _scores(path: Path) -> Iterator[tuple[int, str, float | None, int]]:
    """Line, system, score, and the number of the segment."""
    seen: Counter[str] = Counter()
    for number, line in enumerate(read_lines(path), start=1):
        cells = _cells(line)
        if cells is None:
            raise ReplituneError(
                "not a system and its score",
                file=path,
                line=number,
                found=line[:80],
                expected="SYSTEM<tab>SCORE, as on line 1",
            )
        yield number, *cells, seen[cells[0]]
        seen[cells[0]] += 1
    if len(set(seen.values())) > 1:
        raise ReplituneError(
            "systems have different numbers of scores",
            file=path,
            found=brief([f"{system}: {n}" for system, n in seen.items()]),
            expected="a line for each segment of each system, None where there is no score",
        )


def _files(folder: Path) -> Iterator[Path]:
    """The files of scores in a folder of such files, or in the folder of a test set."""
    patterns = ("*", "metric-scores/*/*", "human-scores/*")
    for pattern in patterns:
        yield from sorted(folder.glob(pattern + SUFFIX))


def _metric(file: Path, folder: Path) -> str:
    name = file.name.removesuffix(SUFFIX)
    if file.parent.name == "human-scores":
        return f"human.{name.partition('.')[2]}"
    return name


def _language(file: Path) -> str:
    if file.parent.name == "human-scores":
        return file.name.partition(".")[0]
    return file.parent.name


def _root(file: Path) -> Path:
    """The folder of the test set."""
    parent = file.absolute().parent
    return parent.parent.parent if parent.parent.name == "metric-scores" else parent.parent


def _documents(file: Path) -> list[str] | None:
    """The document of each segment, if the folder of the test set has them."""
    path = _root(file) / "documents" / f"{_language(file)}.docs"
    if not path.exists():
        return None
    return [line.split("\t")[-1] for line in read_lines(path)]
