"""models/<system>/: what the replicas of a trained system share; options/<system>/<test set>/: the
part of it that one text can use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from replitune.experiment.stage import Conditions, Files, Names
from replitune.stages.system import SystemStage

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment


class Train(SystemStage):
    """Make what the replicas of a system share."""

    NAME = "train"
    LOG = "train/{system}"
    VERSION = 3

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [{"system": system} for system in experiment.systems_with("train")]

    @classmethod
    def from_experiment(cls, experiment: Experiment, system: str) -> Self:
        return cls.for_system(experiment, system)

    @property
    def inputs(self) -> Files:
        return self.texts()

    @property
    def outputs(self) -> Files:
        return {"model": self.at.model(self.system)}

    def run(self, conditions: Conditions) -> None:
        from replitune.backends.interface import TrainJob

        out = Path(self.at.model(self.system))
        self.get_backend().train(self.make_job(TrainJob, conditions, out=out))


class Table(SystemStage):
    """Make the part of a model that one text can use."""

    NAME = "table"
    LOG = "table/{testset}/{system}"
    testset: str

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [
            {"system": system, "testset": testset}
            for system in experiment.systems_with("table")
            for testset in experiment.testsets
        ]

    @classmethod
    def from_experiment(cls, experiment: Experiment, system: str, testset: str) -> Self:
        return cls.for_system(experiment, system, testset=testset)

    @property
    def inputs(self) -> Files:
        return {**self.texts(), "testset": self.at.testset(self.testset)}

    @property
    def outputs(self) -> Files:
        return {"table": self.at.table(self.system, self.testset)}

    def run(self, conditions: Conditions) -> None:
        from replitune.backends.interface import TableJob

        out, testset = Path(self.at.table(self.system, self.testset)), Path(self.at.testset(self.testset))
        self.get_backend().table(self.make_job(TableJob, conditions, out=out, testset=testset))
