"""JSON lines with one prompt each and a list of the scores of its samples: ``{"id": "q1", "scores":
[1, 0, 1]}``. Sample k of every prompt is sample k of the system."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.readers.columns import called_like
from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.json_lines import JsonLines
from replitune.readers.records import Records
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of

IDS = ("system", "segment", "document", "testset", "language")


class Generations(Reader):
    """Every list of numbers is a metric; a file that names no systems is one system."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        lines = beginning.lines
        if not lines or lines[0][:1] != "{":
            return False
        try:
            row = json.loads(lines[0])
        except (ValueError, RecursionError):
            return False
        plain_score = called_like("score", list(row)) if isinstance(row, dict) else None
        return bool(_lists(row)) and (plain_score is None or isinstance(row[plain_score], list))

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        rows = Records(path)
        lists: list[str] = []
        ids: dict[str, str] = {}
        samples = 0
        for number, (line, row) in enumerate(JsonLines.numbered(path)):
            if not number:
                lists = [name for name in _lists(row) if name == names.score] or _lists(row)
                samples = len(row[lists[0]])
                free = [name for name in row if name not in lists]
                ids = {r: n for r in IDS if (n := getattr(names, r) or called_like(r, free))}
            for name in lists:
                scores = row.get(name)
                if not isinstance(scores, list) or len(scores) != samples:
                    count = len(scores) if isinstance(scores, list) else "no list"
                    raise ReplituneError(
                        f"not {samples} samples",
                        file=path,
                        line=line,
                        found=f"{name}: {count}",
                        expected=f"as many as on the first line, {samples}",
                    )
                own = {role: _id(path, line, row, key) for role, key in ids.items()}
                own.setdefault("segment", str(number))
                for k, score in enumerate(scores, start=1):
                    value = float(score) if isinstance(score, bool) else number_of(score)
                    rows.add(line, value, sample=k, metric=name, **own)
        notes = [f"{samples} samples of each prompt"]
        if not ids.get("segment"):
            notes.append("prompts are identified by their order")
        return rows.rows({**ids, "metric": lists[0] if lists else "metric"}, notes)


def _lists(row: Any) -> list[str]:
    """Keys of lists of numbers, if all these lists are equally long."""
    if not isinstance(row, dict):
        return []
    lengths = {
        name: len(value)
        for name, value in row.items()
        if isinstance(value, list) and value and all(isinstance(item, bool | int | float) for item in value)
    }
    return list(lengths) if len(set(lengths.values())) == 1 else []


def _id(path: Path, line: int, row: dict[str, Any], key: str) -> Any:
    if row.get(key) is None:
        raise ReplituneError(f"no `{key}`", file=path, line=line, found=", ".join(row)[:200])
    return row[key]
