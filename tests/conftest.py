"""Shared by all tests: where real data is, and running the command line."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from support import Ran

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
