"""decodes/<testset>/<system>/: copies of given outputs, for all replicas of a system at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from replitune.experiment.stage import Conditions, Counts, Files, Names, Stage, decodes_of
from replitune.replicas import counts_of
from replitune.settings import plain

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.sizes import Sizes


class Collect(Stage):
    """Copy the given outputs of a system into the results."""

    NAME = "collect"
    LOG = "decode/{testset}/{system}"
    VERSION = 2
    MEMORY_MB = 70, 400.0
    system: str
    backend: str
    settings: dict[str, Any]
    testset: str
    base: str
    """The folder in which relative names of files start."""
    replicas: Counts

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [{"system": system, "testset": testset} for system, testset in experiment.given_outputs]

    @classmethod
    def from_experiment(cls, experiment: Experiment, system: str, testset: str) -> Self:
        from replitune.backends.interface import Given

        backend = experiment.backends[system]
        assert isinstance(backend, Given)
        return cls.create(
            experiment,
            backend_version=f"{backend.name} {backend.version}",
            system=system,
            backend=backend.name,
            settings=plain(backend.testset_settings(testset)),
            testset=testset,
            base=str(experiment.corpora),
            replicas=counts_of(experiment.outputs[system][testset]),
        )

    def load(self, sizes: Sizes) -> float:
        return sizes.cells(self.testset, [self.system])

    @property
    def inputs(self) -> Files:
        return {"testset": self.at.testset(self.testset)}

    @property
    def outputs(self) -> Files:
        return {"decodes": decodes_of(self.at, self.testset, self.system, self.replicas)}

    def run(self, conditions: Conditions) -> None:
        from replitune.backends.interface import Given
        from replitune.backends.registry import get_backend
        from replitune.corpus.testset import read_prepared
        from replitune.running.files import write_lines

        backend = get_backend(self.system, self.settings, self.backend)
        assert isinstance(backend, Given)
        segments = read_prepared(self.at.testset(self.testset)).segments
        # all files are read and checked before the first one is written
        for replica, lines in backend.collect(self.testset, Path(self.base), segments).items():
            write_lines(self.at.decode(self.testset, self.system, replica.id), lines)
