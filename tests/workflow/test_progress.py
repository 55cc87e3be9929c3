"""What is said of a run, from files such as its jobs write; nothing runs here."""

from __future__ import annotations

import io
import json
import os
import re
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from replitune import read
from replitune.corpus.prepare import corpus_warnings
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import resolve
from replitune.ledger.runs import NAME, read_run, write_run
from replitune.workflow.display import Display, clock, words
from replitune.workflow.progress import Finished, Progress

from .conftest import TINY, Snakemake

PLANNED = [
    "corpus/t1",
    "corpus/t2",
    *(f"decode/{system}/seed-00{k}" for system in "ab" for k in (1, 2)),
    *(f"score/{testset}/bleu/{system}" for testset in ("dev", "t1", "t2") for system in "ab"),
]


RECORDED = Path(__file__).with_name("recorded_runs.json")
"""Of six real runs the jobs with their begin and end, in seconds."""


class Run:
    """The folder of a run, as its jobs would fill it."""

    def __init__(self, folder: Path) -> None:
        self.experiment = Experiment(resolve(TINY), folder)
        self.logs = self.experiment.folder / "logs"
        self.log = self.logs / "snakemake.log"
        self.logs.mkdir(parents=True)
        self.log.touch()

    def starts(self, name: str, text: str = "") -> Path:
        path = self.logs / f"{name}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def ends(self, name: str, seconds: float = 2.0) -> Path:
        self.starts(name)
        path = self.logs / f"{name}.json"
        path.write_text(json.dumps({"seconds": seconds, "cpu_seconds": 2 * seconds}))
        return path

    def plans(self, planned: list[str]) -> None:
        """As Snakemake does before its first job, on two cores."""
        logs = [f"{self.logs}/{name}.log" for name in planned]
        write_run(self.experiment, logs, 2)

    def progress(self) -> Progress:
        return Progress(self.experiment, self.log.stat().st_mtime_ns)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def long_ago(*paths: Path) -> None:
    for path in paths:
        os.utime(path, (1e9, 1e9))


def test_jobs_are_counted_by_their_logs_and_records(run: Run):
    progress = run.progress()
    progress.look()
    assert progress.planned is None
    assert progress.left() is None
    run.plans(PLANNED)
    run.ends("corpus/t1")
    run.ends("decode/a/seed-001", 3)
    run.starts("decode/a/seed-002")
    progress.look()
    assert progress.jobs == (2, 12)
    assert progress.counts("decode") == (1, 4)
    assert progress.cpu_seconds == 10
    assert list(progress.running) == ["decode/a/seed-002"]
    assert progress.stage == "decode"


def test_what_was_made_before_is_done_but_not_of_this_run(run: Run):
    """Three of four replicas are there; the fourth is made."""
    for name in ("a/seed-001", "a/seed-002", "b/seed-001"):
        long_ago(run.ends(f"decode/{name}"), run.logs / f"decode/{name}.log")
    run.plans([n for n in PLANNED if not n.startswith("decode/") or n == "decode/b/seed-002"])
    progress = run.progress()
    progress.look()
    assert progress.jobs == (0, 9)
    assert progress.counts("decode") == (3, 4)
    assert not progress.running


def test_time_left_is_that_of_jobs_that_are_done(run: Run, monkeypatch: pytest.MonkeyPatch):
    """Two jobs at once, and nothing to say that Snakemake is slow."""
    progress = run.progress()
    run.plans(PLANNED)
    progress.look()
    monkeypatch.setattr(time, "time_ns", lambda: progress._planned_at)
    # two corpora of .2 seconds, four decodes and six scores of .5, and .3 between jobs
    usual = (2 * 0.2 + 4 * 0.5 + 6 * 0.5) / 2 + 12 * 0.3 + 0.3
    assert progress.left() == pytest.approx(usual), "what is usual"
    for name in ("corpus/t1", "corpus/t2", *(f"decode/{x}/seed-00{k}" for x in "ab" for k in (1, 2))):
        run.ends(name, 5)
    run.ends("score/t1/bleu/a", 4)
    progress.look()
    # each job had 2 cores; 34 seconds are done, at .7 of what jobs usually take at the least
    between = 0.3 * 0.7
    reckoned = (10 + 20) / 2 + 4 + 7 * between
    left = 5 * (4 / 2 + between) + between
    assert progress.left() == pytest.approx(left * 4 / (reckoned + 4)), "less time has gone than jobs took"
    monkeypatch.setattr(time, "time_ns", lambda: progress._planned_at + int(1e9 * reckoned))
    assert progress.left() == pytest.approx(left), "five scores of four seconds, two at a time"
    monkeypatch.setattr(time, "time_ns", lambda: progress._planned_at + int(1e9 * (2 * reckoned + 4)))
    assert progress.left() == pytest.approx(2 * left), "the machine is busy"


def test_an_earlier_run_says_how_long_jobs_take(run: Run, monkeypatch: pytest.MonkeyPatch):
    path = run.ends("score/t1/bleu/a", 6)
    long_ago(path)
    progress = run.progress()
    path.unlink()  # as Snakemake does before it makes it again
    run.plans(PLANNED)
    progress.look()
    monkeypatch.setattr(time, "time_ns", lambda: progress._planned_at)
    usual = (2 * 0.2 + 4 * 0.5) / 2 + 6 * 0.3 + 0.3
    assert progress.left() == pytest.approx(usual + (6 + 5 * 6.6) / 2, abs=0.1), "one is at work"


