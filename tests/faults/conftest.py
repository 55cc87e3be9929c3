"""An undisturbed run, made once whatever the number of test processes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from .harness import undisturbed

POINTS = int(os.environ.get("REPLITUNE_FAULT_POINTS", "1"))
"""Hits per stage: `make faults` sets 50."""


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the undisturbed run. Not to be changed by a test."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "undisturbed"
    with open(shared / "undisturbed.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "seconds.json").exists():
            folder.mkdir(exist_ok=True)
            undisturbed(folder)
    return folder
