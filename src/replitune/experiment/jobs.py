"""Every job of an experiment, and every file: what is no output of these is not the experiment's.

Light on purpose: the Snakefile imports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from replitune.experiment.experiment import BY_METRIC, Experiment


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
    for part in experiment.corpus_parts:
        yield Job(f"corpus/{part}", "corpus", {"part": part})
    yield Job("corpus/inputs", "account", {})
    yield Job("kernels/kernels", "kernels", {})
    for system in experiment.having("train"):
        yield Job(f"train/{system}", "train", {"system": system})
    for stage, folder in (("tune", "tune"), ("train_replica", "tune"), ("decode", "decode")):
        for system in experiment.having(stage):
            for replica in experiment.replicas(system):
                names = {"system": system, "replica": replica.id}
                yield Job(f"{folder}/{system}/{replica.id}", stage, names)
    for system, testset in experiment.given_outputs:
        yield Job(f"decode/{testset}/{system}", "collect", {"system": system, "testset": testset})
    yield from _looks(experiment)
    for testset in experiment.testsets:
        for metric in experiment.metrics:
            for system in experiment.decoding(testset) if experiment.scored(metric, testset) else ():
                names = {"testset": testset, "metric": metric, "system": system}
                yield Job(f"score/{testset}/{metric}/{system}", "score", names)
    for testset in experiment.tests:
        for system in experiment.having("derive"):
            names = {"testset": testset, "system": system}
            yield Job(f"derive/{testset}/{system}", "derive", names)
    for testset in experiment.tested:
        for metric in experiment.metrics:
            yield Job(f"test/{testset}/{metric}", "test", {"testset": testset, "metric": metric})
    for study in BY_METRIC:
        for testset, metric in experiment.study_cells(study):
            yield Job(f"{study}/{testset}/{metric}", study, {"testset": testset, "metric": metric})
    for testset in experiment.judged:
        yield Job(f"meta/{testset}", "meta", {"testset": testset})
    yield Job("report/report", "report", {})
    yield Job("manifest/manifest", "manifest", {})


def _looks(experiment: Experiment) -> Iterator[Job]:
    if experiment.looks is None:
        return
    record = experiment.record
    plan = experiment.plan if record is None else record.plan
    for testset in plan.suite or (plan.testset,):
        for system, sizes in plan.sizes.items():
            for n in sizes if record is None else [n for n in sizes if n <= record.wanted[system]]:
                names = {"testset": testset, "metric": plan.metric, "system": system, "n": str(n)}
                yield Job("/".join(("batch", *names.values())), "batch", names)
    looks = 1 + sum(len(sizes) - 1 for sizes in plan.sizes.values())
    for look in range(1, 1 + (looks if record is None else len(record.looks))):
        yield Job(f"look/{look}", "look", {"look": str(look)})


@dataclass(frozen=True)
class Belongings:
    """What an experiment has below results/<experiment>/, by names that start there."""

    jobs: frozenset[str]
    outputs: frozenset[str]
    """Files, and folders with all that is in them."""

    def has(self, name: str) -> bool:
        """Whether a result is one of the experiment's."""
        parts = name.split("/")
        return any("/".join(parts[:n]) in self.outputs for n in range(len(parts), 0, -1))


def belongings(experiment: Experiment) -> Belongings:
    """The one place that says which files are the experiment's: the outputs of its jobs. With
    looks, of as many replicas as there may be until no system gets more."""
    looked = experiment.as_looked()
    if looked.record is not None and not looked.record.settled:
        looked = experiment
    jobs = list(jobs_of(looked))
    outputs = {path for job in jobs for path in _outputs(looked, job)}
    below = f"{looked.folder}/"
    return Belongings(
        frozenset(job.name for job in jobs), frozenset(path.removeprefix(below) for path in outputs)
    )


def _outputs(experiment: Experiment, job: Job) -> Iterator[str]:
    if job.stage == "look":  # what it is told depends on the look before
        yield from (experiment.at.look(job.names["look"], kind) for kind in (".json", ".parquet"))
        return
    for path in experiment.stage(job.stage, **job.names).outputs.values():
        yield from [path] if isinstance(path, str) else path
