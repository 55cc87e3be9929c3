"""How far a run is, read from what its jobs write anyway.

A job has a log from its begin and a record from its end (`replitune.ledger.records`); Snakemake
removes the record of an earlier run before it makes something again. How many jobs there are to do
is in Snakemake's own log.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.plan import count_jobs

TABLE = re.compile(r"^Job stats:\njob +count\n[- ]+\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
PROVIDED = re.compile(r"^Provided (?:cores|remote nodes): (\d+)", re.MULTILINE)
STAGES = {"train_replica": "tune", "corpus_train": "corpus", "corpus_testset": "corpus",
          "corpus_inputs": "corpus"}  # fmt: skip
"""Of rules that are called otherwise than the folder of their logs."""
OF_TUNING = re.compile(r"^(?:iteration|round) \d+: .*", re.MULTILINE)
"""What tuning and training say of themselves."""
KNOWN = 20
"""Jobs of an earlier run that are asked for their time, of each stage."""


@dataclass(frozen=True)
class Finished:
    """A job that has ended well."""

    name: str
    """stage/names, as that of its log."""
    seconds: float
    cpu_seconds: float


@dataclass
class Progress:
    """Of a run that has begun when `log`, Snakemake's, was made."""

    experiment: Experiment
    log: Path
    finished: list[Finished] = field(default_factory=list)
    running: dict[str, float] = field(default_factory=dict)
    """Names of jobs, with the time at which they were first seen."""
    failed: dict[str, Path] = field(default_factory=dict)
    """With their logs."""
    said: list[tuple[str, str]] = field(default_factory=list)
    """What tuning says, with the name of its job."""
    planned: Counter[str] | None = None
    """Jobs of this run by stage, once Snakemake knows."""

    def __post_init__(self) -> None:
        self.logs = self.experiment.folder / "logs"
        self.began = self.log.stat().st_mtime_ns
        self.expected = count_jobs(self.experiment)
        self._parallel = 1
        self._read: dict[str, int] = {}
        self._seconds = self._earlier()
        self._judged: tuple[str, int] | None = None
        self._verdict: tuple[str, str] | None = None

    # ---- what there is

    def look(self) -> None:
        """What is new."""
        if self.planned is None:
            self._read_plan()
        known = {job.name for job in self.finished}
        logs: dict[str, Path] = {}
        for name, suffix, changed in self._files():
            if changed < self.began or name in known or name == "snakemake":
                continue
            path = self.logs / f"{name}{suffix}"
            if suffix == ".log":
                logs[name] = path
                if name.startswith("tune/"):
                    self._read_tuning(name, path)
            elif (job := _finished(name, path)) is not None:
                self.finished.append(job)
                self._seconds[stage_of(name)].append(job.seconds)
        for job in self.finished:
            logs.pop(job.name, None)
        self.failed = {name: path for name, path in logs.items() if _says_error(path)}
        now = time.monotonic()
        self.running = {
            name: self.running.get(name, now) for name in logs if name not in self.failed
        }

    def _files(self) -> Iterator[tuple[str, str, int]]:
        """Logs and records, logs first: name, suffix, time."""
        todo = [""]
        while todo:
            below = todo.pop()
            try:
                entries = sorted(os.scandir(self.logs / below), key=lambda e: e.name, reverse=True)
            except OSError:
                continue
            for entry in entries:
                name, dot, suffix = entry.name.rpartition(".")
                try:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(f"{below}{entry.name}/")
                    elif suffix in ("json", "log") and not name.startswith("."):
                        yield f"{below}{name}", dot + suffix, entry.stat().st_mtime_ns
                except OSError:  # it was removed meanwhile
                    continue

    def _earlier(self) -> defaultdict[str, list[float]]:
        """Seconds of jobs of earlier runs, by stage."""
        found: defaultdict[str, list[float]] = defaultdict(list)
        for name, suffix, _ in self._files():
            seconds = found[stage_of(name)]
            if suffix == ".json" and len(seconds) < KNOWN:
                job = _finished(name, self.logs / f"{name}.json")
                seconds += [] if job is None else [job.seconds]
        return found

    def _read_plan(self) -> None:
        text = self.log.read_text("utf-8", errors="replace")
        table = TABLE.search(text)
        if table is None:
            return
        self.planned = Counter()
        for row in table[1].splitlines():
            rule, count = row.split()
            if rule not in ("all", "total"):
                stage = "decode" if rule.startswith("collect_") else STAGES.get(rule, rule)
                self.planned[stage] += int(count)
        if provided := PROVIDED.search(text):
            self._parallel = int(provided[1])

    def _read_tuning(self, name: str, path: Path) -> None:
        """Whole lines that have come since the last look."""
        begin = self._read.get(name, 0)
        try:
            with open(path, "rb") as handle:
                handle.seek(begin)
                data = handle.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self._read[name] = begin + whole
        text = data[:whole].decode("utf-8", errors="replace")
        self.said += [(name, line) for line in OF_TUNING.findall(text)]

    # ---- what it means

    def of_stage(self, stage: str) -> tuple[int, int]:
        """Jobs that are done, now or before, and all of the experiment."""
        every = self.expected.get(stage, 0)
        planned = self.planned or Counter()
        done = sum(stage_of(job.name) == stage for job in self.finished)
        return max(every - planned[stage], 0) + done, max(every, planned[stage])

    @property
    def stage(self) -> str | None:
        """The first in the order of the workflow that is at work."""
        at_work = {stage_of(name) for name in self.running}
        if len(at_work) > 1:
            at_work.discard("kernels")
        return next((stage for stage in self.expected if stage in at_work), None)

    @property
    def jobs(self) -> tuple[int, int]:
        """Of this run: done, and all that are known of: looks may ask for more."""
        known = sum((self.planned or Counter()).values())
        return len(self.finished), max(known, len(self.finished) + len(self.running))

    @property
    def cpu_seconds(self) -> float:
        return sum(job.cpu_seconds for job in self.finished)

    def left(self) -> tuple[float, bool] | None:
        """Seconds, by those of jobs that are done; whether that is all, or there are jobs of which
        none was ever done."""
        if self.planned is None:
            return None
        done = Counter(stage_of(job.name) for job in self.finished)
        now, work, longest, whole = time.monotonic(), 0.0, 0.0, True
        for stage, planned in self.planned.items():
            if planned <= done[stage]:
                continue
            if not (known := self._seconds[stage]):
                whole = False
                continue
            mean = sum(known) / len(known)
            under_way = sum(
                min(now - began, mean)
                for name, began in self.running.items()
                if stage_of(name) == stage
            )
            rest = max((planned - done[stage]) * mean - under_way, 0.0)
            work += rest
            longest += min(mean, rest)  # stages wait for each other
        return max(work / self._parallel, longest), whole

    def verdict(self) -> tuple[str, str] | None:
        """As soon as there are tests of them: on the first suite or test set by the first metric,
        in short and in full."""
        metric = self.experiment.metrics[0]
        for testset in [*self.experiment.suites, *self.experiment.tests]:
            record = self.logs / "test" / testset / f"{metric}.json"
            try:
                made = (testset, record.stat().st_mtime_ns)
            except OSError:
                continue
            if made != self._judged:
                self._judged = made
                self._verdict = _verdict(self.experiment.folder / "tests" / testset, metric)
            return self._verdict
        return None


def _verdict(folder: Path, metric: str) -> tuple[str, str] | None:
    """Of the first pair, and how many others there are."""
    from replitune.report.verdict import lead_verdicts
    from replitune.report.wording import named
    from replitune.results.result import Result

    try:
        (cell,) = named([Result.read(folder, metric)])
    except (ReplituneError, OSError):
        return None  # being made again
    found = lead_verdicts(cell)
    if not found:
        return None
    others = f" (and {len(found) - 1} other pairs)" if len(found) > 1 else ""
    short = f"{cell.testset}, {cell.name}: {found[0].headline}{others}"
    return short, f"{cell.testset}, {cell.name}: {found[0].text}{others}"


def stage_of(name: str) -> str:
    return name.partition("/")[0]


def _finished(name: str, path: Path) -> Finished | None:
    try:
        record = json.loads(path.read_text("utf-8"))
        return Finished(name, float(record["seconds"]), float(record["cpu_seconds"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # of another version, or removed meanwhile


def _says_error(path: Path) -> bool:
    """Whether a log ends with a message of ours."""
    try:
        with open(path, "rb") as handle:
            handle.seek(max(path.stat().st_size - 4000, 0))
            return b"\nreplitune: " in b"\n" + handle.read()
    except OSError:
        return False
