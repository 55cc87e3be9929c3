"""Names that tests import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from replitune.cli.main import main
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import Job, jobs_of
from replitune.experiment.stage import paths_of
from replitune.significance.looks.record import read_record

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""


@dataclass(frozen=True)
class Ran:
    """What a command left: exit code and what it printed."""

    code: int
    out: str
    err: str


def run_in_process(experiment: Experiment) -> Experiment:
    """Run every job of an experiment in this process, in the order of the workflow and without
    Snakemake; in the current folder, where the same files are then as after a run of Snakemake's.

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
        run_job(experiment, job)
    return experiment


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
