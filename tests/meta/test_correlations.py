from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from meta.meta_models import drawn, oracle
from replitune.errors import ReplituneError
from replitune.meta.correlations import COEFFICIENTS, Averages, few_items, many_items

QUICK = settings(deadline=None, derandomize=True, max_examples=40)
COEFFICIENT = st.sampled_from(COEFFICIENTS)


@st.composite
def weighted(draw, most: int = 8):
    """Values with ties, and how often each was drawn."""
    m = draw(st.integers(2, most))
    values = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3, width=32))
    x, z = (draw(arrays(np.float64, m, elements=values)) for _ in range(2))
    w = draw(arrays(np.int64, (3, m), elements=st.integers(0, 3)))
    return x, z, w


@QUICK
@given(weighted(), COEFFICIENT)
def test_a_weighted_coefficient_is_scipys_of_the_resample(data, coefficient: str):
    x, z, w = data
    few, many = few_items(x, z, coefficient, w), many_items(x, z, coefficient, w)
    for b, weights in enumerate(w):
        # what is equal to 12 digits is equal here
        a, c = (np.round(v / max(np.abs(v).max(), 1e-300), 12) for v in (x, z))
        expected = oracle(coefficient, drawn(a, weights), drawn(c, weights))
        assert few[b] == pytest.approx(expected, abs=1e-6, nan_ok=True)
        assert many[b] == pytest.approx(expected, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_coefficients_of_many_cells_are_scipys(coefficient: str):
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000).round(1)
    z = (x + rng.normal(size=3000)).round(1)
    w = rng.multinomial(3000, np.full(3000, 1 / 3000), size=2)
    assert many_items(x, z, coefficient)[0] == pytest.approx(oracle(coefficient, x, z), abs=1e-12)
    for b, found in enumerate(many_items(x, z, coefficient, w)):
        expected = oracle(coefficient, drawn(x, w[b]), drawn(z, w[b]))
        assert found == pytest.approx(expected, abs=1e-12)


@QUICK
@given(weighted(), COEFFICIENT)
def test_coefficients_are_symmetric_and_bounded(data, coefficient: str):
    x, z, w = data
    there, back = few_items(x, z, coefficient, w), few_items(z, x, coefficient, w)
    np.testing.assert_allclose(there, back, atol=1e-12)
    np.testing.assert_allclose(few_items(-x, z, coefficient, w), -there, atol=1e-12)
    known = there[~np.isnan(there)]
    assert (np.abs(known) <= 1).all()


def test_equal_up_to_rounding_is_a_tie():
    x = np.array([0.1 + 0.2, 0.3, 1.0, 2.0])
    z = np.array([1.0, 2.0, 3.0, 4.0])
    assert few_items(x, z, "kendall") == pytest.approx(oracle("kendall", [0.3, 0.3, 1, 2], z))
    assert many_items(x, z, "kendall") == pytest.approx(oracle("kendall", [0.3, 0.3, 1, 2], z))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_a_constant_has_no_coefficient_and_no_warning(coefficient: str):
    x, z = np.full(5, 0.1) * np.array([1, 1, 1, 1, 1]), np.arange(5.0)
    for function in (few_items, many_items):
        assert np.isnan(function(x, z, coefficient)).all()
        assert np.isnan(function(z, np.zeros(5), coefficient)).all()
        assert np.isnan(function(z, z, coefficient, np.zeros((1, 5), dtype=int))).all()


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_huge_and_tiny_scales_do_not_matter(coefficient: str):
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 12))
    for scale in (1e-250, 1e250):
        assert few_items(x * scale, z, coefficient) == pytest.approx(oracle(coefficient, x, z))
        assert many_items(x, z * scale, coefficient) == pytest.approx(oracle(coefficient, x, z))


@st.composite
def cells(draw):
    S, N = draw(st.integers(2, 5)), draw(st.integers(1, 5))
    values = st.integers(-2, 2).map(float)
    x, z = (draw(arrays(np.float64, (S, N), elements=values)) for _ in range(2))
    present = draw(arrays(np.bool_, (S, N)))
    systems = draw(arrays(np.int64, (2, S), elements=st.integers(0, 2)))
    segments = draw(arrays(np.int64, (2, N), elements=st.integers(0, 2)))
    return x, z, present, systems, segments


@QUICK
@given(cells(), COEFFICIENT)
def test_averages_over_segments_one_by_one(data, coefficient: str):
    x, z, present, systems, segments = data
    found, used = Averages(x, z, present, coefficient)(systems, segments)
    for b in range(2):
        values = []
        for i in range(x.shape[1]):
            here = systems[b] * present[:, i]
            value = oracle(coefficient, drawn(x[:, i], here), drawn(z[:, i], here))
            values += [value] * segments[b, i]
        values = [value for value in values if not np.isnan(value)]
        assert used[b] == len(values)
        expected = np.mean(values) if values else np.nan
        assert found[b] == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_an_unknown_coefficient_is_refused():
    with pytest.raises(ReplituneError, match="did you mean 'kendall'"):
        few_items(np.arange(3.0), np.arange(3.0), "kendal")
