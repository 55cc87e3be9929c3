"""What is taken from results is noticed, and made again to the same bytes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import warm
from replitune.ledger.losses import find_losses
from replitune.running.files import sha256_file

from .conftest import TINY, Snakemake

pytestmark = pytest.mark.workflow

DECODE = "decodes/t1/a/seed-001.txt"
STORE = "stats/t1/bleu/a.parquet"


@pytest.fixture
def copy(finished: Snakemake, tmp_path: Path) -> Path:
    shutil.copytree(finished.folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / "results" / "tiny"


def run(results: Path) -> str:
    command = [warm.program("replitune"), "run", "x.yaml", "--cores", "2", "--plain"]
    ran = subprocess.run(command, cwd=results.parents[1], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def bytes_of(results: Path) -> dict[str, str]:
    made = json.loads((results / "manifest.json").read_text())["files"]
    return {name: sha256_file(results / name) for name in made if (results / name).exists()}


def empty(path: Path) -> None:
    """As a loss of power leaves it."""
    times = path.stat()
    path.write_bytes(b"")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def losses(results: Path, **changes: object) -> dict[str, str]:
    """By names that start at the results."""
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.reading import resolve

    with contextlib.chdir(results.parents[1]):
        lost = find_losses(Experiment(resolve({**TINY, **changes})))
    return {name.removeprefix("results/tiny/"): why for name, why in lost.items()}


@pytest.mark.parametrize(
    ("lose", "expected"),
    [
        (lambda results: None, {}),
        (lambda results: (results / DECODE).unlink(), {DECODE: "gone"}),
        (lambda results: shutil.rmtree(results / "studies", ignore_errors=True), {}),
        (lambda results: empty(results / DECODE), {DECODE: "empty"}),
        (lambda results: (results / STORE).write_bytes(b"PAR1..."), {STORE: "unreadable"}),
        (lambda results: empty(results / f".made/{DECODE}.json"), {DECODE: "without a record"}),
        (lambda results: empty(results / "logs/score/t1/bleu/a.json"), {STORE: "without a record"}),
        (lambda results: (results / "tables/systems.csv").unlink(), {"tables": "gone"}),
        (lambda results: shutil.rmtree(results / ".made/tables"), {"tables": "without a record"}),
    ],
)
def test_a_loss_is_known_without_reading_everything(
    copy: Path, lose: Callable[[Path], None], expected: dict[str, str]
):
    lose(copy)
    assert losses(copy) == expected


def test_what_was_written_about_a_loss_may_be_lost_with_it(copy: Path):
    """Those that read it say that it was there."""
    for folder in ("decodes/t1/a", ".made/decodes/t1/a", "logs/decode/a"):
        shutil.rmtree(copy / folder)
    assert {DECODE, "decodes/t1/a/seed-002.txt"} <= losses(copy).keys()


def test_files_of_others_and_of_no_replica_are_no_losses(copy: Path):
    (copy / "decodes/t1/a/mine.txt").write_text("")
    (copy / DECODE.replace("001", "002")).unlink()
    assert losses(copy, replicas={"seeds": 1}) == {}


def test_settings_are_compared_when_snakemake_may_have_forgotten_them(copy: Path):
    """It writes them down after a job, and nobody flushes that before the run has ended."""
    tests = {**TINY["tests"], "samples": 98}
    assert losses(copy, tests=tests) == {}
    (copy / "manifest.json").unlink()
    assert losses(copy) == {}
    lost = losses(copy, tests=tests)
    assert lost["tests/t1/bleu.json"] == "made with other settings"
    assert ".kernels" not in lost  # Snakemake would make them, and nothing that depends on them


def test_losses_are_made_again_to_the_same_bytes(copy: Path):
    before = bytes_of(copy)
    (copy / DECODE).unlink()
    for name in (STORE, "corpus/inputs.json", "report.html", "manifest.json", f".made/{STORE}.json"):
        empty(copy / name)
    said = run(copy)
    assert f"made again: results/tiny/corpus/inputs.json (empty), results/tiny/{DECODE} (gone), " in said
    assert bytes_of(copy) == before
    assert "(nothing to do)" in run(copy)


def test_everything_empty_is_everything_made_again(copy: Path):
    before = bytes_of(copy)
    for path in copy.parents[1].rglob("*"):
        if path.is_file() and path.name != "x.yaml":
            empty(path)
    run(copy)
    assert bytes_of(copy) == before


def test_a_job_reads_nothing_of_which_no_record_speaks(copy: Path, replitune):
    """An edited translation, with its time kept and its record emptied, decides nothing."""
    decode = copy / DECODE
    times = decode.stat()
    decode.write_text(decode.read_text().replace("a", "b"))
    os.utime(decode, ns=(times.st_atime_ns, times.st_mtime_ns))
    empty(copy / f".made/{DECODE}.json")
    command = json.loads((copy / "logs/score/t1/bleu/a.json").read_text())["command"]
    with contextlib.chdir(copy.parents[1]):
        ran = replitune(*command[1:])
    assert ran.code == 2
    assert f"{DECODE}: nothing says that the workflow made it" in ran.err


@pytest.mark.parametrize(
    ("silence", "said"),
    [
        (f".made/{DECODE}.json", f"{DECODE}: .made"),
        ("logs/decode/a/seed-001.json", f"{DECODE}: logs/decode/a/seed-001.json"),
    ],
)
def test_a_record_that_says_nothing_is_a_finding(copy: Path, replitune, silence: str, said: str):
    empty(copy / silence)
    ran = replitune("verify", str(copy))
    assert ran.code == 2
    assert any(line.startswith("silent") and line.endswith(said) for line in ran.out.splitlines())


def test_records_that_contradict_each_other_are_a_finding(copy: Path, replitune):
    """A translation that was changed together with its sha256 in the manifest and in .made."""
    old = sha256_file(copy / DECODE)
    (copy / DECODE).write_text("other\n")
    new = sha256_file(copy / DECODE)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"][DECODE] = new
    (copy / "manifest.json").write_text(json.dumps(manifest))
    index = copy / f".made/{DECODE}.json"
    index.write_text(index.read_text().replace(old, new))
    ran = replitune("verify", str(copy))
    assert ran.code == 2
    assert f"{DECODE}: the jobs in the manifest" in ran.out
    assert f"{DECODE}: logs/decode/a/seed-001.json" in ran.out
