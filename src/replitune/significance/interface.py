"""What a significance test is: settings, and `run`, which makes a row of what it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self, dataclass_transform

import numpy as np

from replitune.errors import ReplituneError
from replitune.replicas import Design
from replitune.settings import read, settings_of
from replitune.significance.arguments import system_iv
from replitune.significance.base import OTHER_SIDE, Comparison, Scope, TestResult, Unit
from replitune.significance.counting import Contrast
from replitune.significance.draws import Draws
from replitune.significance.system_parts import Analyses


@dataclass(frozen=True, eq=False)
class Context:
    """A pair of systems under one metric, and what the caller decides for all tests."""

    comparisons: Sequence[Comparison]
    """The pair on each test set: one, except of a suite."""
    weights: Sequence[float] = (1.0,)
    """Of the test sets."""
    samples: int = 10_000
    """How many resamples to draw."""
    alpha: float = 0.05
    design: Design = "runs"
    """What replicas are: runs; samples that are independent for each segment; or, nested, samples of one
    run in each group."""
    margin: float | None = None
    """The difference that counts as the same."""
    stream: Callable[[], np.random.Generator] | None = None
    """Starts the test's own random stream."""
    shared: Draws | None = None
    """What is drawn for all tests."""
    analyses: Analyses = field(default_factory=Analyses)
    """What is shared with the tests of other pairs."""

    def __post_init__(self) -> None:
        if type(self.samples) is bool or not isinstance(self.samples, int | np.integer) or self.samples < 1:
            raise ReplituneError("`samples` must be a positive integer", found=repr(self.samples))
        if not 0 < self.alpha < 1:
            raise ReplituneError("`alpha` must be between 0 and 1", found=repr(self.alpha))
        for comparison in self.comparisons:
            for system in (comparison.a, comparison.b):
                system_iv(system)

    @property
    def comparison(self) -> Comparison:
        """The pair on the first test set; there is one, except for tests `on_suite`."""
        return self.comparisons[0]

    @cached_property
    def rng(self) -> np.random.Generator:
        """A random stream of the test's own."""
        if self.stream is None:
            raise TypeError("this test draws: give a `stream`")
        return self.stream()

    @cached_property
    def draws(self) -> Draws:
        """Draws of segments, documents and outputs, the same for all tests."""
        return Draws.from_rng(self.rng) if self.shared is None else self.shared

    @property
    def drew(self) -> bool:
        """Whether the test has used `rng` or `draws`, so that its row depends on the seed."""
        return not {"rng", "draws"}.isdisjoint(vars(self))

    def contrast(
        self,
        test: SignificanceTest,
        unit: Unit = "segment",
        aggregation: str = "mean",
        *,
        scope: Scope = "segments",
        replicas: tuple[int, int] | None = None,
    ) -> Contrast:
        """The difference that a test examines; its `row` makes the result."""
        alternative = getattr(test, "alternative", "two-sided")
        return Contrast(
            test.name, self.comparison, alternative, unit, aggregation, replicas, scope, self.design
        )


@dataclass_transform(frozen_default=True)
class SignificanceTest(ABC):
    """A test of two systems. The annotated fields of a subclass are its settings
    (`replitune.settings.about`); it becomes a frozen dataclass of them."""

    name: ClassVar[str]
    cited: ClassVar[str]
    """What it is called in a methods paragraph."""
    on_suite: ClassVar[bool] = False
    """Whether it also takes a pair on all test sets of a suite, and accounts for what these share."""
    takes_design: ClassVar[bool] = False
    """Whether it can tell samples of a run from runs."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for name, setting in settings_of(type(self)).items():
            object.__setattr__(self, name, read(setting.type, getattr(self, name), name))

    def turned(self) -> Self:
        """The test of (A, B) for (B, A)."""
        names = {"replica_a": "replica_b", "replica_b": "replica_a"}
        settings = {names.get(name, name): value for name, value in vars(self).items()}
        if "alternative" in settings:
            settings["alternative"] = OTHER_SIDE[settings["alternative"]]
        return type(self)(**settings)

    @abstractmethod
    def run(self, context: Context) -> TestResult:
        """Test the pair."""

    def run_together(self, contexts: Sequence[Context]) -> list[TestResult]:
        """The same pair under several metrics, for tests that draw for all of them at once."""
        return [self.run(context) for context in contexts]
