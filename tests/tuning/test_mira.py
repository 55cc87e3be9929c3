from __future__ import annotations

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.tuners import get_tuner
from replitune.tuning.combination import Combination
from replitune.tuning.mira import Mira
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool

START = np.array([0.5, 0.2, -0.4])


def plain_mira(pool: Pool, objective: Objective, start, rng, epochs: int, c=0.01, decay=0.999):
    """Algorithm 1 of the paper, one hypothesis at a time."""
    weights = start.copy()
    background = objective.sums(pool, weights) / pool.n_segments
    averages = []
    for _ in range(epochs):
        total = np.zeros_like(weights)
        for s in rng.permutation(pool.n_segments):
            rows = range(pool.offsets[s], pool.offsets[s + 1])
            model = [float(weights @ pool.features[:, h]) for h in rows]
            gain = []
            for h in rows:
                sums = background + pool.statistics[h]
                gain.append(float(objective.metric.score(sums)) / 100 * sums[9])
            hope = int(np.argmax(np.add(model, gain)))
            fear = int(np.argmax(np.subtract(model, gain)))
            if hope != fear:
                difference = pool.features[:, rows[hope]] - pool.features[:, rows[fear]]
                loss = gain[hope] - gain[fear] - weights @ difference
                if loss > 0:
                    weights = weights + min(c, loss / (difference @ difference)) * difference
                background = decay * background + pool.statistics[rows[hope]]
            total += weights
        averages.append(total / pool.n_segments)
    return averages


def test_the_kernel_does_algorithm_1(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(3, n_segments=25, most=15, n_features=3, whole=False).pool()
    averages = plain_mira(pool, bleu, START, np.random.default_rng(4), epochs=5)
    result = Mira(epochs=5).tune(pool, bleu, START, np.random.default_rng(4))
    scores = [bleu.score(pool, w) for w in averages]
    best = int(np.argmax(scores))
    expected = averages[best] / np.abs(averages[best]).sum()
    np.testing.assert_allclose(result.weights, expected, rtol=1e-10)
    np.testing.assert_allclose([row["score"] for row in result.history], scores)
    assert result.score == bleu.score(pool, result.weights)


@pytest.mark.parametrize("settings", [{}, {"background": "model", "averaging": "run"}])
def test_any_metric_goes_the_same_way_as_the_bleu_kernel(draw_hypotheses, bleu, settings):
    pool = draw_hypotheses(5, n_segments=20, most=12, n_features=3, whole=False).pool()
    wrapped = Objective(Combination([(1.0, Bleu(tokenize="none"))]))
    tuner = Mira(epochs=4, **settings)
    one = tuner.tune(pool, bleu, START, np.random.default_rng(2))
    other = tuner.tune(pool, wrapped, START, np.random.default_rng(2))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)


def test_separable_hypotheses_give_the_oracle(separable_hypotheses, oracle_score, bleu: Objective):
    hypotheses = separable_hypotheses(1)
    result = Mira(epochs=40, c=0.1).tune(
        hypotheses.pool(), bleu, np.array([-1.0, 0.5, 1.0, 0.2]), np.random.default_rng(0)
    )
    assert result.score == pytest.approx(oracle_score(hypotheses, bleu))
    losses = [row["loss"] for row in result.history]
    assert np.mean(losses[-5:]) < 0.2 * losses[0]


def test_lower_is_better_and_no_reference_length(separable_hypotheses):
    pool = separable_hypotheses(2).pool()
    errors = np.stack([100.0 - 5 * pool.statistics[:, 0], np.ones(len(pool))], axis=1)
    pool = Pool(pool.features, errors, pool.offsets)
    objective = Objective(MeanMetric(higher_is_better=False))
    start = np.array([-1.0, 0.5, 1.0, 0.2])
    result = Mira(epochs=20, c=0.1).tune(pool, objective, start, np.random.default_rng(0))
    assert result.score == pytest.approx(errors[:, 0].min())


def test_same_seed_same_bytes(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(3, n_segments=25, most=15, n_features=3, whole=False).pool()
    one, two, other = (
        Mira(epochs=5).tune(pool, bleu, START, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert one.weights.tobytes() == two.weights.tobytes() != other.weights.tobytes()
    fixed = [
        Mira(epochs=5, shuffle=False).tune(pool, bleu, START, np.random.default_rng(seed))
        for seed in (1, 2)
    ]
    assert fixed[0].weights.tobytes() == fixed[1].weights.tobytes()


@pytest.mark.parametrize(
    "setting", [{"epochs": 0}, {"c": 0.0}, {"decay": 1.0}, {"background": "x"}, {"averaging": "x"}]
)
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(ReplituneError, match="mira"):
        get_tuner("mira", setting)
