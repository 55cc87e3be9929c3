"""An undisturbed run, made once whatever the number of test processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support import made_once

from .harness import undisturbed

POINTS = int(os.environ.get("REPLITUNE_FAULT_POINTS", "1"))
"""Hits per stage: `make faults` sets 50."""


@pytest.fixture(scope="session", autouse=True)
def compiled(kernels: None) -> None:
    """Before any of these tests."""


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the undisturbed run, on two cores. Not to be changed by a test."""
    return made_once(tmp_path_factory, "undisturbed", undisturbed)
