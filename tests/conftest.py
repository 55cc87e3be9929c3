"""Shared by all tests: where real data is, and running the command line."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from support import ROOT, Ran

# In the background of a shell Ctrl-C is ignored, and would be by every program that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With -n auto one more than there are processors: tests of Slurm mostly wait."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These are the longest, and nothing else should wait for them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("cluster") is None)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data, named by the environment variable REPLITUNE_DATA."""
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data is not here: REPLITUNE_DATA names no folder")
    return Path(folder)


KERNELS = {
    "experiment": "kernels",
    "corpus": {"kind": "synthetic", "train": 100, "dev": 20, "tests": {"t": 20}},
    "systems": {"phrase": {"backend": "phrase"}, "hiero": {"backend": "hiero"}},
    "replicas": {"mert": 1, "mira": 1, "pro": 1},
    "metrics": ["bleu", "chrf"],
    "tests": {"methods": ["crossed", "clark", "riezler", "fu-ar"]},
}
"""What tests that start processes compile."""


@pytest.fixture(scope="session")
def kernels() -> None:
    """Compiled once for the present sources, and not by the jobs of several tests side by side."""
    sources = [path for path in (ROOT / "src").rglob("*.py") if b"numba" in path.read_bytes()]
    times = sorted((path.relative_to(ROOT).as_posix(), path.stat().st_mtime_ns) for path in sources)
    state = hashlib.sha256(repr(times).encode())
    mark = ROOT / "src" / "replitune" / "__pycache__" / "compiled-for-tests"
    mark.parent.mkdir(exist_ok=True)
    with open(mark, "a+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        handle.seek(0)
        if handle.read() != state.hexdigest():
            stage = Experiment(resolve(KERNELS)).stage("kernels")
            with tempfile.TemporaryDirectory() as folder:
                words = ["job", "kernels", "--settings", stage.json, "--threads", "2"]
                command = [sys.executable, "-m", "replitune", *words]
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
            handle.truncate(0)
            handle.write(state.hexdigest())


@pytest.fixture
def replitune(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `replitune` in this process."""
    from replitune.cli.main import main

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit:  # argparse
            code = int(exit.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
