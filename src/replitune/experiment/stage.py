"""A stage of the workflow: the settings, inputs and outputs of each of its jobs, and its work.

A rule passes the settings of a job as JSON, `replitune job STAGE --settings JSON`; the command reads
them and calls `run`. There is no other way from the rules to the library. The settings are those that
decide what the job writes, with defaults filled in, so that a changed setting runs again only what
depends on it.

This module and those of all stages import little, because the Snakefile and every job import them.
What a stage needs for its work is imported inside `run`.
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
"""Replicas by what they come from: ``{"mert": 20}`` is mert-001 to mert-020. Jobs derive the paths of
replicas from this, because a command line has no room for all of them (128 KB)."""

Files = dict[str, str | list[str]]
"""Paths by their role in the job."""

Names = Mapping[str, str]
"""What a job is about: system, replica, test set, ..."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How a job runs. Its outputs do not depend on this."""

    threads: int = 1
    allow_failures: bool = False
    """Whether to go on without a single replica that cannot be made."""
    record: str | None = None
    """The file for the record of how the job ran."""


class Stage(Settings):
    """The settings of one job, with what it reads, writes and does."""

    NAME: ClassVar[str]
    LOG: ClassVar[str]
    """The name of a job and of its log, with places for what it is about: ``tune/{system}/{replica}``."""
    VERSION: ClassVar[int] = 1
    """To be raised by hand when the stage can write other bytes for the same settings: Snakemake does
    not notice changes in library code."""
    KEPT: ClassVar[bool] = False
    """Whether earlier outputs are kept when nothing that they depend on has changed."""
    MEMORY_MB: ClassVar[tuple[int, float]] = (70, 0.0)
    """Memory of a job with tiny inputs, and for each unit of its `load`: measured peaks and a margin."""
    WAITS_FOR_LOOKS: ClassVar[bool] = False
    """Whether the settings of its jobs are known only after the looks."""
    folder: str
    """The folder results/<experiment>."""
    seed: int
    """The experiment's seed."""
    version: str
    """The version of the stage, and of the backend if there is one; it tells Snakemake of a change."""

    # ---- jobs of an experiment

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        """For each job of this stage in an experiment, the names of what it is about."""
        return [{}]

    @classmethod
    def from_experiment(cls, experiment: Experiment, *args: Any, **names: Any) -> Self:
        """The job with these names."""
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
        """The size with which the job's memory grows."""
        return 0.0

    def memory_mb(self, sizes: Sizes) -> int:
        """The most memory that the job takes, estimated from the sizes of the texts."""
        base, more = self.MEMORY_MB
        return round(base + more * self.load(sizes))

    def disk_mb(self, sizes: Sizes) -> int:
        """The disk space that the job needs while it runs, if it needs much."""
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

    # ---- derived from these

    @property
    def at(self) -> Places:
        return Places(self.folder)

    @property
    def json(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def pieces(self) -> Mapping[str, Stage]:
        """The parts of the job by name, which run one after the other. A part is not run again if
        nothing that it depends on has changed (see `KEPT`)."""
        return {"": self}

    @property
    def planned(self) -> Files:
        """The inputs for Snakemake: outputs of other jobs, and data files that exist. The job itself
        reports missing data files, so a dry run needs no data."""
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
    """The files of the tests of a metric, by their kind."""
    return {kind.split(".")[1]: at.tests(testset, metric, kind) for kind in TESTS}


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
"""The stages in the order of the workflow: each comes after those whose outputs it reads."""
