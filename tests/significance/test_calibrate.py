from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from significance.calls import crossed

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "calibration"))
from bleu_model import bleu_counts as bleu_model
from crossed_models import CountBleu, bleu_counts, comparison, mean_statistics, system, two_way

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.running.files import read_lines
from replitune.significance.studies.calibrate import (
    calibrate,
    coin_flip,
    p_values,
    pools,
    registered,
    rows,
    same_system,
    simulated,
    wilson,
)
from replitune.significance.studies.pilot import pilot
from replitune.significance.studies.simulate import Design, mean_scores


def p_of_crossed(pair, rng):
    return crossed(pair).p


def t_over_segments(pair, rng):
    """A test that forgets tuner noise: Student's t on replica means."""
    a, b = (s.statistics[..., 0].mean(axis=0) for s in (pair.a, pair.b))
    return float(stats.ttest_rel(a, b).pvalue)


@pytest.mark.parametrize(("rejected", "trials"), [(0, 10), (3, 300), (15, 300), (40, 40)])
def test_wilson_is_scipys(rejected, trials):
    oracle = stats.binomtest(rejected, trials).proportion_ci(method="wilson")
    assert wilson(rejected, trials) == pytest.approx((oracle.low, oracle.high))


def test_same_system_draws_are_disjoint_replicas():
    z = np.arange(10.0)[:, None] + np.zeros((10, 7))
    pool = system("s", mean_statistics(z))
    for pair in same_system(MeanMetric(), pool, np.arange(7), 4, 20, np.random.default_rng(1)):
        drawn = [*pair.scores_a, *pair.scores_b]
        assert len(set(drawn)) == 8
        assert (pair.a.n, pair.b.n) == (4, 4)
    with pytest.raises(ReplituneError, match="at least 12"):
        next(same_system(MeanMetric(), pool, np.arange(7), 6, 1, np.random.default_rng(1)))


@pytest.mark.parametrize("unit", ["segment", "document"])
def test_coin_flip_divides_each_segment_between_the_systems(unit):
    """S scores 100 + replica, T 200 + replica: who wrote what can be read off."""
    documents = np.repeat(np.arange(6), 5)
    s, t = (
        system(name, mean_statistics(np.arange(6.0)[:, None] + np.full((6, 30), base)))
        for name, base in (("S", 100.0), ("T", 200.0))
    )
    rng = np.random.default_rng(2)
    share = []
    for pair in coin_flip(MeanMetric(), s, t, documents, 3, 25, rng, unit):
        a, b = pair.a.statistics[..., 0], pair.b.statistics[..., 0]
        from_s_a, from_s_b = a < 200, b < 200
        assert (from_s_a == from_s_a[0]).all()  # shared by replicas
        assert (from_s_a[0] == ~from_s_b[0]).all()
        for base in (100, 200):  # replicas of A and B are disjoint
            writers = [{x - base for x in m.ravel() if 0 <= x - base < 50} for m in (a, b)]
            assert not writers[0] & writers[1]
            assert all(len(w) in (0, 3) for w in writers)
        if unit == "document":
            assert all(len(set(from_s_a[0][documents == g])) == 1 for g in range(6))
        share.append(from_s_a[0].mean())
    assert 0.3 < np.mean(share) < 0.7
    assert len(set(share)) > 3


def test_pools_do_not_mix_tuners():
    z = mean_statistics(np.arange(5.0)[:, None] + np.zeros((5, 4)))
    found = pools(system("s", z, ["mert", "pro", "mert", "mert", "pro"]))
    assert [(p.name, p.n) for p in found] == [("s/mert", 3), ("s/pro", 2)]
    assert MeanMetric().score(found[1].sums).tolist() == [1.0, 4.0]


def test_simulated_comparisons_have_the_components_of_the_real_one():
    rng = np.random.default_rng(3)
    real = comparison(two_way(rng, 6, 150, 0.3), two_way(rng, 6, 150, 0.1))
    target = pilot(real).model
    models = [pilot(pair).model for pair in simulated(real, 6, 150, rng)]
    assert np.mean([m.segment for m in models]) == pytest.approx(target.segment, rel=0.1)
    assert np.mean([m.replica[0] for m in models]) == pytest.approx(target.replica[0], rel=0.2)
    assert np.mean([m.interaction[1] for m in models]) == pytest.approx(target.interaction[1], rel=0.1)


def test_simulated_nulls_are_null():
    """On average over test sets (next), and on each test set over tuner runs (this)."""
    rng = np.random.default_rng(4)
    for null, alike in (("next", False), ("this", True)):
        design = Design(2000, 2000, 20, 0.1, 0.1, difference=1.0, noise_a=0.2, noise_b=0.2)
        A, B = mean_scores(Design(**{**design.__dict__, "null": null}), 8, rng)
        delta = B.mean(axis=(1, 2)) - A.mean(axis=(1, 2))
        assert (np.abs(delta) < 0.02).all() == alike
    a, b = bleu_model(Design(300, 300, 40, 0.05, 0.05, 0.7, 0.8, 0.5, 0.5, null="this"), 2, rng)
    scores = [CountBleu().score(z.sum(axis=2)) for z in (a, b)]
    gap = scores[1].mean(axis=1) - scores[0].mean(axis=1)
    error = np.sqrt(sum(s.var(axis=1) for s in scores) / 300)
    assert (np.abs(gap) < 4 * error).all()


def test_rows_count_rejections_and_missing_p():
    found = rows(
        {"one": [0.01, 0.05, 0.2, None], "fu-ar": [0.5] * 4},
        study="A/A",
        null="same system",
        pool="s",
        n_a=3,
        n_b=3,
        exact=["fu-ar"],
    )
    one = {r.alpha: r for r in found if r.method == "one"}
    assert (one[0.05].rejected, one[0.05].trials, one[0.05].without_p) == (2, 4, 1)
    assert one[0.01].rate == 0.25
    assert not one[0.05].exact
    assert all(r.exact for r in found if r.method == "fu-ar")


