"""The jobs of an experiment without Snakemake, which much of the suite is built on, make what a run
of Snakemake's makes."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import load, resolve
from replitune.significance.looks.record import read_record
from support import ROOT, run_in_process

from .conftest import Snakemake

SNAKEMAKES_OWN = (".run.json", ".snakemake_timestamp")
"""Names of what Snakemake's own process writes."""
TOLD_BY_THE_CLOCK = ("logs/", "benchmarks/", ".made/", "manifest.json")
"""Files with seconds in them."""


def files_below(folder: Path) -> dict[str, str]:
    """sha256 of every file; of those with seconds in them, that they are there."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and path.name not in SNAKEMAKES_OWN:
            timed = name.startswith(TOLD_BY_THE_CLOCK)
            found[name] = "" if timed else hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.mark.workflow
def test_the_smallest_experiment_is_what_snakemake_makes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("in_process", "snakemake"):
        shutil.copytree(ROOT / ".test", tmp_path / name, ignore=shutil.ignore_patterns("results", ".*"))
    monkeypatch.chdir(tmp_path / "in_process")
    run_in_process(Experiment(load("config/config.yaml")))
    Snakemake(tmp_path / "snakemake").run(configfile="config/config.yaml")
    found = files_below(tmp_path / "in_process" / "results" / "given")
    assert found == files_below(tmp_path / "snakemake" / "results" / "given")
    assert {"report.html", "manifest.json", "tests/made-up/bleu.parquet"} <= found.keys()


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
        decoded = sorted(path.stem for path in Path(at.decodes("t", system)).iterdir())
        assert decoded == [replica.id for replica in ran.replicas(system)]
    assert Path(at.page).exists()
