"""Power is lost: what was flushed is on the disk; any other file is whole, empty or gone, by chance."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import warm
from replitune.running.locks import owner_of

from .conftest import POINTS
from .harness import COMMAND, FLUSHES, Faults, alive, contents, descendants, fresh, preloaded
from .test_kills import tell

pytestmark = pytest.mark.workflow

MOMENTS = 19


@contextlib.contextmanager
def standing(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """While nothing of a run moves."""
    stopped: list[int] = []
    while more := [pid for pid in (process.pid, *descendants(process.pid)) if pid not in stopped]:
        for pid in more:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        stopped += more
    try:
        yield
    finally:
        for pid in reversed(stopped):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def after_the_loss(folder: Path, flushes: Path, to: Path, rng: random.Random) -> Counter[str]:
    """A copy in which files that were not flushed as they are now may be empty or gone; how many."""
    flushed = set(flushes.read_text().splitlines()) if flushes.exists() else set()
    lost: Counter[str] = Counter()
    for path in sorted(folder.rglob("*")):
        place = to / path.relative_to(folder)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif path.is_file():
            at = path.stat()
            is_safe = f"{at.st_ino} {at.st_size}" in flushed or path.name == "x.yaml"
            is_now = "whole" if is_safe else rng.choice(("whole", "empty", "empty", "gone"))
            if is_now == "whole":
                shutil.copy2(path, place)
            elif is_now == "empty":
                place.touch()
                os.utime(place, ns=(at.st_atime_ns, at.st_mtime_ns))
            lost[is_now] += 1
    for path in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        at = path.stat()
        os.utime(to / path.relative_to(folder), ns=(at.st_atime_ns, at.st_mtime_ns))
    return lost


def test_after_a_run_that_has_ended_well_a_loss_of_power_loses_nothing(whole: Path, tmp_path: Path):
    if not (whole / FLUSHES).exists():
        pytest.skip("needs a C compiler, and Linux")
    after_the_loss(whole, whole / FLUSHES, tmp_path, random.Random(1))
    assert "(nothing to do)" in goes_on(Faults(tmp_path, contents(whole / "results" / "f")))


@pytest.mark.skipif(POINTS < 2, reason="many moments: make faults")
def test_a_run_goes_on_after_a_loss_of_power(whole: Path, tmp_path: Path):
    """Nothing with its final name is anything but whole, and the same command ends in the same
    bytes, wherever it was."""
    (tmp_path / "run").mkdir()
    hit = fresh(whole, tmp_path / "run")
    shutil.copy(whole / "x.yaml", hit.folder)
    flushes = tmp_path / FLUSHES
    if not (variables := preloaded(tmp_path, flushes)):
        pytest.skip("needs a C compiler, and Linux")
    every = sum(1 for _ in (whole / "results/f/.made").rglob("*.json"))
    images: list[tuple[str, Path]] = []
    command = [str(Path(sys.executable).parent / "replitune"), *COMMAND]
    with open(hit.folder.with_name("out.txt"), "wb") as out:
        process = subprocess.Popen(
            command, cwd=hit.folder, env=os.environ | variables, stdout=out, stderr=subprocess.STDOUT
        )
        for moment in sorted(hit.rng.sample(range(1, every), MOMENTS)):
            while process.poll() is None and made(hit) < moment:
                time.sleep(0.02)
            time.sleep(hit.rng.uniform(0, 0.3))
            with standing(process):
                image = tmp_path / f"after-{moment}"
                lost = after_the_loss(hit.folder, flushes, image, hit.rng)
            images.append((f"{moment} of {every} results; files: {dict(lost)}", image))
            assert owner_of(image / "results/f/.run.lock"), "whose Snakemake's lock is"
        assert process.wait() == 0, hit.folder.with_name("out.txt").read_text()
    assert not alive(process.pid)
    image = tmp_path / "after-the-end"
    after_the_loss(hit.folder, flushes, image, hit.rng)
    assert "(nothing to do)" in goes_on(Faults(image, hit.expected))
    for said, image in images:
        print(said)
        goes_on(Faults(image, hit.expected))
        hit.counts["run", "power lost"] += 1
    tell(hit)


def made(run: Faults) -> int:
    return sum(1 for _ in (run.results / ".made").rglob("*.json"))


def goes_on(lost: Faults) -> str:
    """What it says."""
    lost.nothing_is_wrong()
    command = [warm.program("replitune"), *COMMAND]
    ran = subprocess.run(command, cwd=lost.folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert contents(lost.results) == lost.expected
    for path in (lost.results / "logs").rglob("*.json"):
        json.loads(path.read_text())
    return ran.stdout
