from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from replitune.errors import ReplituneError
from replitune.metrics.bleu import Bleu
from replitune.tuners import get_tuner
from replitune.tuning.objective import Objective
from replitune.tuning.pro import Pro, bleu_plus_one, fit_logistic
from replitune.tuning.pro_kernel import logistic, sample

START = np.array([0.5, 0.2, -0.4])
MASK = (1 << 64) - 1


def mix(h: int) -> int:
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & MASK
    return h ^ (h >> 31)


def plain_sample(worth, offsets, key, samples, kept, threshold):
    """Figure 4 of the paper, with the kernel's random numbers."""
    out = []
    for s in range(len(offsets) - 1):
        n = int(offsets[s + 1] - offsets[s])
        state = mix(key ^ mix(s))
        drawn = []
        for j in range(samples if n > 1 else 0):
            state = (state + 0x9E3779B97F4A7C15) & MASK
            bits = mix(state)
            a = int(offsets[s]) + (((bits >> 32) * n) >> 32)
            b = int(offsets[s]) + (((bits & 0xFFFFFFFF) * n) >> 32)
            gap = worth[a] - worth[b]
            if abs(gap) > threshold:
                drawn.append((-abs(gap), j, (a, b) if gap > 0 else (b, a)))
        out.extend(pair for _, _, pair in sorted(drawn)[:kept])
    return np.array(out)


@pytest.mark.parametrize("kept", [1, 7, 60])
def test_the_kernel_keeps_the_pairs_that_differ_most(kept: int):
    rng = np.random.default_rng(0)
    offsets = np.array([0, 1, 5, 30, 32])
    worth = np.round(rng.random(32), 2)
    pairs = sample(worth, offsets, np.uint64(77), 50, kept, 0.05)
    assert pairs.tolist() == plain_sample(worth, offsets, 77, 50, kept, 0.05).tolist()
    assert (worth[pairs[:, 0]] > worth[pairs[:, 1]]).all()


def test_draws_are_uniform_over_a_segment():
    offsets = np.array([0, 10])
    pairs = sample(np.arange(10.0), offsets, np.uint64(3), 90_000, 90_000, 0.5)
    counts = np.bincount(pairs.ravel(), minlength=10)
    assert abs(counts - counts.mean()).max() < 5 * np.sqrt(counts.mean())


def test_bleu_plus_one_is_add_one_above_unigrams(draw_hypotheses):
    statistics = draw_hypotheses(0, 20, 20, 2, whole=False).statistics
    metric = Bleu(tokenize="none", smooth_method="add-k", smooth_value=1.0)
    np.testing.assert_allclose(100 * bleu_plus_one(statistics, 4), metric.score(statistics))


def test_the_repairs_of_bleu_plus_one():
    """3 of 4 unigrams, 2 of 3 bigrams, 1 of 2 trigrams, no 4-gram; reference of 5 words."""
    z = np.array([[3, 2, 1, 0, 4, 3, 2, 1, 4, 5]])
    precision = (3 / 4 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert bleu_plus_one(z, 4)[0] == pytest.approx(precision * np.exp(1 - 5 / 4))
    smooth = bleu_plus_one(z, 4, smooth_brevity=True)[0]
    assert smooth == pytest.approx(precision * np.exp(1 - 6 / 4))
    z[0, 9] = 2
    assert bleu_plus_one(z, 4)[0] == pytest.approx(precision)
    unclipped = bleu_plus_one(z, 4, unclipped_brevity=True)[0]
    assert unclipped == pytest.approx(precision * np.exp(1 - 2 / 4))
    nothing = (1 / 4 * 1 / 4 * 1 / 3 * 1 / 2) ** 0.25
    assert bleu_plus_one(z, 4, grounded=True)[0] == pytest.approx(precision - nothing)


def test_the_gradient_of_the_classifier():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(40, 3)), rng.normal(size=3)
    value, gradient, curvature = logistic(x, w)
    assert value == pytest.approx(np.log1p(np.exp(-x @ w)).sum())
    np.testing.assert_allclose(
        gradient, approx_fprime(w, lambda v: logistic(x, v)[0]), rtol=1e-5, atol=1e-5
    )
    bends = [approx_fprime(w, lambda v, f=f: logistic(x, v)[1][f]) for f in range(3)]
    np.testing.assert_allclose(curvature, bends, rtol=1e-5, atol=1e-5)
    assert np.isfinite(logistic(1e4 * x, w)[0])


