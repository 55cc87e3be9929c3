"""tests/<testset>/<metric>.json: all pairs and methods of one (test set, metric)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from replitune.experiment.stage import Conditions, Files, Names, Stage, stores_of, tests_of
from replitune.replicas import Design
from replitune.settings import plain
from replitune.significance.registry import LEAD

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.sizes import Sizes
    from replitune.results.result import Result


PAIRS_OF_THREAD = 20
MOST_THREADS = 8
"""Limited, because each thread has a pair of its own in memory."""


class StoreStage(Stage):
    """A stage that reads segment statistics of one metric on one test set."""

    KEPT = True
    WAITS_FOR_LOOKS = True
    MEMORY_MB = 350, 95.0
    testset: str
    metric: str
    systems: list[str]
    suite: dict[str, float]
    """The weights of the test sets, if `testset` is the name of a suite."""

    @classmethod
    def for_cell(cls, experiment: Experiment, testset: str, metric: str, **settings: Any) -> Self:
        return cls.create(
            experiment,
            testset=testset,
            metric=metric,
            systems=experiment.decoding(testset),
            suite=experiment.suites.get(testset, {}),
            **settings,
        )

    def load(self, sizes: Sizes) -> float:
        return sizes.tested(self.testset, self.systems)

    def stores(self, testset: str) -> list[str]:
        return stores_of(self.at, testset, self.metric, self.systems)

    @property
    def inputs(self) -> Files:
        testsets = self.suite or [self.testset]
        return {"stores": [path for testset in testsets for path in self.stores(testset)]}


class MetricsStage(Stage):
    """A stage that reads segment statistics of several metrics on one test set."""

    WAITS_FOR_LOOKS = True
    MEMORY_MB = 350, 95.0
    testset: str
    metrics: list[str]
    systems: list[str]

    def load(self, sizes: Sizes) -> float:
        return sizes.tested(self.testset, self.systems)

    @property
    def stores(self) -> list[list[str]]:
        """For each metric, the files of all systems."""
        return [stores_of(self.at, self.testset, metric, self.systems) for metric in self.metrics]

    @property
    def inputs(self) -> Files:
        return {"stores": [path for paths in self.stores for path in paths]}


class Test(StoreStage):
    """All tests of all pairs, and the intervals of each system."""

    NAME = "test"
    LOG = "test/{testset}/{metric}"
    VERSION = 20
    tests: dict[str, Any]
    design: Design
    """What replicas are."""
    families: int
    """How many families like this one are corrected together."""
    dev: list[str]
    """The systems with scores on dev."""
    looks: int | msgspec.UnsetType = msgspec.UNSET
    """The number of the last look, if these scores decided how many replicas there are."""

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [
            {"testset": testset, "metric": metric}
            for testset in experiment.tested
            for metric in experiment.metrics
        ]

    @classmethod
    def from_experiment(cls, experiment: Experiment, testset: str, metric: str) -> Self:
        on_dev = (
            testset not in experiment.suites
            and "dev" in experiment.testsets
            and experiment.scored(metric, "dev")
        )
        tests = plain(experiment.settings.tests)
        return cls.for_cell(
            experiment,
            testset,
            metric,
            tests={key: value for key, value in tests.items() if key not in ("suites", "family", "human")},
            design=experiment.design,
            families=experiment.families,
            dev=experiment.decoding("dev") if on_dev else [],
            looks=experiment.last_look if experiment.is_decided(testset, metric) else msgspec.UNSET,
        )

    def load(self, sizes: Sizes) -> float:
        """Intervals need pools of outputs, which take as much memory as the statistics themselves; tests
        that resample need four such copies of a pair."""
        from replitune.metrics.registry import METRICS

        largest = sizes.tested(self.testset, self.systems)
        resample = any(method["name"] != LEAD for method in self.tests["methods"])
        pair = sizes.tested(self.testset, self.systems, 2) if resample else 0.0
        pairs = pair * self.threads(sizes.experiment)
        breadth = METRICS[sizes.experiment.metric(self.metric).name].breadth
        return breadth * (largest * (1.0 if self.tests["intervals"] else 0.5) + 4 * pairs)

    @staticmethod
    def threads(experiment: Experiment) -> int:
        """The threads that share the pairs: more than one only if many pairs are resampled, each of which
        can take some seconds."""
        methods = experiment.settings.tests.methods
        resample = any(method.name != LEAD for method in methods)
        return min(MOST_THREADS, 1 + len(experiment.pairs) // PAIRS_OF_THREAD) if resample else 1

    @property
    def inputs(self) -> Files:
        dev = stores_of(self.at, "dev", self.metric, self.dev)
        looks: Files = {"looks": self.at.look(self.looks)} if self.looks else {}
        return {**super().inputs, "dev": dev, **looks}

    @property
    def outputs(self) -> Files:
        return tests_of(self.at, self.testset, self.metric)

    def run(self, conditions: Conditions) -> None:
        self.result(conditions.threads).write(Path(self.at.tests(self.testset, self.metric)).parent)

    def result(self, threads: int) -> Result:
        """The result of the statistics on disk."""
        from replitune.results.comparing import compare
        from replitune.settings import read
        from replitune.significance.looks.record import read_record
        from replitune.significance.settings import TestSettings
        from replitune.statistics.store import read_systems

        dev = stores_of(self.at, "dev", self.metric, self.dev)
        comparison = compare(
            [read_systems(self.stores(testset)) for testset in self.suite or [self.testset]],
            read(TestSettings, self.tests, "tests"),
            testset=self.testset,
            suite=self.suite,
            seed=self.seed,
            threads=threads,
            dev=[read_systems(dev)] if dev else [],
            systems=self.systems,
            design=self.design,
            families=self.families,
            looks=read_record(self.at.look(self.looks)) if self.looks else None,
        )
        return comparison.metrics[self.metric]
