"""Inference on all pairs at once: max-|t|, its intervals, families, and ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from replitune.metrics.base import MeanMetric
from replitune.significance.multiple import rank_systems
from significance.crossed_models import mean_statistics, system, two_way
from significance.one_testset import run_tests


def runs_only(rng, S: int, n: int, shifts=()) -> dict:
    """Systems whose runs differ as wholes and in nothing else, on 8 segments."""
    segments = rng.normal(size=8)
    found = {}
    for s in range(S):
        x = rng.normal(0, 1, (n, 1)) + segments + (shifts[s] if s < len(shifts) else 0.0)
        found[f"s{s}"] = system(f"s{s}", mean_statistics(x))
    return found


def rows_of(systems: dict, segments: int = 8, **options):
    given = {"testset": "t", "seed": 1, "samples": 20_000, "methods": ["crossed"], **options}
    return run_tests({"mean": (MeanMetric(), systems)}, np.arange(segments, dtype=np.int32), **given)[
        "mean"
    ]


def test_with_runs_alone_it_is_tukeys_honest_difference():
    """Many runs of four systems, equally noisy: max |t| is the studentised range over sqrt(2)."""
    systems = runs_only(np.random.default_rng(1), 4, 60, shifts=(0.0, 0.2, 0.45, 0.1))
    rows = rows_of(systems, methods=["crossed:scope=runs"])
    scores = [s.statistics[:, :, 0].mean(axis=1) for s in systems.values()]
    oracle = stats.tukey_hsd(*scores)
    names = list(systems)
    seen = []
    for row in rows:
        truth = oracle.pvalue[names.index(row.a), names.index(row.b)]
        seen.append(truth)
        assert row.correction == "max-t"
        # pairs have their own variances here, and 20,000 draws
        assert row.p_adjusted == pytest.approx(truth, abs=0.02 + 0.1 * truth)
    assert min(seen) < 0.2 < max(seen)


def test_it_is_never_stricter_than_bonferroni_and_gains_on_holm():
    systems = runs_only(np.random.default_rng(2), 6, 8, shifts=(0, 0.9, 1.2, 0.5))
    joint = rows_of(systems)
    holm = rows_of(systems, correction="holm")
    for x, y in zip(joint, holm, strict=True):
        assert x.p == y.p
        assert x.p <= x.p_adjusted <= min(1.0, 15 * x.p) + 1e-12
    smallest = min(range(15), key=lambda i: joint[i].p)
    assert joint[smallest].p_adjusted < holm[smallest].p_adjusted


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_a_simultaneous_interval_leaves_0_out_exactly_when_the_adjusted_p_is_at_most_alpha(alternative):
    decided = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        effect = rng.normal(size=60)
        systems = {
            f"s{i}": system(f"s{i}", mean_statistics(two_way(rng, 4, 60, 0.1, effect) + 0.18 * i))
            for i in range(4)
        }
        for row in rows_of(
            systems, 60, methods=[f"crossed:alternative={alternative}"], samples=1999, alpha=0.1
        ):
            outside = row.ci_low > 0 or (alternative == "two-sided" and row.ci_high < 0)
            assert outside == (row.p_adjusted <= 0.1)
            assert row.ci_level >= (0.9 if alternative == "two-sided" else 0.8)
            decided.add(outside)
    assert decided == {True, False}


@pytest.mark.parametrize("documents", [False, True])
def test_the_family_wise_error_holds(documents):
    """Six systems without a difference, 200 times; V_rep, V_seg and V_int all there."""
    wrong = 0
    for trial in range(200):
        rng = np.random.default_rng(1000 + trial)
        effect = rng.normal(size=120)
        systems = {}
        for s in range(6):
            own = rng.normal(0, 0.6, 24).repeat(5) if documents else rng.normal(0, 0.6, 120)
            x = two_way(rng, 4, 120, 0.08, effect + own, 0.5)
            systems[f"s{s}"] = system(f"s{s}", mean_statistics(x))
        numbers = (np.arange(120) // 5 if documents else np.arange(120)).astype(np.int32)
        rows = run_tests(
            {"mean": (MeanMetric(), systems)},
            numbers,
            testset="t",
            seed=trial,
            samples=499,
            methods=["crossed"],
        )["mean"]
        assert {row.unit for row in rows} == {"document" if documents else "segment"}
        wrong += any(row.p is not None and row.p_adjusted <= 0.05 for row in rows)
    assert wrong / 200 <= 0.05 + 2.33 * np.sqrt(0.05 * 0.95 / 200)


def test_the_interval_of_a_pair_is_around_its_difference_in_either_order():
    """Names, not the order in which pairs are given, decide how a pair is computed."""
    systems = runs_only(np.random.default_rng(4), 3, 6, shifts=(3.0, 0.0, 1.0))
    rows = rows_of(systems, pairs=[("s1", "s0"), ("s0", "s2"), ("s2", "s1")])
    for row in rows:
        assert row.ci_low < row.delta < row.ci_high
    turned = {(r.a, r.b): r for r in rows_of(systems, pairs=[("s0", "s1"), ("s2", "s0"), ("s1", "s2")])}
    for row in rows:
        other = turned[row.b, row.a]
        assert (row.ci_low, row.ci_high) == (-other.ci_high, -other.ci_low)


def test_no_pair_changes_the_p_of_another():
    systems = runs_only(np.random.default_rng(3), 4, 5)
    every = {(r.a, r.b): r for r in rows_of(systems)}
    (alone,) = rows_of({name: systems[name] for name in ("s0", "s1")})
    assert every["s0", "s1"].p == alone.p
    assert alone.p_adjusted == alone.p


def test_a_copy_takes_no_part_and_what_shares_nothing_goes_by_holm():
    rng = np.random.default_rng(4)
    systems = {f"s{i}": system(f"s{i}", mean_statistics(two_way(rng, 5, 8))) for i in range(3)}
    systems["s9"] = system("s9", systems["s0"].statistics)
    rows = {(r.a, r.b): r for r in rows_of(systems, methods=["crossed:scope=segments"])}
    assert rows["s0", "s9"].p_adjusted == 1
    paired = rows_of(systems, methods=["crossed:paired=true"])
    assert {row.correction for row in paired} == {"holm"}


def test_families_are_corrected_on_top():
    systems = runs_only(np.random.default_rng(5), 3, 6, shifts=(0, 2.0, 1.0))
    one, four = rows_of(systems), rows_of(systems, families=4)
    for x, y in zip(one, four, strict=True):
        assert y.p_adjusted == pytest.approx(min(1.0, 4 * x.p_adjusted), rel=0.5, abs=2e-3)
        assert y.ci_high - y.ci_low > x.ci_high - x.ci_low
    holm = rows_of(systems, correction="holm"), rows_of(systems, correction="holm", families=4)
    for x, y in zip(*holm, strict=True):
        assert y.p_adjusted == pytest.approx(min(1.0, 4 * x.p_adjusted))


def test_equivalence_is_corrected_too():
    systems = runs_only(np.random.default_rng(6), 4, 30)
    rows = rows_of(systems, margins={"mean": 1.0}, methods=["crossed:scope=runs"])
    for row in rows:
        assert row.details["p_same_adjusted"] >= row.details["p_same"]


def test_ranks_count_who_is_surely_above_and_below():
    systems = runs_only(np.random.default_rng(7), 4, 10, shifts=(0, 0.1, 4.0, 8.0))
    rows = rows_of(systems)
    scores = {name: float(i) for i, name in enumerate(systems)}
    ranking = rank_systems(rows, scores)
    assert ranking.systems == ("s3", "s2", "s1", "s0")
    assert ranking.ranks == ((1, 1), (2, 2), (3, 4), (3, 4))
    bh = rank_systems(rows_of(systems, correction="bh"), scores)
    assert (bh.clusters, bh.ranks) == (None, None)
    assert "holds for all pairs together" in bh.notes[0].text
