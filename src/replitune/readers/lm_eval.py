"""``samples_<task>_<time>.jsonl`` of lm-evaluation-harness (``--log_samples``): one question a
line, with its metrics. A file is one run of one model, which has the name of the folder.

With ``repeats`` a line holds all answers (`resps`), but only those that the filter keeps are
scored: by default the first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.json_lines import JsonLines
from replitune.readers.records import Records, of_kind
from replitune.readers.settings import ColumnNames

NO_METRICS = {
    "doc_id",
    "doc",
    "target",
    "arguments",
    "resps",
    "filtered_resps",
    "filter",
    "metrics",
    "doc_hash",
    "prompt_hash",
    "target_hash",
    "input",
}


SUMMARY = re.compile(r'\s*\{\s*"results":.*_stderr,', re.DOTALL)
"""How ``results_<time>.json`` begins."""


class LmEval(Reader):
    """The name of a metric includes its filter, if it has one: ``exact_match.strict-match``."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        # a line may be longer than the beginning that was read
        return bool(SUMMARY.match(beginning.text)) or any(
            beginning.has_keys("{", "doc_id", key) for key in ("filtered_resps", "resps")
        )

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        if SUMMARY.match(Beginning.from_file(path).text):
            raise ReplituneError(
                "this file has means of lm-evaluation-harness, not scores of questions",
                file=path,
                fix="run lm_eval with --log_samples, and give its files samples_*.jsonl",
            )
        rows = Records(path)
        left_out: Counter[str] = Counter()
        answers = 1
        for number, row in JsonLines.numbered(path):
            if "doc_id" not in row:
                raise ReplituneError(
                    "no `doc_id`",
                    file=path,
                    line=number,
                    found=", ".join(row)[:200],
                    expected="samples of lm-evaluation-harness",
                )
            answers = max(answers, _answers(row.get("resps")))
            named = of_kind(list, row.get("metrics"), path, number, "metrics")
            for name in map(str, named or [key for key in row if key not in NO_METRICS]):
                value = row.get(name)
                if not isinstance(value, bool | int | float):
                    left_out[name] += 1
                    continue
                filter_name = row.get("filter") or "none"
                metric = name if filter_name == "none" else f"{name}.{filter_name}"
                rows.add(number, _float(value), segment=row["doc_id"], metric=metric)
        if not len(rows):
            raise ReplituneError(
                "no metric has a number for any sample",
                file=path,
                found=", ".join(left_out) or "no samples",
            )
        task = re.sub(r"^samples_|_\d{4}-\d\d-\d\dT[\d.:-]+$", "", path.name.partition(".jsonl")[0])
        system = path.absolute().parent.name
        notes = [f"samples of lm-evaluation-harness; system is the folder, `{system}`"]
        for name, count in left_out.items():
            notes.append(f"{name} left out where it is not a number: {count:,} of the samples")
        if answers > 1:
            notes.append(
                f"up to {answers} answers to a question; only those that its filter keeps are scored, by "
                "default the first alone"
            )
        called = {"segment": "doc_id", "metric": "metrics"}
        return rows.rows(called, notes, {"system": system, "testset": task})


def _float(value: bool | int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _answers(resps: Any) -> int:
    """The number of answers to one question; each of several choices has one, its log-likelihood."""
    first = resps[0] if isinstance(resps, Sequence) and resps else None
    return len(first) if isinstance(first, list) else 1
