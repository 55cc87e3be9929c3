from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))
from crossed_models import comparison, two_way

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.significance.studies.calibrate import registered
from replitune.significance.studies.replication import crossing, draw_replicas, single_runs, threshold


def pair(metric=None):
    rng = np.random.default_rng(1)
    effect = rng.normal(size=50)
    a, b = two_way(rng, 9, 50, 0.3, effect), two_way(rng, 7, 50, 0.3, effect) + 0.1
    return comparison(a, b, metric)


def t_test(given, rng):
    a, b = (s.statistics[..., 0].mean(axis=0) for s in (given.a, given.b))
    return float(stats.ttest_rel(a, b).pvalue)


def test_more_replicas_narrow_the_differences_around_the_pools():
    rng = np.random.default_rng(2)
    found = [row for n in (1, 5, 50) for row in draw_replicas(pair(), n, {"t": t_test}, rng=rng)]
    assert [r.n for r in found] == [1, 5, 50]
    spread = [np.std(r.deltas) for r in found]
    assert spread[0] > spread[1] > spread[2]
    pools = pair()
    expected = pools.scores_b.mean() - pools.scores_a.mean()
    one_run = np.sqrt(pools.scores_a.var() + pools.scores_b.var())
    for row, n in zip(found, (1, 5, 50), strict=True):
        assert np.mean(row.deltas) == pytest.approx(expected, abs=4 * one_run / np.sqrt(250 * n))
        assert np.std(row.deltas) == pytest.approx(one_run / np.sqrt(n), rel=0.2)
        assert row.p_low <= row.p_median <= row.p_high
        assert row.significant + row.opposite <= 1


def test_a_test_without_p_is_counted():
    found = draw_replicas(
        pair(), 1, registered(["crossed", "riezler"], samples=99), repeats=5, rng=np.random.default_rng(3)
    )
    row = {r.method: r for r in found}
    assert row["crossed"].without_p == 5
    assert row["crossed"].p_median is None
    assert row["riezler"].without_p == 0


@pytest.mark.parametrize("higher", [True, False])
def test_single_runs_are_the_extremes(higher):
    given = pair(MeanMetric(higher_is_better=higher))
    worst, best, median = single_runs(given, {"t": t_test}, rng=np.random.default_rng(4))
    a, b = given.scores_a, given.scores_b
    low, high = (min, max) if higher else (max, min)
    assert (worst.score_a, worst.score_b) == (low(a), high(b))
    assert (best.score_a, best.score_b) == (high(a), low(b))
    assert median.score_a == np.median(a)  # 9 replicas
    assert median.score_b == np.median(b)
    assert given.scores_a[given.a.replicas.index(worst.replica_a)] == worst.score_a
    assert worst.p == t_test(
        comparison(
            given.a.statistics[[int(np.argmax(a == worst.score_a))], :, 0],
            given.b.statistics[[int(np.argmax(b == worst.score_b))], :, 0],
        ),
        None,
    )


def test_crossing_of_a_decreasing_line():
    delta = np.linspace(0, 1, 11)
    at, fitted = crossing(delta, 0.5 * (1 - delta), 0.05)
    assert at == pytest.approx(0.9)
    np.testing.assert_allclose(fitted, 0.5 * (1 - delta))


def test_fit_pools_violations():
    """Pool adjacent violators by hand: .1 and .3 become .2."""
    _, fitted = crossing(np.arange(4.0), np.array([0.6, 0.1, 0.3, 0.01]), 0.05)
    np.testing.assert_allclose(fitted, [0.6, 0.2, 0.2, 0.01])


def test_threshold_has_an_interval_around_it():
    rng = np.random.default_rng(5)
    delta = rng.uniform(0, 1, 40) * rng.choice([-1, 1], 40)
    p = np.clip(stats.norm.sf(np.abs(delta) / 0.25) * 2 + rng.normal(0, 0.01, 40), 1e-4, 1)
    found = threshold(delta, p, method="t", n=5, rng=rng)
    assert found.low < found.crossing < found.high
    assert found.crossing == pytest.approx(0.25 * stats.norm.isf(0.025), abs=0.1)
    assert "this test set and 5 runs only" in found.note


def test_threshold_that_is_never_crossed_is_none():
    rng = np.random.default_rng(6)
    never = threshold(np.arange(5.0), np.full(5, 0.4), method="t", n=5, rng=rng)
    assert (never.crossing, never.low, never.high) == (None, None, None)
    assert "no pair is significant" in never.note
    always = threshold(np.arange(5.0), np.full(5, 0.01), method="t", n=5, rng=rng)
    assert "every pair is significant" in always.note
    with pytest.raises(ReplituneError, match="two pairs"):
        threshold(np.array([1.0]), np.array([0.5]), method="t", n=5, rng=rng)
