"""An experiment is watched while it runs, loses a metric, a system, a test set and a replica, and
is run again: what is left behind is nowhere but in `clean`."""

from __future__ import annotations

import re
import shutil
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from replitune import read
from replitune.ledger.cleaning import leftovers
from replitune.ledger.runs import NAME
from replitune.workflow.watching import Watch

from .conftest import Snakemake, manifest, same_bytes

pytestmark = pytest.mark.workflow

LARGE = {
    "experiment": "x",
    "corpus": {"kind": "synthetic", "tests": {"t1": 30, "t2": 20}},
    "systems": {
        name: {"backend": "corruption", "errors": errors}
        for name, errors in (("a", 0.3), ("b", 0.2), ("gone", 0.25))
    },
    "replicas": {"seeds": 3},
    "metrics": ["bleu", "length"],
    "tests": {"samples": 99, "methods": ["crossed"], "intervals": []},
    "studies": {"power": False},
}
SMALL = {
    **LARGE,
    "corpus": {"kind": "synthetic", "tests": {"t1": 30}},
    "systems": {name: LARGE["systems"][name] for name in ("a", "b")},
    "replicas": {"seeds": 2},
    "metrics": ["bleu"],
}
OLD = ("gone", "length", "t2", "seed-003")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Snakemake, list[list[str]]]:
    """The large experiment, run by Snakemake itself, and what was seen of it. Not to be changed."""
    runner = Snakemake(tmp_path_factory.mktemp("large"))
    runner.write(LARGE)
    folder, watch, lines = runner.folder / "results" / "x", None, []
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(runner.run)
        while not running.done():
            if watch is None and (folder / NAME).exists():
                watch = Watch(folder)
            if watch is not None:
                watch.look()
                lines.append(watch.lines())
            time.sleep(0.1)
        running.result()
    assert watch is not None
    watch.look()
    return runner, [*lines, watch.lines()]