def test_calibrate_finds_the_test_that_forgets_tuner_noise():
    rng = np.random.default_rng(5)
    effect = rng.normal(size=80)
    systems = {name: system(name, mean_statistics(two_way(rng, 8, 80, 0.3, effect))) for name in ("s", "t")}
    tests = {"crossed": p_of_crossed, "t": t_over_segments}
    found = calibrate(
        MeanMetric(), systems, np.arange(80), tests, ns=(3,), trials=60, alphas=(0.05,), seed=7
    )
    assert {(r.study, r.null, r.pool) for r in found} == {
        ("A/A", "same system", "s"),
        ("A/A", "same system", "t"),
        ("A/A", "same system", "all"),
        ("coin flip", "next test set", "s, t"),
        ("simulation", "next test set", "s, t"),
        ("simulation", "this test set", "s, t"),
    }
    rate = {(r.study, r.null, r.pool, r.method): r.rate for r in found}
    assert rate["A/A", "same system", "all", "t"] > 0.2
    assert rate["A/A", "same system", "all", "crossed"] < 0.1
    again = calibrate(
        MeanMetric(),
        systems,
        np.arange(80),
        {"t": t_over_segments},
        ns=(3,),
        trials=60,
        alphas=(0.05,),
        seed=7,
    )
    assert [r for r in found if r.method == "t"] == again  # whatever else is calibrated


def test_registered_tests_run_by_name():
    rng = np.random.default_rng(6)
    pool = system("s", bleu_counts(rng, 8, 60))
    tests = registered(["crossed", "clark", {"name": "fu-ar", "id": "fu"}], samples=99)
    assert list(tests) == ["crossed", "clark", "fu"]
    drawn = same_system(CountBleu(), pool, np.arange(60, dtype=np.int32), 4, 3, rng)
    found = p_values(drawn, tests, rng)
    assert all(0 < p <= 1 for values in found.values() for p in values)
    assert min(found["fu"]) >= 2 / 16


def test_exact_tests_are_known_by_what_they_are_not_by_their_id():
    pool = system("s", mean_statistics(two_way(np.random.default_rng(9), 6, 20, 0.3)))
    tests = registered([{"name": "fu-ar", "id": "fu"}, {"name": "crossed", "id": "fu-ar"}], samples=99)
    found = calibrate(MeanMetric(), {"s": pool}, np.arange(20, dtype=np.int32), tests, ns=(3,), trials=2)
    assert {(row.method, row.exact) for row in found} == {("fu", True), ("fu-ar", False)}


# -- the gate, in small (benchmarks/calibration has it in full) ---------------------------


@pytest.mark.parametrize(
    ("n_a", "n_b", "noise", "ratio"),
    [(3, 3, "equal", 1), (3, 3, "A", 3), (3, 8, "A", 10), (5, 5, "equal", 0.1)],
)
def test_small_gate_mean(n_a, n_b, noise, ratio):
    rng = np.random.default_rng(100 * n_a + n_b)
    N, trials = 60, 600
    V_rep = ratio / N
    sd = np.sqrt(V_rep / (1 / n_a + 1 / n_b)) if noise == "equal" else np.sqrt(V_rep * n_a)
    design = Design(n_a, n_b, N, sd, sd if noise == "equal" else 0.0)
    A, B = mean_scores(design, trials, rng)
    p = np.array([crossed(comparison(a, b)).p for a, b in zip(A, B, strict=True)])
    assert wilson(int((p <= 0.05).sum()), trials, 0.999)[0] < 0.065
    assert wilson(int((p <= 0.01).sum()), trials, 0.999)[0] < 0.015
    forgetful = [t_over_segments(comparison(a, b), rng) for a, b in zip(A, B, strict=True)]
    if ratio >= 1:
        assert np.mean(np.array(forgetful) <= 0.05) > 0.1


def test_small_gate_bleu():
    rng = np.random.default_rng(8)
    trials = 400
    A, B = bleu_model(Design(3, 3, 100, 0.05, 0.05, 0.7, 0.8, 0.5, 0.5), trials, rng)
    metric = CountBleu()
    p = np.array([crossed(comparison(a, b, metric)).p for a, b in zip(A, B, strict=True)])
    assert wilson(int((p <= 0.05).sum()), trials, 0.999)[0] < 0.065
    assert (p <= 0.3).mean() > 0.05  # not because it never rejects


@pytest.mark.realdata
def test_a_system_against_itself_on_real_replicas():
    """16 MERT replicas of one system: crossed holds its level, Clark's pooled test does not."""
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder:
        pytest.skip("REPLITUNE_DATA is not set")
    metric = Bleu(tokenize="none")
    refs = [read_lines(Path(folder) / "multi30k" / "test_2016_flickr.lc.norm.tok.en.gz")]
    files = sorted((Path(folder) / "multi30k-replicas").glob("dl6.*.test2016.gz"))
    pool = system("dl6", np.stack([metric.statistics(read_lines(f), refs) for f in files]))
    documents = np.arange(1000, dtype=np.int32)
    rng = np.random.default_rng(2011)
    drawn = same_system(metric, pool, documents, 6, 120, rng)
    p = p_values(drawn, registered(["crossed", "clark"], samples=199), rng)
    found = {r.method: r.rate for r in rows_at_05(p)}
    assert found["crossed"] < 0.1
    assert found["clark"] > 0.12


def rows_at_05(p):
    return rows(p, study="A/A", null="same system", pool="", n_a=6, n_b=6, alphas=(0.05,))
