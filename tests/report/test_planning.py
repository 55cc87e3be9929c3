"""What the page's sliders know: power of other plans, at stops, as curves of a few points."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import PchipInterpolator

from replitune.metrics.base import MeanMetric
from replitune.report.planning import CURVE, PLANS, RUN_STOPS, SEGMENT_STOPS, detectable, plan_grid, stops
from replitune.results.comparing import compare
from replitune.results.planning import WANTED, planner_of
from replitune.results.result import Result
from replitune.significance.settings import TestSettings
from replitune.significance.studies.pilot import model_of
from replitune.significance.studies.planned import FEW_NODES, Plan, Planned
from replitune.statistics.segments import SegmentStatistics
from report.result_models import material
from significance.crossed_models import mean_statistics, system


def compared(runs: tuple[int, int] = (3, 3), spread: float = 0.4, segments: int = 120) -> Result:
    rng = np.random.default_rng(3)
    effect = rng.normal(0, 2, segments)

    def scores(n: int, shift: float) -> np.ndarray:
        return shift + effect + spread * rng.normal(0, 1, (n, 1)) + rng.normal(0, 0.5, (n, segments))

    systems = {
        name: system(name, mean_statistics(scores(n, shift)))
        for name, n, shift in zip("ab", runs, (0.0, 0.6), strict=True)
    }
    store = SegmentStatistics("t", MeanMetric(), "sig", systems, np.arange(segments, dtype=np.int32), None)
    results = compare([store], TestSettings(samples=99), testset="t", seed=1)
    return next(iter(results.metrics.values()))


@pytest.mark.parametrize("runs", [(3, 3), (2, 5)])
def test_the_grid_is_the_power_of_each_plan(runs: tuple[int, int]):
    cell = compared(runs)
    test = cell.lead_test(("a", "b"))
    assert test is not None
    sizes = [50, test.segments, 10_000]
    grid = plan_grid(cell, test, RUN_STOPS, sizes)
    assert grid is not None
    assert (grid.own, grid.tuners) == (runs, 1)
    assert grid.curve.shape == (1 + len(RUN_STOPS), 3, len(CURVE))
    model = model_of(test.variances, test.segments)
    for i, (n_a, n_b) in enumerate([runs, *((n, n) for n in RUN_STOPS)]):
        for j, size in enumerate(sizes):
            exact = Planned(model, Plan(n_a, n_b, size))
            found = grid.detectable[i, j]
            assert found == pytest.approx(float(exact.detectable()), rel=0.03)
            planner = planner_of(cell, test)
            assert planner is not None
            assert grid.observed[i, j] == planner.decides(Plan(n_a, n_b, size)), "one planner"
            # drawn through its points, the curve is right between them
            points = sorted([*zip(CURVE, grid.curve[i, j], strict=True), (1.0, WANTED)])
            between = np.linspace(0, CURVE[-1], 61)
            drawn = PchipInterpolator(*zip(*points, strict=True))(between)
            few = Planned(model, Plan(n_a, n_b, size), nodes=FEW_NODES)
            assert drawn == pytest.approx(few.power(between * found), abs=0.01)
    own = detectable(material(cell), cell, test)
    assert own == grid.detectable[0, 1], "one number, in the forest and under the sliders"


def test_there_is_no_grid_where_nothing_is_known_of_runs():
    cell = compared((1, 3))
    test = cell.lead_test(("a", "b"))
    assert test is not None
    assert plan_grid(cell, test, RUN_STOPS, SEGMENT_STOPS) is None
    by_error = dataclasses.replace(test, variances=(), se=0.5, df=7.0)
    expected = 0.5 * (stats.t.isf(0.025, 7) + stats.t.isf(0.2, 7))
    assert detectable(material(cell), cell, by_error) == pytest.approx(expected)


@pytest.mark.parametrize("pairs", [1, 6, 21, 105, 500])
def test_a_page_of_many_pairs_has_fewer_stops(pairs: int):
    runs, sizes = stops(pairs)
    assert set(runs) <= set(RUN_STOPS)
    assert set(sizes) <= set(SEGMENT_STOPS)
    assert runs[0] == RUN_STOPS[0]
    assert pairs * (len(runs) + 1) * (len(sizes) + 1) <= PLANS or (len(runs), len(sizes)) == (1, 1)
    assert (pairs > 6) == (len(runs) < len(RUN_STOPS))
