"""looks/<k>.json: which pairs are settled, and which systems get more replicas."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from replitune.experiment.stage import Conditions, Counts, Files, Names, Stage
from replitune.significance.looks.record import Plan, read_record

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.sizes import Sizes


class Look(Stage):
    """One look at all pairs: which are settled, and which systems get more replicas."""

    NAME = "look"
    MEMORY_MB = 350, 95.0
    VERSION = 5
    LOG = "look/{look}"
    WAITS_FOR_LOOKS = True
    number: int
    plan: Plan
    wanted: Counts
    """For each system, the number of replicas of each kind at this look."""
    given: str | msgspec.UnsetType = msgspec.UNSET
    """A record whose looks are repeated."""

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        """The most looks that are possible, or those that a record has."""
        if experiment.looks is None:
            return []
        record = experiment.known_looks
        sizes = experiment.plan.sizes if record is None else record.plan.sizes
        last = len(record.looks) if record is not None else 1 + sum(len(n) - 1 for n in sizes.values())
        return [{"look": str(look)} for look in range(1, 1 + last)]

    @classmethod
    def from_experiment(cls, experiment: Experiment, look: str) -> Self:
        number, plan = int(look), experiment.plan
        wanted = plan.first
        if number > 1:
            former = Path(experiment.at.look(number - 1))
            known = read_record(former) if former.exists() else None
            # before there is such a record, the most that it may ask for
            wanted = known.wanted if known is not None and known.plan == plan else plan.largest
        given = msgspec.UNSET if experiment.looks_given is None else str(experiment.looks_given)
        return cls.create(experiment, number=number, plan=plan, wanted=wanted, given=given)

    @property
    def testsets(self) -> list[str]:
        return [*self.plan.suite] or [self.plan.testset]

    def stores(self, testset: str) -> list[str]:
        return [
            self.at.batch(testset, self.plan.metric, system, size)
            for system, n in self.wanted.items()
            for size in self.plan.sizes[system]
            if size <= n
        ]

    def load(self, sizes: Sizes) -> float:
        return max(sizes.tested(testset, self.plan.sizes) for testset in self.testsets)

    @property
    def inputs(self) -> Files:
        stores = [path for testset in self.testsets for path in self.stores(testset)]
        former = [self.at.look(self.number - 1)] if self.number > 1 else []
        given: Files = {"given": self.given} if self.given else {}
        return {"stores": stores, "former": former, **given}

    @property
    def outputs(self) -> Files:
        return {"record": self.at.look(self.number), "rows": self.at.look(self.number, ".parquet")}

    def run(self, conditions: Conditions) -> None:
        from replitune.results.looks import look_again

        stores = {name: [Path(path) for path in self.stores(name)] for name in self.testsets}
        given = Path(self.given) if self.given else None
        look_again(self.plan, Path(self.at.look(self.number)), self.number, stores, given)
