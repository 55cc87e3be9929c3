"""Damaged files, a full disk, a read-only folder, two runs at once, a clock that jumps."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from replitune.cli.main import main
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import resolve
from replitune.experiment.sizes import Sizes

from .conftest import POINTS
from .harness import EXPERIMENT, STAGES, Faults, copied
from .test_kills import tell

pytestmark = pytest.mark.workflow

mounts = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
many = pytest.mark.skipif(POINTS < 2, reason="many moments: make faults")


@pytest.fixture(scope="module")
def faults(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Faults:
    """A finished run; every test leaves it as it was."""
    return copied(whole, tmp_path_factory.mktemp("damaged"))


def damage(path: Path, rng: random.Random) -> str:
    """Flip a bit, or cut the file off."""
    content = bytearray(path.read_bytes())
    if rng.random() < 0.7:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        kind = "bit flipped"
    else:
        del content[rng.randrange(len(content)) :]
        kind = "cut off"
    times = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a disk does it
    return kind


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    with contextlib.chdir(folder):
        yield


@pytest.mark.parametrize("stage", ["train", "table", "tune", "decode", "score", "derive", "test", "report"])
def test_no_stage_reads_a_damaged_file(faults: Faults, stage: str, capsys: pytest.CaptureFixture[str]):
    """The command of a job, run again by hand on inputs of which one is damaged."""
    rng = random.Random(f"damage {stage}")
    records = sorted((faults.results / "logs" / stage).rglob("*.json"))
    for _ in range(POINTS):
        record = json.loads(rng.choice(records).read_text())
        path = faults.results / rng.choice(sorted(record["inputs"]))
        kept = path.read_bytes()
        try:
            kind = damage(path, rng)
            with inside(faults.folder):
                assert main(record["command"][1:]) == 2, f"{kind}: {path}"
            assert f"{path.name}: is not what the workflow made" in capsys.readouterr().err
        finally:
            path.write_bytes(kept)
        faults.counts[stage, kind] += 1
    faults.nothing_is_wrong()
    tell(faults)
    faults.counts.clear()


def test_jobs_take_no_more_memory_than_they_ask_for_and_at_least_half(whole: Path):
    """Of stages whose memory is known: not of other programs, nor of kernels, compiled here or not."""
    experiment = Experiment(resolve(EXPERIMENT))
    sizes, seen = Sizes(experiment), set()
    for job in jobs_of(experiment):
        if job.stage == "kernels" or (job.names.get("system") == "c" and job.stage != "score"):
            continue
        record = json.loads((whole / "results" / "f" / "logs" / f"{job.name}.json").read_text())
        asked = experiment.stage(job.stage, **job.names).memory_mb(sizes)
        assert record["peak_rss_mb"] <= asked <= 2 * record["peak_rss_mb"], (job.name, asked)
        seen.add(job.stage)
    assert {"corpus", "train", "tune", "decode", "score", "test", "report", "manifest"} <= seen


def test_nothing_damaged_is_accounted_for(faults: Faults, capsys: pytest.CaptureFixture[str]):
    """The manifest states hashes: of files that are as they were made, only."""
    rng = random.Random("damage manifest")
    told = Experiment(resolve(EXPERIMENT)).stage("manifest").json
    before = (faults.results / "manifest.json").read_bytes()
    for _ in range(POINTS):
        path = faults.results / rng.choice(sorted(faults.expected))
        kept = path.read_bytes()
        try:
            kind = damage(path, rng)
            with inside(faults.folder):
                assert main(["job", "manifest", "--settings", told]) == 2
            assert f"{path.name}: is not what the workflow made" in capsys.readouterr().err
        finally:
            path.write_bytes(kept)
        faults.counts["manifest", kind] += 1
    assert (faults.results / "manifest.json").read_bytes() == before
    tell(faults)
    faults.counts.clear()


def test_a_damaged_file_is_refused_and_made_anew(whole: Path, tmp_path: Path):
    """What the message says to do leads back to the right bytes."""
    faults = copied(whole, tmp_path)
    faults.forget("test")
    damage(faults.results / "stats" / "t" / "bleu" / "c.parquet", random.Random(1))
    assert faults.run() != 0
    said = faults.said()
    assert "stats/t/bleu/c.parquet: is not what the workflow made" in said
    assert "Traceback" not in said
    (order,) = {
        line.split("to do:")[1].split(",")[0].strip() for line in said.splitlines() if "rm -r " in line
    }
    subprocess.run(order.split(), cwd=tmp_path, check=True)
    faults.resume()


def test_rows_are_not_taken_over_from_damaged_statistics(
    faults: Faults, capsys: pytest.CaptureFixture[str]
):
    path = faults.results / "stats" / "t" / "bleu" / "p.parquet"
    record = json.loads((faults.results / "logs/score/t/bleu/p.json").read_text())
    damage(path, random.Random(3))
    with inside(faults.folder):
        assert main(record["command"][1:]) == 0
    log = (faults.results / "logs/score/t/bleu/p.log").read_text()
    assert "rows of 0 runs taken over" in log
    faults.nothing_is_wrong()


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("a file system in memory cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@mounts
def test_a_full_disk_and_a_read_only_folder_are_one_message_each(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    faults = copied(whole, tmp_path)
    command = json.loads((faults.results / "logs/test/t/bleu.json").read_text())["command"]
    faults.forget("test")
    stage = faults.results / "tests" / "t"
    for options, message in (("ro", "read-only"), ("size=4k,mode=755", "the disk is full")):
        with mounted(stage, options):
            with inside(faults.folder):
                assert main(command[1:]) == 1
            said = capsys.readouterr().err
            assert message in said
            assert "Traceback" not in said
            assert faults.run("--until", "test") != 0
        faults.nothing_is_wrong()
        faults.counts["test", message] += 1
    faults.resume()
    tell(faults)


@mounts
@many
@pytest.mark.parametrize("kilobytes", [64, 128, 256, 512, 1024])
def test_a_disk_that_fills_up_under_the_whole_run(whole: Path, tmp_path: Path, kilobytes: int):
    """Snakemake's own files included: whatever it says, the next run ends in the same bytes."""
    for stage in ("train", "decode", "score"):
        folder = tmp_path / stage
        with mounted(folder, "size=64m"):
            faults = copied(whole, folder)
            faults.forget(stage)
            used = shutil.disk_usage(folder).used // 1024
            remount(folder, f"size={used + kilobytes}k")
            ended = faults.run("--rerun-incomplete")
            faults.nothing_is_wrong()
            remount(folder, "size=64m")
            faults.unlock()
            faults.resume()
            faults.counts[stage, "disk full" if ended else "disk nearly full"] += 1
            tell(faults)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def test_two_runs_started_at_once(whole: Path, tmp_path: Path):
    """One does the work. The other refuses, or finds nothing to do; no file is made twice over."""
    faults = copied(whole, tmp_path)
    faults.forget("test")
    both = [faults.start(), faults.start()]
    codes = [faults.end(process) for process in both]
    assert 0 in codes or "lock" in faults.said().lower()
    faults.nothing_is_wrong()
    faults.resume()
    faults.counts["test", "two runs at once"] += 1
    tell(faults)


