"""`backend: corruption`: see `replitune.backends.corruption`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replitune.backends.interface import TUNERS, Backend, DecodeJob


class Corruption(Backend):
    """Replicas by any name: corruption trains and tunes nothing."""

    name = "corruption"
    prefixes = ("seeds", *TUNERS)

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {"decode": ()}

    def decode(self, job: DecodeJob) -> list[str]:
        from replitune.backends.corruption import corrupted_replica

        return corrupted_replica(
            job.prepared.references[0],
            errors=self.settings["errors"],
            spread=self.settings["spread"],
            seed=job.seed,
            system=self.system,
            replica=job.replica.id,
            testset=job.name,
        )
