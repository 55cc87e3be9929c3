"""`replitune run`: what it says, how it fails, and that nothing is left of a run that is ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import warm
from replitune.cli.run import _limits
from replitune.workflow.engine import Engine
from support import Ran

from .conftest import TINY, Snakemake, count_jobs, mark_incomplete

pytestmark = pytest.mark.workflow

SLEEP = f"613.{os.getpid()}"
"""Seconds that nothing else sleeps, in other workers neither."""


COLD = str(Path(sys.executable).parent / "replitune")
"""Its jobs take long enough to be seen."""


def with_program(decode: str) -> dict:
    return {**TINY, "systems": {"a": TINY["systems"]["a"], "b": {"backend": "command", "decode": decode}}}


def start(folder: Path, experiment: dict, *words: str, program: str = COLD) -> subprocess.Popen[str]:
    """A process of its own, which may be sent signals, or killed."""
    (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment))
    return subprocess.Popen(
        [program, "run", "--cores", "2", *words],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # under nohup, too
    )


def run(folder: Path, experiment: dict, *words: str, program: str | None = None) -> Ran:
    process = start(folder, experiment, *words, program=program or warm.program("replitune"))
    out, err = process.communicate()
    return Ran(process.returncode, out, err)


def processes(folder: Path) -> list[str]:
    """Commands of the processes that were started in a folder, and of the sleeping program."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if SLEEP in command or Path(os.readlink(path / "cwd")) == folder:
                found.append(command)
        except OSError:
            continue
    return found


