from __future__ import annotations

import itertools

import numpy as np
import pytest

from meta.meta_models import oracle, quality
from replitune.meta.analysis import COMPARED_LEVELS as LEVELS
from replitune.meta.perm_both import perm_both
from significance.exchange_models import close


def enumerated(x, y, z, level: str, exchange: str = "both") -> tuple[float, np.ndarray]:
    """delta, and delta of every exchange, one by one, with scipy's r."""
    cells = ~(np.isnan(x) | np.isnan(y))
    if level != "system":
        cells &= ~np.isnan(z)
    a, b = (np.where(cells, (v - v[cells].mean()) / v[cells].std(), np.nan) for v in (x, y))

    def value(v):
        if level == "system":
            return oracle("pearson", np.nanmean(v, axis=1).round(9), np.nanmean(z, axis=1))
        return oracle("pearson", v[cells].round(9), z[cells])

    deltas = []
    size = {"both": int(cells.sum()), "systems": len(x), "segments": x.shape[1]}[exchange]
    for bits in itertools.product([False, True], repeat=size):
        swap = np.zeros(cells.shape, dtype=bool)
        if exchange == "both":
            swap[cells] = bits
        elif exchange == "systems":
            swap[np.array(bits)] = True
        else:
            swap[:, np.array(bits)] = True
        deltas.append(value(np.where(swap, b, a)) - value(np.where(swap, a, b)))
    return deltas[0], np.array(deltas)


def small(seed: int, missing: bool):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(4, 2))
    x, y = z + rng.normal(0, 0.5, (4, 2)), 7 * (z + rng.normal(0, 1.5, (4, 2)))
    if missing:
        z[0, 1] = x[1, 0] = np.nan
    return x, y, z


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_every_exchange_is_enumerated_when_there_are_few(level, missing):
    x, y, z = small(5, missing)
    found = perm_both(x, y, z, rng=np.random.default_rng(0), level=level)
    delta, every = enumerated(x, y, z, level)
    every = every[~np.isnan(every)]
    assert found.exact
    assert found.delta == pytest.approx(delta, abs=1e-9)
    assert found.p == pytest.approx((every >= delta - 1e-9).mean())
    np.testing.assert_allclose(np.sort(found.distribution), np.sort(every), atol=1e-9)


@pytest.mark.parametrize("exchange", ["systems", "segments"])
@pytest.mark.parametrize("level", LEVELS)
def test_whole_systems_or_segments_change_places(level, exchange):
    x, y, z = small(3, True)
    found = perm_both(x, y, z, rng=np.random.default_rng(0), level=level, exchange=exchange)
    delta, every = enumerated(x, y, z, level, exchange)
    every = every[~np.isnan(every)]
    assert found.exact
    assert found.p_min == 0.5 ** {"systems": 4, "segments": 2}[exchange]
    assert found.p == pytest.approx((every >= delta - 1e-9).mean())


def test_equal_metrics_that_over_rate_whole_systems():
    # the reason why whole systems can be exchanged: with cells, .05 is really about .2
    rejected = {"both": 0, "systems": 0}
    trials = 200
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        truth = rng.normal(0, 0.3, (10, 1)) + rng.normal(0, 0.7, (10, 30))
        z = truth + rng.normal(0, 0.8, (10, 30))
        x, y = (truth + rng.normal(0, 0.3, (10, 1)) + rng.normal(0, 0.8, (10, 30)) for _ in range(2))
        for exchange in rejected:
            found = perm_both(x, y, z, rng=rng, exchange=exchange, samples=99)
            rejected[exchange] += found.p <= 0.05
    assert rejected["both"] / trials > 0.12
    assert rejected["systems"] / trials < 0.1


@pytest.mark.parametrize("level", LEVELS)
def test_drawing_agrees_with_enumeration(level):
    x, y, z = small(2, False)
    exact = perm_both(x, y, z, rng=np.random.default_rng(0), level=level, samples=256)
    drawn = perm_both(x, y, z, rng=np.random.default_rng(0), level=level, samples=255)
    assert exact.exact
    assert not drawn.exact
    assert close(drawn.p, exact.p, 255)


@pytest.mark.parametrize("level", LEVELS)
def test_the_same_metric_twice_has_p_one(level):
    x, z = quality(5, 30, 1), quality(5, 30, 2)
    found = perm_both(x, 3 * x + 1, z, rng=np.random.default_rng(0), level=level, samples=100)
    assert found.p == 1.0
    assert found.delta == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_a_clearly_better_metric_is_found_and_p_is_never_zero(level):
    z = quality(8, 100, 1, noise=0.3)
    rng = np.random.default_rng(7)
    good, bad = z + rng.normal(0, 0.1, z.shape), rng.normal(size=z.shape)
    found = perm_both(good, bad, z, rng=np.random.default_rng(0), level=level, samples=199)
    assert found.p == found.p_min == 1 / 200
    turned = perm_both(bad, good, z, rng=np.random.default_rng(0), level=level, samples=199).swapped()
    assert turned.p == found.p


def test_scales_do_not_matter():
    x, y, z = quality(6, 20, 1), quality(6, 20, 2), quality(6, 20, 3)
    first = perm_both(x, y, z, rng=np.random.default_rng(0), samples=300)
    second = perm_both(x * 1000 - 5, y, z, rng=np.random.default_rng(0), samples=300)
    assert first.p == second.p
    assert first.delta == pytest.approx(second.delta)


def test_more_samples_begin_with_the_same_exchanges():
    x, y, z = quality(6, 20, 1), quality(6, 20, 2), quality(6, 20, 3)
    few = perm_both(x, y, z, rng=np.random.default_rng(0), samples=100)
    more = perm_both(x, y, z, rng=np.random.default_rng(0), samples=700)
    np.testing.assert_array_equal(few.distribution, more.distribution[:100])


@pytest.mark.parametrize("level", LEVELS)
def test_what_cannot_be_tested_is_none_with_a_note(level):
    x, z, rng = quality(4, 10, 1), quality(4, 10, 2), np.random.default_rng(0)
    for a, b, human in (
        (x, np.zeros_like(x), z),
        (x, x, np.ones_like(x)),
        (np.full_like(x, np.nan), x, z),
        (x[:1], x[:1] + z[:1], np.ones((1, 10))),
    ):
        found = perm_both(a, b, human, rng=rng, level=level, samples=50)
        assert found.p is None
        assert found.note
