"""`crossed` beside p: scopes, samples, documents, margins, the next run, suites, single runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.significance.base import TestResult
from replitune.significance.critical import critical_values, net_parts
from replitune.significance.multiple import partial_conjunction
from replitune.significance.one_system import summarise_suite
from replitune.significance.run import TestSetScores
from replitune.significance.run import run_tests as run_tests_of_suite
from replitune.significance.system_parts import contributing, contributing_df, effective_documents
from significance.calls import crossed
from significance.crossed_models import comparison, mean_statistics, system, two_way


def codes(result) -> set[str]:
    return {note.code for note in result.notes}


# -- what the parts are -------------------------------------------------------------------


def test_the_test_sets_own_part_is_net_of_the_runs_noise():
    """V_seg 4 on 100, of which 3 are the runs' noise: W is 1 and keeps the mean square 4/100."""
    rep, seg, both = np.array([2.0, 5.0]), np.array([4.0]), np.array([3.0])
    parts = net_parts(rep, np.array([2.0, 2.0]), seg, np.array([100.0]), both)
    assert parts.variance == 8.0  # 2 + 5 + 4 - 3
    np.testing.assert_allclose(parts.values, [2, 5, 1])
    np.testing.assert_allclose(parts.nus, [2, 2, 25])
    dropped = net_parts(rep, np.array([2.0, 2.0]), seg, np.array([100.0]), np.array([9.0]))
    assert dropped.variance == 7.0  # the runs alone
    assert dropped.values[2] == 0
    assert dropped.nus[2] == 1


def test_the_net_level_holds_where_the_gross_one_did_not():
    """3 v 3, A noisy, V_int as large as V_seg: mean squares drawn as scaled chi-squares."""
    rng, trials = np.random.default_rng(3), 40_000
    seg, ratio = 1.0, 3.0
    true = np.array([[ratio, 0.5 * seg]])
    rep = true * rng.chisquare(2, (trials, 2)) / 2
    drawn = seg * rng.chisquare(499, (trials, 1)) / 499
    both = np.full((trials, 1), seg)
    parts = net_parts(rep, np.array([2.0, 2.0]), drawn, np.array([499.0]), both)
    from replitune.significance.critical import critical_values

    delta = np.abs(rng.normal(0, math.sqrt(true.sum() + seg - seg), trials))
    for alpha, limit in ((0.05, 0.055), (0.01, 0.0155)):
        reach = critical_values(parts.values, parts.nus, alpha / 2) * np.sqrt(parts.variance)
        assert (delta > reach).mean() < limit


# -- scopes -------------------------------------------------------------------------------


def test_scope_segments_is_students_paired_t_of_the_means_over_runs():
    rng = np.random.default_rng(1)
    a, b = two_way(rng, 4, 60), two_way(rng, 3, 60) + 0.2
    found = crossed(comparison(a, b), scope="segments")
    oracle = stats.ttest_rel(b.mean(axis=0), a.mean(axis=0))
    assert found.p == pytest.approx(oracle.pvalue, rel=1e-9)
    interval = oracle.confidence_interval()
    assert (found.ci_low, found.ci_high) == pytest.approx((interval.low, interval.high))
    assert (found.unit, found.scope) == ("segment", "segments")


def test_scope_segments_needs_one_run_only():
    rng = np.random.default_rng(2)
    a, b = two_way(rng, 1, 60), two_way(rng, 1, 60)
    found = crossed(comparison(a, b), scope="segments")
    assert found.p == pytest.approx(stats.ttest_rel(b[0], a[0]).pvalue, rel=1e-9)


