from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.tuning import pool as module
from replitune.tuning.pool import Pool, combine, segment_argmax, segment_ends


def content(pool: Pool) -> list[tuple]:
    out = []
    for s in range(pool.n_segments):
        for h in range(pool.offsets[s], pool.offsets[s + 1]):
            out.append((s, *pool.features[:, h].tolist(), *pool.statistics[h].tolist()))
    return out


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_a_pool_is_a_set_whatever_the_order_and_the_batches(seed: int):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 60))
    segments = rng.integers(0, 4, m)
    features = rng.integers(0, 2, (m, 2)).astype(float)
    statistics = rng.integers(0, 2, (m, 3))
    whole = Pool.empty(4, 2, 3).extend(segments, features, statistics)
    expected = {
        (s, *f, *z)
        for s, f, z in zip(segments.tolist(), features.tolist(), statistics.tolist(), strict=True)
    }
    assert len(whole) == len(expected)
    assert set(content(whole)) == expected
    order = rng.permutation(m)
    parts = Pool.empty(4, 2, 3)
    for rows in np.array_split(order, 3):
        parts = parts.extend(segments[rows], features[rows], statistics[rows])
    assert content(parts) == content(whole)


def test_rows_of_one_hash_stay_apart(monkeypatch: pytest.MonkeyPatch):
    """With a hash that never differs, contents decide: what is equal and the order."""
    monkeypatch.setattr(
        module, "_hashes", lambda features, statistics: np.zeros(len(statistics), dtype=np.uint64)
    )
    rng = np.random.default_rng(0)
    features = rng.integers(0, 3, (40, 2)).astype(float)
    statistics = rng.integers(0, 3, (40, 2))
    one = Pool.empty(1, 2, 2).extend(np.zeros(40, int), features, statistics)
    two = Pool.empty(1, 2, 2)
    for rows in np.array_split(rng.permutation(40), 4):
        two = two.extend(np.zeros(len(rows), int), features[rows], statistics[rows])
    rows = {(*f, *s) for f, s in zip(features.tolist(), statistics.tolist(), strict=True)}
    assert len(one) == len(rows)
    assert content(one) == content(two) == sorted(content(one))


@pytest.mark.parametrize("watched", [False, True])
def test_absorbing_is_extending(watched: bool):
    """Also when somebody has a view of the arrays, which then stay as they are."""
    rng = np.random.default_rng(3)
    extended, absorbing = Pool.empty(4, 3, 2), Pool.empty(4, 3, 2)
    views = []
    for m in (5, 40, 1, 200):
        segments = rng.integers(0, 4, m)
        features, statistics = rng.normal(size=(m, 3)), rng.integers(0, 3, (m, 2))
        if watched:
            views.append((absorbing.features[:], extended.features))
        absorbing = absorbing.absorb(segments, features, statistics)
        extended = extended.extend(segments, features, statistics)
        assert content(absorbing) == content(extended)
    for seen, expected in views:
        assert np.array_equal(seen, expected)


def test_equal_features_with_other_statistics_are_kept():
    pool = Pool.empty(1, 1, 1).extend([0, 0, 0], [[1.0], [1.0], [1.0]], [[3], [4], [3]])
    assert len(pool) == 2


def test_minus_zero_is_zero():
    pool = Pool.empty(1, 1, 1).extend([0, 0], [[0.0], [-0.0]], [[3], [3]])
    assert len(pool) == 1


def test_two_million_hypotheses_fit_in_500_megabytes():
    """1,000 x 2,000 hypotheses, 14 features, 10 statistics: bytes per hypothesis."""
    pool = Pool.empty(2, 14, 10).extend(
        np.repeat([0, 1], 500), np.random.default_rng(0).random((1000, 14)), np.ones((1000, 10))
    )
    assert (pool.features.nbytes + pool.statistics.nbytes) / len(pool) * 2e6 <= 500e6 / 2


@pytest.mark.parametrize(
    ("segments", "features", "statistics", "message"),
    [
        ([0, 2], np.ones((2, 2)), np.ones((2, 1)), "an unknown segment"),
        ([0], np.ones((1, 3)), np.ones((1, 1)), "do not fit"),
        ([0], np.array([[np.nan, 1.0]]), np.ones((1, 1)), "not finite"),
        ([0], np.array([[1e300, 1.0]]), np.ones((1, 1)), "not finite"),
        ([0], np.ones((1, 2)), np.array([[0.5]]), "whole numbers"),
        ([0], np.ones((1, 2)), np.array([[2.0**40]]), "whole numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
def test_what_does_not_fit_is_refused(segments, features, statistics, message):
    with pytest.raises(ReplituneError, match=message):
        Pool.empty(2, 2, 1).extend(segments, features, statistics)


def test_a_sample_repeats_segments():
    rng = np.random.default_rng(3)
    segments = np.repeat([0, 1, 2], [2, 1, 3])
    pool = Pool.empty(3, 2, 1).extend(segments, rng.random((6, 2)), np.arange(6)[:, None])
    sample = pool.select(np.array([2, 0, 2]))
    assert np.diff(sample.offsets).tolist() == [3, 2, 3]
    third = slice(pool.offsets[2], pool.offsets[3])
    for part in (slice(0, 3), slice(5, 8)):
        assert (sample.features[:, part] == pool.features[:, third]).all()
        assert (sample.statistics[part] == pool.statistics[third]).all()


def test_kernels_equal_numpy():
    rng = np.random.default_rng(1)
    features = rng.random((11, 5000)).astype(np.float32)
    direction = rng.normal(size=11)
    direction[[2, 7]] = 0
    np.testing.assert_allclose(combine(direction, features), direction @ features, rtol=1e-12)
    offsets = np.array([0, 1, 40, 41, 3000, 5000])
    values = np.round(features[0], 2).astype(float)
    least, most = segment_ends(values, offsets)
    for s in range(5):
        part = values[offsets[s] : offsets[s + 1]]
        assert least[s] == offsets[s] + np.argmin(part)
        assert most[s] == segment_argmax(values, offsets)[s] == offsets[s] + np.argmax(part)
