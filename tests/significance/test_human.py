"""Judgements of some segments with metrics of all, against ppi-python, truescore, enumeration and
numpy's least squares."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.significance.base import Comparison
from replitune.significance.controlled import FOLDS, Controls, Judgements, Sample, sharpen
from replitune.statistics.systems import SystemStatistics
from significance.calls import human

Z90, Z95 = 1.6448536269514722, 1.959963984540054


def sample(y, x, at, weights=None, units=None) -> Sample:
    """Of judgements y at `at`, with metrics x (N,) or (N, M) of all."""
    x = np.asarray(x, float).reshape(len(x), -1)
    weights = np.full(len(at), 1.0) if weights is None else weights
    units = np.arange(len(x), dtype=np.int32) if units is None else units
    return Sample(np.asarray(y, float), x[at], weights / weights.sum(), np.asarray(at), x, units)


def by_lambda(y, judged, others, lam):
    """PPI++ with this lambda: a slope of lambda N / (N - n)."""
    n, N = len(judged), len(judged) + len(others)
    one = sample(y, np.concatenate([judged, others]), np.arange(n))
    return sharpen(one, np.full((n, 1), lam * N / (N - n)))


def lambda_of_ppi(y, judged, others):
    """Angelopoulos, Duchi and Zrnic (2023), as ppi-python computes it."""
    pooled = np.concatenate([judged, others])
    covariance = np.mean((y - y.mean()) * (judged - judged.mean()))
    return np.clip(covariance / (1 + len(y) / len(others)) / np.var(pooled, ddof=1), 0, 1)


@pytest.mark.parametrize(
    ("lam", "mean", "low", "high"),
    [  # printed by ppi-python 0.2.3: ppi_mean_pointestimate, ppi_mean_ci(alpha=.1)
        (None, 0.42864327480485453, 0.2712606690463263, 0.5860258805633828),
        (1.0, 0.4315655772572976, 0.2747332696730912, 0.588397884841504),
        (0.5, 0.4247804455242608, 0.2567750639349096, 0.5927858271136119),
        (0.0, 0.4179953137912239, 0.21016078500873242, 0.6258298425737154),
    ],
)
def test_mean_and_interval_are_those_of_ppi_python(lam, mean, low, high):
    i = np.arange(240.0)
    y = (0.3 + np.sin(i * i / 7) + 0.5 * np.cos(5 * i))[:40]
    f = 0.7 * np.sin(i * i / 7) + 0.4 * np.cos(3 * i * i)
    lam = lambda_of_ppi(y, f[:40], f[40:]) if lam is None else lam
    estimate = by_lambda(y, f[:40], f[40:], lam)
    se = np.sqrt(np.sum(estimate.added**2))  # by n, as there
    np.testing.assert_allclose(
        [estimate.mean, estimate.mean - Z90 * se, estimate.mean + Z90 * se], [mean, low, high], atol=1e-12
    )


def test_the_example_that_truescore_prints():
    """4,000 answers, 600 of them judged by people, too: its documentation has 0.7150 [0.6836, 0.7463],
    by the least-squares slope; its release 0.7.4 prints 0.7151 [0.6837, 0.7464], by ppi-python's."""
    counts = {(0, 0): 79, (0, 1): 90, (1, 0): 15, (1, 1): 416}
    y = np.repeat([float(people) for people, _ in counts], list(counts.values()))
    f = np.repeat([float(judge) for _, judge in counts], list(counts.values()))
    others = np.repeat([1.0, 0.0], [2847, 553])

    def printed(estimate):
        reach = Z95 * np.sqrt(estimate.variance)
        return [estimate.mean, estimate.mean - reach, estimate.mean + reach]

    squares = np.cov(y, f)[0, 1] / np.var(f, ddof=1) / (1 + 600 / 3400)
    documented = printed(by_lambda(y, f, others, squares))
    assert [f"{number:.4f}" for number in documented] == ["0.7150", "0.6836", "0.7463"]
    released = by_lambda(y, f, others, lambda_of_ppi(y, f, others))
    np.testing.assert_allclose(
        printed(released), [0.715052205278399, 0.6837003617622323, 0.7464040487945657], atol=2e-6
    )
    se = np.sqrt(np.sum(released.added**2))
    by_ppi_python = [0.7150522052783987, 0.6837254841685396, 0.7463789263882581]
    np.testing.assert_allclose(
        [released.mean, released.mean - Z95 * se, released.mean + Z95 * se], by_ppi_python, atol=1e-12
    )
    own = sample(y, np.concatenate([f, others]), np.arange(600))  # cross-fitted and shrunk
    np.testing.assert_allclose(printed(sharpen(own, own.slopes())), documented, atol=1e-4)