def test_scope_runs_is_students_t_of_the_runs_when_both_are_as_noisy():
    """Scores are those of the test set; equal variances make one layer of n_A + n_B - 2."""
    rng = np.random.default_rng(4)
    runs = rng.normal(0, 0.3, 5)
    segments = rng.normal(size=40)
    a = runs[:, None] + segments
    b = runs[::-1, None] + segments + 0.4
    found = crossed(comparison(a, b), scope="runs")
    oracle = stats.ttest_ind(b.mean(axis=1), a.mean(axis=1))
    assert found.p == pytest.approx(oracle.pvalue, rel=1e-6)
    assert (found.scope, found.unit) == ("runs", "replica")
    assert found.unit == "replica"


def test_scope_runs_can_act_where_a_permutation_cannot():
    rng = np.random.default_rng(5)
    a, b = two_way(rng, 3, 60, rep=0.01, noise=0.01), two_way(rng, 3, 60, rep=0.01, noise=0.01) + 9
    assert crossed(comparison(a, b), scope="runs").p < 0.001


def test_scope_runs_asks_nothing_of_documents():
    rng = np.random.default_rng(6)
    a, b = two_way(rng, 3, 60), two_way(rng, 3, 60)
    few = comparison(a, b, documents=np.arange(60) // 30)
    found = crossed(few, scope="runs", unit="document")
    assert found.p == pytest.approx(crossed(comparison(a, b), scope="runs").p)
    assert not codes(found) & {"few-documents", "documents-ignored"}


# -- samples ------------------------------------------------------------------------------


def test_samples_are_tested_over_their_segments():
    rng = np.random.default_rng(7)
    a, b = two_way(rng, 3, 80, rep=0.0), two_way(rng, 3, 80, rep=0.0)
    found = crossed(comparison(a, b), design="samples")
    assert found.p == crossed(comparison(a, b), scope="segments").p
    assert (found.scope, found.run_kind) == ("samples", "sample")
    assert found.next_run is None
    assert "run-effect" not in codes(found)


def test_samples_that_differ_as_wholes_are_told():
    """F = MS_rep / MS_int of a two-way table without replication, as any textbook has it."""
    rng = np.random.default_rng(8)
    a, b = two_way(rng, 4, 80, rep=0.5), two_way(rng, 4, 80, rep=0.0)
    found = crossed(comparison(a, b), design="samples")
    said = [note for note in found.notes if note.code == "run-effect"]
    assert [note.systems for note in said] == [("A",)]
    rows = 80 * np.var(a.mean(axis=1), ddof=1)
    residual = a - a.mean(axis=1, keepdims=True) - a.mean(axis=0) + a.mean()
    F = rows / ((residual**2).sum() / (3 * 79))
    assert stats.f.sf(F, 3, 3 * 79) < 0.01


# -- documents ----------------------------------------------------------------------------


def test_documents_are_the_unit_where_they_are_known():
    rng = np.random.default_rng(9)
    a, b = two_way(rng, 3, 120), two_way(rng, 3, 120)
    for size in (6, 20):
        known = comparison(a, b, documents=np.arange(120) // size)
        assert (crossed(known).scope, crossed(known).unit) == ("both", "document")
        assert crossed(known).p == crossed(known, unit="document").p
        ignored = crossed(known, unit="segment")
        assert (ignored.scope, ignored.unit) == ("both", "segment")
        assert "documents-ignored" in codes(ignored)
    with pytest.raises(ReplituneError, match="no documents"):
        crossed(comparison(a, b), unit="document")


def test_what_ignoring_documents_costs_is_said():
    """Differences that are all the document's: correlation 1, and G instead of N of them."""
    rng = np.random.default_rng(10)
    documents = np.arange(160) // 20
    effect = rng.normal(size=8)[documents]
    a, b = np.zeros((2, 160)) + rng.normal(0, 1e-9, (2, 160)), effect + np.zeros((2, 1))
    found = crossed(comparison(a, b, documents=documents), unit="segment")
    (said,) = [note.text for note in found.notes if note.code == "documents-ignored"]
    assert "correlation within documents is 1.00" in said
    V_seg = np.var(effect, ddof=1) / 160
    V_doc = np.var(effect.reshape(8, 20).mean(axis=1), ddof=1) / 8
    level = 2 * stats.norm.sf(1.96 * math.sqrt(V_seg / V_doc))
    assert f"a level of 0.05 would really be {level:.2g}" in said


def test_effective_documents_are_kishs():
    assert effective_documents(np.array([0, 0, 0, 1, 2, 2], np.int32)) == pytest.approx(36 / 14)


# -- the same, within a margin ------------------------------------------------------------


def test_equivalence_is_two_one_sided_t_tests():
    rng = np.random.default_rng(11)
    a, b = np.repeat(rng.normal(size=(1, 90)), 3, 0), np.repeat(rng.normal(size=(1, 90)), 3, 0)
    a -= a.mean()
    found = crossed(comparison(a, b), margins={"mean": 0.4})
    d = b[0] - a[0]
    above = stats.ttest_1samp(d, -0.4, alternative="greater").pvalue
    below = stats.ttest_1samp(d, 0.4, alternative="less").pvalue
    assert found.details["p_same"] == pytest.approx(max(above, below), rel=1e-6)
    assert found.details["p_no_worse_b"] == pytest.approx(above, rel=1e-6)
    assert found.details["p_no_worse_a"] == pytest.approx(below, rel=1e-6)


def test_equivalence_is_the_interval_at_twice_alpha_inside_the_margin():
    rng = np.random.default_rng(12)
    decided = set()
    for _ in range(60):
        pair = comparison(two_way(rng, 4, 60, 0.02, noise=0.1), two_way(rng, 4, 60, 0.02, noise=0.1))
        same = crossed(pair, margins={"mean": 0.3}).details["p_same"] <= 0.05
        wide = crossed(pair, alpha=0.1)
        assert same == (wide.ci_low > -0.3 and wide.ci_high < 0.3)
        decided.add(same)
    assert decided == {True, False}


def test_a_margin_beyond_all_scores_is_an_error_that_guesses_the_unit():
    rng = np.random.default_rng(12)
    pair = comparison(rng.uniform(size=(3, 20)), rng.uniform(size=(3, 20)))
    with pytest.raises(ReplituneError, match="larger than every score") as error:
        crossed(pair, margins={"mean": 2.0})
    assert error.value.fix == "did you mean 0.02?"


# -- single runs --------------------------------------------------------------------------


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("grouped", [False, True])
def test_p_without_one_run_is_that_of_the_others(alternative, grouped):
    rng = np.random.default_rng(16)
    a, b = two_way(rng, 6, 50, 0.2), two_way(rng, 6, 50, 0.2) + 0.3
    groups = (["mert"] * 3 + ["pro"] * 3) if grouped else [None] * 6  # no group may lose one
    found = crossed(comparison(a, b, groups_a=groups, groups_b=groups), alternative=alternative)
    if grouped:
        assert "p_without_one_low" not in found.details
        return
    alone = [crossed(comparison(np.delete(a, r, 0), b), alternative=alternative).p for r in range(6)] + [
        crossed(comparison(a, np.delete(b, r, 0)), alternative=alternative).p for r in range(6)
    ]
    assert found.details["p_without_one_low"] == pytest.approx(min(alone), rel=1e-6)
    assert found.details["p_without_one_high"] == pytest.approx(max(alone), rel=1e-6)


def test_a_run_far_from_its_group_is_named():
    rng = np.random.default_rng(17)
    a, b = two_way(rng, 7, 50, 0.1, noise=0.01), two_way(rng, 7, 50, 0.1, noise=0.01)
    a[4] -= 8
    found = crossed(comparison(a, b))
    (said,) = [n for n in found.notes if n.code == "unstable-run"]
    assert said.systems == ("A",)
    assert "run-005" in said.text
    without = crossed(comparison(np.delete(a, 4, 0), b)).p
    assert said.text.endswith(f"; without this run, p of this pair alone is {without:.2g}")
    x = a.mean(axis=1)
    others = np.delete(x, 4)
    t = (x[4] - others.mean()) / (others.std(ddof=1) * math.sqrt(1 + 1 / 6))
    assert found.details["p_odd_run"] == pytest.approx(7 * 2 * stats.t.sf(abs(t), 5))


@pytest.mark.parametrize("shared", [True, False])
def test_runs_of_the_same_number_that_vary_together_are_told(shared: bool):
    rng = np.random.default_rng(18)
    run = rng.normal(0, 1, (5, 1))
    a, b = (two_way(rng, 5, 50, 0.0, noise=0.2) + run for _ in range(2))
    found = crossed(comparison(a, b if shared else b[::-1]))
    assert ("shared-seeds" in codes(found)) == shared
    oracle = stats.pearsonr(a.mean(axis=1), b.mean(axis=1), alternative="greater")
    if shared:
        (said,) = [note.text for note in found.notes if note.code == "shared-seeds"]
        assert f"correlation {oracle.statistic:.2f}, one-sided p = {max(oracle.pvalue, 1e-4):.2g}" in said
        assert "shared-seeds" not in codes(crossed(comparison(a, b), paired=True))
        assert "shared-seeds" not in codes(crossed(comparison(a, a))), "the same outputs"


# -- few units that make the difference ---------------------------------------------------


def of_differences(d: np.ndarray):
    """`crossed` over segments, of two outputs whose scores differ by d (N,)."""
    return crossed(comparison(np.zeros((1, len(d))), d[np.newaxis]), scope="segments")


def test_alike_segments_all_count_and_one_that_stands_out_has_no_p():
    rng = np.random.default_rng(23)
    d = rng.normal(size=40)
    assert of_differences(d).p == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
    d[7] += 60
    alone = of_differences(d)
    e = d - d.mean()
    assert (e**2).sum() ** 2 / (e**4).sum() < 1.5
    assert alone.p is None
    assert alone.ci_low is None
    assert "few-contributing" in codes(alone)


def test_units_that_make_the_difference_are_counted_by_their_skewness():
    """U / skewness^2, as scipy has it; m of m that add alike; infinite of what is symmetric."""
    d = np.random.default_rng(25).lognormal(size=(5, 60))
    e = d - d.mean(axis=1, keepdims=True)
    assert contributing(e) == pytest.approx(60 / stats.skew(d, axis=1) ** 2, rel=1e-12)
    alike = np.zeros(1000)
    alike[:20] = 0.3
    assert contributing(alike) == pytest.approx(20)
    assert contributing(np.r_[alike, -alike]) == np.inf
    assert contributing(np.zeros(9)) == np.inf
    result = of_differences(d[0])
    nu = 1 / (1 / 59 + stats.skew(d[0]) ** 2 / 60)
    assert result.df == pytest.approx(nu, rel=1e-9)
    assert result.p == pytest.approx(2 * stats.t.sf(abs(result.delta) / result.se, nu), rel=1e-9)


def test_of_skewed_differences_p_is_nearer_to_its_level_than_students():
    """Exponential, N = 50. Of 4,000 trials, fixed before: Student's rejects in .06 and more at .05,
    and in .018 and more at .01; on the smaller degrees of freedom in at most .057 and .015."""
    d = np.random.default_rng(26).exponential(size=(4000, 50)) - 1
    t = d.mean(axis=1) / stats.sem(d, axis=1)
    nu = contributing_df(d - d.mean(axis=1, keepdims=True), 49.0)
    for alpha, plain, most in ((0.05, 0.06, 0.057), (0.01, 0.018, 0.015)):
        assert (np.abs(t) > stats.t.isf(alpha / 2, 49)).mean() > plain
        assert (np.abs(t) > stats.t.isf(alpha / 2, nu)).mean() < most


def test_runs_that_score_alike_and_differ_on_segments_have_one_degree_of_freedom():
    """V_rep is 0 and V_seg less than V_int: no part is left of the variance, which is V_seg."""
    parts = net_parts(np.zeros(2), np.full(2, 2.0), np.array([3.0]), np.array([9.0]), np.array([4.0]))
    assert parts.variance == 3
    assert critical_values(parts.values, parts.nus, 0.025) == pytest.approx(stats.t.isf(0.025, 1))


def test_of_sparse_differences_hardly_any_error_is_without_a_note():
    """+19 with probability .001, -1 with .019 (mean 0), N = 1,000. Of 400 trials, fixed before: every
    third rejects, as few see the rare segment, and at most 3% do so without a note."""
    rng = np.random.default_rng(24)
    rows = [of_differences(rng.choice([19.0, -1.0, 0.0], 1000, p=[0.001, 0.019, 0.98])) for _ in range(400)]
    wrong = [row for row in rows if row.p is not None and row.p <= 0.05]
    assert len(wrong) > 100
    assert sum("few-contributing" not in codes(row) for row in wrong) <= 12


# -- suites -------------------------------------------------------------------------------


def suite_of(rng, n: int = 4, sizes=(60, 90), shift: float = 0.3):
    """Two systems on two test sets, with the same runs on both."""
    runs = {name: rng.normal(0, 0.2, (n, 1)) for name in "ab"}
    testsets, values = [], []
    for N in sizes:
        effect = rng.normal(size=N)
        x = {name: runs[name] + effect + rng.normal(0, 0.5, (n, N)) for name in "ab"}
        x["b"] = x["b"] + shift + 0.5 * rng.normal(size=N)
        values.append(x)
        systems = {name: system(name, mean_statistics(z)) for name, z in x.items()}
        testsets.append(TestSetScores({"m": (MeanMetric(), systems)}, np.arange(N, dtype=np.int32)))
    return testsets, values


def run_suite(testsets: Sequence[TestSetScores], weights: Sequence[float]) -> list[TestResult]:
    return run_tests_of_suite(testsets, weights, testset="s", seed=1, methods=["crossed", "clark"])["m"]


def test_a_suite_shares_its_runs():
    """V_rep of each run's weighted mean; V_seg and V_int as sums of squares of weights."""
    testsets, values = suite_of(np.random.default_rng(21))
    w = (0.25, 0.75)
    (row,) = run_suite(testsets, w)
    V = 0.0
    scores = {
        name: sum(wk * x[name].mean(axis=1) for wk, x in zip(w, values, strict=True)) for name in "ab"
    }
    for name in "ab":
        V += np.var(scores[name], ddof=1) / 4
    for wk, x in zip(w, values, strict=True):
        N = x["a"].shape[1]
        d = x["b"].mean(axis=0) - x["a"].mean(axis=0)
        V += wk**2 * np.var(d, ddof=1) / N
        for name in "ab":
            z = x[name]
            residual = z - z.mean(axis=1, keepdims=True) - z.mean(axis=0) + z.mean()
            V -= wk**2 * (residual**2).sum() / (3 * (N - 1) * 4 * N)
    assert row.se**2 == pytest.approx(V, rel=1e-9)
    assert row.delta == pytest.approx(scores["b"].mean() - scores["a"].mean())
    assert (row.segments, row.method) == (150, "crossed")
    summary = summarise_suite(testsets, w, "m", "a")
    assert summary.avg == pytest.approx(scores["a"].mean())
    assert summary.s_test == pytest.approx(scores["a"].std(ddof=1))


def test_a_suite_of_one_test_set_is_the_test_set():
    testsets, values = suite_of(np.random.default_rng(22), sizes=(80,))
    row, _ = run_suite(testsets, (1.0,))
    alone = crossed(comparison(values[0]["a"], values[0]["b"]))
    assert (row.p, row.se) == pytest.approx((alone.p, alone.se))
    assert "better_on" not in row.details


def test_a_suite_says_what_it_leaves_out():
    testsets, _ = suite_of(np.random.default_rng(25))
    testsets[1].metrics["m"][1]["a"].statistics[0, 3] = 0.0  # score and count: nobody knows it
    (row,) = run_suite(testsets, (0.5, 0.5))
    assert row.segments == 149
    assert "1 segment without a score left out" in str(row.note)


def test_a_suite_says_on_how_many_test_sets():
    testsets, _ = suite_of(np.random.default_rng(23), n=8, sizes=(400, 400, 400), shift=2.0)
    metric, systems = testsets[2].metrics["m"]
    same = {"a": systems["a"], "b": replace(systems["a"], name="b")}
    third = replace(testsets[2], metrics={"m": (metric, same)})
    (row,) = run_suite([*testsets[:2], third], [1 / 3] * 3)
    assert row.details["better_on"] == 2
    assert row.details["worse_on"] == 0
    assert row.swapped().details["worse_on"] == 2


def test_a_suite_wants_the_same_runs_on_every_test_set():
    testsets, _ = suite_of(np.random.default_rng(24))
    metric, systems = testsets[1].metrics["m"]
    b = systems["b"]
    fewer = replace(b, replicas=b.replicas[:3], groups=b.groups[:3], statistics=b.statistics[:3])
    broken = replace(testsets[1], metrics={"m": (metric, {"a": systems["a"], "b": fewer})})
    with pytest.raises(ReplituneError, match="different runs on the test sets") as error:
        run_suite([testsets[0], broken], (0.5, 0.5))
    assert "run-004" in error.value.found


def test_partial_conjunction_by_hand():
    """p (.001 .010 .040 .500) of 4: .004, .030, .080, .500."""
    p = [0.5, 0.001, 0.04, 0.01]
    assert [partial_conjunction(p, alpha) for alpha in (0.003, 0.004, 0.03, 0.08, 0.6)] == [0, 1, 2, 3, 4]


# -- bad input ----------------------------------------------------------------------------


def test_segments_of_two_documents_have_a_p_where_that_is_asked_for():
    rng = np.random.default_rng(30)
    a, b = two_way(rng, 3, 40), two_way(rng, 3, 40)
    for documents in (np.arange(40) // 20, np.zeros(40, int)):
        pair = comparison(a, b, documents=documents)
        no_p = crossed(pair, scope="segments")
        assert no_p.p is None
        assert codes(no_p) & {"few-documents", "one-unit"}
        by_segment = crossed(pair, unit="segment")
        assert 0 < by_segment.p <= 1
        assert "documents-ignored" in codes(by_segment)


@pytest.mark.parametrize(
    "options", [{"scope": "runs"}, {"scope": "segments"}, {"design": "samples"}, {"noise_ratio": 3}]
)
@pytest.mark.parametrize("case", ["ties", "constant", "one run", "one segment", "difference"])
def test_whatever_is_given_there_is_a_p_or_a_reason(options, case):
    rng = np.random.default_rng(31)
    a, b = {
        "ties": (np.round(rng.normal(size=(3, 30))), np.round(rng.normal(size=(3, 30)))),
        "constant": (np.ones((3, 30)), np.ones((3, 30))),
        "one run": (two_way(rng, 1, 30), two_way(rng, 3, 30)),
        "one segment": (two_way(rng, 3, 1), two_way(rng, 3, 1)),
        "difference": (np.ones((3, 30)), np.full((3, 30), 2.0)),
    }[case]
    found = crossed(comparison(a, b), margins={"mean": 0.5}, **options)
    numbers = [found.p, found.se, found.ci_low, found.ci_high, *found.details.values()]
    assert all(x is None or math.isfinite(x) for x in numbers)
    if found.p is None:
        assert found.notes
    else:
        assert 0 < found.p <= 1
    for source in found.variances:
        assert 0 <= source.low <= source.high
