from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from replitune.errors import ReplicaError, ReplituneError
from replitune.running import supervisor
from replitune.running.processes import Process, machine, mark_of
from replitune.running.supervisor import Program, run, run_shell


def test_exit_codes_and_last_words(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    with pytest.raises(ReplicaError, match=r"(?s)exit code 3.*the last word"):
        run_shell("seq 100; echo the last word >&2; exit 3", "training")
    with pytest.raises(ReplicaError):
        run_shell("false | cat", "a pipe")
    with pytest.raises(ReplituneError, match="no such program") as found:
        run_shell("no-such-program-at-all", "training")
    assert not isinstance(found.value, ReplicaError)
    with pytest.raises(ReplituneError, match="signal 9") as found:
        run_shell("kill -9 $$", "training")
    assert not isinstance(found.value, ReplicaError), "another try may succeed"
    with pytest.raises(ReplituneError, match="cannot start"):
        run([tmp_path / "nothing"], "training")


def test_messages_go_to_the_log_and_output_to_its_file(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    with open(tmp_path / "out", "wb") as out:
        run_shell("echo text; echo message >&2", "decode", stdout=out)
    assert (tmp_path / "out").read_text() == "text\n"
    said = capsys.readouterr().out
    assert "message" in said
    assert "\ntext\n" not in said


def test_programs_have_the_threads_of_their_job(tmp_path: Path):
    with open(tmp_path / "out", "wb") as out:
        run_shell(
            "echo $OMP_NUM_THREADS $MKL_NUM_THREADS $OPENBLAS_NUM_THREADS", "x", stdout=out, threads=3
        )
    assert (tmp_path / "out").read_text() == "3 3 1\n"


# a process that starts a program in one of the three ways; program and child say their numbers
PROGRAM = "sleep 100 & echo $$ $! > $FOLDER/pids.tmp; mv $FOLDER/pids.tmp $FOLDER/pids; wait"
STARTED = """
import os, signal, sys
from replitune.running.supervisor import Program, run, run_shell
# in the background of a shell script it would be ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, lambda *a: sys.exit(143))
how, program = sys.argv[1:]
if how == "shell":
    run_shell(program, "training")
elif how == "python":
    run([sys.executable, "-c", "import subprocess, sys; subprocess.run(['sh', '-c', sys.argv[1]])",
         program], "training")
else:
    with Program(["sh", "-c", "read -r line; " + program], "metric", converses=True) as talk:
        talk.process.stdin.write(b"line\\n")
        talk.process.stdin.flush()
        talk.process.stdout.readline()
"""


@pytest.mark.parametrize("how", ["shell", "python", "conversation"])
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_running(how: str, end: signal.Signals, tmp_path: Path):
    """A program's children, too, end with the process that started it."""
    started = subprocess.Popen(
        [sys.executable, "-c", STARTED, how, PROGRAM],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "FOLDER": str(tmp_path)},
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "pids").exists():
        assert started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    below = {child.pid for child in psutil.Process(started.pid).children(recursive=True)}
    assert set(pids) <= below, "it knows what it has started"
    os.kill(started.pid, end)
    assert started.wait() != 0
    while any(_runs(pid) for pid in below):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_there_is_no_moment_without_a_guard(tmp_path: Path):
    """Killed before the guard stands, it has not begun to run the program."""
    code = (
        "import os, signal, subprocess\n"
        "from replitune.running import supervisor\n"
        "start = subprocess.Popen\n"
        "def hit(words, **options):\n"
        "    if 'kill' in words[-1]:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return start(words, **options)\n"
        "supervisor.subprocess.Popen = hit\n"
        f"supervisor.run(['touch', '{tmp_path}/began'], 'training')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    time.sleep(0.3)
    assert not (tmp_path / "began").exists()


def test_a_program_has_the_whole_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASH_FUNC_module%%", "() { echo loads $1; }")
    monkeypatch.setenv("WITH_LINES", "a\nb ' \" $x")
    with open(tmp_path / "out", "wb") as out:
        run_shell('module gcc; echo "$WITH_LINES"', "training", stdout=out)
    assert (tmp_path / "out").read_text() == "loads gcc\na\nb ' \" $x\n"


def test_what_a_program_leaves_behind_ends_with_it():
    began = time.monotonic()
    run_shell("sleep 100 & exit 0", "training")
    assert time.monotonic() - began < 50


def test_a_program_has_nothing_to_read_unless_it_converses():
    run_shell("! read -r line", "training")
    with Program(["cat"], "metric", converses=True, kept=9) as cat:
        assert cat.process.stdin is not None
        cat.process.stdin.write(b"one\ntwo\n")
        cat.process.stdin.close()
        assert cat.follow(lambda line: None) == 0
        assert list(cat.last_messages) == ["one", "two"]


def test_a_program_ends_when_its_messages_are_refused(tmp_path: Path):
    def refuse(line: str) -> None:
        raise ReplituneError(line)

    with (
        pytest.raises(ReplituneError, match="it diverges"),
        Program(["sh", "-c", "echo it diverges; sleep 100"], "training") as program,
    ):
        program.follow(refuse)
    assert not _runs(program.process.pid)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# a run that starts a job, which writes a file as soon as it may
RUN = """
import os, subprocess, sys, time
from replitune.running.processes import Process
os.environ["REPLITUNE_RUN"] = Process.this().written.decode()
subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[2:]])
time.sleep(60)
"""
JOB = """
import signal, sys, time
from pathlib import Path
from replitune.running import supervisor
from replitune.running.files import atomic_open
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # as the command line does
supervisor.PERIOD = float(sys.argv[2])
supervisor.watch()
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


def test_a_job_whose_run_was_killed_before_it_could_look_writes_nothing(tmp_path: Path):
    """A process is slow to start where many do: by then nobody is its ancestor any more."""
    with subprocess.Popen(["sleep", "60"]) as run:
        named = Process(machine(), run.pid, mark_of(run.pid) or "").written.decode()
        run.kill()
    (tmp_path / "go").touch()
    environment = {**os.environ, supervisor.RUN: named}
    command = [sys.executable, "-c", JOB, str(tmp_path), "60"]
    assert subprocess.run(command, env=environment).returncode == 143
    assert not (tmp_path / "result").exists()


def test_who_was_started_by_hand_has_no_run_to_look_for(monkeypatch: pytest.MonkeyPatch):
    elsewhere = Process("another machine", os.getpid(), "x").written.decode()
    for value in ("", "1", str(os.getpid()), "x", elsewhere):
        monkeypatch.setenv(supervisor.RUN, value)
        supervisor.watch()
        assert not supervisor.orphaned()
