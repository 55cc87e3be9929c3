"""Names that tests import."""

from __future__ import annotations

import contextlib
import copy
import fcntl
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from replitune.cli.main import main
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import Job, jobs_of
from replitune.experiment.reading import load, resolve
from replitune.experiment.stage import Stage, paths_of
from replitune.significance.looks.record import read_record
from replitune.statistics.outputs import Outputs, read_outputs

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that is filled once in a session, whatever the number of test processes. Not to be
    changed by a test."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / name
    with open(shared / f"{name}.made", "a+") as made:
        fcntl.flock(made, fcntl.LOCK_EX)
        if made.seek(0, os.SEEK_END) == 0:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.write("once")
    return folder


@dataclass(frozen=True)
class Ran:
    """What a command left: exit code and what it printed."""

    code: int
    out: str
    err: str


def run_in_process(experiment: Experiment) -> Experiment:
    """Run every job of an experiment in this process, in the order of the workflow and without
    Snakemake; in the current folder, where the same files are then as after a run of Snakemake's.
    Kernels are not compiled beforehand, since it is one process that runs all.

    Returns the experiment with the replicas that its looks have asked for.
    """
    if experiment.looks is not None:
        settled, number = False, 1
        while not settled:
            look = Job(f"look/{number}", "look", {"look": str(number)})
            for job in [*_needed_by(experiment, look), look]:
                run_job(experiment, job)
            record = read_record(experiment.at.look(number))
            settled, number = record.settled, number + 1
        experiment = experiment.after(record)
    for job in jobs_of(experiment):
        if job.stage != "kernels":
            run_job(experiment, job)
    Path(experiment.at.kernels).write_text("compiled\n")
    return experiment


def run_file(file: Path, folder: Path | None = None, **overrides: object) -> Experiment:
    """The same of an experiment file, in its folder or another one."""
    with contextlib.chdir(folder or file.parent):
        return run_in_process(Experiment(load(file, **overrides)))


def outputs_of(replicas: Sequence[Sequence[str]]) -> Outputs:
    """The outputs of replicas that are in memory, one at least."""
    return read_outputs(replicas, len(replicas[0]))


def changed(experiment: dict[str, Any], **changes: object) -> dict[str, Any]:
    """An experiment with other settings: ``tests__samples=9`` is that of `tests`."""
    experiment = copy.deepcopy(experiment)
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = experiment
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value
    return experiment


def run_again(before: dict[str, Any], after: dict[str, Any]) -> dict[str, int]:
    """Number of jobs by stage that a change of a finished experiment runs again: those that are told
    or read something else, and those that read what these make. (That Snakemake plans the same is a
    test of test_workflow.py.)"""
    told = {job.name: _told(stage) for job, stage in _stages(Experiment(resolve(before)))}
    again: list[str] = []
    made: set[Path] = set()
    for job, stage in _stages(Experiment(resolve(after))):
        if told.get(job.name) != _told(stage) or made.intersection(paths_of(stage.inputs)):
            made.update(paths_of(stage.outputs))
            again.append(job.stage)
    return dict(Counter(again))


def _stages(experiment: Experiment) -> list[tuple[Job, Stage]]:
    """All jobs but the compilation of kernels, which nothing runs again."""
    jobs = [job for job in jobs_of(experiment) if job.stage != "kernels"]
    return [(job, experiment.stage(job.stage, **job.names)) for job in jobs]


def _told(stage: Stage) -> tuple[str, object, object]:
    return stage.json, stage.planned, stage.outputs


def run_job(experiment: Experiment, job: Job) -> None:
    """Run one job as its rule does, unless it has run before."""
    record = Path(experiment.at.record(job.name))
    if record.exists():
        return
    words = ["job", job.stage, "--settings", experiment.stage(job.stage, **job.names).json]
    if experiment.settings.allow_missing_replicas and job.stage in GO_ON_WITHOUT:
        words.append("--allow-failures")
    code = main([*words, "--log", experiment.at.log(job.name), "--record", str(record)])
    assert code == 0, Path(experiment.at.log(job.name)).read_text("utf-8")


GO_ON_WITHOUT = ("tune", "train_replica", "decode", "batch", "score")
"""Stages whose rules pass --allow-failures."""


def _needed_by(experiment: Experiment, look: Job) -> list[Job]:
    """The jobs that make what a look reads, from the texts on."""
    needed = {*paths_of(experiment.stage("look", **look.names).inputs)}
    jobs = []
    for job in reversed([job for job in jobs_of(experiment) if job.stage != "look"]):
        stage = experiment.stage(job.stage, **job.names)
        if needed.intersection(paths_of(stage.outputs)):
            needed.update(paths_of(stage.inputs))
            jobs.append(job)
    return jobs[::-1]


def validate(said: Any) -> None:
    """That it is as docs/compare.schema.json has it."""
    import jsonschema
    from referencing import Registry, Resource

    schemas = [
        json.loads((ROOT / "docs" / f"{name}.schema.json").read_text()) for name in ("compare", "answer")
    ]
    registry = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in schemas)
    jsonschema.Draft202012Validator(schemas[0], registry=registry).validate(said)