def test_a_clock_put_back_does_not_hide_a_change(whole: Path, tmp_path: Path):
    """Statistics come from an hour in which the clock was ahead; then a setting changes, and the
    run is interrupted after the translations. By their age the old statistics look new."""
    faults = copied(whole, tmp_path)
    ahead = time.time() + 3600
    for stage in ("score", "test", "report", "manifest"):
        for name in STAGES[stage]:
            path = faults.results / name
            for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
                os.utime(file, (ahead, ahead))
    changed = copy.deepcopy(EXPERIMENT)
    changed["systems"]["c"]["errors"] = 0.5
    faults.experiment = changed
    assert faults.run("--until", "decode") == 0, faults.said()
    assert faults.run() != 0
    said = faults.said()
    assert "clock skew" in said or "the results do not belong together" in said, said[-2000:]
    faults.counts["score", "clock put back"] += 1
    faults.touch_what_is_from_the_future()
    for _ in range(4):
        if faults.run() == 0:
            break
        said = faults.said()
        assert "the results do not belong together" in said, said[-2000:]
        assert "Traceback" not in said
        (order,) = {line.split("to do:")[1] for line in said.splitlines() if "to do:" in line}
        command = order.partition(", and")[0].removesuffix(" ...")
        subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    else:
        raise AssertionError("it never ends")
    record = json.loads((faults.results / "logs/score/t/bleu/c.json").read_text())
    decode = json.loads((faults.results / "logs/decode/c/seed-001.json").read_text())
    name = "decodes/t/c/seed-001.txt"
    assert record["inputs"][name] == decode["outputs"][name] != faults.expected[name]
    tell(faults)


@many
@pytest.mark.parametrize("number", range(10))
def test_random_times_change_no_byte(whole: Path, tmp_path: Path, number: int):
    faults = copied(whole, tmp_path)
    rng, now = random.Random(number), time.time()
    for path in sorted(faults.results.rglob("*")):
        when = now + rng.uniform(-86400, 86400)
        os.utime(path, (when, when))
    faults.resume()
    faults.counts["all", "clock jumps"] += 1
    tell(faults)
