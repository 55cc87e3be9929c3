"""Shows a run to those who did not start it, as lines on a terminal; only reads."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from replitune.experiment.jobs import jobs_of
from replitune.ledger.manifest import require_experiment
from replitune.ledger.runs import NAME, read_run
from replitune.replicas import Replica, replica_ids
from replitune.running.failures import last_message
from replitune.running.locks import is_at_work
from replitune.workflow.display import counted, progress_words, words
from replitune.workflow.progress import Progress, stage_of

if TYPE_CHECKING:
    from replitune.results.summary import Summary

STATUS = {
    "running": "running",
    "elsewhere": "running, or stopped, on {host}",
    "done": "done",
    "failed": "ended with errors",
    "stopped": "stopped before its end",
}
"""`elsewhere`: on another machine, so that it may have stopped."""
LINES = 20
"""How many lines of an error message are shown."""
NARROW = 40
"""The smallest width that is assumed for a terminal."""


class Watch:
    """The run of the results in one folder. `look` may be called often: only what has changed is read."""

    progress: Progress
    status: str
    """A key of `STATUS`."""
    failed: dict[str, Path]
    """Logs of the jobs that failed or were killed, by their names."""
    at_work: list[str]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._changed = -1
        self.look()

    def look(self) -> None:
        """Read what is new; another run may have begun."""
        path = self.folder / NAME
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            changed = 0
        if changed != self._changed:
            self.experiment = require_experiment(self.folder)  # it may have been renamed
            self._changed, run = changed, read_run(self.folder)
            self._said: Summary | None = None
            self.progress = Progress(self.experiment, changed if run is not None else 0, run)
        self.progress.look()
        self.present = self.experiment.after_looks()
        self.failed = {**self.progress.failed, **self._died()}
        self.status = self._status()
        over = self.status in ("done", "failed", "stopped")
        self.at_work = [] if over else [name for name in self.progress.running if name not in self.failed]

    def _status(self) -> str:
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

    # ---- lines

    def lines(self, width: int = 100, height: int | None = None) -> list[str]:
        """All of it in at most `height` lines; further rows of systems and running jobs are counted."""
        width = max(width, NARROW)
        head = [*self._head(width), "", *self._stages()]
        rows, at_work = [*self._systems()], [*self._at_work()]
        rest = [*self._errors(width), *self._verdict(width)]
        if height is not None:
            room = height - len(head) - len(rest)
            at_work = _shortened(at_work, max(room // 3, 3), "jobs")
            rows = _shortened(rows, max(room - len(at_work), 3), "rows")
        shown = [line[:width].rstrip() for line in (*head, *rows, *at_work)] + rest
        return list(map(printable, shown if height is None else shown[:height]))

    def _head(self, width: int) -> list[str]:
        progress, run = self.progress, self.progress.run
        host = "" if run is None else run.process.host
        parts = [f"{self.experiment.name}: {STATUS[self.status].format(host=host)}"]
        if run is not None:
            parts.append(f"began {_clock(progress.began)}")
            parts += progress_words(progress, left=bool(self.at_work))
        if self.status == "elsewhere":
            files = progress.files
            last = max([*files.logs.values(), *files.records.values(), progress.began])
            parts.append(f"last sign of life {_clock(last)}")
        page = Path(self.experiment.at.page)
        report = [f"report: {page}"] if self.status == "done" and page.exists() else []
        return textwrap.wrap(", ".join(parts), width, subsequent_indent="  ") + report

    def _stages(self) -> Iterator[str]:
        """Counts of jobs by stage; with looks that are not settled, of the most jobs that there may be."""
        record = self.present.record
        settled = record is not None and record.settled
        every = [job.name for job in jobs_of(self.present if settled else self.experiment)]
        done = Counter(stage_of(name) for name in every if self.progress.is_done(name))
        now, lost = Counter(map(stage_of, self.at_work)), Counter(map(stage_of, self.failed))
        for stage, n in Counter(map(stage_of, every)).items():
            part = 10 * done[stage] / n
            bar = "█" * int(part) + ("▌" if part % 1 > 0 else "")
            more = [f"{m[stage]} {w}" for m, w in ((now, "at work"), (lost, "failed")) if m[stage]]
            yield f"  {stage:<12}{bar:<10} {done[stage]:>4} of {counted(stage, n):<14}{', '.join(more)}"

    def _systems(self) -> Iterator[str]:
        """A row for each system and kind of run: how many are made, and decoded."""
        progress, experiment = self.progress, self.experiment
        making = experiment.systems_with("tune") + experiment.systems_with("train_replica")
        name = max(len("system"), *map(len, experiment.systems))
        yield from ("", f"  {'system':<{name}}  {'from':<6}{'    made' if making else ''}  decoded")
        for system in experiment.systems:
            wanted, most = self._replicas(system)
            given = experiment.outputs.get(system)
            collected = given is not None and all(
                progress.is_done(f"decode/{testset}/{system}") for testset in given
            )
            for prefix in dict.fromkeys(one.prefix for one in most):
                ids = [one.id for one in wanted if one.prefix == prefix]
                all_of_it = sum(one.prefix == prefix for one in most)
                of = f"{len(ids)}" + ("" if len(ids) == all_of_it else f" (most {all_of_it})")
                made = sum(progress.is_done(f"tune/{system}/{id}") for id in ids)
                decoded = sum(progress.is_done(f"decode/{system}/{id}") for id in ids)
                decoded = decoded if given is None else len(ids) * collected
                text = f"{made}/{of}" if system in making else ""
                yield (
                    f"  {system:<{name}}  {prefix:<6}"
                    + (f"  {text:>6}" if making else "")
                    + f"  {decoded}/{of}"
                )

    def _replicas(self, system: str) -> tuple[list[Replica], list[Replica]]:
        """The replicas asked for so far, and the most that there may be."""
        most = self.experiment.replicas(system)
        if self.experiment.looks is None or system not in self.experiment.plan.sizes:
            return most, most
        if self.present.record is not None:
            return self.present.replicas(system), most
        plan = self.experiment.plan
        return replica_ids(plan.counts(system, plan.first[system])), most

    def _at_work(self) -> Iterator[str]:
        last = dict(self.progress.messages)
        if self.at_work:
            yield from ("", "at work")
        for name in self.at_work:
            said = last.get(name, "").partition(", pool")[0]
            yield f"  {words(name)}" + (f": {said}" if said else "")

    def _errors(self, width: int) -> Iterator[str]:
        if not self.failed:
            return
        name, log = [*self.failed.items()][-1]
        more = f" (and {len(self.failed) - 1} others)" if len(self.failed) > 1 else ""
        yield from ("", f"failed: {words(name)}{more}", f"  log: {log}")
        message = last_message(log).splitlines()
        yield from (f"    {line}"[:width] for line in message[:LINES])
        if len(message) > LINES:
            yield f"    ... and {len(message) - LINES} more lines"

    def _verdict(self, width: int) -> Iterator[str]:
        """What `run` says: of the report when it is made, before that of the first tests that are done."""
        if self.status == "done" and self._said is None:
            self._said = self.progress.whole_summary()
        if (summary := self._said or self.progress.summary()) is not None:
            yield ""
            for line in str(summary).splitlines():
                yield from textwrap.wrap(line, width, subsequent_indent="  ")


def _shortened(rows: list[str], room: int, what: str) -> list[str]:
    if len(rows) <= room:
        return rows
    return [*rows[: room - 1], f"... and {len(rows) - room + 1} more {what}: --once"]


def _clock(nanoseconds: int) -> str:
    """A local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(nanoseconds / 1e9))


def show(watch: Watch, period: float, stream: TextIO | None = None) -> None:
    """Redraw the lines in place until Ctrl-C."""
    stream = stream or sys.stdout
    drawn: list[str] = []
    while True:
        size = shutil.get_terminal_size()
        now = watch.lines(size.columns - 1, size.lines - 1)
        if now != drawn:
            rows = sum(_rows_of(line, size.columns) for line in drawn)
            stream.write(f"\033[{rows}A\r\033[J" if drawn else "")
            stream.write("".join(f"{line}\n" for line in now))
            stream.flush()
            drawn = now
        time.sleep(period)
        watch.look()


def _rows_of(line: str, width: int) -> int:
    """How many rows of a terminal a line takes: characters of some scripts are two columns wide."""
    wide_signs = sum(unicodedata.east_asian_width(sign) in "WF" for sign in line)
    return max(-(-(len(line) + wide_signs) // width), 1)


def printable(line: str) -> str:
    """A line without control characters, which names and messages may contain."""
    return "".join(sign if sign.isprintable() else "�" for sign in line)
