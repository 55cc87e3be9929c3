"""Runs that decide themselves how many replicas they need, killed whole at random moments: in
looks, between them, while batches are made and scored."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ..workflow.test_looks import TESTED, contents, prepared
from .conftest import POINTS
from .harness import Faults, command_of, descendants
from .test_kills import tell

pytestmark = pytest.mark.workflow


@pytest.mark.skipif(POINTS < 2, reason="many moments: make faults")
def test_many_moments_of_a_run_with_looks(tmp_path: Path):
    runner = prepared(tmp_path)
    began = time.monotonic()
    runner.run("--rerun-incomplete", TESTED)
    seconds, expected = time.monotonic() - began, contents(tmp_path)
    faults = Faults(tmp_path)
    while faults.counts.total() < POINTS:
        process = runner.start("--rerun-incomplete", TESTED)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(faults.rng.uniform(0.3, 1.0) * seconds)
        below = list(descendants(process.pid))
        if process.poll() is None:
            stages = {command_of(pid) for pid in below} - {""}
            for pid in (process.pid, *below):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            faults.counts["looks", f"in {min(stages)}" if stages else "between jobs"] += 1
        process.communicate()
        found = contents(tmp_path)
        assert found.items() <= expected.items(), "a file is wrong"
        if process.returncode == 0:
            assert found == expected
            forget(faults.rng, faults.results)
        else:
            runner.run("--unlock")
    runner.run("--rerun-incomplete", TESTED)
    assert contents(tmp_path) == expected
    tell(faults)


def forget(rng: random.Random, results: Path) -> None:
    """Looks and tests, and now and then what they go by."""
    names = ("looks", "tests") if rng.random() < 0.6 else ("looks", "tests", "stats", "decodes")
    for name in names:
        subprocess.run(["rm", "-rf", str(results / name)], check=True)
