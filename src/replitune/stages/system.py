"""The base of stages about one system, whose backend does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from replitune.experiment.stage import Conditions, Files, Names, Stage
from replitune.replicas import Replica
from replitune.settings import plain

if TYPE_CHECKING:
    from replitune.backends.interface import Backend, Job
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.sizes import Sizes

J = TypeVar("J", bound="Job")


class SystemStage(Stage):
    """A stage of one system, whose backend does the work."""

    system: str
    backend: str
    settings: dict[str, Any]
    """The settings that decide this stage, according to the backend."""
    reads: list[str]
    """What the stage reads: train, dev, model, table, tuned, answers, source."""
    tuned: str
    """What `tuned` is in this system: `weights` or a `folder`."""

    @classmethod
    def for_system(cls, experiment: Experiment, system: str, **settings: Any) -> Self:
        """The job, with what the system's backend says about this stage."""
        backend = experiment.backends[system]
        return cls.create(
            experiment,
            backend_version=f"{backend.name} {backend.version}",
            system=system,
            backend=backend.name,
            settings=plain(backend.stage_settings(cls.NAME)),
            reads=list(backend.stages[cls.NAME]),
            tuned="weights" if "tune" in backend.stages else "folder",
            **settings,
        )

    def memory_mb(self, sizes: Sizes) -> int:
        read = ["dev"] if "dev" in self.reads else sizes.experiment.testsets
        segments = max(map(sizes.segments, read), default=0)
        backend = sizes.experiment.backends[self.system]
        return backend.memory_mb(self.NAME, sizes.text_mb("train"), segments)

    def disk_mb(self, sizes: Sizes) -> int:
        return sizes.experiment.backends[self.system].disk_mb(self.NAME, sizes.text_mb("train"))

    def texts(self) -> Files:
        """The files that it reads, except those of its replica."""
        files: Files = {}
        if "train" in self.reads:
            files["source"], files["target"] = self.at.train
        if "dev" in self.reads:
            files["dev"] = self.at.testset("dev")
        if "model" in self.reads:
            files["model"] = self.at.model(self.system)
        if "table" in self.reads:
            files["table"] = [self.at.table(self.system, name) for name in self.translated]
        return files

    @property
    def translated(self) -> Sequence[str]:
        """The texts that it translates."""
        return ["dev"]

    def get_backend(self) -> Backend:
        from replitune.backends.registry import get_backend

        return get_backend(self.system, self.settings, self.backend)

    def make_job(self, kind: type[J], conditions: Conditions, **fields: Any) -> J:
        """The job for the backend, with the texts that it reads."""
        from replitune.corpus.testset import read_prepared

        files = self.texts()
        if "source" in files:
            fields["train"] = Path(str(files["source"])), Path(str(files["target"]))
        if "dev" in files:
            fields["dev"] = read_prepared(str(files["dev"]))
        if "model" in files:
            fields["model"] = Path(str(files["model"]))
        if "table" in files:
            (fields["table"],) = map(Path, files["table"])
        return kind(seed=self.seed, threads=conditions.threads, **fields)


class ReplicaStage(SystemStage):
    """A stage of one replica of a system."""

    replica: str
    paired: bool

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [
            {"system": system, "replica": replica.id}
            for system in experiment.systems_with(cls.NAME)
            for replica in experiment.replicas(system)
        ]

    @classmethod
    def for_replica(cls, experiment: Experiment, system: str, replica: str, **settings: Any) -> Self:
        paired = experiment.settings.tests.paired_replicas
        return cls.for_system(experiment, system, replica=replica, paired=paired, **settings)

    def make_job(self, kind: type[J], conditions: Conditions, **fields: Any) -> J:
        replica = Replica(self.replica)
        return super().make_job(kind, conditions, replica=replica, paired=self.paired, **fields)

    @property
    def inputs(self) -> Files:
        own: Files = {}
        if "tuned" in self.reads:
            folder = self.tuned == "folder"
            place = self.at.replica if folder else self.at.weights
            own["tuned"] = place(self.system, self.replica)
        return {**self.texts(), **own}


class TranslatingStage(ReplicaStage):
    """A stage in which one replica makes something for each segment of the test sets."""

    KEPT = True
    testsets: list[str]

    @classmethod
    def from_experiment(cls, experiment: Experiment, system: str, replica: str) -> Self:
        return cls.for_replica(experiment, system, replica, testsets=experiment.testsets)

    @property
    def translated(self) -> Sequence[str]:
        return self.testsets

    @property
    def pieces(self) -> Mapping[str, Self]:
        return {name: msgspec.structs.replace(self, testsets=[name]) for name in self.testsets}

    @property
    def inputs(self) -> Files:
        own: Files = {}
        if "answers" in self.reads:
            own["answers"] = [self.at.answers(name, self.system, self.replica) for name in self.testsets]
        return {**super().inputs, **own, "testsets": [self.at.testset(name) for name in self.testsets]}
