from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.tuners import get_tuner
from replitune.tuning.mert import Mert
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool
from replitune.tuning.weights import Layout

START = np.array([0.5, 0.2, -0.4])


def sweep_of_all_angles(pool: Pool, objective: Objective) -> float:
    """The best score of any two weights: directions between all angles at which two
    hypotheses of a segment are equal."""
    angles = [0.0]
    for s in range(pool.n_segments):
        x = pool.features[:, pool.offsets[s] : pool.offsets[s + 1]].T
        d = (x[:, None] - x[None, :]).reshape(-1, 2)
        d = d[(d != 0).any(axis=1)]
        angles.extend(np.arctan2(d[:, 0], -d[:, 1]))
        angles.extend(np.arctan2(-d[:, 0], d[:, 1]))
    ordered = np.unique(angles)
    ordered = np.append(ordered, ordered[0] + 2 * np.pi)
    middles = (0.5 * (ordered[1:] + ordered[:-1]))[np.diff(ordered) > 1e-9]
    return max(float(objective.score(pool, np.array([np.cos(t), np.sin(t)]))) for t in middles)


@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_of_two_features_is_that_of_an_exhaustive_sweep(
    draw_hypotheses, bleu: Objective, seed: int
):
    pool = draw_hypotheses(seed, n_segments=8, most=7, n_features=2, whole=False).pool()
    found = Mert(restarts=6).tune(pool, bleu, np.array([1.0, 1.0]), np.random.default_rng(seed))
    assert found.score == pytest.approx(sweep_of_all_angles(pool, bleu), abs=1e-9)


def test_separable_hypotheses_give_the_oracle(separable_hypotheses, oracle_score, bleu: Objective):
    hypotheses = separable_hypotheses(3)
    result = Mert(restarts=3).tune(
        hypotheses.pool(), bleu, np.array([-1.0, 0.5, 1.0, 0.2]), np.random.default_rng(0)
    )
    assert result.score == pytest.approx(oracle_score(hypotheses, bleu))


