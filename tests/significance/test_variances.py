"""The variance table of a pair: textbook estimates, and intervals that cover."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from significance.calls import crossed

sys.path.insert(0, str(Path(__file__).parent))
from crossed_models import comparison, two_way

from replitune.significance.base import Comparison
from replitune.significance.components import components, sides_of
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.significance.system_parts import analyse, weighted
from replitune.significance.variances import (
    MeanSquares,
    VarianceRow,
    bottleneck,
    interval,
    share_interval,
    shares,
    variance_table,
)


def table(
    pair: Comparison, *, paired: bool = False, unit: str = "segment", alpha: float = 0.05
) -> dict[tuple[str, str | None], VarianceRow]:
    documents = pair.documents if unit == "document" else None
    a, b = (analyse(pair.metric, system, documents) for system in (pair.a, pair.b))
    sides = sides_of(a, b, "groups", paired)
    rows = variance_table(a, b, sides, components(sides, a.blocks), unit=unit, alpha=alpha)
    return {(row.source, row.about): row for row in rows}


def residual_mean_square(x: np.ndarray) -> float:
    n, N = x.shape
    rest = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    return float((rest**2).sum() / ((n - 1) * (N - 1)))


# -- estimates ----------------------------------------------------------------------------


def test_estimates_are_those_of_the_analysis_of_variance():
    """Two fixed systems, runs nested in them, segments crossed with both (Scheffe 1959, ch. 8)."""
    rng = np.random.default_rng(1)
    n, N = 5, 40
    common = rng.normal(0, 2, N)
    A, B = (two_way(rng, n, N, 0.5, common + rng.normal(0, 1, N), 0.7) for _ in "ab")
    found = table(comparison(A, B))
    rest_a, rest_b = residual_mean_square(A), residual_mean_square(B)
    rest = (rest_a + rest_b) / 2
    runs_a = N * np.var(A.mean(axis=1), ddof=1)
    of_segments = 2 * n * np.var((A.mean(axis=0) + B.mean(axis=0)) / 2, ddof=1)
    of_both = n / 2 * np.var(B.mean(axis=0) - A.mean(axis=0), ddof=1)
    expected = {
        ("runs", "A"): (runs_a - rest_a) / N,
        ("segments", None): (of_segments - rest) / (2 * n),
        ("system x segment", None): (of_both - rest) * 2 / n,
        ("rest", "A"): rest_a,
        ("rest", "B"): rest_b,
    }
    for key, variance in expected.items():
        assert found[key].sd ** 2 == pytest.approx(variance, rel=1e-9), key


def test_the_parts_make_up_the_variance_of_the_difference():
    rng = np.random.default_rng(2)
    common = rng.normal(0, 2, 60)
    A, B = (two_way(rng, n, 60, 0.5, common + rng.normal(0, 1, 60), 0.7) for n in (4, 6))
    pair = comparison(A, B)
    rows = table(pair).values()
    total = sum(row.sd**2 / row.n for row in rows if row.source != "segments")
    assert total == pytest.approx(crossed(pair).se ** 2, rel=1e-9)
    assert sum(row.share for row in rows if row.share is not None) == pytest.approx(1)
    assert [row.n for row in rows] == [4, 6, 60, 60, 240, 360]


def test_sds_are_those_of_one_run_and_one_segment_whatever_their_numbers():
    for n_a, n_b, N in ((3, 6, 50), (6, 3, 200)):
        rng = np.random.default_rng(3)
        design = Design(n_a, n_b, N, 0.4, 0.2, difference=0.8, segment=1.5, noise_b=0.5)
        made = [table(comparison(a, b)) for a, b in zip(*mean_scores(design, 300, rng), strict=True)]
        for key, sd in (
            (("runs", "A"), 0.4),
            (("runs", "B"), 0.2),
            (("segments", None), 1.5),
            (("system x segment", None), 0.8),
            (("rest", "A"), 1.0),
            (("rest", "B"), 0.5),
        ):
            assert np.mean([one[key].sd ** 2 for one in made]) == pytest.approx(sd**2, rel=0.15)


def test_documents_vary_as_documents():
    """60 documents of five segments: a document is the mean of its segments."""
    rng = np.random.default_rng(4)
    documents = np.repeat(np.arange(60), 5)
    A, B = two_way(rng, 4, 300, 0.2), two_way(rng, 4, 300, 0.2)
    found = table(comparison(A, B, documents=documents), unit="document")
    by_document = [x.reshape(4, 60, 5).mean(axis=2) for x in (A, B)]
    expected = table(comparison(*by_document))
    for key, row in expected.items():
        same = found[key[0].replace("segment", "document"), key[1]]
        assert (same.sd, same.low, same.high) == pytest.approx((row.sd, row.low, row.high))


def test_tuners_are_strata():
    """A shift between tuners is no noise of runs."""
    rng = np.random.default_rng(5)
    groups = ["mert"] * 4 + ["pro"] * 4
    x, y = two_way(rng, 8, 100, 0.3), two_way(rng, 8, 100, 0.3)
    moved = np.repeat([0.0, 50.0], 4)[:, np.newaxis]
    of = [
        table(comparison(a, b, groups_a=groups, groups_b=groups))
        for a, b in ((x, y), (x + moved, y + moved))
    ]
    for key, row in of[0].items():
        assert of[1][key].sd == pytest.approx(row.sd, rel=1e-6), key


def test_paired_runs_have_one_row():
    rng = np.random.default_rng(6)
    seeds = rng.normal(0, 3, (5, 1))
    A, B = (two_way(rng, 5, 80, 0.2) + seeds for _ in "ab")
    found = table(comparison(A, B), paired=True)
    assert [key for key in found if key[0] in ("runs", "rest")] == [("runs", None), ("rest", None)]
    assert found["rest", None].sd ** 2 == pytest.approx(residual_mean_square(B - A))
    assert found["runs", None].sd < 1
    middle = (A + B) / 2
    expected = np.var(middle.mean(axis=0), ddof=1) - residual_mean_square(middle) / 5
    assert found["segments", None].sd ** 2 == pytest.approx(expected)


def test_a_suite_of_one_test_set_in_two_halves():
    """Two test sets of equal size and weight say what both say together."""
    rng = np.random.default_rng(7)
    A, B = two_way(rng, 4, 400, 0.5), two_way(rng, 4, 400, 0.5)
    whole = table(comparison(A, B))
    halves = [comparison(A[:, half], B[:, half]) for half in (slice(0, 200), slice(200, 400))]
    a, b = (
        weighted([analyse(pair.metric, getattr(pair, side), None) for pair in halves], [0.5, 0.5])
        for side in "ab"
    )
    sides = sides_of(a, b, "groups", False)
    for row in variance_table(a, b, sides, components(sides, a.blocks)):
        same = whole[row.source, row.about]
        assert row.n == same.n
        assert row.sd == pytest.approx(same.sd, rel=0.05)


# -- intervals ----------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [1.0, 2.0, 9.0, 400.0])
@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_of_one_mean_square_the_interval_is_the_chi_square_one(nu, alpha):
    found = interval(MeanSquares((2.5,), (nu,)), MeanSquares((), ()), alpha)
    quantiles = stats.chi2.ppf([1 - alpha / 2, alpha / 2], nu)
    assert found == pytest.approx((2.5, *(2.5 * nu / quantiles)))


def test_rest_has_the_chi_square_interval():
    rng = np.random.default_rng(8)
    A, B = two_way(rng, 3, 30), two_way(rng, 4, 30)
    for row, x in ((table(comparison(A, B))["rest", "AB"[k]], x) for k, x in enumerate((A, B))):
        square, nu = residual_mean_square(x), (len(x) - 1) * 29
        limits = np.sqrt(square * nu / stats.chi2.ppf([0.975, 0.025], nu))
        assert (row.low, row.high) == pytest.approx(tuple(limits))


def test_no_limit_is_below_zero():
    tiny, large = MeanSquares((0.1,), (2.0,)), MeanSquares((5.0,), (400.0,))
    assert interval(tiny, large) == (0.0, 0.0, 0.0)
    near = MeanSquares((5.0,), (2.0,))
    estimate, low, high = interval(near, MeanSquares((4.9,), (400.0,)))
    assert estimate == pytest.approx(0.1)
    assert low == 0
    assert high > 50, "two degrees of freedom say little"


def test_a_known_subtrahend_shifts_the_chi_square_interval():
    """With infinitely many degrees of freedom below, x - y is known to be shifted by y."""
    _, low, high = interval(MeanSquares((3.0,), (6.0,)), MeanSquares((0.5,), (1e9,)))
    limits = 3.0 * 6 / stats.chi2.ppf([0.975, 0.025], 6) - 0.5
    assert (low, high) == pytest.approx(tuple(limits), rel=1e-3)


@pytest.mark.parametrize(
    ("n", "N", "run", "noise", "own"),
    [
        (3, 60, 0.2, 1.0, 0.5),
        (3, 60, 0.02, 1.0, 0.1),
        (5, 60, 0.5, 0.5, 1.0),
        (10, 30, 0.1, 1.0, 0.3),
        (3, 60, 0.0, 1.0, 0.0),
    ],
)
def test_intervals_cover(n, N, run, noise, own):
    rng = np.random.default_rng(9)
    trials = 1000
    design = Design(
        n, n + 2, N, run, 2 * run, difference=own, segment=1.0, noise_a=noise, noise_b=noise / 2
    )
    truth = {
        ("runs", "A"): run,
        ("runs", "B"): 2 * run,
        ("segments", None): 1.0,
        ("system x segment", None): own,
        ("rest", "A"): noise,
        ("rest", "B"): noise / 2,
    }
    covered = dict.fromkeys(truth, 0)
    for a, b in zip(*mean_scores(design, trials, rng), strict=True):
        for key, row in table(comparison(a, b)).items():
            covered[key] += row.low <= truth[key] <= row.high
    assert min(covered.values()) / trials >= 0.93, covered


def test_intervals_of_groups_and_of_suites_cover():
    rng = np.random.default_rng(10)
    trials, groups = 600, ["mert"] * 3 + ["pro"] * 3
    covered = dict.fromkeys(("runs", "system x segment", "rest"), 0)
    design = Design(6, 6, 80, 0.3, 0.3, difference=0.6, noise_a=1.0, noise_b=1.0)
    for A, B in zip(*mean_scores(design, trials, rng), strict=True):
        halves = [
            comparison(A[:, half], B[:, half], groups_a=groups, groups_b=groups)
            for half in (slice(0, 40), slice(40, 80))
        ]
        a, b = (
            weighted([analyse(p.metric, getattr(p, side), None) for p in halves], [0.5, 0.5])
            for side in "ab"
        )
        sides = sides_of(a, b, "groups", False)
        for row in variance_table(a, b, sides, components(sides, a.blocks)):
            truth = {"runs": 0.3, "system x segment": 0.6, "rest": 1.0}.get(row.source)
            if truth is not None and row.about in (None, "A"):
                covered[row.source] += row.low <= truth <= row.high
    assert min(covered.values()) / trials >= 0.93, covered


def test_wider_with_more_confidence():
    rng = np.random.default_rng(11)
    pair = comparison(two_way(rng, 4, 50, 0.5), two_way(rng, 4, 50, 0.5))
    for key, row in table(pair, alpha=0.1).items():
        wide = table(pair, alpha=0.01)[key]
        assert wide.low <= row.low <= row.sd <= row.high <= wide.high


@pytest.mark.parametrize(("truth", "n"), [(0.43, 3), (0.43, 5), (0.9, 3)])
def test_the_intervals_of_shares_cover(truth: float, n: int):
    """Of the test set, beside two systems that are equally noisy."""
    rng, trials = np.random.default_rng(14), 2000
    runs = (1 - truth) / 2 * rng.chisquare(n - 1, (trials, 2)) / (n - 1)
    of_set = truth * rng.chisquare(200, trials) / 200
    hit = 0
    for w, (a, b) in zip(of_set.tolist(), runs.tolist(), strict=True):
        others = MeanSquares((a, b), (n - 1, n - 1))
        share, low, high = share_interval(MeanSquares((w,), (200,)), others, 9.0, 0.05)
        assert low <= share <= high
        hit += low <= truth <= high
    assert 0.93 < hit / trials < 0.98


def test_what_twice_the_runs_or_segments_would_have_is_students():
    """Where the runs of A alone vary, and where segments alone do."""
    rng = np.random.default_rng(15)
    run = rng.normal(0, 1, (4, 1))
    found = crossed(comparison(run + np.zeros((4, 30)), np.zeros((4, 30)))).details
    half = run.std(ddof=1) / np.sqrt(8)
    assert found["reach_twice_runs"] == pytest.approx(stats.t.isf(0.025, 7) * half)
    assert found["reach_twice_units"] == pytest.approx(stats.t.isf(0.025, 3) * half * np.sqrt(2))
    segment = np.tile(rng.normal(0, 1, 30), (4, 1))
    found = crossed(comparison(segment, np.zeros((4, 30)))).details
    half = segment[0].std(ddof=1) / np.sqrt(60)
    assert found["reach_twice_runs"] == pytest.approx(stats.t.isf(0.025, 29) * half * np.sqrt(2))
    assert found["reach_twice_units"] == pytest.approx(stats.t.isf(0.025, 59) * half)


# -- in words -----------------------------------------------------------------------------


def test_the_sentence_names_the_bottleneck():
    rng = np.random.default_rng(12)
    common = rng.normal(0, 1, 30)
    steady = comparison(*(two_way(rng, 20, 30, 0.01, common + rng.normal(0, 1, 30), 0.1) for _ in "ab"))
    said = bottleneck(tuple(table(steady).values()))
    assert said.endswith("% of the uncertainty comes from the test set: more runs cannot help")
    noisy = comparison(two_way(rng, 10, 300, 0.01, 0.0, 0.1), two_way(rng, 10, 300, 2, 0.0, 0.1))
    said = bottleneck(tuple(table(noisy).values()))
    assert said == ">99% of the uncertainty comes from the runs of B: more segments cannot help"
    both = comparison(two_way(rng, 10, 50, 0.4), two_way(rng, 10, 50, 0.4))
    assert bottleneck(tuple(table(both).values())).endswith("more of both would help")
    assert bottleneck(tuple(table(comparison(np.ones((3, 9)), np.ones((3, 9)))).values())) is None


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((0.5, 0.25, 0.25), ("50%", "25%", "25%")),
        ((1 / 3, 1 / 3, 1 / 3), ("34%", "33%", "33%")),
        ((0.836, 0.072, 0.092), ("84%", "7%", "9%")),
        ((0.996, 0.004, 0.0), (">99%", "<1%", "0%")),
        ((1.0, 0.0, 0.0), ("100%", "0%", "0%")),
    ],
)
def test_shares_add_to_a_hundred_in_print(parts: tuple[float, ...], said: tuple[str, ...]):
    of_set, a, b = parts
    found = shares(
        (
            VarianceRow("runs", "A", 0.0, 0.0, 0.0, 3, a),
            VarianceRow("runs", "B", 0.0, 0.0, 0.0, 3, b),
            VarianceRow("segments", None, 2.0, 1.8, 2.2, 100, None),
            VarianceRow("system x segment", None, 1.0, 0.9, 1.1, 100, of_set),
        )
    )
    assert tuple(map(str, found)) == said
    assert sum(one.percent for one in found) == 100
    assert [one.row.about for one in found] == [None, "A", "B"]


def test_the_sentence_has_the_shares_of_all_that_there_is():
    """Noise of runs on single segments is the runs'; nothing is left out."""
    rng = np.random.default_rng(5)
    pair = comparison(*(two_way(rng, 4, 60, 0.3, 0.0, 2.0) for _ in "ab"))
    rows = tuple(table(pair).values())
    said = bottleneck(rows)
    percents = [int(number) for number in re.findall(r"(\d+)%", said)]
    assert len(percents) == 2
    assert sum(percents) == 100
    assert str(shares(rows)[0]) == f"{percents[0]}%"
    assert "noise on single segments" in said


