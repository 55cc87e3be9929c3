"""All jobs of an experiment, and all files that belong to it: those that its jobs write.

Imports little, because the Snakefile imports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from replitune.experiment.experiment import Experiment
from replitune.experiment.stage import STAGES, paths_of


class Job(NamedTuple):
    """One job of the workflow."""

    name: str
    """The name of its log: ``tune/baseline/mert-001``."""
    stage: str
    names: dict[str, str]
    """What it is about: system, replica, ..."""


def jobs_of(experiment: Experiment) -> Iterator[Job]:
    """The jobs of a run from the beginning, in the order of the workflow. With looks, the most that
    there may be, or those that the looks have asked for (`Experiment.after`)."""
    for stage in STAGES.names:
        kind = STAGES[stage]
        for names in kind.names_in(experiment):
            yield Job(kind.LOG.format(**names), stage, dict(names))


@dataclass(frozen=True)
class Belongings:
    """The files of an experiment, by their names below results/<experiment>/."""

    jobs: frozenset[str]
    outputs: frozenset[str]
    """Files, and folders with all their contents."""

    def output_of(self, name: str) -> str | None:
        """The output that a result is, or the output folder that contains it; None if it does not
        belong to the experiment."""
        parts = name.split("/")
        above = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((one for one in above if one in self.outputs), None)

    def has(self, name: str) -> bool:
        """Whether a result belongs to the experiment."""
        return self.output_of(name) is not None


def belongings(experiment: Experiment) -> Belongings:
    """The one place that says which files belong to the experiment: the outputs of its jobs. As long as
    looks may add replicas, the outputs of the most replicas that there may be."""
    present = experiment.after_looks()
    if present.record is not None and not present.record.settled:
        present = experiment
    jobs = list(jobs_of(present))
    stages = (present.stage(job.stage, **job.names) for job in jobs)
    outputs = {str(path) for stage in stages for path in paths_of(stage.outputs)}
    below = f"{present.folder}/"
    return Belongings(
        frozenset(job.name for job in jobs), frozenset(path.removeprefix(below) for path in outputs)
    )
