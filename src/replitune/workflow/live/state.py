"""The state of a run to be shown, as one JSON object."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replitune.experiment.jobs import jobs_of
from replitune.ledger.manifest import require_experiment
from replitune.ledger.runs import NAME, read_run
from replitune.replicas import Replica, replica_ids
from replitune.running.failures import last_message
from replitune.running.locks import is_at_work
from replitune.workflow.live.curves import AT_ONCE, Curves
from replitune.workflow.live.so_far import SoFar, said_of
from replitune.workflow.progress import Progress, stage_of

State = dict[str, Any]
LINES = 20
"""How many lines of an error message are shown."""
OVER = ("done", "failed", "stopped")


class Live:
    """The results in one folder. `look` may be called often: only what has changed is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._changed = -1
        self._open()

    def look(self, wait: bool = False) -> State:
        """The state now; with `wait`, all curves and the verdict are complete."""
        self._open()
        progress = self.progress
        progress.look()
        self.current = self.experiment.after_looks()
        self.curves.at_once = math.inf if wait else AT_ONCE
        failed = {**progress.failed, **self._died()}
        replicas = [row for system in self.experiment.systems for row in self._replicas(system)]
        status = self._status()
        at_work = [] if status in OVER else [n for n in progress.running if n not in failed]
        last = dict(progress.messages)
        page = Path(self.experiment.at.page)
        done, known = progress.jobs
        return {
            "experiment": self.experiment.name,
            "folder": str(self.folder),
            "status": status,
            "host": None if progress.run is None else progress.run.process.host,
            "began": progress.began / 1e9 if progress.run is not None else None,
            "sign": self._sign(),
            "jobs": [done, known],
            "most": progress.looking,
            "cpu": progress.cpu_seconds,
            "left": progress.left() if at_work else None,
            "report": str(page) if status == "done" and page.exists() else None,
            "stages": self._stages(at_work, [*failed]),
            "replicas": replicas,
            "metric": str(self.experiment.settings.tuning.metric),
            "curves": list(self._curves()),
            "at_work": [
                {"name": name, "said": last.get(name, "").partition(", pool")[0]} for name in at_work
            ],
            "failed": [
                {"name": name, "log": str(log), "message": _short(last_message(log))}
                for name, log in failed.items()
            ],
            "verdict": self._verdict(wait),
        }

    # ---- which run

    def _open(self) -> None:
        """Open the last run if it is not the one that is open."""
        path = self.folder / NAME
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            changed = 0
        if changed == self._changed:
            return
        self.experiment = require_experiment(self.folder)  # it may have been renamed
        self._changed = changed
        run = read_run(self.folder)
        self.progress = Progress(self.experiment, changed if run is not None else 0, run)
        self.curves, self.so_far = Curves(self.experiment), SoFar(self.experiment)

    def _status(self) -> str:
        """One of running, elsewhere (on another machine, so that it may have stopped), done, failed,
        stopped."""
        progress = self.progress
        if progress.run is None:
            return "done"
        if progress.run.process.is_running:
            return "running"
        if progress.run.planned <= {job.name for job in progress.finished}:
            return "done"
        if progress.run.process.is_running is None:
            return "elsewhere"
        return "failed" if progress.failed else "stopped"

    def _sign(self) -> float:
        """When a job last wrote something."""
        files = self.progress.files
        return max([*files.logs.values(), *files.records.values(), self.progress.began]) / 1e9

    def _died(self) -> dict[str, Path]:
        """Jobs that were killed: no process holds their lock. None if no job holds its lock, since the
        file system may have no locks."""
        files = self.progress.files
        logs = {name: files.log(name) for name in self.progress.running}
        dead = {name: log for name, log in logs.items() if not is_at_work(log)}
        if len(dead) == len(logs):
            return {}
        # a job that has ended in the meantime has left its record; one that is starting has no log yet
        return {
            name: log
            for name, log in dead.items()
            if not files.record(name).exists() and log.exists() and not is_at_work(log)
        }

    # ---- parts of the state

    def _stages(self, at_work: list[str], failed: list[str]) -> list[State]:
        """Counts of jobs by stage; with looks that are not settled, of the most jobs that there may be."""
        record = self.current.record
        settled = record is not None and record.settled
        every = [job.name for job in jobs_of(self.current if settled else self.experiment)]
        done = Counter(stage_of(name) for name in every if self.progress.is_done(name))
        now, lost = Counter(map(stage_of, at_work)), Counter(map(stage_of, failed))
        return [
            {"name": stage, "done": done[stage], "all": n, "at_work": now[stage], "failed": lost[stage]}
            for stage, n in Counter(map(stage_of, every)).items()
        ]

    def _ids(self, system: str) -> tuple[list[Replica], list[Replica]]:
        """The replicas asked for so far, and the most that there may be."""
        most = self.experiment.replicas(system)
        if self.experiment.looks is None or system not in self.experiment.plan.sizes:
            return most, most
        if self.current.record is not None:
            return self.current.replicas(system), most
        plan = self.experiment.plan
        return replica_ids(plan.counts(system, plan.first[system])), most

    def _replicas(self, system: str) -> Iterator[State]:
        """Numbers of replicas by tuner or origin."""
        progress, experiment = self.progress, self.experiment
        wanted, most = self._ids(system)
        makes = system in experiment.systems_with("tune") + experiment.systems_with("train_replica")
        given = experiment.outputs.get(system)
        collected = given is not None and all(
            progress.is_done(f"decode/{testset}/{system}") for testset in given
        )
        for prefix in dict.fromkeys(one.prefix for one in most):
            ids = [one.id for one in wanted if one.prefix == prefix]
            made = sum(progress.is_done(f"tune/{system}/{id}") for id in ids) if makes else None
            decoded = sum(progress.is_done(f"decode/{system}/{id}") for id in ids)
            yield {
                "system": system,
                "of": prefix,
                "all": len(ids),
                "most": sum(one.prefix == prefix for one in most),
                "made": made,
                "decoded": decoded if given is None else len(ids) * collected,
            }

    def _curves(self) -> Iterator[State]:
        for system in self.experiment.with_history:
            for replica in self._ids(system)[0]:
                scores = self.curves.scores(self.progress, system, replica)
                if scores:
                    yield {
                        "system": system,
                        "of": replica.prefix,
                        "replica": replica.id,
                        "scores": [round(score, 4) for score in scores],
                        "done": self.progress.is_done(f"tune/{system}/{replica.id}"),
                    }

    def _verdict(self, wait: bool) -> State | None:
        cell = self.progress.tested()
        from replitune.corpus.prepare import corpus_warnings

        if cell is None:
            return self.so_far.look(wait)
        return said_of(cell, corpus_warnings(self.experiment.at.inputs), final=True)


def _short(message: str) -> str:
    lines = message.splitlines()
    rest = len(lines) - LINES
    return message if rest <= 0 else "\n".join([*lines[:LINES], f"... and {rest} more lines"])


def clock_of(seconds: float) -> str:
    """A local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))
