"""The dev scores of finished and running replicas, by iteration."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from replitune.experiment.experiment import Experiment
from replitune.replicas import Replica
from replitune.running.files import bytes_of
from replitune.workflow.progress import Progress

DEV_SCORE = re.compile(r"\w+ (\d+): .*?\bdev \S+ (-?\d+(?:\.\d+)?)")
"""The log line in which a tuner or a training reports an iteration."""

AT_ONCE = 100
"""The most histories that one look reads, to keep it short; later looks read the others."""


class _Row(msgspec.Struct):
    dev_score: float


class _Content(msgspec.Struct):
    history: list[_Row] = []


class _Checkpoint(msgspec.Struct):
    content: _Content


class Curves:
    """Dev scores of all replicas; files that have not changed are not read again."""

    def __init__(self, experiment: Experiment) -> None:
        self.at = experiment.at
        self.at_once: float = AT_ONCE
        """How many histories may still be read in this look."""
        self._done: dict[str, tuple[int, list[float]]] = {}
        self._states: dict[str, tuple[int, list[float]]] = {}

    def scores(self, progress: Progress, system: str, replica: Replica) -> list[float]:
        """The dev scores of a replica, from its history, its checkpoint, or its log."""
        name = f"tune/{system}/{replica.id}"
        if progress.is_done(name):
            made = progress.files.records.get(name, 0)
            known = self._done.get(name)
            if known is None or known[0] != made:
                if self.at_once <= 0:
                    return []
                self.at_once -= 1
                known = self._done[name] = made, _history(self.at.history(system, replica.id))
            return known[1]
        if name not in progress.running and name not in progress.failed:
            return []
        return self._state(system, replica) or _logged_scores(progress, name)

    def _state(self, system: str, replica: Replica) -> list[float]:
        path = Path(self.at.work(system, replica.id)) / "state.json"
        key = str(path)
        try:
            changed = path.stat().st_mtime_ns
            if key not in self._states or self._states[key][0] != changed:
                state = msgspec.json.decode(bytes_of(path), type=_Checkpoint)
                self._states[key] = changed, [row.dev_score for row in state.content.history]
        except (OSError, ValueError):
            return []
        return self._states[key][1]


def _history(path: str) -> list[float]:
    from replitune.tuning.history import read_dev_scores

    try:
        scores = read_dev_scores(path)
    except (OSError, ValueError):  # pyarrow's errors are of these kinds
        return []
    return [] if scores is None else [float(score) for score in scores]


def _logged_scores(progress: Progress, name: str) -> list[float]:
    matches = (DEV_SCORE.match(line) for job, line in progress.messages if job == name)
    return [float(match[2]) for match in matches if match]
