from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replitune.errors import ReplituneError
from replitune.running import processes

# a run that starts a job, which writes a file as soon as it may
RUN = """
import os, subprocess, sys, time
os.environ["REPLITUNE_RUN"] = str(os.getpid())
subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[2:]])
time.sleep(60)
"""
JOB = """
import signal, sys, time
from pathlib import Path
from replitune.running import processes
from replitune.running.files import atomic_open
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # as the command line does
processes.PERIOD = float(sys.argv[2])
processes.watch()
folder = Path(sys.argv[1])
with atomic_open(folder / "result") as handle:
    (folder / "begun").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    handle.write("late")
"""


@pytest.mark.parametrize("period", [0.05, 60.0])
def test_a_job_whose_run_was_killed_writes_nothing(tmp_path: Path, period: float):
    """Neither when it looks in time, nor when it only looks before it gives a file its name."""
    run = subprocess.Popen([sys.executable, "-c", RUN, JOB, str(tmp_path), str(period)])
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    run.kill()
    run.wait()
    if period > 1:
        (tmp_path / "go").touch()
    while list(tmp_path.glob(".result.*")):
        assert time.monotonic() < deadline, "the temporary file is removed"
        time.sleep(0.01)
    assert not (tmp_path / "result").exists()


def test_who_was_started_by_hand_has_no_run_to_look_for(monkeypatch: pytest.MonkeyPatch):
    for value in ("", "1", str(os.getpid()), "999999999", "x"):
        monkeypatch.setenv(processes.RUN, value)
        processes.watch()
        assert not processes.orphaned()


OTHER = """
import sys
from replitune.running import processes
with processes.only_one(sys.argv[1]):
    print("has it", flush=True)
    sys.stdin.read()
"""


def test_one_process_does_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processes, "PATIENCE", 0.3)
    logs = tmp_path / "logs"
    logs.mkdir()
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(logs / "a.log")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdin is not None
    assert other.stdout is not None
    with other.stdin, other.stdout:
        assert other.stdout.readline() == b"has it\n"
        with processes.only_one(logs / "b.log"):
            """Another job."""
        with (
            pytest.raises(ReplituneError, match="another process"),
            processes.only_one(logs / "a.log"),
        ):
            """The same job."""
        other.kill()
        other.wait()
    with processes.only_one(logs / "a.log"):
        """Its lock is gone with it."""
    with processes.only_one(tmp_path / "elsewhere.log"):
        """No job of the workflow."""
    assert not (tmp_path / "elsewhere.log").exists()