def test_the_classifier_is_at_its_minimum():
    x = np.random.default_rng(1).normal([0.3, -0.2, 0.0], 1.0, size=(200, 3))
    weights, loss, _ = fit_logistic(x, 1.0)
    gradient = logistic(x, weights)[1] + weights
    assert np.abs(gradient).max() < 1e-4
    assert loss < np.log(2)


def test_separable_hypotheses_give_the_oracle(separable_hypotheses, oracle_score, bleu: Objective):
    hypotheses = separable_hypotheses(1)
    start = np.array([-1.0, 0.5, 1.0, 0.2])
    tuner = Pro(samples=500, kept=500, threshold=0.0, l2=1e-6)
    result = tuner.tune(hypotheses.pool(), bleu, start, np.random.default_rng(0))
    assert result.score == pytest.approx(oracle_score(hypotheses, bleu))
    assert result.history[0]["loss"] < np.log(2)


def test_interpolation_keeps_a_share_of_the_start(separable_hypotheses, bleu: Objective):
    pool = separable_hypotheses(1).pool()
    start = np.array([-1.0, 0.5, 1.0, 0.0]) / 2.5
    whole = Pro(samples=100, interpolation=1.0)
    new = whole.tune(pool, bleu, start, np.random.default_rng(0)).weights
    mixed = Pro(samples=100, interpolation=0.1).tune(pool, bleu, start, np.random.default_rng(0))
    expected = 0.1 * new + 0.9 * start
    np.testing.assert_allclose(mixed.weights, expected / np.abs(expected).sum())


def test_a_line_search_interpolates_no_worse_than_either_end(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(6, n_segments=25, most=15, n_features=3, whole=False).pool()
    alone, line = (
        Pro(samples=200, interpolation=psi).tune(pool, bleu, START, np.random.default_rng(0))
        for psi in (1.0, "line")
    )
    assert line.score > alone.score
    assert line.score > bleu.score(pool, START)
    # on the line: a combination of both ends
    basis = np.stack([alone.weights, START / np.abs(START).sum()], axis=1)
    rest = np.linalg.lstsq(basis, line.weights, rcond=None)[1]
    assert rest[0] == pytest.approx(0.0, abs=1e-20)


def test_seeds_and_segments_without_pairs(draw_hypotheses, bleu: Objective):
    hypotheses = draw_hypotheses(3, n_segments=25, most=15, n_features=3, whole=False)
    pool = hypotheses.pool()
    one, two, other = (
        Pro(samples=200).tune(pool, bleu, START, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert one.weights.tobytes() == two.weights.tobytes() != other.weights.tobytes()
    record = one.history[0]
    assert record["segments"] + record["segments_without_pairs"] == 25
    assert record["segments_without_pairs"] >= (np.diff(pool.offsets) == 1).sum()


def test_no_pair_that_differs_is_an_error(draw_hypotheses, bleu: Objective):
    pool = draw_hypotheses(3, n_segments=5, most=5, n_features=3, whole=False).pool()
    with pytest.raises(ReplituneError, match="no pair"):
        Pro(threshold=0.999).tune(pool, bleu, START, np.random.default_rng(0))


@pytest.mark.parametrize(
    "setting",
    [
        {"samples": 0},
        {"kept": 0},
        {"threshold": 1.0},
        {"l2": -1},
        {"interpolation": 0},
        {"interpolation": "x"},
    ],
)
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(ReplituneError, match="pro"):
        get_tuner("pro", setting)
