"""Killed jobs and killed runs, at seeded moments, in every stage."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from support import run_file

from .conftest import POINTS
from .harness import EXPERIMENT, STAGES, Faults, contents, copied, fresh

pytestmark = pytest.mark.workflow

KINDS = ("SIGKILL", "SIGTERM", "Ctrl-C", "SIGKILL", "SIGKILL")


def tell(faults: Faults) -> None:
    """Add to the account that `make faults` prints."""
    if account := os.environ.get("REPLITUNE_FAULT_ACCOUNT"):
        with open(account, "a") as handle:
            for (stage, kind), count in faults.counts.items():
                handle.write(json.dumps([stage, kind, count]) + "\n")


def test_a_killed_job_of_every_stage_ends_in_the_same_bytes(whole: Path, tmp_path: Path):
    faults = fresh(whole, tmp_path)
    faults.kill_jobs(dict.fromkeys(STAGES, 1))
    while missed := {s: 1 for s in STAGES if not faults.counts[s, "job killed"]}:
        faults.forget(next(iter(missed)))
        faults.kill_jobs(missed)
    tell(faults)


def test_a_run_that_is_stopped_again_and_again_ends_in_the_same_bytes(whole: Path, tmp_path: Path):
    faults = copied(whole, tmp_path)
    for stage, kind in (("tune", "SIGKILL"), ("decode", "SIGTERM"), ("score", "Ctrl-C")):
        faults.forget(stage)
        while not faults.stop_run(stage, kind, "--rerun-incomplete"):
            faults.forget(stage)
        faults.unlock()
    faults.resume()
    tell(faults)


def test_what_two_cores_make_is_what_is_made_without_snakemake(whole: Path, tmp_path: Path):
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(EXPERIMENT, sort_keys=False))
    run_file(tmp_path / "x.yaml")
    assert contents(tmp_path / "results" / "f") == contents(whole / "results" / "f")


@pytest.mark.skipif(POINTS < 2, reason="many moments: make faults")
@pytest.mark.parametrize("stage", STAGES)
def test_many_moments(whole: Path, tmp_path: Path, stage: str):
    """Nine of ten hits kill a job, one ends Snakemake itself."""
    faults = copied(whole, tmp_path)
    stops = max(POINTS // 10, 1)
    while (killed := faults.counts[stage, "job killed"]) < POINTS - stops:
        faults.forget(stage)
        faults.kill_jobs({stage: POINTS - stops - killed})
    faults.forget(stage)
    while (stopped := sum(faults.counts[stage, kind] for kind in set(KINDS))) < stops:
        if not faults.stop_run(stage, KINDS[stopped % len(KINDS)], "--rerun-incomplete"):
            faults.forget(stage)
        faults.unlock()
    faults.resume()
    tell(faults)
