"""What more runs and segments would decide about a pair: the one planner, of which the next step of an
answer, the page, and the commands `power` and `next` are views.

It is `significance.studies.planned` under the variances of the pair's own test, with the level at which
that test was made. A plan is judged by the probability that it decides, given what has been seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from replitune.replicas import Replica
from replitune.results.findings import significant
from replitune.significance.studies.pilot import VarianceModel, model_of, tuners_of
from replitune.significance.studies.planned import FEW_NODES, Plan, Planned
from replitune.significance.variances import RUNS

if TYPE_CHECKING:
    from replitune.results.result import Result
    from replitune.significance.base import TestResult

WANTED = 0.8
"""Probability with which an advised step decides."""
FAR = 20
"""No step is advised that needs more than so many times the runs or segments of this experiment."""
LEAST = 0.1
"""Nor one that adds less than this share of them."""


class Step(msgspec.Struct, frozen=True):
    """More runs of each system, more segments, or times as much of both: one of them is not 0."""

    runs: int = 0
    units: int = 0
    """Segments; or documents, where they are the unit."""
    times: float = 0.0


@dataclass(frozen=True, eq=False)
class Planner:
    """A tested pair, and what its experiment would decide with other numbers of runs and segments."""

    model: VarianceModel
    own: Plan
    """This experiment."""
    units: int
    """Its segments, or documents where they are the unit."""
    delta: float
    alpha: float
    """Level of the test of this pair."""
    margin: float | None
    extends: Literal["both", "runs", "segments"]
    """What may be added."""

    def planned(self, plan: Plan) -> Planned:
        return Planned(self.model, plan, alpha=self.alpha, nodes=FEW_NODES, given=self.own)

    @cached_property
    def _own(self) -> Planned:
        return self.planned(self.own)

    def decides(self, plan: Plan) -> float:
        """Probability that the plan decides about the pair, given what this experiment has shown."""
        return self.planned(plan).decides(self.delta, self._own, self.margin)

    def more_runs(self, more: int) -> Plan:
        return replace(self.own, n_a=self.own.n_a + more, n_b=self.own.n_b + more)

    def times(self, runs: float, text: float) -> Plan:
        """So many times the runs and the segments, rounded up."""
        H = self.own.tuners
        n_a, n_b = (H * math.ceil(n / H * runs - 1e-9) for n in (self.own.n_a, self.own.n_b))
        return replace(self.own, n_a=n_a, n_b=n_b, segments=math.ceil(self.own.segments * text - 1e-9))

    @cached_property
    def step(self) -> Step | None:
        """The smallest step, in relation to what there is, that decides with the probability `WANTED`;
        None if none that is not too large does."""
        n, H = max(self.own.n_a, self.own.n_b), self.own.tuners
        steps: list[tuple[float, Step]] = []
        if self.extends != "segments":
            least = math.ceil(LEAST * n / H)
            k = fewest(lambda k: self.decides(self.more_runs(k * H)) >= WANTED, least, FAR * n // H)
            if k is not None:
                steps.append((k * H / n, Step(runs=k * H)))
        # two runs hardly show what more text would leave
        if self.extends == "segments" or (self.extends == "both" and n > 2 * H):
            least = math.ceil(LEAST * self.units)
            k = fewest(
                lambda k: self.decides(self.times(1, 1 + k / self.units)) >= WANTED, least, FAR * self.units
            )
            if k is not None:
                steps.append((k / self.units, Step(units=_rounded(k))))
        if not steps and self.extends == "both":
            tenths = fewest(lambda k: self.decides(self.times(k / 10, k / 10)) >= WANTED, 11, 10 * FAR)
            if tenths is not None:
                steps.append((tenths / 10, Step(times=tenths / 10)))
        return min(steps, key=lambda known: known[0], default=(0.0, None))[1]


def fewest(enough: Callable[[int], bool], least: int, most: int) -> int | None:
    """The smallest number from `least` to `most` that is enough, to a fiftieth; None if `most` is not."""
    if not enough(most):
        return None
    low, high = least - 1, most
    while high - low > max(1, high // 50):
        middle = max(math.isqrt(max(low, 1) * high), low + 1)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _rounded(number: int) -> int:
    """Rounded up, to two digits."""
    step = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / step) * step


def planner_of(cell: Result, test: TestResult) -> Planner | None:
    """The planner of a pair; None where its test does not show how much runs, and segments, vary."""
    model = _model(cell, test)
    own = own_plan(cell, test)
    if model is None or own is None:
        return None
    total = float(Planned(model, own, nodes=1).se) ** 2
    if not test.se or total <= 0:
        return None
    # parts below 0 were cut off at 0: what is too much then is the runs'
    runs = (model.replica / ([own.n_a] if model.paired else [own.n_a, own.n_b])).sum()
    if model.scope != "segments" and runs > 0:
        share = max(runs + test.se**2 - total, 0.0) / runs
        model = replace(model, replica=model.replica * share)
    level = cell.alpha if test.ci_level is None else 1 - test.ci_level
    if test.correction in ("holm", "bh"):
        level /= max(sum(not significant(other, cell.alpha) for other in _family(cell, test)), 1)
    return Planner(
        model,
        own,
        test.documents if test.unit == "document" else test.segments,
        test.delta,
        level,
        test.details.get("margin"),
        "runs" if test.scope == "runs" else "segments" if test.scope == "segments" else "both",
    )


def _family(cell: Result, test: TestResult) -> list[TestResult]:
    return [other for other in cell.tests if other.method == test.method]


def own_plan(cell: Result, test: TestResult) -> Plan | None:
    """This experiment as a plan; None for single runs."""
    groups = [[Replica(id).group for id in cell.systems[name].scores] for name in (test.a, test.b)]
    nested = (test.n_a, test.n_b) != (len(groups[0]), len(groups[1]))  # samples, of runs of one kind
    if min(test.n_a, test.n_b) < 2:
        return None
    return Plan(test.n_a, test.n_b, max(test.segments, 2), 1 if nested else tuners_of(*groups))


def _model(cell: Result, test: TestResult) -> VarianceModel | None:
    """What single runs and segments add to the variance of the difference."""
    if test.scope == "runs":  # on these segments, so that the noise on them is the runs' own
        spreads = [cell.systems[name].s_test for name in (test.a, test.b)]
        if None in spreads or not test.se:
            return None
        paired = test.pairing == "id"
        squares = [test.se**2 * test.n_a] if paired else [(s or 0.0) ** 2 for s in spreads]
        nothing = np.zeros((len(squares), 1))
        return VarianceModel(np.array(squares), np.zeros(1), nothing, np.ones(1), "runs")
    if not any(row.source == RUNS for row in test.variances):
        return None
    if test.scope == "both":
        bounded = "reach_twice_runs" not in test.details  # its critical values are not those of a plan
        return None if bounded else model_of(test.variances, test.segments)
    model = model_of(test.variances, test.segments)
    return replace(model, replica=0 * model.replica, scope="segments")
