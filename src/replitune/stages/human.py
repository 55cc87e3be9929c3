"""tests/<testset>/human.json: which systems people prefer, from judgements of some segments and
metrics on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from replitune.experiment.stage import Conditions, Files, Names, tests_of
from replitune.settings import plain, read
from replitune.significance.registry import PEOPLE
from replitune.stages.test import MetricsStage

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment


class Human(MetricsStage):
    """The test of people's judgements, with metrics as control variates."""

    NAME = "human"
    LOG = "human/{testset}"
    VERSION = 6
    tests: dict[str, Any]
    judgements: str

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [{"testset": testset} for testset in experiment.sharpened]

    @classmethod
    def from_experiment(cls, experiment: Experiment, testset: str) -> Self:
        tests = plain(experiment.settings.tests)
        metrics = tests["human"]["metrics"]
        return cls.create(
            experiment,
            testset=testset,
            metrics=experiment.metrics if metrics == "all" else metrics,
            systems=experiment.decoding(testset),
            tests={key: value for key, value in tests.items() if key not in ("suites", "family")},
            judgements=experiment.sharpened[testset],
        )

    @property
    def inputs(self) -> Files:
        return {**super().inputs, "judgements": self.judgements}

    @property
    def outputs(self) -> Files:
        return tests_of(self.at, self.testset, PEOPLE)

    def run(self, conditions: Conditions) -> None:
        from replitune.meta.judged import human_statistics
        from replitune.results.comparing import compare
        from replitune.significance.settings import TestSettings
        from replitune.statistics.store import read_systems

        tests: TestSettings = read(TestSettings, self.tests, "tests")
        assert tests.human is not None
        stores = [read_systems(paths) for paths in self.stores]
        (store,), notes = human_statistics(
            self.judgements,
            stores[0],
            stores,
            first_segment=tests.human.first_segment,
            score=tests.human.score_column,
            name=PEOPLE,
        )
        for note in notes:
            print(f"note: {note}")
        judged = tests.of_people([*store.systems])
        results = compare([store], judged, testset=self.testset, seed=self.seed, families=1)
        results.metrics[PEOPLE].write(Path(self.at.tests(self.testset, PEOPLE)).parent)
