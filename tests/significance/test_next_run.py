"""The next run: how often it is right, against simulations and integrals that are not our code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from replitune.metrics.base import MeanMetric
from replitune.significance.base import TestResult
from replitune.significance.critical import Parts
from replitune.significance.next_run import _noise_share, next_better, prediction_interval, spread_of
from replitune.significance.run import TestSetScores, run_tests
from significance.crossed_models import mean_statistics, system, two_way


def rows(*scores: np.ndarray) -> list[TestResult]:
    """`crossed` of every pair of systems with these scores (n, N)."""
    systems = {f"s{i}": system(f"s{i}", mean_statistics(x)) for i, x in enumerate(scores)}
    given = TestSetScores({"mean": (MeanMetric(), systems)}, np.arange(scores[0].shape[1], dtype=np.int32))
    return run_tests([given], testset="t", seed=1, methods=["crossed"], samples=200)["mean"]


def test_it_is_as_likely_as_in_simulation():
    """Many runs and segments, so that the estimates are the truth."""
    rng = np.random.default_rng(15)
    n, N = 60, 2000
    effect = rng.normal(size=N)
    a = two_way(rng, n, N, 0.05, effect, 0.3)
    b = two_way(rng, n, N, 0.08, effect + 0.5 * rng.normal(size=N), 0.3) + 0.05
    (found,) = rows(a, b)
    V = (0.05**2 + 0.08**2) + 2 * 0.3**2 / N + 0.25 / N  # of two new runs on N new segments
    V += (0.05**2 + 0.08**2) / n + 0.25 / N  # of the estimate
    expected = stats.norm.cdf(found.delta / np.sqrt(V))
    assert found.details["superior_new"] == pytest.approx(expected, abs=0.03)
    won = (b.mean(axis=1)[:, None] > a.mean(axis=1)).mean()
    assert found.details["superior"] == pytest.approx(won, abs=0.05)


@pytest.mark.parametrize("sd", [(1.0, 1.0), (1.0, 3.0)])
def test_the_interval_covers_in_nine_of_ten(sd):
    rng, trials, n = np.random.default_rng(14), 4000, 3
    s = np.array(sd)
    se = np.sqrt((s**2 / n).sum())
    true = rng.normal(0, se, trials)
    V = s**2 / n * rng.chisquare(n - 1, (trials, 2)) / (n - 1)
    nus = np.full(2, n - 1.0)
    spread = spread_of(Parts(V.sum(axis=-1), V, nus), np.full(2, float(n)))
    _, low, high = next_better(true + rng.normal(0, se, trials), spread)
    theta = stats.norm.cdf(true / np.sqrt((s**2).sum()))
    assert 0.87 < ((low <= theta) & (theta <= high)).mean() < 0.93


@pytest.mark.parametrize(("systems", "ratio"), [(4, 0.5), (5, 3.0), (10, 20.0)])
def test_the_share_of_noise_is_the_integral_over_its_density(systems, ratio):
    scores = np.linspace(-1, 1, systems)
    noise = float(np.var(scores, ddof=1)) / ratio
    half = (systems - 1) / 2

    def moment(k: int) -> float:
        return integrate.quad(lambda x: x ** (half - 1 + k) * np.exp(-half * ratio * x), 0, 1)[0]

    mean, variance = moment(1) / moment(0), moment(2) / moment(0)
    assert _noise_share(scores, noise) == pytest.approx((mean, variance - mean**2), rel=1e-4)


def test_equal_systems_are_drawn_together_and_very_different_ones_are_not():
    rng = np.random.default_rng(16)
    alike = [two_way(rng, 3, 200, 0.2, np.zeros(200), 0.1) for _ in range(5)]
    apart = [x + 20.0 * i for i, x in enumerate(alike)]
    alone = {(i, j): rows(alike[i], alike[j])[0] for i in range(5) for j in range(i + 1, 5)}
    for row, own in zip(rows(*alike), alone.values(), strict=True):
        assert abs(row.details["superior"] - 0.5) < abs(own.details["superior"] - 0.5)
        assert row.details["superior_systems"] == 5
        assert "superior_systems" not in own.details
    for row in rows(*apart):
        assert min(row.details["superior"], row.details["superior_new"]) > 0.99


def test_seen_from_the_other_system_it_is_the_rest():
    rng = np.random.default_rng(17)
    a, b = two_way(rng, 3, 60, 0.1), two_way(rng, 4, 60, 0.1)
    (found,), (other,) = rows(a, b), rows(b, a)
    for where in ("superior", "superior_new"):
        one, two = found.details, other.details
        assert one[where] == pytest.approx(1 - two[where])
        assert one[f"{where}_low"] == pytest.approx(1 - two[f"{where}_high"])
        assert found.swapped().details[f"{where}_high"] == 1 - one[f"{where}_low"]


def test_where_nothing_varies_it_is_certain():
    still = spread_of(Parts(np.zeros(3), np.zeros((3, 2)), np.full(2, 2.0)), np.full(2, 3.0))
    p, low, high = next_better(np.array([0.0, 1.0, -1.0]), still)
    assert p.tolist() == low.tolist() == high.tolist() == [0.5, 1.0, 0.0]


def test_one_run_says_nothing_of_the_next():
    rng = np.random.default_rng(18)
    (found,) = rows(two_way(rng, 1, 60), two_way(rng, 3, 60))
    assert "superior" not in found.details


def test_the_prediction_interval_is_students():
    x = np.array([20.1, 20.9, 20.4, 21.0])
    low, high = prediction_interval(x)
    oracle = stats.t.interval(0.95, 3, x.mean(), x.std(ddof=1) * np.sqrt(1.25))
    assert (low, high) == pytest.approx(oracle)
    assert prediction_interval(x[:1]) is None
