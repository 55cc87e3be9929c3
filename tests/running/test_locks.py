from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from replitune.errors import ReplituneError
from replitune.running import locks

OTHER = """
import sys
from replitune.running import locks
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
