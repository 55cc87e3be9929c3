"""``promptfoo eval --output results.json``: a result for each (provider, prompt, test), with a
score and perhaps named scores. A repeated test (``--repeat``) has several samples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.records import Records, json_of, of_kind
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of

LONGEST = 40
"""Longest prompt that can be part of a system's name, in characters."""


class Promptfoo(Reader):
    """A system is a provider, or with several prompts a provider with a prompt; a segment is a
    test, known by its variables."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return any(beginning.has_keys("{", "results", key) for key in ("evalId", "promptIdx"))

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        content = json_of(path, "what `promptfoo eval --output results.json` writes")
        results = content.get("results") if isinstance(content, dict) else None
        results = results.get("results") if isinstance(results, dict) else results
        if not isinstance(results, list) or not all(isinstance(item, dict) for item in results):
            raise ReplituneError(
                "no list of results", file=path, expected="results.results, a result for each test"
            )
        for number, item in enumerate(results, start=1):
            of_kind(dict, item.get("namedScores"), path, number, "namedScores")
        prompts = list(dict.fromkeys(_label(item, "prompt", "raw") for item in results))
        each = [set(item.get("namedScores") or ()) for item in results]
        named = set.intersection(*each) if each else set()
        tests: dict[str, int] = {}
        repeats: Counter[tuple[str, int]] = Counter()
        rows, errors = Records(path), 0
        for number, item in enumerate(results):
            system = _label(item, "provider", "id")
            if len(prompts) > 1:
                text = _label(item, "prompt", "raw")
                short = len(text) <= LONGEST and text.isprintable()
                system += f" {text if short else f'prompt {prompts.index(text) + 1}'}"
            key = json.dumps(item.get("vars", item.get("testIdx")), sort_keys=True)
            test = tests.setdefault(key, len(tests))
            repeats[system, test] += 1
            failed = item.get("failureReason") == 2 or number_of(item.get("score")) is None
            errors += failed
            own = item.get("namedScores") or {}
            for metric in ("score", *sorted(named)):
                value = item.get("score") if metric == "score" else own[metric]
                rows.add(
                    number + 1,
                    None if failed else number_of(value),
                    system=system,
                    sample=repeats[system, test],
                    segment=test,
                    metric=metric,
                )
        notes = [f"results of promptfoo; tests: {len(tests)}, prompts: {len(prompts)}"]
        if errors:
            notes.append(f"{errors} results that ended in an error have no score")
        return rows.rows({"system": "provider", "segment": "vars", "metric": "score"}, notes)


def _label(item: dict[str, Any], what: str, otherwise: str) -> str:
    """What the provider or the prompt of a result is called."""
    named = item.get(what)
    return str(named.get("label") or named.get(otherwise)) if isinstance(named, dict) else str(named)
