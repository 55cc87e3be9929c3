"""derivations/<testset>/<system>.json: how the median replica derived its translations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from replitune.experiment.stage import Conditions, Counts, Files, Names
from replitune.replicas import Replica, replica_ids
from replitune.stages.system import SystemStage

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment


class Derive(SystemStage):
    """The derivations of a system's median replica, for the report."""

    NAME = "derive"
    LOG = "derive/{testset}/{system}"
    WAITS_FOR_LOOKS = True
    testset: str
    metric: dict[str, Any]
    id: str
    """The id of the metric by which the median replica is chosen."""
    replicas: Counts

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [
            {"testset": testset, "system": system}
            for testset in experiment.tests
            for system in experiment.systems_with("derive")
        ]

    @classmethod
    def from_experiment(cls, experiment: Experiment, testset: str, system: str) -> Self:
        id = experiment.metrics[0]
        return cls.for_system(
            experiment,
            system,
            testset=testset,
            id=id,
            metric=experiment.metric(id).mapping,
            replicas=experiment.replica_counts(system),
        )

    @property
    def translated(self) -> Sequence[str]:
        return [self.testset]

    @property
    def inputs(self) -> Files:
        weights = [self.at.weights(self.system, one.id) for one in replica_ids(self.replicas)]
        return {
            **self.texts(),
            "tuned": weights,
            "testset": self.at.testset(self.testset),
            "store": self.at.store(self.testset, self.id, self.system),
        }

    @property
    def outputs(self) -> Files:
        return {"derivations": self.at.derivations(self.testset, self.system)}

    def run(self, conditions: Conditions) -> None:
        from replitune.backends.interface import DecodeJob
        from replitune.running.files import atomic_open
        from replitune.significance.arguments import select_replica
        from replitune.statistics.store import read_systems

        store = read_systems([self.at.store(self.testset, self.id, self.system)])
        system = store.systems[self.system]
        median = select_replica(system, store.metric.score(system.sums), "median")
        replica = Replica(system.replicas[median])
        job = self.make_job(
            DecodeJob,
            conditions,
            replica=replica,
            name=self.testset,
            tuned=Path(self.at.weights(self.system, replica.id)),
            testset=Path(self.at.testset(self.testset)),
        )
        derivations = self.get_backend().derive(job)
        with atomic_open(self.at.derivations(self.testset, self.system)) as handle:
            json.dump({"replica": replica.id, "derivations": derivations}, handle, ensure_ascii=False)
