"""`backend: hiero`: the embedded hierarchical system. Light; everything else is imported late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from replitune.backends.interface import DecodeJob, Derivation, needed, source_of
from replitune.hiero.settings import HieroSystemSettings
from replitune.phrase.backend import Embedded

if TYPE_CHECKING:
    from replitune.corpus.testset import TestSet
    from replitune.hiero.chart import Matched
    from replitune.hiero.decoder import HieroSystem
    from replitune.phrase.train import ModelKind


class Hiero(Embedded):
    """The hierarchical system."""

    name = "hiero"
    version = 2
    Settings = HieroSystemSettings
    settings: HieroSystemSettings
    TABLE_MB = ((0, 80), (1060, 10)), ((0, 240),)
    MODEL_MB = ((0, 40), (400, 16)), ((0, 110),)
    DISK_MB = 125, 300
    translating = ("decode", "derive")

    @property
    def warm_up_settings(self) -> Mapping[str, Any] | None:
        return {"search": {"pop_limit": 20}}

    @property
    def kind(self) -> ModelKind:
        from replitune.hiero.scores import hiero_kind

        return hiero_kind(self.settings.training)

    @property
    def translator(self) -> type[HieroSystem]:
        from replitune.hiero.decoder import HieroSystem

        return HieroSystem

    def derive(self, job: DecodeJob) -> list[Derivation]:
        from replitune.tuning.weights import read_weights

        system = self.load(needed(job.model, "model"), job.table)
        weights = system.layout.to_vector(read_weights(needed(job.tuned, "weights")))
        return system.derivations(job.source, weights, job.threads)

    def lines(self, system: HieroSystem, dev: TestSet) -> Matched:
        return system.match(source_of(dev))
