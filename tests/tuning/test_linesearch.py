from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.tuning.linesearch import Line, PoolSearch, best_step
from replitune.tuning.objective import Objective


def brute_force(pool, objective, weights, direction, gamma) -> float:
    """Corpus utility at one place, every hypothesis looked at."""
    values = weights @ pool.features + gamma * (direction @ pool.features)
    total = 0
    for s in range(pool.n_segments):
        lo, hi = pool.offsets[s], pool.offsets[s + 1]
        total = total + pool.statistics[lo + int(np.argmax(values[lo:hi]))].astype(np.int64)
    return float(objective.utility(total))


def crossings(pool, weights, direction) -> np.ndarray:
    """Where any two hypotheses of a segment have equal scores."""
    a, b = weights @ pool.features, direction @ pool.features
    out = []
    for s in range(pool.n_segments):
        rows = slice(pool.offsets[s], pool.offsets[s + 1])
        da, db = (np.subtract.outer(x[rows], x[rows]) for x in (a, b))
        out.append((-da[db > 0] / db[db > 0]).ravel())
    return np.unique(np.concatenate(out)) if out else np.empty(0)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_line_search_equals_brute_force(draw_hypotheses, bleu: Objective, seed: int, whole: bool):
    rng = np.random.default_rng(seed + 100)
    most = (3, 8, 40)[seed % 3]
    pool = draw_hypotheses(seed, n_segments=6, most=most, n_features=3, whole=whole).pool()
    weights = rng.integers(-2, 3, 3).astype(float) if whole else rng.normal(size=3)
    direction = np.eye(3)[seed % 3] if seed % 2 else rng.normal(size=3)
    search = PoolSearch(pool, bleu)
    point = search.at(weights)
    along = search.axis(seed % 3) if seed % 2 else search.along(direction)
    line = point.line(along)
    places = np.linspace(-5, 5, 401) + 0.00137
    corners = crossings(pool, weights, direction)
    if len(corners):
        middles = 0.5 * (corners[1:] + corners[:-1])[np.diff(corners) > 1e-9]
        places = np.concatenate([places, middles, [corners[0] - 1, corners[-1] + 1]])
    near = np.abs(places[:, None] - corners[None, :]).min(axis=1) if len(corners) else np.ones(1)
    places = places[near > 1e-12]
    found = line.utilities[np.searchsorted(line.edges, places)]
    expected = [brute_force(pool, bleu, weights, direction, gamma) for gamma in places]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    step = best_step(line)
    assert step.best >= max(expected) - 1e-9
    if step.gamma:
        at = brute_force(pool, bleu, weights, direction, step.gamma)
        assert at == pytest.approx(step.best, abs=1e-9)


def test_many_hypotheses_take_the_refining_pass(draw_hypotheses, bleu: Objective):
    """Long lists, where lines are dropped in two passes before they are sorted."""
    pool = draw_hypotheses(5, n_segments=4, most=600, n_features=2, whole=False).pool()
    weights, direction = np.array([0.3, -1.0]), np.array([1.0, 0.2])
    search = PoolSearch(pool, bleu)
    line = search.at(weights).line(search.along(direction))
    places = np.linspace(-20, 20, 301)
    expected = [brute_force(pool, bleu, weights, direction, gamma) for gamma in places]
    found = line.utilities[np.searchsorted(line.edges, places)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_line_on_which_nothing_changes_is_one_interval(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(0, n_segments=3, most=5, n_features=2, whole=False).pool()
    search = PoolSearch(pool, bleu)
    line = search.at(np.ones(2)).line(search.along(np.zeros(2)))
    assert len(line.edges) == 0
    assert best_step(line).gamma == 0.0


def test_averaging_is_the_mean_over_neighbouring_intervals():
    values = np.random.default_rng(1).random(30)
    line = Line(np.arange(29.0) - 4.5, values)
    window = 3
    means = [values[max(0, i - window) : i + window + 1].mean() for i in range(30)]
    step = best_step(line, window)
    assert step.best == pytest.approx(max(means))
    assert step.here == pytest.approx(means[5])
    assert step.gamma == pytest.approx(int(np.argmax(means)) - 5.0)


def test_intervals_as_narrow_as_rounding_are_not_chosen():
    line = Line(np.array([-1.0, 1.0, 1.0 + 1e-13, 2.0]), np.array([1.0, 2.0, 9.0, 3.0, 1.0]))
    assert best_step(line).best == 3.0


def test_beyond_the_outermost_corners():
    left = best_step(Line(np.array([-2.0, 3.0]), np.array([5.0, 1.0, 2.0])))
    right = best_step(Line(np.array([-2.0, 3.0]), np.array([1.0, 1.5, 5.0])))
    assert left.gamma < -2.0
    assert right.gamma > 3.0


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seed=st.integers(0, 10**6), scale=st.floats(0.01, 100.0))
def test_scaling_the_weights_changes_no_choice(seed: int, scale: float):
    from replitune.tuning.pool import segment_argmax

    rng = np.random.default_rng(seed)
    values = rng.normal(size=50)
    offsets = np.array([0, 7, 8, 30, 50])
    assert (segment_argmax(values, offsets) == segment_argmax(values * scale, offsets)).all()
    # not more than segment-wise shifts either
    assert (segment_argmax(values, offsets) == segment_argmax(values + 4.0, offsets)).all()
