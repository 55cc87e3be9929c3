"""manifest.json: how every file was made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from replitune.experiment.stage import Conditions, Files, Stage
from replitune.settings import plain

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment


class Manifest(Stage):
    """The settings, versions and hashes of everything."""

    NAME = "manifest"
    LOG = "manifest/manifest"
    experiment: dict[str, Any]

    @classmethod
    def from_experiment(cls, experiment: Experiment) -> Self:
        return cls.create(experiment, experiment=plain(experiment.settings, sparse=True))

    @property
    def inputs(self) -> Files:
        return {"page": self.at.page}

    @property
    def outputs(self) -> Files:
        return {"manifest": self.at.manifest}

    def run(self, conditions: Conditions) -> None:
        from replitune.ledger.manifest import write_manifest

        write_manifest(Path(self.folder), self.experiment)
