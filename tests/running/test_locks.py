from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from replitune.errors import ReplituneError
from replitune.running import locks
from replitune.running.processes import Process

OTHER = """
import sys
from replitune.running import locks
from replitune.running.processes import Process
with locks.only_one(sys.argv[1]):
    print("has it", flush=True)
    sys.stdin.read()
"""


def test_one_process_does_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.3)
    logs = tmp_path / "logs"
    logs.mkdir()
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(logs / "a.log")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdin is not None
    assert other.stdout is not None
    with other.stdin, other.stdout:
        assert other.stdout.readline() == b"has it\n"
        with locks.only_one(logs / "b.log"):
            """Another job."""
        with pytest.raises(ReplituneError, match="another process"), locks.only_one(logs / "a.log"):
            """The same job."""
        other.kill()
        other.wait()
    with locks.only_one(logs / "a.log"):
        """Its lock is gone with it."""
    with locks.only_one(tmp_path / "elsewhere.log"):
        """No job of the workflow."""
    assert not (tmp_path / "elsewhere.log").exists()


HOLDER = """
import errno, fcntl, sys
from pathlib import Path
from replitune.running import locks
from replitune.running.processes import Process
if sys.argv[2] != "with":
    def refuse(*_):
        raise OSError(int(sys.argv[2]), "no locks")
    fcntl.flock = refuse
with locks.held(Path(sys.argv[1]), "taken"):
    print("has it", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def holder(path: Path, error: int | None) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-c", HOLDER, str(path), "with" if error is None else str(error)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"has it\n"
        yield process
        process.kill()


@pytest.fixture(params=[None, errno.ENOSYS, errno.ENOLCK])
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """The error of a file system without flock."""

    def refuse(*_: object) -> None:
        raise OSError(request.param, "no locks")

    if request.param is not None:
        monkeypatch.setattr(locks.fcntl, "flock", refuse)
    return request.param


def test_a_folder_has_one_owner_until_its_process_ends(tmp_path: Path, without: int | None):
    path = tmp_path / "lock"
    assert not locks.is_held(path)
    with holder(path, without) as process:
        assert locks.is_held(path)
        with pytest.raises(ReplituneError, match=f"taken(.|\n)*process {process.pid} on "):
            locks.held(path, "taken").__enter__()
        assert not locks.died_here(path)
    assert locks.died_here(path)
    assert locks.is_abandoned(path)
    with locks.held(path, "taken"):
        assert locks.is_held(path)
    assert not locks.is_abandoned(path), "it was given back"


def test_the_owner_on_another_machine_lives_while_it_gives_signs(
    tmp_path: Path, without: int | None, monkeypatch: pytest.MonkeyPatch
):
    """Also where the kernel knows of this machine's locks alone."""
    monkeypatch.setattr(locks, "SILENCE", 2.0)
    path = tmp_path / "lock"
    path.write_bytes(Process("elsewhere 1", 1, "x").written)
    done = threading.Event()
    with open(path, "ab") as handle:
        monkeypatch.setattr(locks, "BEAT", 0.2)
        beating = threading.Thread(target=locks._beat, args=(handle.fileno(), done))
        beating.start()
        with pytest.raises(ReplituneError, match="process 1 on elsewhere"):
            locks.held(path, "taken").__enter__()
        done.set()
        beating.join()
    assert not locks.died_here(path), "nobody knows here"
    with locks.held(path, "taken"):
        owner = locks.owner_of(path)
        assert owner is not None
        assert owner.is_running


@pytest.mark.parametrize("left", [b"", b"\0" * 600, b'["h'], ids=len)
def test_what_a_loss_of_power_leaves_of_a_lock_holds_up_nobody_for_ever(
    tmp_path: Path, left: bytes, without: int | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(locks, "SILENCE", 0.1)
    path = tmp_path / "lock"
    path.write_bytes(left)
    assert not locks.is_held(path)
    assert locks.is_abandoned(path) is (left != b""), "then Snakemake's lock is given back, too"
    with locks.held(path, "taken"):
        owner = locks.owner_of(path)
        assert owner is not None
        assert owner.number == os.getpid()


def test_an_owner_whose_name_is_damaged_lives_while_it_gives_signs(
    tmp_path: Path, without: int | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(locks, "BEAT", 0.1)
    path = tmp_path / "lock"
    path.write_bytes(b"[")
    done = threading.Event()
    with open(path, "ab") as handle:
        beating = threading.Thread(target=locks._beat, args=(handle.fileno(), done))
        beating.start()
        with pytest.raises(ReplituneError, match="taken"):
            locks.held(path, "taken").__enter__()
        assert not locks.is_abandoned(path)
        done.set()
        beating.join()


def test_a_lock_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locks, "BEAT", 0.05)
    path = tmp_path / "lock"
    with locks.held(path, "taken"):
        os.utime(path, (0, 0))
        deadline = time.monotonic() + 60
        while path.stat().st_mtime == 0:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert path.read_bytes() == b""
