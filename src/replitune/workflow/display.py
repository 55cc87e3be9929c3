"""Displays a run: on a terminal as one line that is updated, elsewhere as a line for every step."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from replitune.workflow.progress import Progress, stage_of

REPLICAS = ("tune", "decode")
"""Stages with one job per replica."""
SPEAKING = ("kernels", "train", "tune", "look")
"""Stages during which jobs report progress (kernels are compiled while systems are trained)."""


class Display:
    """Call `update` as often as you like, and `close` before anything else is printed."""

    def __init__(self, progress: Progress, *, plain: bool, stream: TextIO | None = None) -> None:
        self.progress = progress
        self.stream = stream or sys.stdout
        self.plain = plain or not self.stream.isatty()
        self.began = time.monotonic()
        self._jobs = self._shown = 0
        self._failed: set[str] = set()
        self._verdict: str | None = None
        self._latest = ""
        self._complete: set[str] = set()
        self._drawn = ""

    def update(self) -> None:
        """Print what is new since the last time."""
        progress = self.progress
        progress.look()
        for name, line in progress.messages[self._shown :]:
            self._latest = f"{words(name)}: {line.partition(', pool')[0]}"
            if self.plain:
                self._line(f"{words(name)}: {line}")
        self._shown = len(progress.messages)
        for number, job in enumerate(progress.finished[self._jobs :], self._jobs + 1):
            if self.plain:
                self._line(f"{words(job.name)} is done in {clock(job.seconds)}; {self._state(number)}")
        self._jobs = len(progress.finished)
        for name, log in progress.failed.items():
            if name not in self._failed:
                self._line(f"{words(name)} failed: {log}")
        self._failed = set(progress.failed)
        if not self.plain:
            self._stages()
        summary = None if progress.planned is None else progress.summary()  # tests may be made again
        if (verdict := None if summary is None else summary.sentence) != self._verdict:
            self._verdict = verdict
            if verdict is not None:
                self._line(verdict)
        if not self.plain:
            self._draw()

    def close(self) -> None:
        if self._drawn:
            self.stream.write("\r\033[K")
            self.stream.flush()
        self._drawn = ""

    def finish(self) -> None:
        """Print what the report says, and where it is; or that only a part was asked for."""
        progress = self.progress
        jobs, _ = progress.jobs
        took = clock(time.monotonic() - self.began)
        how = f"{jobs} jobs in {took}, {clock(progress.cpu_seconds)} CPU" if jobs else "nothing to do"
        if (summary := progress.whole_summary()) is not None:
            print(summary, file=self.stream)
            print(f"report: {progress.experiment.at.page} ({how})", file=self.stream, flush=True)
        else:
            print(f"what was asked for is made, without a report ({how})", file=self.stream, flush=True)

    # ---- lines

    def _line(self, text: str) -> None:
        """Print a line that stays."""
        self.close()
        when = f"[{clock(time.monotonic() - self.began)}] " if self.plain else ""
        print(f"{when}{text}", file=self.stream, flush=True)

    def _stages(self) -> None:
        """Print the stages that are complete."""
        for stage, planned in (self.progress.planned or {}).items():
            jobs = [job for job in self.progress.finished if stage_of(job.name) == stage]
            if planned and len(jobs) == planned and stage not in self._complete:
                self._complete.add(stage)
                cpu = clock(sum(job.cpu_seconds for job in jobs))
                self._line(f"{stage:<12} {counted(stage, planned):<14} {cpu:>8} CPU")

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        line = self._state()
        if self.progress.stage in SPEAKING and self._latest:
            line += f" | {self._latest}"
        elif self._verdict is not None:
            line += f" | {self._verdict}"
        line = line[:width]
        if line != self._drawn:
            self.stream.write(f"\r{line}\033[K")
            self.stream.flush()
            self._drawn = line

    def _state(self, done: int | None = None) -> str:
        """The state in words: stage, replicas, jobs, CPU, time left."""
        progress = self.progress
        if progress.planned is None:
            return f"planning, {clock(time.monotonic() - self.began)}"
        parts = progress_words(progress, done)
        if (stage := progress.stage) is not None:
            made, every = progress.counts(stage)
            parts.insert(0, f"{stage} {made} of {_at_most(progress)}{counted(stage, every)}")
        return ", ".join(parts)


def progress_words(progress: Progress, done: int | None = None, left: bool = True) -> list[str]:
    """Jobs, CPU, failures, and perhaps the time left, in words."""
    jobs, all_jobs = progress.jobs
    most = _at_most(progress)
    parts = [f"{jobs if done is None else done} of {most}{all_jobs} jobs"]
    parts.append(f"{clock(progress.cpu_seconds)} CPU")
    if progress.failed:
        parts.append(f"{len(progress.failed)} failed")
    if left and jobs and (seconds := progress.left()) is not None:
        parts.append(f"{most or 'about '}{clock(seconds)} left")
    return parts


def _at_most(progress: Progress) -> str:
    return "at most " if progress.looking else ""


def words(name: str) -> str:
    """The name of a job in words: ``tune baseline mert-001``; ``report`` for ``report/report``."""
    return " ".join(dict.fromkeys(name.split("/")))


def counted(stage: str, number: int) -> str:
    one = "run" if stage in REPLICAS else "job"
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def clock(seconds: float) -> str:
    """A time in words: ``0:42``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
