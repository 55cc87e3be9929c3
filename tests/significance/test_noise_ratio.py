"""`crossed:noise_ratio`: against closed forms and simulations in plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.significance.noise_ratio import bound_of, patterns, worst_case
from significance.calls import crossed
from significance.crossed_models import comparison, mean_statistics, system, two_way
from significance.one_testset import run_tests

ERRORS = 5
"""Standard errors of both simulations that a rate may be off, fixed before the first run."""


def tail(values: np.ndarray, worst, q: float) -> tuple[float, float]:
    """Share beyond the critical value of q, and how far it may be from q."""
    c = np.interp(-np.log(q), -np.log(worst.tails), worst.values)
    return float((values > c).mean()), ERRORS * np.sqrt(q * (1 - q) * (1 / len(values) + 1 / worst.draws))


@pytest.mark.parametrize("q", [0.05, 0.01])
def test_with_a_ratio_of_1_two_systems_have_students_pooled_t(q: float) -> None:
    """Equal noise, four runs each: the pooled variance on 6 degrees of freedom."""
    worst = worst_case((4, 4), ((0, 1),), 1.0, False, 1)
    c = np.interp(-np.log(q), -np.log(worst.tails), worst.values)
    p = 2 * stats.t.sf(c, 6)
    assert p == pytest.approx(q, abs=ERRORS * np.sqrt(q / worst.draws))


@pytest.mark.parametrize("q", [0.05, 0.01])
@pytest.mark.parametrize(("ns", "noisy"), [((3, 3, 3, 3, 3), 1), ((3, 3, 3), 1), ((3, 5, 10), 1)])
def test_the_worst_case_is_that_of_the_least_favourable_pattern(ns, noisy: int, q: float) -> None:
    """All pairs of a family, drawn anew in numpy: no pattern rejects more, and one as often."""
    n, S = np.array(ns), len(ns)
    pairs = tuple((a, b) for a in range(S) for b in range(a + 1, S))
    worst = worst_case(ns, pairs, 3.0, False, 1)
    rng = np.random.default_rng(2)
    rates = []
    for number in range(1, 2**S - 1):
        sd = np.where([number >> s & 1 for s in range(S)], 3.0, 1.0)
        scores = [rng.normal(0, s, (20_000, k)) for s, k in zip(sd, ns, strict=True)]
        mean = np.stack([x.mean(axis=1) for x in scores], axis=1)
        s2 = np.stack([x.var(axis=1, ddof=1) for x in scores], axis=1)
        pooled = (s2 * (n - 1)).sum(axis=1, keepdims=True) / (n - 1).sum()
        V = (2 * pooled + (n - 1) * s2) / (n + 1) / n
        t = [np.abs(mean[:, a] - mean[:, b]) / np.sqrt(V[:, a] + V[:, b]) for a, b in pairs]
        rates.append(tail(np.max(t, axis=0), worst, q))
    rate, error = max(rates)
    assert abs(rate - q) <= error


def test_one_sided_it_is_the_largest_t_of_its_side() -> None:
    worst = worst_case((5, 5), ((0, 1),), 1.0, True, 1)
    c = np.interp(-np.log(0.05), -np.log(worst.tails), worst.values)
    assert stats.t.sf(c, 8) == pytest.approx(0.05, abs=ERRORS * np.sqrt(0.05 / worst.draws))


def test_a_pattern_of_equals_is_one_of_them_and_none_is_there_twice() -> None:
    found = patterns((3, 3, 3, 3), ((0, 1),), 3.0)
    assert [1.0] * 4 in [sd.tolist() for sd in found]
    assert len({tuple(sd) for sd in found}) == len(found) == 8
    assert {(sd[:2].tolist().count(3.0), sd[2:].tolist().count(3.0)) for sd in found} == {
        (a, b) for a in range(3) for b in range(3)
    } - {(2, 2)}


def test_variances_that_differ_too_much_contradict_it() -> None:
    """The largest of two variances on 4 degrees over the smallest: R^2 F(4, 4), or its inverse."""
    limit = worst_case((5, 5), (), 3.0, False, 1).ratio
    F = stats.f(4, 4)
    assert F.sf(limit / 9) + F.cdf(1 / limit / 9) == pytest.approx(0.01, abs=0.002)
    rng = np.random.default_rng(1)
    x = rng.normal(size=5)
    inside, beyond = np.sqrt(0.9 * limit), np.sqrt(1.1 * limit)
    assert not bound_of(3.0, [x, inside * x], 1).contradicted
    assert bound_of(3.0, [x, beyond * x], 1).contradicted


def family(noise: tuple[float, ...], n: int = 3, better: float = 0.0, seed: int = 1):
    rng = np.random.default_rng(seed)
    effect = rng.normal(size=200)
    x = [two_way(rng, n, 200, s, effect, 0.2) for s in noise]
    x[-1] = x[-1] + better
    return {f"s{i}": system(f"s{i}", mean_statistics(each)) for i, each in enumerate(x)}


def rows_of(systems, *methods: str, **options):
    return run_tests(
        {"mean": (MeanMetric(), systems)},
        np.arange(200, dtype=np.int32),
        **{"testset": "t", "seed": 1, "methods": methods, **options},
    )["mean"]


@pytest.mark.parametrize("method", ["crossed:noise_ratio=3", "crossed:noise_ratio=3,alternative=greater"])
def test_p_and_intervals_say_the_same(method: str) -> None:
    decided = set()
    for better in (0.0, 0.3, 0.6, 1.2):
        for row in rows_of(family((0.1,) * 4, better=better), method):
            outside = row.ci_low > 0 or ("greater" not in method and row.ci_high < 0)
            assert outside == (row.p_adjusted <= 0.05)
            assert row.p <= row.p_adjusted
            assert row.correction == "max-t"
            assert [note.code for note in row.notes] == ["noise-ratio"]
            decided.add(outside)
    assert decided == {True, False}


def test_runs_that_contradict_it_are_tested_without_it() -> None:
    systems = family((0.001, 0.1, 0.1, 30.0))
    bounded, plain = rows_of(systems, "crossed:noise_ratio=3"), rows_of(systems, "crossed")
    for x, y in zip(bounded, plain, strict=True):
        assert (x.p, x.p_adjusted, x.ci_low) == (y.p, y.p_adjusted, y.ci_low)
        assert "noise-ratio-contradicted" in {note.code for note in x.notes}


@pytest.mark.parametrize("options", [{"paired": True}, {"scope": "segments"}, {"design": "samples"}])
def test_it_fits_new_runs_of_one_kind(options) -> None:
    rng = np.random.default_rng(3)
    pair = comparison(two_way(rng, 4, 50), two_way(rng, 4, 50))
    with pytest.raises(ReplituneError, match="noise_ratio"):
        crossed(pair, noise_ratio=3, **options)
