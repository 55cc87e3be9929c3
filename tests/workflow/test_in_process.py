"""The jobs of an experiment without Snakemake, which much of the suite is built on, make what a run
of Snakemake's makes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.significance.looks.record import read_record
from support import run_in_process

from .conftest import TINY, Snakemake

SNAKEMAKES_OWN = (".run.json", ".run.lock", ".snakemake_timestamp", ".kernels")
"""Names of what Snakemake's own process writes, and the stamp of kernels, which it has compiled
before all else."""
TOLD_BY_THE_CLOCK = ("logs/", "benchmarks/", ".made/", "manifest.json")
"""Files with seconds in them."""


def files_below(folder: Path) -> dict[str, str]:
    """sha256 of every file; of those with seconds in them, that they are there."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and path.name not in SNAKEMAKES_OWN and path.parent.name != "kernels":
            timed = name.startswith(TOLD_BY_THE_CLOCK)
            found[name] = "" if timed else hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.mark.workflow
def test_what_snakemake_makes_is_made_without_it(finished: Snakemake, tmp_path: Path):
    made = files_below(Snakemake(tmp_path).in_process(TINY).folder / "results" / "tiny")
    assert made == files_below(finished.folder / "results" / "tiny")
    assert {"report.html", "manifest.json", "tests/both/bleu.json"} <= made.keys()


def test_looks_ask_for_more_replicas_until_they_are_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    experiment = Experiment(
        resolve(
            {
                "experiment": "x",
                "corpus": {"kind": "synthetic", "tests": {"t": 30}},
                "systems": {
                    "a": {"backend": "corruption", "errors": 0.1},
                    "b": {"backend": "corruption", "errors": 0.6},
                },
                "replicas": {"seeds": 9, "until": "settled", "looks": [3, 4, 5]},
                "tests": {"samples": 99, "methods": ["crossed"], "intervals": []},
                "studies": {"power": False},
            }
        )
    )
    ran = run_in_process(experiment)
    record = ran.record
    assert record is not None
    assert record.settled
    at = ran.at
    assert record == read_record(at.look(len(record.looks)))
    assert not Path(at.look(len(record.looks) + 1)).exists()
    for system, counts in record.counts.items():
        assert counts["seeds"] < 9  # so different are these systems
        decoded = sorted(path.stem for path in Path(at.at("decodes", "t", system)).iterdir())
        assert decoded == [replica.id for replica in ran.replicas(system)]
    assert Path(at.page).exists()
