"""`backend: corruption`: see `replitune.backends.corruption`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from replitune.backends.interface import Backend, DecodeJob
from replitune.backends.settings import SystemSettings
from replitune.settings import about
from replitune.tuning.registry import TUNERS


class CorruptionSettings(SystemSettings):
    """Seeded corruption of the references; for trying out the workflow without any data."""

    errors: Annotated[float, about("Expected share of wrong words.", ge=0, le=1)] = 0.2
    spread: Annotated[
        float,
        about("Standard deviation over replicas of the share of wrong words.", ge=0, le=1),
    ] = 0.01


class Corruption(Backend):
    """Replicas by any name: corruption trains and tunes nothing."""

    name = "corruption"
    Settings = CorruptionSettings

    @property
    def prefixes(self) -> tuple[str, ...]:
        return ("seeds", *TUNERS.names)

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {"decode": ()}

    def decode(self, job: DecodeJob) -> list[str]:
        from replitune.backends.corruption import corrupted_replica

        return corrupted_replica(
            job.prepared.references[0],
            errors=self.settings.errors,
            spread=self.settings.spread,
            seed=job.seed,
            system=self.system,
            replica=job.replica.id,
            testset=job.name,
        )
