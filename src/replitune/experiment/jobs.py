"""Every job of an experiment, and every file that belongs to it: those that its jobs write.

Light on purpose: the Snakefile imports it.
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
    """That of its log: ``tune/baseline/mert-001``."""
    stage: str
    names: dict[str, str]
    """Of what it is: system, replica, ..."""


def jobs_of(experiment: Experiment) -> Iterator[Job]:
    """The jobs of a run from nothing, in the order of the workflow; with looks, the most that there
    may be, or those that the looks have asked for (`Experiment.after`)."""
    for stage in STAGES.names:
        kind = STAGES[stage]
        for names in kind.names_in(experiment):
            yield Job(kind.LOG.format(**names), stage, dict(names))


@dataclass(frozen=True)
class Belongings:
    """What an experiment has below results/<experiment>/, by names that start there."""

    jobs: frozenset[str]
    outputs: frozenset[str]
    """Files, and folders with all that is in them."""

    def output_of(self, name: str) -> str | None:
        """The file, or the folder made as a whole, that a result is or is in; None: it is not the
        experiment's."""
        parts = name.split("/")
        above = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((one for one in above if one in self.outputs), None)

    def has(self, name: str) -> bool:
        """Whether a result is one of the experiment's."""
        return self.output_of(name) is not None


def belongings(experiment: Experiment) -> Belongings:
    """The one place that says which files are the experiment's: the outputs of its jobs. With
    looks, of as many replicas as there may be until no system gets more."""
    present = experiment.after_looks()
    if present.record is not None and not present.record.settled:
        present = experiment
    jobs = list(jobs_of(present))
    outputs = {path for job in jobs for path in _outputs(present, job)}
    below = f"{present.folder}/"
    return Belongings(
        frozenset(job.name for job in jobs), frozenset(path.removeprefix(below) for path in outputs)
    )


def _outputs(experiment: Experiment, job: Job) -> Iterator[str]:
    if job.stage == "look":  # what it is told depends on the look before
        yield from (experiment.at.look(job.names["look"], kind) for kind in (".json", ".parquet"))
        return
    yield from map(str, paths_of(experiment.stage(job.stage, **job.names).outputs))
