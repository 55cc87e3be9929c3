"""Spread and intervals of one system, against plain numpy, closed forms and scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.significance.draws import Draws, PoolDraws, SegmentDraws
from replitune.significance.intervals import bca_interval, overlap_ratio
from replitune.significance.one_system import (
    clark_interval,
    fu_interval,
    riezler_interval,
    s_sel,
    summarise,
)
from significance.exchange_models import Counts, counts, means, system

DRAWS = Draws(SegmentDraws(1), lambda name: PoolDraws(1), lambda name: np.random.default_rng(1))


def each(N: int) -> np.ndarray:
    return np.arange(N, dtype=np.int32)


def test_summary_is_what_numpy_says() -> None:
    metric, a, dev = Counts(), system("A", counts(5, 60, seed=1)), system("A", counts(5, 9, seed=3))
    found = summarise(metric, a, each(60), testset="t", seed=1, dev=dev, samples=200)
    scores = metric.score(a.statistics.sum(axis=1))
    assert found.avg == pytest.approx(scores.mean())
    assert list(found.scores.values()) == scores.tolist()
    assert found.s_test == pytest.approx(np.std(scores, ddof=1))
    assert found.s_dev == pytest.approx(np.std(metric.score(dev.statistics.sum(axis=1)), ddof=1))
    assert found.scores[found.median_replica] == np.sort(scores)[2]
    assert set(found.ci) == {"riezler", "clark", "fu"}
    for name, (low, high) in found.ci.items():
        assert low < high
        if name != "fu":
            assert low < found.avg < high


def test_any_interval_can_be_asked_for_by_name_and_options() -> None:
    """Neubig's half samples and Fu's pooled replicas; the others' draws do not change."""
    metric, a = Counts(), system("A", counts(6, 60, seed=1))
    common = {"testset": "t", "seed": 1, "samples": 400}
    usual = summarise(metric, a, each(60), **common)
    half = {"name": "riezler", "id": "half", "half": "with replacement"}
    found = summarise(metric, a, each(60), intervals=["fu", half, "riezler"], **common)
    assert list(found.ci) == ["fu", "half", "riezler"]
    assert found.ci["fu"] == usual.ci["fu"]
    assert found.ci["riezler"] == usual.ci["riezler"]
    wide, narrow = (np.diff(found.ci[name])[0] for name in ("half", "riezler"))
    assert wide / narrow == pytest.approx(np.sqrt(2), rel=0.15)


@pytest.mark.parametrize(
    ("given", "message"), [("reizler", "riezler"), ({"name": "fu", "unit": "segment"}, "no option 'unit'")]
)
def test_an_unknown_interval(given, message) -> None:
    a = system("A", counts(3, 20, seed=1))
    with pytest.raises(ReplituneError, match=message):
        summarise(Counts(), a, each(20), testset="t", seed=1, samples=9, intervals=[given])


def test_s_sel_of_a_mean_is_its_standard_error() -> None:
    a = system("A", means(3, 400, seed=1))
    found = s_sel(MeanMetric(), a, each(400), SegmentDraws(1), samples=4000)
    expected = (a.statistics[..., 0].std(axis=1) / 20).mean()
    assert found == pytest.approx(expected, rel=0.03)


def test_s_sel_shares_its_test_sets() -> None:
    """The same draws for all replicas and systems; k - 1."""
    a, draws = system("A", counts(3, 50, seed=1)), SegmentDraws(6)
    weights = draws.counts(50, slice(0, 300)).astype(float)
    scores = np.stack([Counts().score(weights @ z) for z in a.statistics.astype(float)])
    found = s_sel(Counts(), a, each(50), draws, samples=300)
    assert found == pytest.approx(scores.std(axis=1, ddof=1).mean())
    twin = system("B", a.statistics[[2, 0, 1]])
    assert s_sel(Counts(), twin, each(50), draws, samples=300) == pytest.approx(found, rel=1e-12)


def test_one_replica_gives_what_it_can() -> None:
    found = summarise(
        Counts(), system("A", counts(1, 40, seed=1)), each(40), testset="t", seed=1, samples=100
    )
    assert found.s_test is None
    assert "needs two" in found.notes["s_test"][0].text
    assert found.s_dev is None
    assert found.ci["fu"] is None
    assert "one run" in found.notes["ci_fu"][0].text
    assert found.s_sel > 0
    assert found.ci["riezler"] is not None


def test_the_median_replica_breaks_ties_by_id() -> None:
    same = np.repeat(counts(1, 10, seed=1), 4, axis=0)
    a = system("A", same, ids=("mert-004", "mert-002", "mert-003", "mert-001"))
    found = summarise(Counts(), a, each(10), testset="t", seed=1, samples=50)
    assert found.median_replica == "mert-002"


def test_intervals_of_a_mean_have_the_normal_width() -> None:
    a = system("A", means(4, 900, seed=1))
    width = 2 * stats.norm.ppf(0.975)
    one = riezler_interval(MeanMetric(), a, each(900), DRAWS, samples=3000, replica="run-002")
    sd = a.statistics[1, :, 0].std()
    assert one.high - one.low == pytest.approx(width * sd / 30, rel=0.06)
    pool = clark_interval(MeanMetric(), a, each(900), DRAWS, samples=3000)
    assert pool.high - pool.low == pytest.approx(width * a.statistics[..., 0].std() / 60, rel=0.06)


