from __future__ import annotations

import numpy as np
import pytest

from meta.meta_models import drawn, oracle, quality, scores
from replitune.meta.correlations import COEFFICIENTS
from replitune.meta.metric_correlations import LEVELS, MetaDraws, correlate
from replitune.meta.scores import Scores, human_scores
from replitune.metrics.base import MeanMetric
from significance.exchange_models import Counts, counts, system


def pair(S: int = 6, N: int = 25, missing: bool = True):
    human, metric = quality(S, N, 1, 0.5), quality(S, N, 2)
    if missing:
        human[0, 3] = human[2, :5] = metric[1, 4] = np.nan
    return scores("m", metric), scores("human", human), metric, human


def naive(x, z, level: str, coefficient: str) -> float:
    """One value from cells (S, N) with holes, by scipy."""
    if level == "system":
        return oracle(coefficient, np.nanmean(x, axis=1), np.nanmean(z, axis=1))
    known = ~(np.isnan(x) | np.isnan(z))
    if level == "segment":
        return oracle(coefficient, x[known], z[known])
    each = [oracle(coefficient, x[k, i], z[k, i]) for i, k in enumerate(known.T)]
    return float(np.nanmean(each))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_value_is_scipys(level, coefficient):
    metric, human, x, z = pair()
    found = correlate(metric, human, level=level, coefficient=coefficient)
    assert found.value == pytest.approx(naive(x, z, level, coefficient), abs=1e-9)
    assert found.n == {"system": 6, "segment": 150 - 7, "average": 25}[level]
    assert found.ci_low is None
    assert found.distribution is None


@pytest.mark.filterwarnings("ignore:An input array is constant")
@pytest.mark.parametrize("resample", ["systems", "segments", "both"])
@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("level", LEVELS)
def test_each_bootstrap_value_is_that_of_the_drawn_data(level, coefficient, resample):
    metric, human, x, z = pair()
    draws = MetaDraws.from_rng(np.random.default_rng(5))
    samples = 70
    found = correlate(
        metric, human, level=level, coefficient=coefficient, resample=resample, draws=draws, samples=samples
    )
    systems = draws.systems.counts(6, slice(0, samples))
    segments = draws.segments.counts(25, slice(0, samples))
    expected = []
    for b in range(samples):
        a, c = x, z
        if resample != "segments":
            a, c = drawn(a, systems[b]), drawn(c, systems[b])
        if resample != "systems":
            a, c = drawn(a.T, segments[b]).T, drawn(c.T, segments[b]).T
        expected.append(naive(a, c, level, coefficient))
    expected = [value for value in expected if not np.isnan(value)]
    np.testing.assert_allclose(found.distribution, expected, atol=1e-9)
    assert (found.ci_low, found.ci_high) == pytest.approx(
        tuple(np.percentile(expected, [2.5, 97.5])), abs=1e-9
    )
    assert found.resampled == resample


def test_lower_is_better_is_turned_round_first():
    metric, human, x, _ = pair(missing=False)
    error = scores("error", -x, MeanMetric("error", higher_is_better=False))
    for level in LEVELS:
        up, down = (correlate(m, human, level=level).value for m in (metric, error))
        assert up == pytest.approx(down)


def test_replicas_count_as_their_mean_and_can_be_chosen():
    systems = tuple(system(f"s{s}", counts(3, 12, seed=s, gain=s / 20)) for s in range(4))
    given = Scores("counts", Counts(), systems)
    np.testing.assert_allclose(
        given.system, [Counts().score(s.statistics.sum(axis=1)).mean() for s in systems]
    )
    one = given.with_replicas({s.name: ["run-002"] for s in systems})
    np.testing.assert_allclose(one.segment[2], Counts().score(systems[2].statistics[1]))


def test_corpus_scores_are_drawn_from_statistics():
    systems = tuple(system(f"s{s}", counts(2, 12, seed=s, gain=s / 20)) for s in range(4))
    given = Scores("counts", Counts(), systems)
    draws = MetaDraws.from_rng(np.random.default_rng(0))
    found = draws.system_scores(given, 9)
    weights = draws.segments.counts(12, slice(0, 9))
    for s, item in enumerate(systems):
        sums = np.einsum("bi,rik->brk", weights, item.statistics)
        np.testing.assert_allclose(found[:, s], Counts().score(sums).mean(axis=1))


def test_the_interval_of_pearson_covers_about_95_percent():
    # segments of a bivariate normal with r = .6; systems fixed
    covered, trials = 0, 120
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        z = rng.normal(size=(1, 80))
        x = 0.6 * z + 0.8 * rng.normal(size=(1, 80))
        found = correlate(
            scores("m", x),
            scores("h", z),
            level="segment",
            resample="segments",
            draws=MetaDraws.from_rng(rng),
            samples=300,
        )
        covered += found.ci_low <= 0.6 <= found.ci_high
    assert 0.86 <= covered / trials <= 0.99


@pytest.mark.parametrize("level", LEVELS)
def test_a_constant_metric_has_no_value_but_a_note(level):
    _, human, x, _ = pair()
    found = correlate(
        scores("m", np.full_like(x, 0.1)),
        human,
        level=level,
        draws=MetaDraws.from_rng(np.random.default_rng(0)),
    )
    assert found.value is None
    assert found.ci_low is None
    assert found.note


def test_two_systems_are_too_few():
    x, z = quality(2, 10, 1), quality(2, 10, 2)
    found = correlate(scores("m", x), scores("h", z))
    assert found.value is None
    assert found.note == "2 systems: too few"
    assert correlate(scores("m", x), scores("h", z), level="average").value is not None


def test_undefined_resamples_are_counted():
    x, z = quality(3, 10, 1), quality(3, 10, 2)
    found = correlate(
        scores("m", x),
        scores("h", z),
        draws=MetaDraws.from_rng(np.random.default_rng(0)),
        resample="systems",
        samples=300,
    )
    # all three draws the same system: 1/9 of the resamples
    undefined = 300 - len(found.distribution)
    assert 15 <= undefined <= 55
    assert found.note == f"{undefined} of 300 resamples have no coefficient"


def test_a_judged_output_without_a_score_is_said():
    metric, human, *_ = pair()
    assert "1 judged outputs have no score of m" in correlate(metric, human, level="segment").note


def test_human_scores_keep_their_holes():
    z = np.array([[1.0, np.nan], [np.nan, np.nan]])
    found = human_scores("adequacy", ["A", "B"], z)
    np.testing.assert_array_equal(found.segment, z)
    np.testing.assert_array_equal(found.system, [1.0, np.nan])
    assert found.systems == ("A", "B")
