from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from replitune.significance.critical import Layers, critical_values, layers


def test_one_part_is_students_t():
    weight, df = layers(np.array([3.0]), np.array([4.0]))
    assert Layers(weight, df).value(0.025) == pytest.approx(stats.t.isf(0.025, 4))
    assert Layers(weight, df).tail(2.5) == pytest.approx(stats.t.sf(2.5, 4))
    assert Layers(weight, df).effective_df(0.05) == 4.0


def test_equal_variances_are_pooled():
    weight, df = layers(np.array([1.0, 1.0]), np.array([4.0, 4.0]))
    assert Layers(weight, df).value(0.025) == pytest.approx(stats.t.isf(0.025, 8))


def test_a_dominant_part_keeps_its_own_degrees_of_freedom():
    weight, df = layers(np.array([1.0, 1e-9]), np.array([2.0, 400.0]))
    assert Layers(weight, df).value(0.025) == pytest.approx(stats.t.isf(0.025, 2), rel=1e-6)


def test_layers_by_hand():
    """Levels V/nu: 1, 2, 4. All have 1: 1 x 7; the last two 1 more: 1 x 4; the last 2 x 1."""
    weight, df = layers(np.array([6.0, 4.0, 3.0]), np.array([3.0, 1.0, 3.0]))
    np.testing.assert_allclose(df, [7, 4, 1])
    np.testing.assert_allclose(weight, np.array([7, 4, 2]) / 13)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(
        st.tuples(st.floats(0, 1e3), st.sampled_from([1.0, 2.0, 4.0, 19.0, 499.0])), min_size=1, max_size=7
    ).filter(lambda parts: sum(value for value, _ in parts) > 1e-3),
    st.sampled_from([0.2, 0.025, 1e-4, 1e-12]),
)
def test_between_pooled_and_cochran_cox(parts, q):
    """Never above Cochran and Cox's value, never below the t of all degrees of freedom."""
    values, nus = (np.array(column) for column in zip(*parts, strict=True))
    weight, df = layers(values, nus)
    assert weight.sum() == pytest.approx(1)
    assert (weight >= 0).all()
    found = Layers(weight, df).value(q)
    cochran_cox = (values / values.sum() * stats.t.isf(q, nus)).sum()
    assert stats.t.isf(q, nus.sum()) * (1 - 1e-9) <= found <= cochran_cox * (1 + 1e-9)
    assert critical_values(values[None], nus, q)[0] == pytest.approx(found, rel=1e-12)
    assert Layers(weight, df).tail(found) == pytest.approx(q, rel=1e-8)
    assert stats.t.isf(0.025, Layers(weight, df).effective_df(0.05)) == pytest.approx(
        Layers(weight, df).value(0.025), rel=1e-6
    )


@pytest.mark.parametrize("ratio", [0.01, 0.1, 1.0, 10.0])
def test_level_with_one_noisy_system(ratio):
    """Parts drawn as scaled chi-squares: the level holds where Satterthwaite's does not."""
    rng, trials = np.random.default_rng(1), 40_000
    true, nus = np.array([ratio, 1e-3 * ratio, 1.0]), np.array([2.0, 2.0, 499.0])
    parts = true * rng.chisquare(nus, (trials, 3)) / nus
    t = np.abs(rng.normal(0, np.sqrt(true.sum()), trials)) / np.sqrt(parts.sum(axis=1))
    assert (t > critical_values(parts, nus, 0.025)).mean() < 0.055
    assert (t > critical_values(parts, nus, 0.005)).mean() < 0.0135
    if ratio == 10.0:
        welch = parts.sum(axis=1) ** 2 / (parts**2 / nus).sum(axis=1)
        assert (t > stats.t.isf(0.025, welch)).mean() > 0.075
