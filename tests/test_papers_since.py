"""The page of later papers says what its CSV files say, and its simulations test what they name."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import stats

from significance.calls import crossed
from significance.crossed_models import comparison
from support import ROOT

sys.path.insert(0, str(ROOT / "benchmarks" / "papers"))


def test_tables_of_the_pages_are_current():
    from page import DOCS, TABLES, filled

    for name in TABLES:
        text = (DOCS / name).read_text("utf-8")
        assert filled(name) == text, "run: python benchmarks/papers/page.py"


def test_of_one_answer_each_crossed_is_the_paired_t_test():
    """What bowyer.py takes it for; and miller.py a copy of each run, with documents."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=(1, 50))
    b = a / 2 + rng.normal(0.2, 1, (1, 50))
    found = crossed(comparison(a, b), scope="segments")
    assert found.p == pytest.approx(stats.ttest_rel(b[0], a[0]).pvalue, rel=1e-9)
    documents = np.repeat(np.arange(20), [1, 4] * 10)
    one = crossed(comparison(a, b, documents=documents), scope="segments", unit="document")
    twice = [np.repeat(x, 2, axis=0) for x in (a, b)]
    copies = crossed(comparison(*twice, documents=documents), scope="segments", unit="document")
    assert (copies.p, copies.df) == pytest.approx((one.p, one.df), rel=1e-9)


def test_wilson_and_newcombe_are_scores_that_are_not_rejected():
    """Wilson's ends are where the score test has p = .05; of answers that do not depend on each
    other, Newcombe's interval combines both systems' as if they were independent."""
    from bowyer import newcombe, wilson

    low, high = wilson(np.array([17.0]), 20)
    for end in (low[0], high[0]):
        assert abs(0.85 - end) / np.sqrt(end * (1 - end) / 20) == pytest.approx(1.959964)
    a = np.repeat([1.0, 1.0, 0.0, 0.0], [12, 12, 4, 4])[np.newaxis]
    b = np.tile([1.0, 0.0], 16)[np.newaxis]
    (l_a,), (u_a,) = wilson(a.sum(1), 32)
    (l_b,), (u_b,) = wilson(b.sum(1), 32)
    (low,), (high,) = newcombe(a, b, 32)
    p_a, p_b = a.mean(), b.mean()
    assert low == pytest.approx(p_b - p_a - np.hypot(p_b - l_b, u_a - p_a))
    assert high == pytest.approx(p_b - p_a + np.hypot(u_b - p_b, p_a - l_a))
