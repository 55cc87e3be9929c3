"""Evaluations of Inspect: its logs (``.eval``, or ``.json`` after ``inspect log convert``), and the
tables of samples that ``samples_df()`` makes, written as CSV, Parquet or JSON lines. A sample has
an id and an epoch; each epoch is a sample of the model's answers."""

from __future__ import annotations

import json
import struct
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.readers.columns import called_like
from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.json_lines import JsonLines
from replitune.readers.parquet import Parquet
from replitune.readers.records import Numbering, Records, json_of, of_kind
from replitune.readers.separated import Separated
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of
from replitune.readers.tabular import ABSENT, Tabular
from replitune.running.files import check_unpacked, open_regular

WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""The numbers that Inspect uses for correct, partial, incorrect, no answer, and for yes and no."""

PREFIX = "score_"

ZSTANDARD, LOCAL_HEADER = 93, 30
"""In zip files: the number of the compression method, and the bytes before the name of a file."""

TABLES: tuple[type[Tabular], ...] = (Parquet, JsonLines, Separated)

Sample = tuple[int, str, str, str, str, Mapping[str, Any]]
"""Line, model, task, id, epoch, scores by scorer."""


class Inspect(Reader):
    """The model is the system, the task the test set, a scorer a metric."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        if beginning.data[:4] == b"PK\x03\x04":
            return beginning.path.suffix == ".eval" or b"_journal/" in beginning.data
        if beginning.has_keys("{", "eval", "run_id"):
            return '"task"' in beginning.text
        return _table(beginning) is not None

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        beginning = Beginning.from_file(path)
        table = _table(beginning)
        evaluation: str | None = None
        samples: Iterable[Sample]
        if table is None:
            evaluation, samples = _log_samples(path, beginning)
        else:
            samples = _table_samples(path, table, names)
        rows = Records(path)
        left_out: Counter[str] = Counter()
        for line, model, task, id, epoch, scores in samples:
            for scorer, value in scores.items():
                score = _number(value)
                if score is None and value is not None and str(value) not in ABSENT:
                    left_out[scorer] += 1
                    continue
                own = {"system": model} if model else {}
                own |= {"testset": task} if task else {}
                rows.add(line, score, segment=id, sample=epoch, metric=scorer, **own)
        notes = ["samples of Inspect; each epoch of each evaluation is a sample"]
        for scorer, count in left_out.items():
            notes.append(f"{scorer} left out where it is not a number: {count:,} of the samples")
        called = {
            "system": "model",
            "segment": "id",
            "sample": "epoch",
            "testset": "task",
            "metric": "scores",
        }
        return rows.rows(called, notes, evaluation=evaluation)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    return number_of(value)


def _table(beginning: Beginning) -> type[Tabular] | None:
    """The format of a table of samples; None if the file is not one."""
    kind = next((table for table in TABLES if table.recognises(beginning)), None)
    if kind is None or (kind is not Parquet and "epoch" not in beginning.text):
        return None
    try:
        header, _ = kind.header(beginning.path)
    except ReplituneError:
        return None  # other or damaged JSON: for another reader to report
    scored = any(name.startswith(PREFIX) for name in header)
    return kind if scored and {"id", "epoch"} <= {*header} else None


def _table_samples(path: Path, table: type[Tabular], names: ColumnNames) -> Iterator[Sample]:
    """The rows of a table. A model may have several evaluations, each with its epochs."""
    header, _ = table.header(path)
    scorers = {
        name: name.removeprefix(PREFIX)
        for name in header
        if name.startswith(PREFIX) and not name.endswith("_metadata")
    }
    model = names.system or called_like("system", header)
    task = names.testset or next((n for n in ("task_name", "task") if n in header), None)
    evaluations: dict[tuple[str, str], Numbering] = {}
    for line, row in table.numbered(path):
        about = (str(row[model]) if model else "", str(row[task]) if task else "")
        number = evaluations.setdefault(about, Numbering())[str(row.get("eval_id"))]
        run = _whole(row["epoch"]) if number == "1" else f"{number}.{_whole(row['epoch'])}"
        yield line, *about, str(row["id"]), run, {scorers[n]: row[n] for n in scorers}


def _whole(epoch: Any) -> str:
    value = number_of(epoch)
    return str(epoch) if value is None else str(int(value))


def _log_samples(path: Path, beginning: Beginning) -> tuple[str, list[Sample]]:
    """The id and the samples of a log, which is one evaluation of one model."""
    if beginning.data[:2] == b"PK":
        header, *samples = _unpacked(path)
    else:
        header = of_kind(dict, json_of(path, "a log of Inspect"), path, 1, "log")
        samples = of_kind(list, header.get("samples"), path, 1, "samples")
    about = of_kind(dict, of_kind(dict, header, path, 1, "log").get("eval"), path, 1, "eval")
    model, task = str(about.get("model", "")), str(about.get("task", ""))
    found: list[Sample] = []
    for number, item in enumerate(samples, start=1):
        sample = of_kind(dict, item, path, number, "sample")
        if sample.get("id") is None:
            raise ReplituneError("a sample without an id", file=path, line=number)
        given = of_kind(dict, sample.get("scores"), path, number, "scores")
        scores = {
            name: of_kind(dict, score, path, number, f"scores.{name}").get("value")
            for name, score in given.items()
        }
        found.append((number, model, task, str(sample["id"]), _whole(sample.get("epoch", 1)), scores))
    if not found:
        raise ReplituneError("a log without samples", file=path, expected="a log of Inspect")
    return str(about.get("eval_id") or f"{about.get('run_id')} {about.get('task_id')}"), found


def _unpacked(path: Path) -> Iterator[Any]:
    """The header of an ``.eval`` file, then the id, epoch and scores of each sample: what was said is most
    of a log, and not kept."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as packed:
            names = packed.namelist()
            start = "header.json" if "header.json" in names else "_journal/start.json"
            is_short = "summaries.json" in names
            parts = sorted(n for n in names if n.startswith("samples/") and n.endswith(".json"))
            needed = [start, *(["summaries.json"] if is_short else parts)]
            size = sum(packed.getinfo(name).file_size for name in needed)
            check_unpacked(path, path.stat().st_size, size, is_json=True)
            yield _member(packed, start)
            if is_short:
                yield from of_kind(list, _member(packed, "summaries.json"), path, 1, "samples")
                return
            for number, name in enumerate(parts, start=1):
                sample = of_kind(dict, _member(packed, name), path, number, "sample")
                yield {key: sample[key] for key in ("id", "epoch", "scores") if key in sample}
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, struct.error) as error:
        raise ReplituneError(
            "an incomplete or damaged log of Inspect",
            file=path,
            found=str(error),
            expected="an .eval file with header.json and samples",
        ) from None


def _member(packed: zipfile.ZipFile, name: str) -> Any:
    """One JSON file of an archive; before 3.14, Python's zipfile does not read zstandard."""
    info = packed.getinfo(name)
    if info.compress_type != ZSTANDARD or packed.fp is None:
        return json.loads(packed.read(info))
    import pyarrow as pa

    packed.fp.seek(info.header_offset + LOCAL_HEADER - 4)
    packed.fp.seek(sum(struct.unpack("<HH", packed.fp.read(4))), 1)
    data = packed.fp.read(info.compress_size)
    return json.loads(pa.decompress(data, info.file_size, "zstd", asbytes=True))
