"""`backend: hiero`: the embedded hierarchical system. Light; everything else is imported late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replitune.backends.interface import DecodeJob, Derivation, needed, source_of
from replitune.hiero.settings import HieroSystemSettings
from replitune.phrase.backend import Embedded

if TYPE_CHECKING:
    from replitune.corpus.testset import TestSet
    from replitune.hiero.chart import Matched
    from replitune.hiero.system import HieroSystem


class Hiero(Embedded):
    """The hierarchical system."""

    name = "hiero"
    version = 2
    Settings = HieroSystemSettings
    settings: HieroSystemSettings
    TRAIN_MB = 280.0
    MODEL_MB = 150.0

    @property
    def warm_up_settings(self) -> Mapping[str, Any] | None:
        return {"search": {"pop_limit": 20}}

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {**super().stages, "derive": ("model", "tuned", "source")}

    def train_on(self, source: list[str], target: list[str], out: Path, **inputs: Any) -> None:
        from replitune.hiero.model import HieroModel
        from replitune.hiero.train import train_hiero_system

        train_hiero_system(source, target, self.settings.training, out, **inputs)
        HieroModel.load(out).save_queries(out)

    def load(self, model: Path) -> HieroSystem:
        from replitune.hiero.system import HieroSystem

        return HieroSystem(model, self.settings.features, self.settings.search)

    def derive(self, job: DecodeJob) -> list[Derivation]:
        from replitune.tuning.weights import read_weights

        system = self.load(needed(job.model, "model"))
        weights = system.layout.to_vector(read_weights(needed(job.tuned, "weights")))
        return system.derivations(job.source, weights, job.threads)

    def lines(self, system: HieroSystem, dev: TestSet) -> Matched:
        return system.match(source_of(dev))