def test_a_share_that_few_runs_hardly_know_is_told_with_its_interval():
    rng = np.random.default_rng(16)
    effect = rng.normal(0, 1, 200)
    pair = comparison(*(two_way(rng, 3, 200, 0.06, effect + rng.normal(0, 0.7, 200), 0.1) for _ in "ab"))
    rows = table(pair)
    of_set = rows["system x segment", None]
    assert of_set.share_high - of_set.share_low > 0.5
    limits = [f"{100 * x:.0f}%" for x in (of_set.share_low, of_set.share_high)]
    said = bottleneck(tuple(rows.values()))
    assert f"({limits[0]} to {limits[1]} with so few runs)" in said


def test_few_runs_are_not_sure_that_runs_do_not_matter():
    """A run variance estimated as 0 from three runs may as well be large."""

    def rows(high: float) -> tuple[VarianceRow, ...]:
        return (
            VarianceRow("runs", "A", 0.0, 0.0, high, 3, 0.1),
            VarianceRow("runs", "B", 0.0, 0.0, high, 3, 0.1),
            VarianceRow("segments", None, 2.0, 1.8, 2.2, 100, None),
            VarianceRow("system x segment", None, 1.0, 0.9, 1.1, 100, 0.8),
            VarianceRow("rest", "A", 0.5, 0.4, 0.6, 300, None),
            VarianceRow("rest", "B", 0.5, 0.4, 0.6, 300, None),
        )

    assert bottleneck(rows(0.1)).endswith("more runs cannot help")
    assert bottleneck(rows(0.5)).endswith("more runs would hardly help, as far as these tell")
