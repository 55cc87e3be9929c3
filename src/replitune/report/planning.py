"""The power of this experiment, and of others with more or fewer runs and segments, for the pictures and
sliders of the page, which compute none of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.report.material import Material
from replitune.report.tables_studies import plans_of
from replitune.results.planning import WANTED, Planner, planner_of
from replitune.results.result import Result
from replitune.significance.base import TestResult
from replitune.significance.studies.planned import FEW_NODES, Plan, Planned

RUN_STOPS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 40, 60)
"""Runs of each system (and tuner) at which the slider stops, besides those of the experiment."""
SEGMENT_STOPS = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
CURVE = (0.0, 0.06, 0.15, 0.3, 0.5, 0.75, 1.25, 1.5, 2.0, 3.0)
"""Where a curve of power is computed, in detectable differences; at 1 it is `WANTED`."""
PLANS = 3000
"""Most plans of a page: with many pairs, the sliders have fewer stops."""


@dataclass(frozen=True, eq=False)
class PlanGrid:
    """Plans for a pair: a row for the runs of the experiment, then one for each stop; a column for each
    number of segments."""

    tuners: int
    own: tuple[int, int]
    detectable: NDArray[np.float64]
    """(rows, columns) the difference that is found with power `WANTED`."""
    observed: NDArray[np.float64]
    """(rows, columns) the probability to decide, given what was seen."""
    curve: NDArray[np.float64]
    """(rows, columns, points) the power at the multiples `CURVE` of `detectable`."""


def stops(pairs: int) -> tuple[Sequence[int], Sequence[int]]:
    """Stops for runs and for segments, in a page with grids for so many pairs."""
    step = 1
    while step < len(RUN_STOPS):
        runs, sizes = RUN_STOPS[::step], SEGMENT_STOPS[::step]
        if pairs * (len(runs) + 1) * (len(sizes) + 1) <= PLANS:
            break
        step += 1
    return RUN_STOPS[::step], SEGMENT_STOPS[::step]


def detectable(material: Material, cell: Result, test: TestResult) -> float | None:
    """The difference that this experiment finds four times out of five: from the study of power, or from
    the variance components of the pair, or if it has none from its standard error."""
    for other, study in material.power:
        for row in plans_of(study) if other is cell else ():
            if row.design and {row.a, row.b} == {test.a, test.b}:
                return row.detectable.value
    known = planner(cell, test)
    if known is not None:
        return float(_planned(cell, known, known.own).detectable(WANTED))
    if not test.se:
        return None
    from scipy.special import stdtrit

    df = test.df or 1e9
    return float(test.se * (stdtrit(df, 1 - cell.alpha / 2) + stdtrit(df, WANTED)))


def plan_grid(cell: Result, test: TestResult, runs: Sequence[int], sizes: Sequence[int]) -> PlanGrid | None:
    """The power of other plans for a pair; None if it has no variance components, or nothing varies.

    `runs` of each system and tuner; `sizes`: numbers of segments.
    """
    known = planner(cell, test)
    if known is None:
        return None
    own = known.own
    numbers = [(own.n_a, own.n_b), *((n * own.tuners, n * own.tuners) for n in runs)]
    shape = len(numbers), len(sizes)
    grid = PlanGrid(
        own.tuners, numbers[0], np.empty(shape), np.empty(shape), np.empty((*shape, len(CURVE)))
    )
    for i, (n_a, n_b) in enumerate(numbers):
        for j, size in enumerate(sizes):
            plan = Plan(n_a, n_b, size, own.tuners)
            planned = _planned(cell, known, plan)
            grid.detectable[i, j] = planned.detectable(WANTED)
            grid.observed[i, j] = known.decides(plan)
            grid.curve[i, j] = planned.power(np.array(CURVE) * grid.detectable[i, j])
    return grid if grid.detectable.min() > 0 else None


def planner(cell: Result, test: TestResult) -> Planner | None:
    """The planner of a pair; the plans of a page are those of one test set."""
    return None if cell.suite else planner_of(cell, test)


def _planned(cell: Result, known: Planner, plan: Plan) -> Planned:
    return Planned(known.model, plan, alpha=cell.alpha, nodes=FEW_NODES)