def wait_for(condition: Callable[[], object], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_run_says_how_far_it_is_and_ends_with_the_report(tmp_path: Path):
    ran = run(tmp_path, TINY, program=COLD)
    assert ran.code == 0, ran.err
    assert "decode a seed-001 is done in " in ran.out
    assert re.search(r"\d of 4 runs|\d+ of 20 jobs", ran.out)
    assert "both: b scored " in ran.out
    assert "report: results/tiny/report.html (" in ran.out.splitlines()[-1]
    assert "jobid" not in ran.out
    assert "Job stats" in (tmp_path / "results/tiny/logs/snakemake.log").read_text()
    ran = run(tmp_path, TINY)
    assert "(nothing to do)" in ran.out.splitlines()[-1]
    ran = run(tmp_path, TINY, "--", "--dry-run")
    assert "Nothing to be done" in ran.out, "what Snakemake answers"


def test_a_failure_ends_with_the_last_error_and_its_log(tmp_path: Path):
    ran = run(tmp_path, with_program("echo broken >&2; exit 3"))
    assert ran.code == 1
    assert ran.err.startswith("replitune: 2 jobs failed")
    assert "found:    exit code 3" in ran.err
    assert "results/tiny/logs/decode/b/seed-001.log" in ran.err
    assert ran.err.splitlines()[-1] == "  log:      results/tiny/logs/snakemake.log"
    assert "decode b seed-001 failed: results/tiny/logs/decode/b/seed-001.log" in ran.out


def test_what_snakemake_itself_refuses_is_shown(tmp_path: Path):
    ran = run(tmp_path, TINY, "--", "--no-such-option")
    assert ran.code == 1
    assert "--no-such-option" in ran.err


def test_a_lock_that_is_not_ours_is_one_message(tmp_path: Path):
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("results/tiny/report.html\n")
    ran = run(tmp_path, TINY)
    assert (ran.code, "to do:    wait for it; if there is none" in ran.err) == (2, True)
    assert run(tmp_path, TINY, "--", "--unlock").code == 0
    assert not list(locks.glob("*"))


def test_options_that_would_hide_the_results_are_refused(tmp_path: Path):
    ran = run(tmp_path, TINY, "--", "--directory=x")
    assert (ran.code, "use cd" in ran.err) == (2, True)


def test_a_mistake_in_the_file_is_said_before_snakemake_starts(tmp_path: Path):
    ran = run(tmp_path, {**TINY, "metrics": ["bleuu"]})
    assert (ran.code, "did you mean" in ran.err) == (2, True)
    assert not (tmp_path / ".snakemake").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process_and_goes_on(tmp_path: Path, number: signal.Signals):
    sleeping = with_program(f"sleep {SLEEP}")
    process = start(tmp_path, sleeping)
    wait_for(lambda: f"sleep {SLEEP}" in " ".join(processes(tmp_path)))
    if number == signal.SIGINT:
        second = run(tmp_path, sleeping)
        assert (second.code, "another run is at work" in second.err) == (2, True)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "to go on: replitune run --cores 2" in err
    wait_for(lambda: not processes(tmp_path))
    ran = run(tmp_path, with_program("cat {source}"), "--", "--until", "decode")
    assert ran.code == 0, ran.err
    assert (tmp_path / "results/tiny/decodes/t1/b/seed-002.txt").is_file()
    assert not list((tmp_path / ".snakemake").glob("locks/*"))


def test_what_was_made_when_its_run_was_killed_is_made_again(finished: Snakemake, tmp_path: Path):
    """Snakemake by itself would refuse to go on."""
    shutil.copytree(finished.folder, tmp_path, dirs_exist_ok=True)
    mark_incomplete(tmp_path, "results/tiny/decodes/t1/a/seed-001.txt")
    ran = run(tmp_path, TINY, "--", "--dry-run")
    assert ran.code == 0, ran.err
    assert count_jobs(ran.out)["decode"] == 1


def test_the_lock_of_a_live_snakemake_is_respected(tmp_path: Path):
    """A run was killed, and somebody goes on with Snakemake itself."""
    go = tmp_path / "go"
    waiting = with_program(f"touch begun; while [ ! -e {go} ]; do sleep 0.1; done; cat {{source}}")
    killed = start(tmp_path, waiting)
    wait_for(lambda: (tmp_path / "begun").exists())
    killed.kill()
    killed.communicate()
    wait_for(lambda: not processes(tmp_path))
    (tmp_path / "begun").unlink()
    snakemake = Snakemake(tmp_path)
    snakemake.run("--unlock", configfile="experiment.yaml")
    options = ["--rerun-incomplete", "--until", "decode"]
    with snakemake.start(*options, configfile="experiment.yaml") as alive:
        wait_for(lambda: (tmp_path / "begun").exists())
        ran = run(tmp_path, waiting)
        assert (ran.code, "another run is at work" in ran.err) == (2, True), ran.err
        assert "Nothing" not in run(tmp_path, waiting, "--", "--dry-run").out, "asking is allowed"
        go.touch()
        _, err = alive.communicate()
        assert alive.returncode == 0, err[-3000:]


def test_options_of_snakemake_are_not_lost():
    options = ["--config", "seed=4", "--logger", "theirs", "--forceall"]
    engine = Engine(Path("x.yaml"), Path("p"), Path("r"), ["scale=small"], "3", options)
    words = engine.command
    assert words.count("--config") == words.count("--logger") == 1
    where = words.index("--logger")
    assert words[where : where + 3] == ["--logger", "replitune", "theirs"]
    where = words.index("--config")
    assert words[where : where + 3] == ["--config", "scale=small", "seed=4"]
    assert words[-1] == "--forceall"


@pytest.mark.parametrize(
    ("config", "rest", "expected"),
    [
        ("cores: 2", ["--quiet"], ["mem_mb=3000", "disk_mb=70"]),
        ("cores: 2", ["--resources", "gpu=1"], ["mem_mb=3000", "disk_mb=70"]),
        ("cores: 2", ["--resources", "mem_mb=9"], []),
        ("executor: slurm", [], []),
        ("resources: {mem_mb: 9}", [], []),
    ],
)
def test_jobs_on_this_machine_share_its_memory_and_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, rest: list[str], expected: list[str]
):
    (tmp_path / "config.yaml").write_text(config)
    monkeypatch.setattr("replitune.running.files.memory", lambda: 3000 << 20)
    monkeypatch.setattr("replitune.running.files.free_mb", lambda folder: 70)
    assert _limits(tmp_path, tmp_path, rest) == expected
    command = Engine(Path("x"), tmp_path, Path("r"), resources=expected, options=rest).command
    assert command.count("--resources") == bool(expected or "--resources" in rest)
    given = [word for word in command if "=" in word]
    assert given == [*expected, *(word for word in rest if "=" in word)]
