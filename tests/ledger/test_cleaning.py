"""What `clean` may touch, on files such as jobs leave."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.ledger import cleaning
from replitune.ledger.cleaning import grouped, leftovers, remove
from replitune.ledger.runs import NAME, write_run
from replitune.running.files import atomic_path, new_folder, sha256_file
from replitune.running.locks import only_one

OLD = "stats/t/bleu/old.parquet"


class Results:
    """Of an experiment with the systems a and b, and one that it no longer has."""

    def __init__(self, folder: Path) -> None:
        settings = resolve(
            {
                "experiment": "x",
                "corpus": {"kind": "synthetic", "tests": {"t": 20}},
                "systems": {name: {"backend": "corruption"} for name in ("a", "b")},
                "replicas": {"seeds": 2},
            }
        )
        experiment = Experiment(settings, folder)
        self.folder = experiment.folder
        self.folder.mkdir()
        write_run(experiment, [], 1)
        run = json.loads((self.folder / NAME).read_text())
        (self.folder / NAME).write_text(json.dumps({**run, "process": [*run["process"][:2], "it is over"]}))
        for system in ("a", "b", "old"):
            name = f"stats/t/bleu/{system}.parquet"
            self.made(name, f"score/t/bleu/{system}", f"statistics of {system}")

    def made(self, name: str, job: str, text: str) -> None:
        """An output of a job, with its record, log and benchmark."""
        self.write(name, text)
        sha256 = sha256_file(self.folder / name)
        self.write(f".made/{name}.json", json.dumps({"sha256": sha256, "record": job}))
        record = {"command": ["replitune", "job"], "outputs": {name: sha256}}
        self.write(f"logs/{job}.json", json.dumps(record))
        self.write(f"logs/{job}.log", "it says something")
        self.write(f"benchmarks/{job}.tsv", "s\n1\n")

    def write(self, name: str, text: str = "x") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def files(self) -> set[str]:
        return {
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file() or path.is_symlink()
        }


OF_OLD = {
    OLD,
    f".made/{OLD}.json",
    "logs/score/t/bleu/old.json",
    "logs/score/t/bleu/old.log",
    "benchmarks/score/t/bleu/old.tsv",
}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path)


def test_a_result_goes_with_all_that_was_written_of_it(results: Results):
    before = results.files()
    found = leftovers(results.folder)
    assert set(found.gone) == OF_OLD
    files, freed = remove(found)
    assert files == len(OF_OLD)
    assert freed == found.size == sum(found.gone.values())
    assert before - results.files() == OF_OLD
    assert not leftovers(results.folder).gone


def test_what_somebody_has_changed_or_made_stays(results: Results):
    results.write(OLD, "by hand")
    results.write("stats/t/bleu/mine.parquet")
    results.write("logs/score/t/bleu/mine.json", '{"a": 1}')
    results.write("logs/score/t/bleu/mine.log")
    results.write("decodes/t/a/notes.md")
    results.write("mine/x.txt")
    found = leftovers(results.folder)
    assert found.kept == {
        OLD: "changed since it was made",
        "stats/t/bleu/mine.parquet": "not known to be made by replitune",
        "decodes/t/a/notes.md": "not known to be made by replitune",
    }
    remove(found)
    assert {
        OLD,
        f".made/{OLD}.json",
        "mine/x.txt",
        "logs/score/t/bleu/mine.json",
        "logs/score/t/bleu/mine.log",
    } <= results.files()


def test_half_made_copies_are_listed_by_their_names(results: Results):
    """The names are those that files really have while they are written."""
    with atomic_path(results.folder / "decodes/t/a/seed-001.txt") as file:
        file.touch()
    with new_folder(results.folder / "models/a") as folder:
        pass
    left = [path.relative_to(results.folder).as_posix() for path in (file, folder)]
    kept = [left[0], f"{left[1]}/below/f"]
    for name in kept:
        results.write(name, "half")
    results.write("stats/t/bleu/.mine.tmp")
    results.write("stats/t/bleu/.a.parquet.12.tmp")
    found = leftovers(results.folder)
    assert found.half_made == dict.fromkeys(kept, 4)
    remove(found)
    assert not results.files() & {*kept}
    assert not (results.folder / kept[1]).parent.exists()
    assert {"stats/t/bleu/.mine.tmp", "stats/t/bleu/.a.parquet.12.tmp"} <= results.files()


def test_checkpoints_of_what_is_gone_go_and_others_stay(results: Results):
    own = [results.write(f"tuning/a/.work/seed-001/{n}", "{}") for n in ("lock", "state.json")]
    old = results.write("tuning/old/.work/seed-001/state.json", '{"fingerprint": "f"}')
    results.write("tuning/old/.work/seed-001/iteration-000.npz")
    mine = results.write("tuning/old/.work/mine/state.txt")
    first = results.write("tuning/old/.work/first-lists.npz")
    remove(leftovers(results.folder))
    assert all(path.exists() for path in (*own, mine))
    assert not old.parent.exists()
    assert not first.exists()


def test_no_link_is_followed_and_nothing_outside_is_touched(results: Results, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "c.parquet").write_text("statistics of c")
    (outside / ".c.parquet.1.0123abcd.tmp").write_text("mine")
    made = {"sha256": sha256_file(outside / "c.parquet"), "record": "score/u/bleu/c"}
    results.write(".made/stats/u/bleu/c.parquet.json", json.dumps(made))
    results.write(".made/stats/t/bleu/c.parquet.json", json.dumps(made))
    (results.folder / "stats/u").mkdir()
    (results.folder / "stats/u/bleu").symlink_to(outside)
    (results.folder / "stats/t/bleu/c.parquet").symlink_to(outside / "c.parquet")
    found = leftovers(results.folder)
    assert not [name for name in (*found.gone, *found.half_made) if name.startswith("stats/u")]
    remove(found)
    assert sorted(path.name for path in outside.iterdir()) == [".c.parquet.1.0123abcd.tmp", "c.parquet"]
    assert (results.folder / "stats/t/bleu/c.parquet").is_symlink()


def test_a_folder_that_becomes_a_link_in_between_is_not_entered(results: Results, tmp_path: Path):
    found = leftovers(results.folder)
    real = results.folder / "stats" / "t" / "bleu"
    real.rename(tmp_path / "moved")
    real.symlink_to(tmp_path / "moved")
    remove(found)
    assert (tmp_path / "moved" / "old.parquet").exists()


def test_while_something_is_at_work_nothing_is_removed(results: Results):
    half = results.write("decodes/t/a/.seed-001.txt.77.0123abcd.tmp")
    found = leftovers(results.folder)
    assert found.half_made
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:  # a lock of this process would not stand in its own way
        os.close(writer)
        with only_one(results.folder / "logs/decode/a/seed-001.log"):
            os.write(1, b"")
            (results.folder / "held").touch()
            os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    while not (results.folder / "held").exists():
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    with pytest.raises(ReplituneError, match="a job is at work"):
        remove(found)
    assert not leftovers(results.folder).half_made
    os.close(writer)
    os.waitpid(child, 0)
    assert half.exists()
    remove(found)
    assert not half.exists()


def test_a_run_that_goes_on_or_that_nobody_knows_of_is_waited_for(results: Results):
    experiment = cleaning.require_experiment(results.folder)
    write_run(experiment, [], 1)  # this process
    with pytest.raises(ReplituneError, match="Snakemake is at work"):
        remove(leftovers(results.folder))
    run = json.loads((results.folder / NAME).read_text())
    (results.folder / NAME).write_text(json.dumps({**run, "process": ["node17", 1, "x"]}))
    with pytest.raises(ReplituneError, match="started on node17"):
        remove(leftovers(results.folder))
    results.write("manifest.json")  # which is made last
    remove(leftovers(results.folder))
    assert OLD not in results.files()


def test_folders_that_go_whole_are_one_row():
    there = ["a/b/1", "a/b/2", "a/c/1", "d/1"]
    assert grouped({"a/b/1": 1, "a/b/2": 2}, there) == [("a/b/", 2, 3)]
    assert grouped({"a/b/1": 1, "a/b/2": 2, "a/c/1": 3}, there) == [("a/", 3, 6)]
    assert grouped({"a/b/1": 1}, there) == [("a/b/1", 1, 1)]
