from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from replitune.errors import ReplituneError
from replitune.meta.metric_correlations import williams

QUICK = settings(deadline=None, derandomize=True, max_examples=60)


def independent(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Williams' T2 as Steiger (1980), eq. 7, has it: by the determinant of the correlations."""
    matrix = np.array([[1, r12, r13], [r12, 1, r23], [r13, r23, 1]])
    mean = (r12 + r13) / 2
    under = 2 * (n - 1) / (n - 3) * np.linalg.det(matrix) + mean**2 * (1 - r23) ** 3
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / under)
    return t, float(stats.t.sf(t, n - 3))


def test_by_hand():
    # K = 1 - .64 - .49 - .36 + 2 * .8 * .7 * .6 = .182
    # t = .1 sqrt(11 * 1.6) / sqrt(2 * .182 * 11/9 + 2.25 * .064 / 4)
    #   = .1 * 4.195235 / sqrt(.444889 + .036) = .4195235 / .6934616 = .604970
    found = williams(0.8, 0.7, 0.6, 12)
    assert found.t == pytest.approx(0.604970, abs=1e-5)
    assert found.df == 9
    assert found.p == pytest.approx(0.280056, abs=1e-4)


@QUICK
@given(st.integers(0, 10_000), st.integers(4, 60))
def test_the_formula_equals_an_independent_one(seed: int, n: int):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(3, n)) + rng.normal(size=n)
    (_, r12, r13), (_, _, r23), _ = np.corrcoef(data)
    t, p = independent(r12, r13, r23, n)
    found = williams(r12, r13, r23, n)
    assert found.t == pytest.approx(t, rel=1e-6, abs=1e-9)
    assert found.p == pytest.approx(p, rel=1e-6)


@QUICK
@given(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), st.floats(-0.5, 0.5), st.integers(4, 40))
def test_the_other_metric_has_the_rest(r12: float, r13: float, r23: float, n: int):
    first, second = williams(r12, r13, r23, n), williams(r13, r12, r23, n)
    if first.p is None or second.p is None:
        assert first.note == second.note == "no data can have these three correlations"
        return
    assert first.p + second.p == pytest.approx(1)


def test_more_power_when_the_metrics_correlate_more():
    p = [williams(0.8, 0.7, r23, 12).p for r23 in (0.6, 0.8, 0.95)]
    assert p == sorted(p, reverse=True)


def test_equal_correlations_are_no_evidence():
    assert williams(0.7, 0.7, 0.5, 10).p == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("r12", "r13", "r23", "n", "note"),
    [
        (0.8, 0.7, 0.6, 3, "needs at least 4"),
        (0.8, None, 0.6, 12, "not defined"),
        (0.8, 0.8, 1.0, 12, "the same up to scale"),
        (0.9, -0.9, 0.9, 12, "no data can have"),
        (1.0, -1.0, -1.0, 12, "zero variance"),
    ],
)
def test_what_cannot_be_tested_is_none_with_a_note(r12, r13, r23, n, note):
    found = williams(r12, r13, r23, n)
    assert found.p is None
    assert found.t is None
    assert note in (found.note or "")


def test_wrong_arguments_are_refused():
    with pytest.raises(ReplituneError, match="between -1 and 1"):
        williams(1.2, 0.5, 0.5, 10)


def test_equal_correlations_are_rejected_as_often_as_they_should():
    # two metrics: the same quality plus independent noise of the same size; 15 systems
    rng = np.random.default_rng(11)
    trials, n = 3000, 15
    human, x, y = rng.normal(size=(trials, n)) + rng.normal(0, 0.7, (3, trials, n))
    rejected = 0
    for h, a, b in zip(human, x, y, strict=True):
        (_, r12, r13), (_, _, r23), _ = np.corrcoef([h, a, b])
        rejected += williams(r12, r13, r23, n).p <= 0.05
    assert 0.038 <= rejected / trials <= 0.062