@pytest.fixture(scope="module")
def shrunk(seen: tuple[Snakemake, list[list[str]]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results after the run of the small one. Not to be changed by a test."""
    folder = tmp_path_factory.mktemp("small") / "run"
    shutil.copytree(seen[0].folder, folder)
    runner = Snakemake(folder)
    runner.write(SMALL)
    runner.run()
    return folder / "results" / "x"


@pytest.fixture
def copy(shrunk: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(shrunk, tmp_path / "x", symlinks=True))


def is_old(name: str) -> bool:
    return any(part.split(".")[0] in OLD for part in name.split("/"))


def test_a_run_is_seen_from_its_first_job_to_its_verdict(seen: tuple[Snakemake, list[list[str]]]):
    runner, screens = seen
    assert screens[0][0].startswith("x: running, began ")
    done = [int(found[1]) for lines in screens if (found := re.search(r"(\d+) of \d+ jobs", lines[0]))]
    assert done == sorted(done)
    assert done[0] < done[-1]
    text = "\n".join(screens[-1])
    assert screens[-1][0].startswith("x: done, began ")
    assert all(int(n) == int(m) for n, m in re.findall(r"█ +(\d+) of (\d+) ", text))
    assert text.count(" 3/3") == 3, "outputs of each system"
    assert "failed" not in text
    assert "at work" not in text
    said = read(runner.folder / "results" / "x").summary
    assert " ".join(text.split()).endswith(" ".join(str(said).split()))


def test_looking_on_changes_nothing(seen: tuple[Snakemake, list[list[str]]], tmp_path: Path):
    """The same bytes as of a run that nobody watched."""
    folder = tmp_path / "x"
    shutil.copytree(seen[0].folder / "results" / "x", folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    Watch(folder).lines()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_what_is_no_longer_in_the_experiment_is_in_nothing_that_it_says(
    shrunk: Path, tmp_path: Path, replitune
):
    assert (shrunk / "stats/t1/length/a.parquet").exists(), "it still lies there"
    said = manifest(shrunk)
    assert said["files"]
    assert not [name for name in said["files"] if is_old(name)]
    assert not [name for name in said["jobs"] if is_old(name)]
    page = (shrunk / "report.html").read_text("utf-8")
    assert "gone" not in page
    assert "seed-003" not in page
    ran = replitune("verify", shrunk)
    assert ran.code == 0, ran.out + ran.err
    out = tmp_path / "x.tar.gz"
    assert replitune("archive", shrunk, "--out", out).code == 0
    with tarfile.open(out) as tar:
        assert not [name for name in tar.getnames() if is_old(name)]


def test_what_nobody_knows_is_still_extra(copy: Path, replitune):
    (copy / "stats/t1/length/mine.parquet").write_text("by hand")
    ran = replitune("verify", copy)
    assert ran.code == 2
    assert "extra  stats/t1/length/mine.parquet" in ran.out
    assert "length/a.parquet" not in ran.out


def test_clean_lists_it_and_removes_it_and_nothing_else(copy: Path, replitune):
    kept = {name: sha for name, sha in same_bytes(copy).items() if not is_old(name)}
    (copy / "stats/t1/length/mine.txt").write_text("by hand")
    ran = replitune("clean", copy)
    assert ran.code == 0, ran.err
    for name in ("decodes/t1/gone/", "decodes/t2/", "stats/t2/", "stats/t1/length/a.parquet"):
        assert f"  {name}\n" in ran.out
    assert "stats/t1/length/mine.txt: not known to be made by replitune" in ran.out
    assert "--remove removes them" in ran.out
    found = leftovers(copy)
    no_more_drawn = (".made/figures/", ".made/tables/")
    assert all(is_old(name) or name.startswith(no_more_drawn) for name in found.gone)
    assert "records, logs and benchmarks of these" in ran.out
    ran = replitune("clean", copy, "--remove")
    assert f"removed {len(found.gone)} files" in ran.out
    left = [path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()]
    assert [name for name in left if is_old(name)] == ["stats/t1/length/mine.txt"]
    assert same_bytes(copy) == {
        **kept,
        "stats/t1/length/mine.txt": same_bytes(copy)["stats/t1/length/mine.txt"],
    }
    assert not (copy / "decodes/t2").exists()
    (copy / "stats/t1/length/mine.txt").unlink()
    assert "nothing to remove" in replitune("clean", copy).out
    assert replitune("verify", copy).code == 0


def test_after_cleaning_nothing_is_to_be_done(shrunk: Path, tmp_path: Path, replitune):
    folder = tmp_path / "run"
    shutil.copytree(shrunk.parents[1], folder)
    assert replitune("clean", folder / "results" / "x", "--remove").code == 0
    assert Snakemake(folder).planned() == {}


def test_a_half_finished_run_is_cleaned_by_what_it_was_to_do(copy: Path, replitune):
    """No manifest, no report; the word that the run has left."""
    for name in ("manifest.json", "report.html"):
        (copy / name).unlink()
    shutil.rmtree(copy / "tests")
    assert replitune("clean", copy, "--remove").code == 0
    assert not (copy / "decodes/t1/gone").exists()
    assert (copy / "decodes/t1/a/seed-002.txt").exists()


def test_without_word_of_a_run_the_manifest_decides_and_newer_files_stay(copy: Path, replitune):
    (copy / NAME).unlink()
    new = copy / "decodes/t1/gone/seed-001.txt"
    new.touch()
    assert replitune("clean", copy, "--remove").code == 0
    assert new.exists()
    assert not (copy / "decodes/t1/gone/seed-002.txt").exists()
    (copy / "manifest.json").unlink()
    ran = replitune("clean", copy)
    assert (ran.code, "cannot tell which experiment" in ran.err) == (2, True)


def test_results_under_another_name_are_seen_the_same(copy: Path, replitune):
    other = copy.with_name("renamed")
    copy.rename(other)
    ran = replitune("watch", other)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("x: done")
    assert " ".join(ran.out.split()).endswith(" ".join(str(read(other).summary).split()))
