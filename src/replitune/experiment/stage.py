"""A stage of the workflow: the settings, inputs and outputs of each of its jobs, and its work.

A rule passes the settings of a job as JSON, `replitune job STAGE --settings JSON`, and the command
reads them back and calls `run`; there is no other way from the rules to the library. The settings
are those that decide what the job writes, defaults filled in, so that a changed setting runs again
what depends on it and nothing else.

Light on purpose, as are the modules of all stages: the Snakefile imports them, and so does every
job. What a stage needs for its work is imported inside `run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from replitune.experiment.places import TESTS, Places
from replitune.registry import Registry
from replitune.replicas import replica_ids
from replitune.settings import Settings

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.sizes import Sizes

Counts = dict[str, int]
"""Replicas by what they come from: ``{"mert": 20}`` is mert-001 to mert-020. Paths of replicas
follow from it, and do not travel one by one: a command has room for 128 KB."""

Files = dict[str, str | list[str]]
"""Paths by what they are to the job."""

Names = Mapping[str, str]
"""What a job is about: system, replica, test set, ..."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How a job runs. What it makes does not depend on it."""

    threads: int = 1
    allow_failures: bool = False
    """When a single replica cannot be made, go on without it."""
    record: str | None = None
    """The file for the record of how the job ran."""


class Stage(Settings):
    """The settings of one job, with what it reads, writes and does."""

    NAME: ClassVar[str]
    LOG: ClassVar[str]
    """Name of a job and of its log, with the names of what it is about: ``tune/{system}/{replica}``."""
    VERSION: ClassVar[int] = 1
    """Raised by hand when the stage can write other bytes for the same settings: Snakemake does
    not see changes of library code."""
    KEPT: ClassVar[bool] = False
    """Whether what it made before stays where it is when all that it depends on is as it was."""
    MEMORY_MB: ClassVar[tuple[int, float]] = (70, 0.0)
    """Memory of a job on next to nothing, and of each unit of its `load`: measured peaks, and some."""
    WAITS_FOR_LOOKS: ClassVar[bool] = False
    """Whether the settings of its jobs are known only after the looks."""
    folder: str
    """results/<experiment>"""
    seed: int
    """The experiment's."""
    version: str
    """Of the stage, and of the backend where there is one; it shows a change to Snakemake."""

    # ---- what the experiment says

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        """The names of what each of its jobs in an experiment is about."""
        return [{}]

    @classmethod
    def from_experiment(cls, experiment: Experiment, *args: Any, **names: Any) -> Self:
        """The job of these names."""
        return cls.create(experiment)

    @classmethod
    def create(cls, experiment: Experiment, /, *, backend_version: str = "", **settings: Any) -> Self:
        """The job with these settings, and the version of the backend that does the work."""
        return cls(
            folder=str(experiment.folder),
            seed=experiment.seed,
            version=f"{cls.VERSION} {backend_version}".strip(),
            **settings,
        )

    def load(self, sizes: Sizes) -> float:
        """What its memory grows with."""
        return 0.0

    def memory_mb(self, sizes: Sizes) -> int:
        """The most memory that it takes, as far as the sizes of the texts tell."""
        base, more = self.MEMORY_MB
        return round(base + more * self.load(sizes))

    def disk_mb(self, sizes: Sizes) -> int:
        """Room on the disk that it needs while it runs, where that is much."""
        return 0

    # ---- what a job reads, writes and does

    @property
    def inputs(self) -> Files:
        return {}

    @property
    def outputs(self) -> Files:
        return {}

    def run(self, conditions: Conditions) -> None:
        """Write the outputs."""
        raise NotImplementedError

    # ---- what follows

    @property
    def at(self) -> Places:
        return Places(self.folder)

    @property
    def json(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def pieces(self) -> Mapping[str, Stage]:
        """What is done one after the other, by name, and each stays as it is when nothing that it
        depends on has changed."""
        return {"": self}

    @property
    def planned(self) -> Files:
        """The inputs for Snakemake: what other jobs make, and data files that exist. The job itself
        reports those that do not, so a dry run needs no data."""
        return {
            name: [path for path in paths if path.startswith(f"{self.folder}/") or Path(path).exists()]
            if isinstance(paths, list)
            else paths
            for name, paths in self.inputs.items()
        }


def paths_of(files: Files) -> list[Path]:
    return [
        Path(path) for given in files.values() for path in ([given] if isinstance(given, str) else given)
    ]


def tests_of(at: Places, testset: str, metric: str) -> Files:
    """The files of the tests of a metric, by what they have."""
    return {kind.removeprefix(".") or "tests": at.tests(testset, metric, kind) for kind in TESTS}


def stores_of(at: Places, testset: str, metric: str, systems: Sequence[str]) -> list[str]:
    """The segment statistics of these systems."""
    return [at.store(testset, metric, system) for system in systems]


def decodes_of(at: Places, testset: str, system: str, replicas: Counts) -> list[str]:
    """The translations of a test set by all replicas of a system."""
    return [at.decode(testset, system, replica.id) for replica in replica_ids(replicas)]


STAGES: Registry[type[Stage]] = Registry(
    "stage",
    {
        "corpus": "replitune.stages.corpus:Corpus",
        "account": "replitune.stages.corpus:Account",
        "kernels": "replitune.stages.kernels:Kernels",
        "train": "replitune.stages.train:Train",
        "table": "replitune.stages.train:Table",
        "tune": "replitune.stages.tune:Tune",
        "train_replica": "replitune.stages.tune:TrainReplica",
        "ask": "replitune.stages.ask:Ask",
        "decode": "replitune.stages.decode:Decode",
        "collect": "replitune.stages.collect:Collect",
        "batch": "replitune.stages.score:Batch",
        "look": "replitune.stages.look:Look",
        "score": "replitune.stages.score:Score",
        "derive": "replitune.stages.derive:Derive",
        "test": "replitune.stages.test:Test",
        "human": "replitune.stages.human:Human",
        "power": "replitune.stages.studies:Power",
        "replication": "replitune.stages.studies:Replication",
        "calibrate": "replitune.stages.studies:Calibrate",
        "meta": "replitune.stages.meta:Meta",
        "report": "replitune.stages.report:Report",
        "manifest": "replitune.stages.manifest:Manifest",
    },
)
"""In the order of the workflow: a stage comes after those whose outputs it reads."""
