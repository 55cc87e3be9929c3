"""What the stages that read segment statistics of one metric have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from replitune.experiment.stage import Files, Stage

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment


class StoreStage(Stage):
    """A stage that reads segment statistics of one metric on one test set."""

    KEPT = True
    WAITS_FOR_LOOKS = True
    testset: str
    metric: str
    systems: list[str]
    suite: dict[str, float]
    """Weights of the test sets, where `testset` is the name of a suite."""

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

    def stores(self, testset: str) -> list[str]:
        return [self.at.store(testset, self.metric, system) for system in self.systems]

    @property
    def inputs(self) -> Files:
        testsets = self.suite or [self.testset]
        return {"stores": [path for testset in testsets for path in self.stores(testset)]}
