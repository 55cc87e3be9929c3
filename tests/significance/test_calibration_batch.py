"""The study's batched tests against the library's own, and its models against whole data."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

from significance.calls import crossed

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "calibration"))
import batch as batched
import closed
import suprema
from bleu_model import bleu_counts
from crossed_models import comparison, mean_statistics
from other_models import BAD_BY, BAD_SHARE, binary_scores, binary_units, run_effects
from study import Cell, Maker, as_good_as, cells, document_sizes

from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.significance.system_parts import effective_documents
from significance.one_testset import run_tests


def make(kind, n_a, n_b, trials, N=120):
    rng = np.random.default_rng(n_a * 100 + n_b)
    if kind == "bleu":
        design = Design(n_a, n_b, N, 0.1, 0.1, 0.7, 0.8, 0.5, 0.5)
        return Bleu(), *bleu_counts(design, trials, rng)
    design = Design(n_a, n_b, N, 0.1, 0.1)
    a, b = mean_scores(design, trials, rng)
    one = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
    return MeanMetric(), *one


@pytest.mark.parametrize("scope", ["both", "runs", "segments"])
@pytest.mark.parametrize("kind", ["mean", "bleu"])
@pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (3, 5)])
def test_batched_crossed_is_crossed(kind, n_a, n_b, scope):
    metric, a, b = make(kind, n_a, n_b, 30)
    summary = closed.summarise(batched.Batch(metric, a, b))
    parts = closed.crossed_parts(summary, scope)
    rejected = {alpha: closed.crossed_rejections(summary, parts, alpha) for alpha in (0.3, 0.05)}
    for t in range(30):
        result = crossed(comparison(a[t], b[t], metric), scope=scope)
        assert parts.variance[t] == pytest.approx(result.se**2, rel=1e-9)
        assert summary.delta[t] == pytest.approx(result.delta)
        for alpha, yes in rejected.items():
            assert yes[t] == (result.p < alpha)


@pytest.mark.parametrize("scope", ["both", "runs"])
def test_batched_tuners_are_groups(scope):
    metric, a, b = make("mean", 6, 9, 10)
    groups = [np.repeat(["x", "y", "z"], n // 3).tolist() for n in (6, 9)]
    summary = closed.summarise(batched.Batch(metric, a, b, tuners=3))
    parts = closed.crossed_parts(summary, scope)
    rejected = closed.crossed_rejections(summary, parts, 0.2)
    for t in range(10):
        pair = comparison(a[t], b[t], metric, groups_a=groups[0], groups_b=groups[1])
        result = crossed(pair, scope=scope)
        assert parts.variance[t] == pytest.approx(result.se**2, rel=1e-9)
        assert rejected[t] == (result.p < 0.2)


def test_batched_notes_are_the_notes():
    rng = np.random.default_rng(3)
    T, n, N = 60, 5, 30
    a, b = rng.normal(0, 1, (2, T, n, N))
    a += rng.standard_t(2, (T, n, 1)) * 0.3
    summary = closed.summarise(batched.Batch(MeanMetric(), mean_statistics(a), mean_statistics(b)))
    unstable, effect = closed.unstable_run(summary), closed.run_effect(summary)
    assert 0 < unstable.sum() < T
    assert 0 < effect.sum() < T
    for t in range(T):
        codes = {n.code for n in crossed(comparison(a[t], b[t]), design="runs").notes}
        assert unstable[t] == ("unstable-run" in codes)
        codes = {n.code for n in crossed(comparison(a[t], b[t]), design="samples").notes}
        assert effect[t] == ("run-effect" in codes)


def test_batched_documents_are_documents():
    rng = np.random.default_rng(4)
    documents = np.repeat(np.arange(30), rng.integers(2, 9, 30)).astype(np.int32)
    design = Design(4, 3, len(documents), 0.1, 0.1, document=1.0)
    a, b = mean_scores(design, 10, rng, documents)
    starts = np.flatnonzero(np.diff(documents, prepend=-1))
    one = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
    sums = [np.add.reduceat(x, starts, axis=2) for x in one]
    found = batched.Batch(MeanMetric(), *sums, sizes=np.bincount(documents))
    summary = closed.summarise(found)
    parts = closed.crossed_parts(summary)
    rejected = closed.crossed_rejections(summary, parts, 0.2)
    for t in range(10):
        result = crossed(comparison(one[0][t], one[1][t], documents=documents), unit="document")
        assert parts.variance[t] == pytest.approx(result.se**2, rel=1e-9)
        assert rejected[t] == (result.p < 0.2)


# -- drawn mean squares -------------------------------------------------------------------


def quantities(summary):
    """(T, ...) all that closed forms look at: runs vary within tuners."""
    within = [
        own.var(axis=1, ddof=1)
        for scores in (summary.a, summary.b)
        for own in np.split(scores, summary.tuners, axis=1)
    ]
    return np.column_stack([summary.delta, summary.seg, *within, summary.both])


@pytest.mark.parametrize("null", ["next", "this"])
@pytest.mark.parametrize("tuners", [1, 2])
def test_drawn_summaries_are_those_of_whole_data(null, tuners):
    """Same distribution of each quantity (Kolmogorov and Smirnov), and of their products."""
    rng = np.random.default_rng(11)
    T, n_a, n_b, N = 20_000, 4, 6, 12
    sd = np.repeat([0.8, 0.8] if tuners == 1 else [0.2, 0.8], 2)[:, None]
    design = Design(n_a, n_b, N, sd, 0.3, 1.2, 0.7, 0.9, 1.3, null=null, delta=0.2)
    a, b = mean_scores(design, T, rng)
    one = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
    whole = quantities(closed.summarise(batched.Batch(MeanMetric(), *one, tuners=tuners)))
    drawn = quantities(closed.drawn(design, T, rng, tuners))
    for x, y in zip(whole.T, drawn.T, strict=True):
        assert stats.ks_2samp(x, y).pvalue > 1e-4
    for table in (whole, drawn):  # independent of each other
        off = np.corrcoef(table.T) - np.eye(table.shape[1])
        assert np.abs(off).max() < 4.5 / np.sqrt(T)
    # of |delta| and variances, too
    table = np.abs(whole - whole.mean(axis=0))
    assert np.abs(np.corrcoef(table.T) - np.eye(table.shape[1])).max() < 4.5 / np.sqrt(T)


def test_suprema_are_levels_of_the_study():
    """The chance given mean squares, and a count of rejections, in one cell."""
    plan = suprema.Plan(3, 3)
    found = {
        (name, alpha): (level, error)
        for name, alpha, *_, noise, level, error in suprema.levels(plan, 20_000, (10.0,), (0.5,))
        if noise == "A"
    }
    cell = Cell("mean", "next", 3, 3, "A", 10.0, interaction=0.5)
    summary = Maker(cell).summary(100_000, np.random.default_rng(5))
    parts = closed.crossed_parts(summary)
    for name, critical in (
        ("net", closed.critical_values),
        ("Cochran-Cox", closed.cochran_cox),
        ("Satterthwaite", closed.satterthwaite),
    ):
        for alpha in (0.05, 0.01):
            rate = closed.crossed_rejections(summary, parts, alpha, critical).mean()
            level, error = found[name, alpha]
            assert rate == pytest.approx(level, abs=4 * np.hypot(error, np.sqrt(level / 100_000)))


# -- mixed models -------------------------------------------------------------------------


def fitted(y, system, segment, run=None):
    """Restricted maximum likelihood, by search: delta, its variance, -2 log likelihood."""
    X = np.column_stack([np.ones(len(y)), system])
    groups = [segment] if run is None else [segment, run]
    Z = [np.equal.outer(g, g).astype(float) for g in groups]

    def gls(theta):
        scale = np.exp(theta)
        V = scale[0] * np.eye(len(y)) + sum(s * z for s, z in zip(scale[1:], Z, strict=True))
        inverse = np.linalg.inv(V)
        information = X.T @ inverse @ X
        beta = np.linalg.solve(information, X.T @ inverse @ y)
        e = y - X @ beta
        deviance = np.linalg.slogdet(V)[1] + np.linalg.slogdet(information)[1] + e @ inverse @ e
        return beta[1], np.linalg.inv(information)[1, 1], deviance

    starts = [np.full(1 + len(Z), 0.0), np.r_[0.0, np.full(len(Z), -3.0)]]
    best = min(
        (
            optimize.minimize(
                lambda theta: gls(theta)[2],
                start,
                method="Nelder-Mead",
                bounds=[(-6, 6)] + [(-30, 6)] * len(Z),
                options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
            )
            for start in starts
        ),
        key=lambda found: found.fun,
    )
    return gls(best.x)


@pytest.mark.parametrize("sd", [0.0, 1.0])
@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (2, 4)])
def test_mixed_model_is_restricted_maximum_likelihood(n_a, n_b, runs, sd):
    rng = np.random.default_rng(12)
    T, N = 4, 9
    a, b = mean_scores(Design(n_a, n_b, N, sd, sd, segment=3.0), T, rng)
    one = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
    summary = closed.summarise(batched.Batch(MeanMetric(), *one))
    variance, df = closed.mixed_model(summary, runs)
    of = np.repeat(np.arange(n_a + n_b), N)
    for t in range(T):
        y = np.concatenate([a[t], b[t]]).ravel()
        segment = np.tile(np.arange(N), n_a + n_b)
        delta, V, _ = fitted(y, (of >= n_a) * 1.0, segment, of if runs else None)
        assert delta == pytest.approx(summary.delta[t], abs=1e-6)
        assert variance[t] == pytest.approx(V, rel=1e-4)
    differ = df == n_a + n_b - 2
    assert not (differ.any() and not runs)
    assert not (runs and sd > 0 and not differ.any())


# -- other models -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["exponential", "t3", "bad"])
def test_run_effects_have_mean_0_and_the_given_sd(kind):
    x = run_effects(kind, 2.0, (2_000_000,), np.random.default_rng(2))
    assert x.mean() == pytest.approx(0, abs=0.01)
    assert x.std() == pytest.approx(2, rel=0.03)  # the fourth moment of t3 is infinite
    if kind == "bad":
        good = 2 / np.sqrt(1 + BAD_BY**2 * BAD_SHARE * (1 - BAD_SHARE))
        assert (x < -2 * good).mean() == pytest.approx(BAD_SHARE, abs=0.005)


@pytest.mark.parametrize("accuracy", [0.7, 0.95])
def test_binary_scores_are_equally_good(accuracy):
    rng = np.random.default_rng(8)
    T, N = 4000, 100
    a, b = binary_scores(Design(3, 3, N, 0.8, 0.0), accuracy, T, rng)
    for x in (a, b):
        assert set(np.unique(x)) == {0, 1}
        error = x.mean(axis=(1, 2)).std() / np.sqrt(T)
        assert x.mean() == pytest.approx(accuracy, abs=5 * error)
    a, b = binary_scores(Design(3, 5, N), accuracy, T, rng)
    variance, _ = binary_units(accuracy, 1 / 3 + 1 / 5)
    assert (b.mean(axis=1) - a.mean(axis=1)).var() == pytest.approx(variance, rel=0.02)


def test_documents_are_as_good_as_asked():
    for effective in (6, 10, 20, 40):
        sizes = as_good_as(effective)
        documents = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
        assert effective <= effective_documents(documents) < effective + 1
    assert len(document_sizes()) == 40


def test_cells_have_streams_of_their_own():
    names = [cell.name for cell in cells()]
    assert len(set(names)) == len(names)
    assert "mean/next/3/3/A/10.0/0.0" in names
    for first, second in pairwise(sorted(names)):
        assert first != second


# -- tests that resample ------------------------------------------------------------------


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