def test_enumeration_of_six_segments():
    """Over all choices of three the estimate is the mean of all six, and its variance that of the
    residuals, whatever the slope."""
    y, x = np.array([1.0, 4, 2, 8, 5, 7]), np.array([0.5, 2, 2, 6, 1, 4])
    for slope in (0.0, 0.7, 2.0):
        means = [
            sharpen(sample(y[list(at)], x, list(at)), np.full((3, 1), slope)).mean
            for at in combinations(range(6), 3)
        ]
        assert np.mean(means) == pytest.approx(y.mean(), abs=1e-14)
        assert np.var(means) == pytest.approx((1 - 3 / 6) * np.var(y - slope * x, ddof=1) / 3, abs=1e-14)


def test_enumeration_with_probabilities():
    """One of the first two, three of the last four: by the inverse weights the mean is that of all."""
    y, x = np.array([1.0, 4, 2, 8, 5, 7]), np.array([0.5, 2, 2, 6, 1, 4])
    choices = [(a, *rest) for a, rest in product((0, 1), combinations(range(2, 6), 3))]
    weights = np.array([2, 2, 4 / 3, 4 / 3, 4 / 3, 4 / 3])
    means = [
        sharpen(sample(y[list(c)], x, list(c), weights[list(c)]), np.ones((4, 1))).mean for c in choices
    ]
    assert np.mean(means) == pytest.approx(y.mean(), abs=1e-14)


def test_slopes_are_least_squares_without_the_fold_shrunk_by_f():
    rng = np.random.default_rng(5)
    n, M = 60, 3
    x = rng.normal(size=(200, M)) * [1, 10, 0.1]
    y = x[:n] @ [0.4, 0.02, 1.0] + rng.normal(size=n)
    one = sample(y, x, np.arange(n))
    slopes = one.slopes()
    for fold in range(FOLDS):
        out = np.arange(n) % FOLDS == fold
        design = np.column_stack([np.ones(n), x[:n]])[~out]
        b, (rss,), *_ = np.linalg.lstsq(design, y[~out], rcond=None)
        tss = np.sum((y[~out] - y[~out].mean()) ** 2)
        F = (tss - rss) / M / (rss / (n * (1 - 1 / FOLDS) - M - 1))
        np.testing.assert_allclose(slopes[out], np.tile(b[1:] * max(0, 1 - 1 / F), (6, 1)), rtol=1e-6)


def test_metrics_that_cannot_help_change_nothing():
    rng = np.random.default_rng(6)
    y = rng.normal(size=30)
    constant = sample(y, np.ones(90), np.arange(30))
    assert not constant.slopes().any()
    few = sample(y[:4], rng.normal(size=(90, 3)), np.arange(4))
    assert not few.slopes().any()
    x = y.repeat(3) + rng.normal(size=90)
    at = np.arange(0, 90, 3)
    once, twice = sample(y, x, at), sample(y, np.column_stack([x, x]), at)
    np.testing.assert_allclose(twice.slopes()[:, 0], twice.slopes()[:, 1], rtol=1e-6)
    assert sharpen(once, once.slopes()).mean == pytest.approx(sharpen(twice, twice.slopes()).mean, abs=0.02)


def test_documents_are_summed():
    """As many of one size, wholly judged or not: the variance is that of their means."""
    rng = np.random.default_rng(7)
    y = rng.normal(size=24)
    units = np.repeat(np.arange(20, dtype=np.int32), 4)
    one = sample(y, np.zeros(80), np.arange(24), units=units)
    assert one.size == pytest.approx(6)
    means = y.reshape(6, 4).mean(axis=1)
    assert sharpen(one, np.zeros((24, 1))).variance == pytest.approx(np.var(means, ddof=1) / 6)


# ---- the test


def compared(
    people: np.ndarray, metrics: np.ndarray, *, weighted=False, raters=None, rows="all", documents=None
) -> Comparison:
    """people (2, J, N) with NaN where nobody judged, metrics (2, R, N) of A and B."""
    J, N = people.shape[1:]
    runs = tuple(f"run-{r + 1:03}" for r in range(metrics.shape[1]))
    judged = None if rows is None else np.arange(J)
    controls = {
        name: Controls(runs, x[..., np.newaxis], judged) for name, x in zip("AB", metrics, strict=True)
    }
    metric = Judgements("human", ("chrf",), controls, raters or {}, weighted)
    known = ~np.isnan(people)
    cells = np.stack([np.where(known, people, 0.0), known.astype(float)], axis=-1)
    a, b = (
        SystemStatistics(name, runs[:J], (None,) * J, own) for name, own in zip("AB", cells, strict=True)
    )
    documents = np.arange(N, dtype=np.int32) if documents is None else documents
    return Comparison(metric, a, b, documents)


def drawn(seed: int, n: int, N: int = 300, R: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(2, R, N))
    people = truth[:, :1].copy()
    people[..., n:] = np.nan
    return people, truth + rng.normal(size=truth.shape)


def codes(result) -> set[str]:
    return {note.code for note in result.notes}