def test_the_score_is_that_of_the_weights(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(9, n_segments=20, most=30, n_features=3, whole=True).pool()
    result = Mert(restarts=4).tune(pool, bleu, START, np.random.default_rng(1))
    assert result.score == bleu.score(pool, result.weights)
    assert result.score == max(row["score"] for row in result.history)
    assert np.abs(result.weights).sum() == pytest.approx(1.0)


@settings(deadline=None, derandomize=True, max_examples=8)
@given(seed=st.integers(0, 10**6), whole=st.booleans())
def test_the_order_of_segments_and_hypotheses_does_not_matter(
    draw_hypotheses, bleu: Objective, seed: int, whole: bool
):
    hypotheses = draw_hypotheses(seed, 6, 12, 3, whole=whole)
    rng = np.random.default_rng(seed)
    plain = hypotheses.pool()
    shuffled = hypotheses.pool(rng.permutation(len(hypotheses.segments)))
    renumbered = rng.permutation(6)
    hypotheses.segments = renumbered[hypotheses.segments]
    moved = hypotheses.pool()
    results = [
        Mert(restarts=2).tune(pool, bleu, START, np.random.default_rng(7))
        for pool in (plain, shuffled, moved)
    ]
    assert results[0].weights.tobytes() == results[1].weights.tobytes()
    assert results[0].weights.tobytes() == results[2].weights.tobytes()


def test_threads_change_nothing_and_another_seed_does(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(2, n_segments=30, most=40, n_features=3, whole=False).pool()
    tuner = Mert(restarts=5)
    one = tuner.tune(pool, bleu, START, np.random.default_rng(5), threads=1)
    two = tuner.tune(pool, bleu, START, np.random.default_rng(5), threads=2)
    other = tuner.tune(pool, bleu, START, np.random.default_rng(6))
    assert one.weights.tobytes() == two.weights.tobytes()
    assert one.history == two.history
    assert other.weights.tobytes() != one.weights.tobytes()


def test_frozen_features_keep_their_weights(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(4, n_segments=15, most=20, n_features=3, whole=False).pool()
    tuner = Mert(restarts=3, frozen=("LM0",))
    with pytest.raises(ReplituneError, match="need the features' names"):
        tuner.tune(pool, bleu, START, np.random.default_rng(0))
    tuner = tuner.for_features(Layout(("TM0", "LM0", "D0"), (1, 1, 1)))
    result = tuner.tune(pool, bleu, START, np.random.default_rng(0))
    assert result.weights[1] == START[1]
    assert (result.weights[[0, 2]] != START[[0, 2]]).any()


def test_the_worst_starts_are_dropped_between_phases(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(4, n_segments=15, most=20, n_features=3, whole=False).pool()
    averaging = (0.1, 0.02)
    for survivors, left in ((1.0, 8), (0.5, 2), (0.7, 5)):
        tuner = Mert(restarts=7, survivors=survivors, averaging=averaging)
        result = tuner.tune(pool, bleu, START, np.random.default_rng(0))
        converged = [row for row in result.history if row["converged"]]
        assert len(converged) == left
        assert result.score == max(row["score"] for row in result.history)


def test_starts_are_in_their_range(draw_hypotheses, bleu: Objective):
    """With one value for every feature there is one direction to start from: no chance left."""
    pool = draw_hypotheses(4, n_segments=15, most=20, n_features=3, whole=False).pool()
    only = (0.25, 0.25)
    tuner = Mert(restarts=2, directions=0, restart_range=only, averaging=(), max_rounds=1)
    scores = [
        Mert(restarts=0, directions=0, averaging=(), max_rounds=1)
        .tune(pool, bleu, np.full(3, 0.25), np.random.default_rng(s).spawn(1)[0])
        .score
        for s in range(20)
    ]
    result = tuner.tune(pool, bleu, START, np.random.default_rng(3))
    assert {round(row["score"], 9) for row in result.history[1:]} <= {round(s, 9) for s in scores}


def test_a_metric_without_kernel_where_lower_is_better(draw_hypotheses):
    hypotheses = draw_hypotheses(8, n_segments=10, most=9, n_features=2, whole=False)
    pool = hypotheses.pool()
    errors = np.stack([20.0 - pool.statistics[:, 0], np.full(len(pool), 20.0)], axis=1)
    pool = Pool(pool.features, errors, pool.offsets)
    objective = Objective(MeanMetric(higher_is_better=False))
    result = Mert(restarts=4).tune(pool, objective, np.ones(2), np.random.default_rng(0))
    turned = Objective(MeanMetric())
    best = Pool(pool.features, np.stack([-errors[:, 0], errors[:, 1]], axis=1), pool.offsets)
    assert result.score == pytest.approx(-sweep_of_all_angles(best, turned), abs=1e-9)
    assert result.score < objective.score(pool, np.ones(2))


def test_bleu_kernel_and_metric_agree(draw_hypotheses, bleu: Objective):
    statistics = draw_hypotheses(0, 30, 30, 2, whole=False).statistics.astype(np.int64)
    sums = np.cumsum(statistics, axis=0)
    np.testing.assert_allclose(bleu.utilities(sums), bleu.utility(sums), rtol=1e-12)
    sums[3, 3] = 0  # smoothed by the metric, which then does all rows
    assert (bleu.utilities(sums) == bleu.utility(sums)).all()


def test_a_constant_objective_is_refused(draw_hypotheses, bleu: Objective):
    hypotheses = draw_hypotheses(1, n_segments=4, most=5, n_features=2, whole=False)
    hypotheses.statistics[:] = 5
    with pytest.raises(ReplituneError, match="objective is constant"):
        Mert().tune(hypotheses.pool(), bleu, np.ones(2), np.random.default_rng(0))


def test_an_empty_list_is_refused(bleu: Objective, draw_hypotheses):
    hypotheses = draw_hypotheses(1, n_segments=4, most=5, n_features=2, whole=False)
    rows = np.flatnonzero(hypotheses.segments != 2)
    with pytest.raises(ReplituneError, match="segments without hypotheses"):
        Mert().tune(hypotheses.pool(rows), bleu, np.ones(2), np.random.default_rng(0))


@pytest.mark.parametrize("setting", [{"restarts": -1}, {"averaging": (1.5,)}, {"tolerance": float("nan")}])
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(ReplituneError, match="mert"):
        get_tuner("mert", setting)
