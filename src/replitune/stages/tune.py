"""tuning/<system>/<replica>/: one tuning run, or one training with the replica's own seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from replitune.experiment.stage import Conditions, Files
from replitune.replicas import Replica
from replitune.settings import plain
from replitune.stages.system import ReplicaStage

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment


class MakeReplica(ReplicaStage):
    """Make one replica."""

    LOG = "tune/{system}/{replica}"
    tuning: dict[str, Any]
    """Settings that `replitune.tuning.settings.tuning_of` reads."""

    def make(self, conditions: Conditions, out: str, **fields: Any) -> None:
        from replitune.backends.interface import ReplicaJob
        from replitune.backends.making import make_replica
        from replitune.tuning.settings import tuning_of

        prefix = Replica(self.replica).prefix if self.NAME == "tune" else None
        job = self.make_job(
            ReplicaJob,
            conditions,
            out=Path(out),
            work=Path(self.at.work(self.system, self.replica)),
            common=Path(self.at.common(self.system)),
            **tuning_of(self.tuning, prefix),
            **fields,
        )
        make_replica(self.get_backend(), job, allow_failure=conditions.allow_failures)


class Tune(MakeReplica):
    """Tune the weights of one replica on dev."""

    NAME = "tune"
    VERSION = 4

    @classmethod
    def from_experiment(cls, experiment: Experiment, system: str, replica: str) -> Self:
        tuning = experiment.settings.tuning.for_tuner(Replica(replica).prefix)
        return cls.for_replica(experiment, system, replica, tuning=tuning)

    @property
    def outputs(self) -> Files:
        return {
            "weights": self.at.weights(self.system, self.replica),
            "history": self.at.history(self.system, self.replica),
        }

    def run(self, conditions: Conditions) -> None:
        history = Path(self.at.history(self.system, self.replica))
        self.make(conditions, self.at.weights(self.system, self.replica), history=history)


class TrainReplica(MakeReplica):
    """Train one replica with its own seed."""

    NAME = "train_replica"
    VERSION = 2

    @classmethod
    def from_experiment(cls, experiment: Experiment, system: str, replica: str) -> Self:
        tuning = {"metric": plain(experiment.settings.tuning.metric)}
        return cls.for_replica(experiment, system, replica, tuning=tuning)

    @property
    def outputs(self) -> Files:
        return {"replica": self.at.replica(self.system, self.replica)}

    def run(self, conditions: Conditions) -> None:
        self.make(conditions, self.at.replica(self.system, self.replica))
