"""An experiment that decides itself how many replicas it needs, killed and resumed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from replitune import read
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import resolve
from replitune.ledger.runs import NAME as RUN
from replitune.ledger.runs import write_run
from replitune.significance.looks.record import Record, read_record
from replitune.workflow.display import Display
from replitune.workflow.progress import Progress

from ..faults.harness import command_of, descendants
from .conftest import Snakemake, manifest

# words are lost, other ones in each run; the second run fails
DECODE = (
    "test {number} != 2 && awk -v r={number} '{{ for (i = 1; i <= NF; i++)"
    ' if ((NR * 7 + i * 3 + r * 5) % (r + 4)) printf "%s ", $i; print "" }}\''
    " {source} > {output}"
)
ADAPTIVE = {
    "experiment": "f",
    "corpus": {"kind": "synthetic", "tests": {"t": 40}},
    "systems": {
        "a": {"backend": "command", "decode": DECODE},
        "b": {"backend": "corruption", "errors": 0.3},
        "c": {"backend": "corruption", "errors": 0.27},
        "g": {"backend": "outputs", "files": {"t": ["g.1", "g.2"]}},
    },
    "replicas": {"seeds": 7, "until": "settled", "looks": [3, 4, 5]},
    "allow_missing_replicas": True,
    "tests": {
        "samples": 99,
        "methods": [{"name": "crossed", "unit": "segment"}],
        "intervals": [],
        "pairs": [["a", "b"], ["b", "c"], ["g", "b"]],
    },
    "studies": {"power": False},
}
TESTED = "results/f/tests/t/bleu.json"
"""A target: what is asked of runs that are killed."""


def prepared(folder: Path) -> Snakemake:
    runner = Snakemake(folder)
    runner.write(ADAPTIVE)
    for number in (1, 2):
        (folder / f"g.{number}").write_text("".join(f"a b {i}\n" for i in range(40)))
    return runner


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    """Not to be changed by a test."""

    def make(runner: Snakemake) -> None:
        prepared(runner.folder).in_process(ADAPTIVE)

    return Snakemake.made_once(tmp_path_factory, "looks", make)


def contents(folder: Path) -> dict[str, str]:
    kept = ("decodes", "looks", "stats", "tests")
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in kept
        for path in sorted((folder / "results/f" / name).rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def record_of(folder: Path) -> Record:
    looks = folder / "results" / "f" / "looks"
    return read_record(max(looks.glob("*.json"), key=lambda path: int(path.stem)))


def test_only_replicas_that_looks_ask_for_are_made(undisturbed: Snakemake):
    record, folder = record_of(undisturbed.folder), undisturbed.folder / "results" / "f"
    assert len(record.looks) > 1
    assert record.settled
    for system, counts in record.counts.items():
        decodes = list((folder / "decodes" / "t" / system).glob("*.txt"))
        assert len(decodes) == sum(counts.values())
    rows = pq.read_table(folder / "looks" / f"{len(record.looks)}.parquet").to_pylist()
    assert len(rows) == 3 * len(record.looks)
    # nothing was scored twice: the last statistics took over the rows of all batches
    log = (folder / "logs" / "score" / "t" / "bleu" / "b.log").read_text()
    assert " 0 distinct outputs scored" in log


def test_a_replica_that_fails_is_named_and_the_rule_goes_by_the_others(undisturbed: Snakemake):
    first = record_of(undisturbed.folder).looks[0]
    assert first.systems["a"].replicas == ["seed-001", "seed-003"]
    assert "seed-002" in first.systems["a"].missing
    log = (undisturbed.folder / "results/f/logs/look/1.log").read_text()
    assert "a seed-002 is missing" in log


def test_a_system_of_two_files_stays_where_it_is_and_the_report_says_so(undisturbed: Snakemake):
    record = record_of(undisturbed.folder)
    assert [look.systems["g"].n for look in record.looks] == [2] * len(record.looks)
    page = (undisturbed.folder / "results/f/report.html").read_text("utf-8")
    assert "g stays at 2 runs, since there are no more" in page
    assert "adjusted for looks" in page
    assert "decided how many runs there are" in page


def test_the_manifest_has_the_looks_and_the_results_verify(undisturbed: Snakemake, replitune):
    files = manifest(undisturbed.folder / "results" / "f")["files"]
    assert "looks/1.json" in files
    with contextlib.chdir(undisturbed.folder):
        ran = replitune("verify", "results/f")
    assert ran.code == 0, ran.out + ran.err


def test_before_the_first_run_nothing_is_wrong(tmp_path: Path, replitune):
    runner = prepared(tmp_path)
    with contextlib.chdir(runner.folder):
        ran = replitune("check", "x.yaml", "--data")
    assert ran.code == 0, ran.err
    assert "this is the most that is possible: looks may ask for less" in ran.out


def test_the_last_lines_of_a_continued_run_are_those_of_the_report(undisturbed: Snakemake, tmp_path: Path):
    """Snakemake plans the tests again at first, and after the looks finds that they are made."""
    shutil.copytree(undisturbed.folder, tmp_path, dirs_exist_ok=True)
    folder = tmp_path / "results" / "f"
    experiment = Experiment(
        resolve(ADAPTIVE), tmp_path / "results", outputs={"g": {"t": ["run-001", "run-002"]}}
    )
    write_run(
        experiment, [f"{folder}/logs/{name}.log" for name in ("look/1", "test/t/bleu", "report/report")], 2
    )
    stream = io.StringIO()
    display = Display(Progress(experiment, (folder / RUN).stat().st_mtime_ns), plain=True, stream=stream)
    display.update()
    display.finish()
    assert "without a report" in stream.getvalue(), "it has not come to its end"
    (folder / "manifest.json").touch()
    stream.seek(0)
    display.finish()
    said = read(folder).summary
    assert stream.getvalue().startswith(f"{said}\nreport: ")
    assert any("has no seed-002 on t" in caveat.text for caveat in said.grave)


def test_progress_says_at_most_while_looks_may_ask_for_more(tmp_path: Path):
    experiment = Experiment(resolve(ADAPTIVE), tmp_path, outputs={"g": {"t": ["run-001", "run-002"]}})
    most = {job.name for job in jobs_of(experiment)}
    first = [name for name in most if name.startswith(("corpus/", "batch/t/bleu/g"))] + ["look/1"]
    write_run(experiment, [f"{experiment.folder}/logs/{name}.log" for name in first], 2)
    log = experiment.folder / "logs" / "look" / "1.log"
    log.parent.mkdir(parents=True)
    log.touch()
    made = experiment.folder / "logs" / "corpus" / "t.json"
    made.parent.mkdir()
    made.write_text('{"seconds": 1, "cpu_seconds": 1}')
    progress = Progress(experiment, (experiment.folder / RUN).stat().st_mtime_ns)
    stream = io.StringIO()
    Display(progress, plain=True, stream=stream).update()
    assert progress.jobs == (1, len(most))
    assert f"look 0 of at most 10 jobs, 1 of at most {len(most)} jobs" in stream.getvalue()
    assert re.search("at most [0-9:]+ left", stream.getvalue())


def kill_when(runner: Snakemake, moment: Callable[[list[int]], bool]) -> bool:
    """`kill -9` of a run, and of all that it has started, at a moment; False: it was over."""
    process = runner.start("--rerun-incomplete", TESTED)
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        below = list(descendants(process.pid))
        if moment(below):
            process.send_signal(signal.SIGKILL)
            for pid in below:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.communicate()
            return True
        time.sleep(0.005)
    process.communicate()
    return False


@pytest.mark.workflow
def test_killed_in_a_look_and_between_looks_it_ends_in_the_same_bytes(
    undisturbed: Snakemake, tmp_path: Path
):
    runner = prepared(tmp_path)
    looks = tmp_path / "results" / "f" / "looks"
    in_a_look = kill_when(runner, lambda below: any(command_of(pid) == "look" for pid in below))
    assert in_a_look
    assert not (looks / "2.json").exists()
    runner.run("--unlock")

    def between(below: list[int]) -> bool:
        stages = {command_of(pid) for pid in below}
        return (looks / "1.json").exists() and "decode" in stages and "look" not in stages

    assert kill_when(runner, between)
    assert not (looks / "2.json").exists()
    runner.run("--unlock")
    runner.run("--rerun-incomplete", TESTED)
    assert contents(tmp_path) == contents(undisturbed.folder)


def test_another_schedule_starts_the_record_over_and_says_so(
    undisturbed: Snakemake, tmp_path: Path, replitune, monkeypatch: pytest.MonkeyPatch
):
    """The job itself, on the batches that there are."""
    shutil.copytree(undisturbed.folder / "results", tmp_path / "results")
    log = undisturbed.folder / "results/f/logs/look/1.json"
    command = json.loads(log.read_text())["command"]
    told = json.loads(command[command.index("--settings") + 1])
    told["plan"]["doubt"] = 0.05
    monkeypatch.chdir(tmp_path)
    ran = replitune("job", "look", "--settings", json.dumps(told))
    assert ran.code == 0
    assert "the record starts over" in ran.err
    begun = read_record(tmp_path / "results/f/looks/1.json")
    assert [one.plan.doubt for one in begun.abandoned] == [0.1]
    assert begun.abandoned[0].looks == len(record_of(undisturbed.folder).looks)
    assert not (tmp_path / "results/f/looks/2.json").exists()
    # the same again, as after an interruption, forgets nothing and adds nothing
    again = replitune("job", "look", "--settings", json.dumps(told))
    assert again.code == 0
    assert "starts over" not in again.err
    assert read_record(tmp_path / "results/f/looks/1.json") == begun


@pytest.mark.workflow
def test_only_with_looks_planned_there_are_such_jobs(tmp_path: Path):
    """(Of an experiment without, test_workflow.py counts the jobs.)"""
    assert set(prepared(tmp_path).planned()) & {"batch", "look"} == {"batch", "look"}
