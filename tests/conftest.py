"""Shared by all tests: where real data is, the repository, and running the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data, named by the environment variable REPLITUNE_DATA."""
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data is not here: REPLITUNE_DATA names no folder")
    return Path(folder)


@dataclass(frozen=True)
class Ran:
    """What a command left: exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def replitune(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `replitune` in this process."""
    from replitune.cli import main

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit:  # argparse
            code = int(exit.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
