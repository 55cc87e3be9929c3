"""`backend: hiero`: the embedded hierarchical system. Light; everything else is imported late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from replitune.backends.interface import ReplicaJob, source_of
from replitune.hiero.settings import HieroSystemSettings
from replitune.phrase.backend import Embedded

if TYPE_CHECKING:
    from replitune.corpus.testset import TestSet
    from replitune.hiero.system import HieroSystem
    from replitune.tuning.loop import Decode


class Hiero(Embedded):
    """The hierarchical system."""

    name = "hiero"
    Settings = HieroSystemSettings
    settings: HieroSystemSettings

    @property
    def search(self) -> str | None:
        return "hiero"

    def train_on(self, source: list[str], target: list[str], out: Path, **inputs: Any) -> None:
        from replitune.hiero.model import HieroModel
        from replitune.hiero.train import train_hiero_system

        train_hiero_system(source, target, self.settings.training, out, **inputs)
        HieroModel.load(out).save_queries(out)

    def load(self, model: Path) -> HieroSystem:
        from replitune.hiero.system import HieroSystem

        return HieroSystem(model, self.settings.features, self.settings.search)

    def dev_decoder(self, system: HieroSystem, dev: TestSet, job: ReplicaJob) -> Decode:
        from replitune.phrase.dev_decoder import DevDecoder
        from replitune.tuning.combination import get_objective

        return DevDecoder(
            system,
            system.match(source_of(dev)),
            dev.references,
            get_objective(job.metric),
            job.nbest,
            job.threads,
            density=job.tuner.density if job.tuner else None,
        )
