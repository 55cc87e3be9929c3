"""The progress of a run, read from files that its jobs write in any case.

A job has a log from its start and a record from its end (`replitune.ledger.records`); Snakemake
removes the record of an earlier run before it makes something again. Snakemake writes down the
planned jobs at its start (`replitune.ledger.runs`); its events, if it has the plugin, name the jobs
that failed without a message of their own (`replitune.workflow.events`).
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.stage import STAGES
from replitune.ledger.runs import NAME, Run, ended_well, read_run
from replitune.running.files import bytes_of, open_regular
from replitune.workflow.events import failed_logs, file_of, read_events
from replitune.workflow.job_files import JobFiles

if TYPE_CHECKING:
    from replitune.results.result import Result
    from replitune.results.summary import Summary

PATTERNS = {
    "kernels": re.compile(r"^compile \d+ of \d+ .*", re.MULTILINE),
    "tune": re.compile(r"^(?:iteration|round) \d+: .*", re.MULTILINE),
    "look": re.compile(r"^look \d+: (.*)", re.MULTILINE),
}
"""The log lines in which long jobs report their progress, by stage."""
KNOWN = 20
"""How many jobs of earlier runs have their times read, per stage."""
RECENT = 6
"""How many of the last jobs of a stage predict the next ones (the first ones wait for compiled code)."""
USUAL = {
    "kernels": 4.0,
    "train": 4.7,
    "train_replica": 60.0,
    "tune": 1.6,
    "decode": 0.5,
    "score": 0.5,
    "test": 0.8,
    "replication": 1.3,
    "calibrate": 20.0,
    "manifest": 0.4,
    "corpus": 0.2,
    "derive": 0.6,
    "ask": 0.3,
}
"""CPU seconds assumed for a job before any is known, by stage; 1 for other stages."""
COLD, REPORT = 30.0, (2.5, 1.0)
"""The same for kernels that are not compiled yet; and for the report, with more for each test."""
BETWEEN = 0.3
"""Seconds that Snakemake itself takes for a job on a free machine."""
SHRINK = 1.0, 4.0
"""Seconds added to both sides of two ratios, which draws them towards 1: job time to CPU time, and
real time to estimated time."""


@dataclass(frozen=True)
class Finished:
    """A job that has ended without an error."""

    name: str
    """stage/names, as its log is named."""
    seconds: float
    cpu_seconds: float


@dataclass
class Progress:
    """The jobs of a run; only files that are not older than `began` (nanoseconds) belong to it."""

    experiment: Experiment
    began: int
    run: Run | None = None
    """The run with its planned jobs, once Snakemake has written them."""
    finished: list[Finished] = field(default_factory=list)
    running: dict[str, float] = field(default_factory=dict)
    """Names of running jobs, with the time at which each was first seen."""
    failed: dict[str, Path] = field(default_factory=dict)
    """Failed jobs with their logs, the latest last."""
    messages: list[tuple[str, str]] = field(default_factory=list)
    """Pairs (name of a job, line in which it reports its progress)."""

    def __post_init__(self) -> None:
        self.files = JobFiles(self.experiment.folder / "logs")
        self.names: defaultdict[str, list[str]] = defaultdict(list)
        for job in jobs_of(self.experiment):
            self.names[stage_of(job.name)].append(job.name)
        self._known: set[str] = set()
        self._read: dict[str, int] = {}
        self._judged: tuple[str, int] | None = None
        self._result: Result | None = None
        self._planned_at = self.began
        self._looked = -1
        self._may_follow: frozenset[str] = frozenset()
        self.files.look()
        self._made_before = {name for name, t in self.files.records.items() if t < self.began}
        self._seconds = self._earlier()

    # ---- reading

    def look(self) -> None:
        """Read what is new."""
        if self.run is None:
            self._read_run()
        files = self.files
        files.look()
        for name, changed in files.records.items():
            if changed < self.began or name in self._known:
                continue
            self._read_log(name)
            if (job := _finished(name, files.record(name))) is not None:
                self._known.add(name)
                self.finished.append(job)
                self._seconds[stage_of(name)].append(job.seconds)
        at_work = {n: t for n, t in files.logs.items() if t >= self.began and n not in self._known}
        for name in at_work:
            self._read_log(name)
        failed = [name for name in at_work if _says_error(files.log(name))]
        lost = [name for name in self._lost() if name not in self._known and name not in failed]
        self.failed = {
            name: files.log(name) for name in [*lost, *sorted(failed, key=lambda name: at_work[name])]
        }
        now = time.monotonic()
        self.running = {n: self.running.get(n, now) for n in at_work if n not in self.failed}
        looked = sum(stage_of(job.name) == "look" for job in self.finished)
        if self.looking and looked != self._looked:
            self._looked, self._may_follow = looked, self._after_looks()

    def _lost(self) -> list[str]:
        """Jobs that failed according to Snakemake."""
        if self.run is None:
            return []
        logs = failed_logs(read_events(file_of(self.experiment.folder, self.run.process.number)))
        names = [log.removesuffix(".log").split("/", 3)[-1] for log in logs]  # results/X/logs/...
        return [name for name in names if stage_of(name) in self.names]

    def _read_run(self) -> None:
        path = self.experiment.folder / NAME
        try:
            self._planned_at = path.stat().st_mtime_ns
            if self._planned_at >= self.began:
                self.run = read_run(self.experiment.folder)
        except OSError:
            return

    def _after_looks(self) -> frozenset[str]:
        """The jobs that may follow the looks so far: all that are not made yet, or made from what the looks
        decide."""
        present = self.experiment.after_looks()
        record = present.record
        if record is None or not record.settled or not self.is_done(f"look/{len(record.looks)}"):
            present = self.experiment  # the most that there may be
        return frozenset(
            job.name
            for job in jobs_of(present)
            if job.name not in self._made_before or STAGES[job.stage].WAITS_FOR_LOOKS
        )

    def _earlier(self) -> defaultdict[str, list[float]]:
        """Seconds of jobs of earlier runs, by stage."""
        by_stage: defaultdict[str, list[float]] = defaultdict(list)
        for name, changed in self.files.records.items():
            seconds = by_stage[stage_of(name)]
            if changed < self.began and len(seconds) < KNOWN:
                job = _finished(name, self.files.record(name))
                seconds += [] if job is None else [job.seconds]
        return by_stage

    def _read_log(self, name: str) -> None:
        """Read the complete lines since the last look, if the job reports its progress."""
        if (pattern := PATTERNS.get(stage_of(name))) is None:
            return
        begin = self._read.get(name, 0)
        try:
            with open_regular(self.files.log(name)) as handle:
                handle.seek(begin)
                data = handle.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self._read[name] = begin + whole
        text = data[:whole].decode("utf-8", errors="replace")
        self.messages += [(name, line) for line in pattern.findall(text)]

    # ---- answers

    @property
    def planned(self) -> Counter[str] | None:
        """Jobs of this run by stage; None until Snakemake has written them."""
        return None if self.run is None else Counter(map(stage_of, self.to_do))

    @property
    def looking(self) -> bool:
        """Whether looks of this run decide what follows, so that its jobs are not known yet."""
        return self.run is not None and any(stage_of(name) == "look" for name in self.run.planned)

    @property
    def to_do(self) -> frozenset[str]:
        """Names of the jobs of this run; with looks, at most these."""
        return frozenset() if self.run is None else self.run.planned | self._may_follow

    def is_done(self, name: str) -> bool:
        """Whether a job is done: in this run, or in an earlier one and not to be done again."""
        return name in self._known or (name in self.files.records and name not in self.to_do)

    def counts(self, stage: str) -> tuple[int, int]:
        """The number of jobs of a stage that are done, now or earlier, and of all its jobs."""
        names = self.names.get(stage, [])
        return sum(map(self.is_done, names)), len(names)

    @property
    def stage(self) -> str | None:
        """The first stage, in the order of the workflow, that is running."""
        at_work = {stage_of(name) for name in self.running}
        if len(at_work) > 1:
            at_work.discard("kernels")
        return next((stage for stage in self.names if stage in at_work), None)

    @property
    def jobs(self) -> tuple[int, int]:
        """The number of jobs of this run that are done, and of all; with looks, at most so many."""
        return len(self.finished), max(len(self.to_do), len(self.finished) + len(self.running))

    @property
    def cpu_seconds(self) -> float:
        return sum(job.cpu_seconds for job in self.finished)

    def left(self) -> float | None:
        """Estimated seconds left. A job is expected to take as long as the last ones of its stage; if there
        are none, its usual CPU seconds, times the time that jobs have taken per CPU second. The sum is
        multiplied by the time that the run has taken, relative to such an estimate for what is done."""
        if self.run is None:
            return None
        parallel, now, (few, some) = self.run.parallel, time.monotonic(), SHRINK
        done: defaultdict[str, list[Finished]] = defaultdict(list)
        for job in self.finished:
            done[stage_of(job.name)].append(job)
        seconds = {stage: sum(job.seconds for job in jobs) for stage, jobs in done.items()}
        busy = sum(
            s * (min(2, parallel) if stage == "kernels" else 1)
            for stage, s in seconds.items()
            if stage != "ask"  # its jobs wait for a server
        )
        cpu = sum(job.cpu_seconds for stage, jobs in done.items() if stage != "ask" for job in jobs)
        slower = max((busy + few) / (cpu + few), 0.7)
        between, left = BETWEEN * slower, 0.0
        for stage, planned in Counter(map(stage_of, self.to_do)).items():
            waiting = planned - len(done[stage])
            at_work = [now - began for name, began in self.running.items() if stage_of(name) == stage]
            if waiting <= 0:
                continue
            recent = self._seconds[stage][-RECENT:]
            guess = slower * self._usual(stage, max(at_work, default=0.0) / slower)
            each = median(recent) if recent else max(guess, *(1.5 * t for t in (0.0, *at_work)))
            rest = sum(max(each - t, each / 4, (t - each) / 4) for t in at_work)
            rest += max(waiting - len(at_work), 0) * (each + between * parallel)
            left += max(rest / min(parallel, waiting), min(each, rest))  # a stage waits for the one before
        so_far = [now - began for began in self.running.values()]
        reckoned = sum(so_far) / max(len(so_far), 1) + len(self.finished) * between
        reckoned += sum(s / min(parallel, len(done[stage])) for stage, s in seconds.items())
        left += between * (left > 0)
        return left * ((time.time_ns() - self._planned_at) / 1e9 + some) / (reckoned + some)

    def _usual(self, stage: str, seconds: float) -> float:
        """The usual CPU seconds of a job of a stage; `seconds` is what a running one has taken so far."""
        if stage == "report":
            return REPORT[0] + REPORT[1] * len(self.names["test"])
        usual = USUAL.get(stage, 1.0)
        return COLD if stage == "kernels" and seconds > usual else usual

    def tested(self) -> Result | None:
        """The tests by the first metric on the first suite or test set where they are done and will not be
        made again."""
        metric = self.experiment.metrics[0]
        for testset in [*self.experiment.suites, *self.experiment.tests]:
            name = f"test/{testset}/{metric}"
            if self.is_done(name):
                made = (name, self.files.records.get(name, 0))
                if made != self._judged:
                    self._judged = made
                    self._result = _read_result(self.experiment.folder / "tests" / testset, metric)
                return self._result
        return None

    def summary(self) -> Summary | None:
        """The summary of these tests (`tested`)."""
        from replitune.corpus.prepare import corpus_warnings
        from replitune.results.summary import summarise_answers

        cell = self.tested()
        if cell is None or not cell.answers:
            return None
        baseline = getattr(self.experiment.settings.tests.pairs, "baseline", None)
        given = corpus_warnings(self.experiment.at.inputs)
        return summarise_answers([cell], baseline=baseline, given=given)

    def whole_summary(self) -> Summary | None:
        """The summary of the report, read from the finished results; None if the run was to make only a
        part of them."""
        from replitune.stages.report import report_of

        folder = self.experiment.folder
        if not Path(self.experiment.at.manifest).exists():
            return None
        is_whole = ended_well(folder) or not (folder / NAME).exists()
        return report_of(folder).results.summary if is_whole else None


def _read_result(folder: Path, metric: str) -> Result | None:
    from replitune.results.result import Result

    try:
        return Result.read(folder, metric)
    except (ReplituneError, OSError):
        return None  # it is being made again


def stage_of(name: str) -> str:
    return name.partition("/")[0]


class _Record(msgspec.Struct):
    """The fields of a record that are read."""

    seconds: float
    cpu_seconds: float


def _finished(name: str, path: Path) -> Finished | None:
    try:
        record = msgspec.json.decode(bytes_of(path), type=_Record)
    except (OSError, ValueError):
        return None  # from another version, or removed in the meantime
    return Finished(name, record.seconds, record.cpu_seconds)


def _says_error(path: Path) -> bool:
    """Whether a log ends with an error message of replitune."""
    try:
        with open_regular(path) as handle:
            handle.seek(max(path.stat().st_size - 4000, 0))
            return b"\nreplitune: " in b"\n" + handle.read()
    except OSError:
        return False
