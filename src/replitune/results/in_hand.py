"""Looks at replicas that exist already: could one have stopped earlier, and what is next?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from msgspec.structs import replace as with_fields

from replitune.replicas import Replica, replica_ids
from replitune.results.comparing import compare
from replitune.results.looking import all_looks, looks_so_far
from replitune.results.summary import Summary
from replitune.significance.looks.plan import make_plan
from replitune.significance.looks.record import Look, Plan, Record
from replitune.significance.looks.settings import LookSettings
from replitune.significance.settings import TestSettings
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.systems import SystemStatistics


def looks_in_hand(
    stores: Sequence[SegmentStatistics],
    tests: TestSettings,
    settings: LookSettings,
    design: str = "runs",
    suite: Mapping[str, float] = MappingProxyType({}),
) -> Record:
    """Every look at the replicas in hand, as if there could be no more than these."""
    named = [numbered(store) for store in stores]
    return all_looks(plan_of(named, tests, settings, design, suite), named)


@dataclass(frozen=True)
class Advice:
    """What to do after the replicas in hand."""

    plan: Plan
    looks: list[Look]
    """Those for which there are enough replicas."""
    have: Mapping[str, Mapping[str, int]]
    alone: Summary
    """What one test says, as if nobody had looked before."""

    @property
    def wanted(self) -> dict[str, int]:
        """How many more replicas each system should get, of all kinds together."""
        at = self.looks[-1].wanted if self.looks else self.plan.first
        if self.looks and not self.looks[-1].next:
            return {}
        asked = {}
        for name, n in at.items():
            counts = self.plan.counts(name, n)
            more = sum(max(k - self.have[name].get(kind, 0), 0) for kind, k in counts.items())
            if more:
                asked[name] = more
        return asked

    @property
    def record(self) -> Record | None:
        return Record(plan=self.plan, looks=self.looks) if self.looks else None


def advise(
    stores: Sequence[SegmentStatistics],
    tests: TestSettings,
    settings: LookSettings,
    most: int,
    suite: Mapping[str, float] = MappingProxyType({}),
) -> Advice:
    """What the rule advises after the replicas in hand, if there may be `most` of each kind."""
    named = [numbered(store) for store in stores]
    plan = plan_of(named, tests, settings, "runs", suite, most)
    have = {name: kinds_of(system) for name, system in named[0].systems.items()}
    lead = with_fields(tests, methods=(tests.lead,), intervals=())
    alone = compare(stores, lead, testset=plan.testset, suite=suite, seed=0).summary
    return Advice(plan, looks_so_far(plan, named), have, alone)


def plan_of(
    stores: Sequence[SegmentStatistics],
    tests: TestSettings,
    settings: LookSettings,
    design: str = "runs",
    suite: Mapping[str, float] = MappingProxyType({}),
    most: int = 0,
) -> Plan:
    """The plan for replicas in hand: up to `most` of each kind, or as many as there are if that is more."""
    store = stores[0]
    kinds = {name: kinds_of(system) for name, system in store.systems.items()}
    return make_plan(
        tests,
        settings,
        design,
        testset="+".join(suite) or store.testset,
        metric=store.metric.id,
        suite=suite,
        families=1,
        together=True,  # nobody knows how they were made
        most={name: {kind: max(n, most) for kind, n in counts.items()} for name, counts in kinds.items()},
    )


def kinds_of(system: SystemStatistics) -> dict[str, int]:
    """Numbers of replicas by kind."""
    prefixes = [Replica(id).prefix for id in system.replicas]
    return {
        "seeds" if prefix == "seed" else prefix: prefixes.count(prefix)
        for prefix in dict.fromkeys(prefixes)
    }


def numbered(store: SegmentStatistics) -> SegmentStatistics:
    """The same with replicas named by kind and number, from 1 without gaps, in the order of their
    names, as looks require."""
    return replace(store, systems={name: _numbered(s) for name, s in store.systems.items()})


def _numbered(system: SystemStatistics) -> SystemStatistics:
    known = (
        {one.id for one in replica_ids(kinds_of(system))}
        if all("-" in id for id in system.replicas)
        else set()
    )
    if known == {*system.replicas}:
        return system
    order = sorted(range(system.n), key=lambda r: system.replicas[r])
    counts: dict[str, int] = {}
    ids = [""] * system.n
    for r in order:
        kind = system.groups[r] or "run"
        counts[kind] = counts.get(kind, 0) + 1
        ids[r] = f"{kind}-{counts[kind]:03d}"
    return replace(system, replicas=tuple(ids))