def test_judgements_alone_are_a_paired_t_test():
    from scipy.stats import ttest_rel

    people, _ = drawn(1, 40)
    result = human(compared(people, np.zeros((2, 1, 300))))
    expected = ttest_rel(people[1, 0, :40], people[0, 0, :40])
    assert result.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert (result.ci_low, result.ci_high) == pytest.approx(tuple(expected.confidence_interval()))
    assert result.details["worth"] == 1
    assert {"few-judged", "selection-unknown", "these-runs"} <= codes(result)
    greater, less = (
        human(compared(people, np.zeros((2, 1, 300))), alternative=s) for s in ("greater", "less")
    )
    assert greater.p + less.p == pytest.approx(1)
    assert min(greater.p, less.p) == pytest.approx(result.p / 2)


def test_a_good_metric_is_worth_judgements_and_moves_with_the_difference():
    people, metrics = drawn(2, 100)
    result = human(compared(people, metrics))
    assert 1.3 < result.details["worth"] < 2
    assert result.se < result.details["se_alone"]
    people[1] += 3
    moved = human(compared(people, metrics))
    assert (moved.delta - 3, moved.se) == pytest.approx((result.delta, result.se))
    same = human(compared(people, metrics), margins={"human": 4.0})
    assert same.details["p_same"] < 0.05


def test_what_is_judged_of_one_run_is_corrected_by_how_it_differs():
    """People see what the metric sees: the difference is that of all runs, not of those judged."""
    people, _ = drawn(3, 60, R=4)
    rng = np.random.default_rng(4)
    metrics = rng.normal(size=(2, 4, 300)) + np.array([0.0, 1, -1, 2])[:, np.newaxis]
    people[:] = metrics[:, :1]
    people[..., 60:] = np.nan
    result = human(compared(people, metrics))
    assert result.delta == pytest.approx(metrics[1].mean() - metrics[0].mean(), abs=1e-4)
    assert result.scope == "segments"
    assert "one-judged-run" in codes(result)
    spread = metrics.mean(axis=2).var(axis=1, ddof=1).sum() / 4
    assert result.se**2 > 0.9 * spread
    segments = human(compared(people, metrics), scope="segments")
    assert segments.se < result.se
    assert "one-judged-run" in codes(human(compared(people, metrics, rows=None)))


def test_several_judged_runs_show_their_noise():
    rng = np.random.default_rng(8)
    noise = np.array([0.0, 3, -3])[:, np.newaxis]
    people = rng.normal(size=(2, 3, 300)) + noise
    people[..., 80:] = np.nan
    result = human(compared(people, np.zeros((2, 3, 300))))
    runs = people[..., :80].mean(axis=2).var(axis=1, ddof=1).sum() / 3
    assert result.se**2 == pytest.approx(runs, rel=0.05)
    assert "one-judged-run" not in codes(result)
    assert result.scope == "both"


def test_few_documents_and_few_segments_have_no_p():
    people, metrics = drawn(9, 8)
    assert human(compared(people, metrics)).p is None
    documents = (np.arange(300) // 10).astype(np.int32)
    people, metrics = drawn(9, 50)  # five whole documents
    result = human(compared(people, metrics, documents=documents))
    assert (result.unit, result.p) == ("document", None)
    assert "few-documents" in codes(result)
    heavy = np.full((2, 1, 300), np.nan)
    heavy[..., :60] = 0
    heavy[1, 0, :2] = (50, 40)
    assert human(compared(heavy, np.zeros((2, 1, 300)))).p is None


def test_documents_are_no_unit_of_a_test_set_without_them():
    people, metrics = drawn(9, 50)
    with pytest.raises(ReplituneError, match="the test set has no documents"):
        human(compared(people, metrics), unit="document")
    documents = (np.arange(300) // 10).astype(np.int32)
    assert human(compared(people, metrics, documents=documents), unit="document").unit == "document"


def test_judged_segments_unlike_the_others_are_told():
    people, metrics = drawn(10, 60)
    metrics[1, 0, :60] += 2
    assert "selection-differs" in codes(human(compared(people, metrics)))
    assert not {"selection-differs", "selection-unknown"} & codes(
        human(compared(people, metrics, weighted=True))
    )


def test_raters_who_differ_are_told():
    people, metrics = drawn(11, 60)
    by = {name: {} for name in "AB"}
    for s, name in enumerate("AB"):
        for r, rater in enumerate(("x", "y")):
            own = np.where(np.arange(300) % 2 == r, people[s, 0] + 3 * r * s, np.nan)
            by[name][rater] = own
    assert "rater-effects" in codes(human(compared(people, metrics, raters=by)))
    apart = {"A": {"x": people[0, 0]}, "B": {"y": people[1, 0]}}
    assert "other-raters" in codes(human(compared(people, metrics, raters=apart)))


def test_segments_of_one_system_are_left_out_and_told():
    people, metrics = drawn(12, 60)
    people[0, 0, 50:] = np.nan
    result = human(compared(people, metrics))
    assert result.details["judged"] == 50
    assert "judged-one-only" in codes(result)
    people[1] = np.nan
    with pytest.raises(ReplituneError, match="no segment of which people judged"):
        human(compared(people, metrics))