@pytest.mark.parametrize(("half", "factor"), [("with replacement", 2**0.5), ("without replacement", 1.0)])
def test_neubigs_half_samples(half: str, factor: float) -> None:
    """Drawn with replacement, N/2 segments scatter sqrt(2) too far; without, as N would."""
    a = system("A", means(1, 800, seed=1))
    draws = DRAWS
    whole = riezler_interval(MeanMetric(), a, each(800), draws, samples=4000)
    found = riezler_interval(MeanMetric(), a, each(800), draws, samples=4000, half=half)
    assert np.std(found.distribution) == pytest.approx(factor * np.std(whole.distribution), rel=0.05)


def test_fu_interval_agrees_with_enumeration() -> None:
    a = system("A", counts(4, 30, seed=1))
    scores = Counts().score(a.sums)
    every = [np.mean(v) for v in itertools.product(scores, repeat=4)]
    found = fu_interval(Counts(), a, each(a.segments), DRAWS, samples=20_000)
    low, high = np.percentile(every, [2.5, 97.5])
    assert found.low == pytest.approx(low, abs=0.1 * np.std(every))
    assert found.high == pytest.approx(high, abs=0.1 * np.std(every))


def test_bca_is_scipys() -> None:
    """The same distribution and data give scipy's interval; ours finds the jackknife itself."""
    a = system("A", means(1, 40, seed=3) ** 2)
    found = riezler_interval(MeanMetric(), a, each(40), DRAWS, samples=999, kind="bca", confidence=0.9)
    assert found.notes == ()
    data = (a.statistics[0, :, 0],)
    first = stats.bootstrap(data, np.mean, n_resamples=99, method="BCa", rng=1)
    first.bootstrap_distribution = found.distribution
    oracle = stats.bootstrap(
        data, np.mean, n_resamples=0, method="BCa", confidence_level=0.9, bootstrap_result=first
    )
    assert found.low == pytest.approx(oracle.confidence_interval.low, rel=1e-9)
    assert found.high == pytest.approx(oracle.confidence_interval.high, rel=1e-9)


def test_bca_jackknifes_the_drawn_unit() -> None:
    a = system("A", counts(4, 50, seed=1), groups=("mert", "mert", "pro", "pro"))
    options = {"samples": 500, "kind": "bca"}
    pool = clark_interval(Counts(), a, each(50), DRAWS, **options)
    outputs = a.statistics.astype(float)
    total = outputs.sum(axis=(0, 1))
    left = np.array([[Counts().score(total - z) for z in replica] for replica in outputs])
    for h in ([0, 1], [2, 3]):
        left[h] -= left[h].mean()
    low, high, _ = bca_interval(pool.distribution, float(Counts().score(total)), left.ravel())
    assert (pool.low, pool.high) == pytest.approx((low, high))
    documents = np.repeat(np.arange(10, dtype=np.int32), 5)
    one = riezler_interval(Counts(), a, documents, DRAWS, unit="document", **options)
    r = int(np.argsort(Counts().score(a.sums))[1])
    left_out = [Counts().score(outputs[r][documents != g].sum(axis=0)) for g in range(10)]
    low, high, _ = bca_interval(
        one.distribution, float(Counts().score(outputs[r].sum(axis=0))), np.array(left_out)
    )
    assert (one.low, one.high) == pytest.approx((low, high))


def test_degenerate_bca_is_the_percentile_interval_and_says_so() -> None:
    constant = system("A", np.ones((2, 30, 2)))
    found = riezler_interval(MeanMetric(), constant, each(30), DRAWS, samples=100, kind="bca")
    assert (found.low, found.high) == (1, 1)
    assert "percentile interval, not BCa" in found.notes[0].text
    low, high, note = bca_interval(np.arange(1.0, 101), 0.0, np.arange(5.0))
    assert (low, high) == pytest.approx((3.475, 97.525))
    assert "one side" in note.text


@pytest.mark.parametrize(("gap", "ratio_sd"), [(1.0, 1.0), (0.5, 1.5), (2.5, 0.6)])
def test_overlap_ratio_agrees_with_quadrature(gap: float, ratio_sd: float) -> None:
    normal = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    x, y = 30 + normal, 30 + gap + ratio_sd * normal
    density = [stats.norm(v.mean(), v.std(ddof=1)).pdf for v in (x, y)]
    (n_x, m_x), (n_y, m_y) = (np.percentile(v, [2.5, 97.5]) for v in (x, y))
    grid = np.linspace(x.mean(), y.mean(), 200_001)
    signs = np.sign(density[0](grid) - density[1](grid))
    crossings = np.flatnonzero(np.diff(signs))
    total = sum(
        integrate.quad(d, *ends)[0] for d, ends in zip(density, [(n_x, m_x), (n_y, m_y)], strict=True)
    )
    if len(crossings) == 1:
        j = grid[crossings[0]]
        shared = max(0, integrate.quad(density[0], j, m_x)[0])
        shared += max(0, integrate.quad(density[1], n_y, j)[0])
    else:
        smaller = lambda t: min(density[0](t), density[1](t))  # noqa: E731
        shared = integrate.quad(smaller, max(n_x, n_y), min(m_x, m_y), limit=200)[0]
    found, _ = overlap_ratio(x, y)
    assert found == pytest.approx(shared / (total - shared), abs=1e-4)
    assert overlap_ratio(y, x)[0] == pytest.approx(found)


def test_overlap_ratio_at_its_ends() -> None:
    normal = stats.norm.ppf((np.arange(500) + 0.5) / 500)
    assert overlap_ratio(normal, normal)[0] == pytest.approx(1)
    assert overlap_ratio(normal, normal + 20)[0] == 0
    ratio, notes = overlap_ratio(np.ones(10), normal)
    assert ratio is None
    assert notes
