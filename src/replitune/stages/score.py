"""stats/<testset>/<metric>/<system>.parquet: segment statistics of all replicas of a system; and
looks/stats/<testset>/<metric>/<system>/<n>.parquet: those of the replicas that a look asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from replitune.experiment.stage import Conditions, Counts, Files, Names, Stage, paths_of
from replitune.metrics.score_files import output_file
from replitune.replicas import Replica, replica_ids

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.sizes import Sizes


class Scoring(Stage):
    """Segment statistics of replicas of a system."""

    KEPT = True
    VERSION = 3
    MEMORY_MB = 300, 430.0
    testset: str
    system: str
    metric: dict[str, Any]
    id: str
    """The id of the metric."""
    replicas: Counts
    batches: list[int] | msgspec.UnsetType = msgspec.UNSET
    """The numbers of replicas of each kind at which looks have already scored some of them."""

    @classmethod
    def for_replicas(
        cls,
        experiment: Experiment,
        testset: str,
        metric: str,
        system: str,
        replicas: Counts,
        **settings: Any,
    ) -> Self:
        return cls.create(
            experiment,
            testset=testset,
            system=system,
            id=metric,
            metric=experiment.metric_on(metric, testset).mapping,
            replicas=replicas,
            batches=experiment.batches(testset, metric, system) or msgspec.UNSET,
            **settings,
        )

    def load(self, sizes: Sizes) -> float:
        return sizes.scored(self.testset, [self.system])

    def memory_mb(self, sizes: Sizes) -> int:
        from replitune.metrics.registry import METRICS

        return super().memory_mb(sizes) + METRICS[self.metric["name"]].programs_mb

    @property
    def members(self) -> list[Replica]:
        return replica_ids(self.replicas)

    @property
    def decodes(self) -> list[str]:
        return [self.at.decode(self.testset, self.system, one.id) for one in self.members]

    @property
    def scores(self) -> list[str]:
        """The files of scores that were computed elsewhere."""
        file = self.metric.get("file")
        named = [str(output_file(file, self.system, one.id)) for one in self.members if file]
        return list(dict.fromkeys(named))

    @property
    def scored(self) -> Files:
        """The statistics that looks have already made, whose rows are reused."""
        known = self.batches or []
        made = [self.at.batch(self.testset, self.id, self.system, n) for n in known]
        return {"batches": made} if made else {}

    @property
    def inputs(self) -> Files:
        return {
            "testset": self.at.testset(self.testset),
            "decodes": self.decodes,
            "scores": self.scores,
            **self.scored,
        }

    def run(self, conditions: Conditions) -> None:
        from replitune.corpus.testset import read_prepared
        from replitune.ledger.records import is_as_made
        from replitune.metrics.registry import METRICS
        from replitune.results.texts import warn
        from replitune.statistics.score_systems import score_systems
        from replitune.statistics.scoring import Scorer

        references = self.at.testset(self.testset)
        out = Path(str(self.outputs["store"]))
        found = score_systems(
            {self.system: dict(zip(self.members, self.decodes, strict=True))},
            [Scorer(METRICS.entry(self.metric), read_prepared(references), self.testset)],
            out,
            references,
            allow_missing=conditions.allow_failures,
            take_over=conditions.record is None or is_as_made(conditions.record, out),
            made=paths_of(self.scored),
            may_be_empty=isinstance(self, Batch),
        )
        warn(found, [self.id])


class Score(Scoring):
    """Segment statistics of all replicas of a system."""

    NAME = "score"
    LOG = "score/{testset}/{metric}/{system}"
    WAITS_FOR_LOOKS = True

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [
            {"testset": testset, "metric": metric, "system": system}
            for testset in experiment.testsets
            for metric in experiment.metrics
            if experiment.scored(metric, testset)
            for system in experiment.decoding(testset)
        ]

    @classmethod
    def from_experiment(cls, experiment: Experiment, testset: str, metric: str, system: str) -> Self:
        replicas = experiment.replica_counts(system)
        return cls.for_replicas(experiment, testset, metric, system, replicas)

    @property
    def outputs(self) -> Files:
        return {"store": self.at.store(self.testset, self.id, self.system)}


class Batch(Scoring, kw_only=True):
    """Segment statistics of the replicas that a look adds to those of the look before."""

    NAME = "batch"
    LOG = "batch/{testset}/{metric}/{system}/{n}"
    n: int
    """The number of replicas of each kind, including these."""
    after: Counts
    """The replicas before these are added."""

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        if experiment.looks is None:
            return []
        record = experiment.known_looks
        plan = experiment.plan if record is None else record.plan
        return [
            {"testset": testset, "metric": plan.metric, "system": system, "n": str(n)}
            for testset in plan.suite or (plan.testset,)
            for system, sizes in plan.sizes.items()
            for n in sizes
            if record is None or n <= record.wanted[system]
        ]

    @classmethod
    def from_experiment(
        cls, experiment: Experiment, testset: str, metric: str, system: str, n: str
    ) -> Self:
        plan, size = experiment.plan, int(n)
        replicas = plan.counts(system, size)
        after = plan.counts(system, plan.before(system, size))
        return cls.for_replicas(experiment, testset, metric, system, replicas, after=after, n=size)

    @property
    def members(self) -> list[Replica]:
        known = {*replica_ids(self.after)}
        return [one for one in replica_ids(self.replicas) if one not in known]

    @property
    def outputs(self) -> Files:
        return {"store": self.at.batch(self.testset, self.id, self.system, self.n)}
