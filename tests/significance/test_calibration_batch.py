"""The study's batched tests against the library's own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "calibration"))
import batch as batched
from bleu_model import bleu_counts
from crossed_models import comparison

from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.significance.run import run_tests
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.significance.tests.crossed import crossed


def make(kind, n_a, n_b, trials, N=120):
    rng = np.random.default_rng(n_a * 100 + n_b)
    if kind == "bleu":
        design = Design(n_a, n_b, N, 0.1, 0.1, 0.7, 0.8, 0.5, 0.5)
        return Bleu(), *bleu_counts(design, trials, rng)
    design = Design(n_a, n_b, N, 0.1, 0.1)
    a, b = mean_scores(design, trials, rng)
    one = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
    return MeanMetric(), *one


@pytest.mark.parametrize("kind", ["mean", "bleu"])
@pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (3, 5)])
def test_batched_crossed_is_crossed(kind, n_a, n_b):
    metric, a, b = make(kind, n_a, n_b, 30)
    found = batched.Batch(metric, a, b)
    parts = batched.crossed_parts(found)
    V = parts.variance
    rejected = {
        alpha: batched.crossed_rejections(found, alpha, parts)["crossed"] for alpha in (0.3, 0.05)
    }
    for t in range(30):
        result = crossed(comparison(a[t], b[t], metric))
        assert V[t] == pytest.approx(result.se**2, rel=1e-9)
        assert found.delta[t] == pytest.approx(result.delta)
        for alpha, yes in rejected.items():
            assert yes[t] == (result.p < alpha)


def test_batched_documents_are_documents():
    rng = np.random.default_rng(4)
    documents = np.repeat(np.arange(30), rng.integers(2, 9, 30)).astype(np.int32)
    design = Design(4, 3, len(documents), 0.1, 0.1, document=1.0)
    a, b = mean_scores(design, 10, rng, documents)
    starts = np.flatnonzero(np.diff(documents, prepend=-1))
    one = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
    sums = [np.add.reduceat(x, starts, axis=2) for x in one]
    found = batched.Batch(MeanMetric(), *sums, sizes=np.bincount(documents))
    parts = batched.crossed_parts(found)
    V = parts.variance
    rejected = batched.crossed_rejections(found, 0.2, parts)["crossed"]
    for t in range(10):
        result = crossed(comparison(one[0][t], one[1][t], documents=documents), unit="document")
        assert V[t] == pytest.approx(result.se**2, rel=1e-9)
        assert rejected[t] == (result.p < 0.2)


@pytest.mark.parametrize("kind", ["mean", "bleu"])
@pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (3, 5)])
@pytest.mark.parametrize("name", sorted(batched.RESAMPLING))
def test_batched_resampling_agrees(name, kind, n_a, n_b):
    """Within Monte-Carlo error of two independent runs (5 standard errors)."""
    trials, R = 3, 2000
    metric, a, b = make(kind, n_a, n_b, trials)
    ours = batched.RESAMPLING[name](batched.Batch(metric, a, b), np.random.default_rng(1), R)
    for t in range(trials):
        pair = comparison(a[t], b[t], metric)
        systems = {"A": pair.a, "B": pair.b}
        options = {"testset": "t", "seed": t, "methods": [name], "samples": R}
        result = run_tests({"m": (metric, systems)}, pair.documents, **options)["m"][0]
        if result.p is None:
            assert np.isnan(ours[t])
            continue
        sides = 2 if name == "koehn" else 1  # twice a one-sided share
        share = result.p / sides
        error = sides * np.sqrt(2 * share * (1 - share) / R) + 2 / R
        assert abs(result.p - ours[t]) < 5 * error
