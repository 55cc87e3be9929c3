"""``results.json`` of a run of terminal-bench: its trials, and whether each resolved its task.
``run_metadata.json`` beside it says what was run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.records import Records, json_of, of_kind
from replitune.readers.settings import ColumnNames

TRIAL = re.compile(r"\.(\d+)-of-\d+")


class TerminalBench(Reader):
    """A task is a segment, its trials are samples; agent and model are the system."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return beginning.has_keys("{", "results", "trial_name", "task_id", "is_resolved")

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        content = of_kind(dict, json_of(path, "results of terminal-bench"), path, 1, "file")
        trials: dict[str, list[tuple[int, int, float]]] = {}
        undecided, first = False, ""
        for number, item in enumerate(of_kind(list, content.get("results"), path, 1, "results"), start=1):
            trial = of_kind(dict, item, path, number, "trial")
            first = first or str(trial.get("uuid") or trial.get("id") or path.absolute())
            place = TRIAL.search(str(trial.get("trial_name")))
            resolved = trial.get("is_resolved")
            undecided |= resolved is None
            own = trials.setdefault(str(trial.get("task_id")), [])
            own.append((int(place[1]) if place else len(own) + 1, number, float(bool(resolved))))
        rows = Records(path)
        in_order = {task: [(line, score) for _, line, score in sorted(own)] for task, own in trials.items()}
        notes = ["tasks of terminal-bench; " + rows.add_trials(in_order, metric="resolved")]
        if undecided:
            notes.append("trials without a verdict count as not resolved, as in terminal-bench itself")
        return rows.rows(
            {"segment": "task_id", "sample": "trial_name"}, notes, _about(path), evaluation=first
        )


def _about(path: Path) -> dict[str, str]:
    """The system, where both agent and model are known, and the test set."""
    metadata = path.with_name("run_metadata.json")
    if not metadata.exists():
        return {}
    run = of_kind(dict, json_of(metadata, "metadata of terminal-bench"), metadata, 1, "file")
    agent, model, dataset = (run.get(f"{what}_name") for what in ("agent", "model", "dataset"))
    testset = {"testset": str(dataset)} if dataset else {}
    return testset | ({"system": f"{agent} {model}"} if agent and model else {})