def test_time_left_of_recorded_runs_is_mostly_within_a_factor_of_two(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    """Eight real runs, at every hundredth from a tenth on; two where others had ten times as much to do."""
    right = {}
    for name, recorded in json.loads(RECORDED.read_text("utf-8")).items():
        jobs = [(job, float(begin), float(end), float(cpu)) for job, begin, end, cpu in recorded["jobs"]]
        whole = max(end for _, _, end, _ in jobs)
        run.plans([job for job, *_ in jobs])
        planned = read_run(run.experiment.folder)
        assert planned is not None
        for now in (whole * k / 100 for k in range(10, 100)):
            progress = Progress(
                run.experiment, 0, msgspec.structs.replace(planned, parallel=recorded["parallel"])
            )
            progress.names.clear()
            for job, begin, end, cpu in sorted(jobs, key=lambda job: job[2]):
                progress.names[job.partition("/")[0]].append(job)
                if end <= now:
                    progress.finished.append(Finished(job, end - begin, cpu))
                    progress._seconds[job.partition("/")[0]].append(end - begin)
                elif begin <= now:
                    progress.running[job] = begin
            monkeypatch.setattr(time, "monotonic", lambda now=now: now)
            monkeypatch.setattr(time, "time_ns", lambda now=now: int(1e9 * now))
            left = progress.left()
            assert left is not None
            close = abs(left - (whole - now)) <= 3 or 0.5 <= left / (whole - now) <= 2
            right[name] = right.get(name, 0) + close
    assert all(n >= 35 for n in right.values()), right
    assert sum(right.values()) >= 590, right


def test_tuning_speaks_line_by_line(run: Run):
    progress = run.progress()
    path = run.starts("tune/a/mert-001", "start\niteration 0: dev bleu 1.00 (best), pool 3\niter")
    progress.look()
    path.write_text(path.read_text() + "ation 1: dev bleu 2.00\nround 2: update 7\n")
    progress.look()
    assert [line for _, line in progress.messages] == [
        "iteration 0: dev bleu 1.00 (best), pool 3",
        "iteration 1: dev bleu 2.00",
        "round 2: update 7",
    ]


def test_kernels_say_what_is_left(run: Run):
    run.starts("kernels/kernels", "compile 3 of 10 for tests: ter\niteration 0: dev bleu 1.00\n")
    stream = io.StringIO()
    Display(run.progress(), plain=True, stream=stream).update()
    assert "kernels: compile 3 of 10 for tests: ter\n" in stream.getvalue()
    assert "iteration" not in stream.getvalue()


def test_a_job_that_failed_is_named_with_its_log(run: Run):
    progress = run.progress()
    log = run.starts("decode/b/seed-001", "working\nreplitune: no words\n  found: none\n")
    stream = io.StringIO()
    Display(progress, plain=True, stream=stream).update()
    assert progress.failed == {"decode/b/seed-001": log}
    assert not progress.running
    assert f"decode b seed-001 failed: {log}" in stream.getvalue()


def test_a_run_that_is_over_is_told_whole(finished: Snakemake):
    """All jobs of a real run are known, and its verdict."""
    experiment = Experiment(resolve(TINY), finished.folder / "results")
    counts = Counter(job.name.partition("/")[0] for job in jobs_of(experiment))
    progress = Progress(experiment, (experiment.folder / NAME).stat().st_mtime_ns)
    stream = io.StringIO()
    display = Display(progress, plain=True, stream=stream)
    display.update()
    display.finish()
    assert progress.jobs == (sum(counts.values()),) * 2
    assert all(progress.counts(stage) == (n, n) for stage, n in counts.items())
    assert progress.left() == 0
    assert not progress.running
    assert not progress.failed
    later, planning = Progress(experiment, time.time_ns()), io.StringIO()
    Display(later, plain=True, stream=planning).update()
    assert planning.getvalue() == "", "these tests may be made again: nobody knows before the plan"
    said = stream.getvalue()
    first, *_ = (line for line in said.splitlines() if line.startswith("both: "))
    assert re.match(r"both: \w+ scored \d+\.\d+ BLEU above \w+", first), "the suite comes first"
    summary = progress.whole_summary()
    assert summary is not None
    assert str(summary) in said
    assert str(summary) == str(read(experiment.folder).summary)
    given = [caveat.text for caveat in summary.trust if caveat.code == "given"]
    assert given == corpus_warnings(experiment.at.inputs), "as the page says"
    *_, report = said.splitlines()
    assert report.startswith(f"report: {experiment.at.page} (")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_changes(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(Progress, "left", lambda self: 2.0)
    terminal = Terminal()
    display = Display(run.progress(), plain=False, stream=terminal)
    display.update()
    run.plans(PLANNED)
    run.ends("corpus/t1")
    run.ends("corpus/t2")
    run.starts("decode/a/seed-001")
    display.update()
    display.update()
    display.close()
    drawn = terminal.getvalue().replace("\033[K", "").split("\r")
    assert drawn == [
        "",
        "planning, 0:00",
        "corpus       2 jobs             0:08 CPU\n",
        "decode 0 of 4 runs, 2 of 12 jobs, 0:08 CPU, about 0:02 left"[:59],
        "",
    ]


def test_names_and_times_are_short():
    assert words("tune/a/mert-001") == "tune a mert-001"
    assert words("report/report") == "report"
    assert [clock(s) for s in (0.4, 62, 3723)] == ["0:00", "1:02", "1:02:03"]
