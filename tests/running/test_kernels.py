"""Where compiled kernels are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from replitune.running import start


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Neither the package nor home can be written; temporary files have a folder."""
    monkeypatch.delenv(start.CACHE, raising=False)
    monkeypatch.setattr(start, "can_be_written", lambda folder: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    os.environ.pop(start.CACHE, None)


def test_a_read_only_installation_and_home_have_a_folder_of_their_own(read_only: Path):
    folder = start.cache_folder()
    assert folder.parent == read_only
    assert folder.stat().st_mode & 0o777 == 0o700
    assert os.environ[start.CACHE] == str(folder)  # for numba, and for what this process starts


def test_a_folder_that_others_can_write_is_not_used(read_only: Path):
    """What is in it would be executed."""
    (read_only / f"replitune-kernels-{os.getuid()}").mkdir()
    (read_only / f"replitune-kernels-{os.getuid()}").chmod(0o777)
    folder = start.cache_folder()
    assert folder.name != f"replitune-kernels-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_kernels_that_a_loss_of_power_has_emptied_are_compiled_again(tmp_path: Path):
    """numba would end every command with an EOFError."""
    code = "import sys; from replitune.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "compare", "--refs", "r", "--baseline", "a", "--system", "b=b"]
    for name, text in (
        ("r", "a b c d e\nf g h i j\n"),
        ("a", "a b c d\nf g h i\n"),
        ("b", "a b c d e\nf g h i j\n"),
    ):
        (tmp_path / name).write_text(text)
    command += ["--metrics", "length", "--samples", "9"]
    environment = {**os.environ, start.CACHE: str(tmp_path / "cache")}
    first = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert first.returncode == 0, first.stderr
    compiled = [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".nbi", ".nbc")]
    assert compiled
    for path in compiled:
        path.write_bytes(b"")
    again = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout


def test_an_index_that_names_a_class_of_an_earlier_version_is_made_again(tmp_path: Path):
    """numba reads the index before it looks whether the source is the same."""
    package = tmp_path / "package"
    package.mkdir()
    old = "from typing import NamedTuple\n\nimport numpy as np\nclass Old(NamedTuple):\n    a: np.ndarray\n"
    (package / "classes.py").write_text(old)
    (package / "kernel.py").write_text(
        "import numba\nimport classes\n@numba.njit(cache=True)\ndef first(given):\n    return given[0][0]\n"
    )
    call = (
        "import numpy as np, numba, replitune.probes.numba as probe; probe.look_first()\n"
        "import classes, kernel\n"
        "print(kernel.first({}(np.arange(3.0) + 7)))"
    )

    def run(code: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert run(call.format("classes.Old")) == "7.0\n"
    (package / "classes.py").write_text(old.replace("Old", "Another"))
    assert run(call.format("classes.Another")) == "7.0\n"
