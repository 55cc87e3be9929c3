from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from significance.calls import crossed

sys.path.insert(0, str(Path(__file__).parent))
from crossed_models import CountBleu, RootMetric, bleu_counts, comparison, mean_statistics, two_way

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.significance.system_parts import linearise


def anova(x: np.ndarray) -> tuple[float, float, float]:
    """Textbook mean squares of a replicas x segments table: rows, columns, residual."""
    n, N = x.shape
    grand = x.mean()
    rows = sum(N * (x[r].mean() - grand) ** 2 for r in range(n))
    columns = sum(n * (x[:, i].mean() - grand) ** 2 for i in range(N))
    total = ((x - grand) ** 2).sum()
    return (rows / (n - 1), columns / (N - 1), (total - rows - columns) / ((n - 1) * (N - 1)))


# -- the linearisation --------------------------------------------------------------------


@pytest.mark.parametrize("metric", [CountBleu(), Bleu()], ids=["test", "bleu"])
@pytest.mark.parametrize("quality", [0.4, 0.7])
def test_gradient_is_the_infinitesimal_jackknife(quality, metric):
    z = bleu_counts(np.random.default_rng(3), 3, 60, quality)
    sums = z.sum(axis=1)
    L, smooth = linearise(metric, z, sums)
    assert smooth
    N, eps = z.shape[1], 1e-5
    for r in range(3):
        step = z[r] - sums[r] / N
        central = metric.score(sums[r] + eps * step) - metric.score(sums[r] - eps * step)
        np.testing.assert_allclose(L[r], N * central / (2 * eps), atol=1e-6 * abs(L[r]).max())
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-8)


@pytest.mark.parametrize(("N", "metric"), [(200, CountBleu()), (1000, CountBleu()), (500, Bleu())])
def test_delete_one_jackknife_agrees_within_five_over_n(N, metric):
    z = bleu_counts(np.random.default_rng(5), 1, N, 0.6)
    z[:, :, 8] = z[:, :, 9] - 2  # well short of the references: no kink
    sums = z.sum(axis=1)
    L, _ = linearise(metric, z, sums)
    infinitesimal = (L**2).sum() / (N * (N - 1))
    left_out = metric.score(sums[0] - z[0])
    delete_one = (N - 1) / N * ((left_out - left_out.mean()) ** 2).sum()
    assert abs(delete_one / infinitesimal - 1) < 5 / N


def test_delete_one_jackknife_is_exact_for_a_mean():
    x = np.random.default_rng(6).normal(size=(1, 40))
    z = mean_statistics(x)
    L, _ = linearise(MeanMetric(), z, z.sum(axis=1))
    np.testing.assert_allclose(L[0], x[0] - x[0].mean(), atol=1e-12)
    left_out = MeanMetric().score(z[0].sum(axis=0) - z[0])
    delete_one = 39 / 40 * ((left_out - left_out.mean()) ** 2).sum()
    assert delete_one == pytest.approx((L**2).sum() / (40 * 39), rel=1e-12)


def test_metric_without_gradient_uses_pseudo_values():
    rng = np.random.default_rng(8)
    x = rng.gamma(4.0, size=(4, 300))
    z = mean_statistics(x)
    sums = z.sum(axis=1)
    L, smooth = linearise(RootMetric(), z, sums)
    assert not smooth
    derivative = 5 / np.sqrt(x.mean(axis=1, keepdims=True))
    np.testing.assert_allclose(L, derivative * (x - x.mean(axis=1, keepdims=True)), atol=0.05)
    result = crossed(comparison(x, x[::-1] + rng.normal(size=x.shape), RootMetric()))
    assert "pseudo-values" in result.note
    assert 0 < result.p < 1


# -- the variance -------------------------------------------------------------------------


def test_variance_is_the_two_way_random_effects_one():
    """Against a constant system: Var(mean) = (MS_replica + MS_segment - MS_residual) / nN."""
    rng = np.random.default_rng(11)
    x = two_way(rng, 6, 50, rep=0.3)
    result = crossed(comparison(np.zeros((2, 50)), x))
    rows, columns, residual = anova(x)
    assert result.se**2 == pytest.approx((rows + columns - residual) / (6 * 50), rel=1e-10)
    assert result.delta == pytest.approx(x.mean())


def test_two_systems_with_equal_n_match_the_nested_design():
    """Systems fixed, replicas nested in systems, segments crossed with both."""
    rng = np.random.default_rng(12)
    n, N = 5, 80
    effect = rng.normal(size=N)
    a = two_way(rng, n, N, 0.3, effect)
    b = two_way(rng, n, N, 0.3, effect + 0.3 * rng.normal(size=N))
    rows_a, _, residual_a = anova(a)
    rows_b, _, residual_b = anova(b)
    d = b.mean(axis=0) - a.mean(axis=0)
    interaction = n / 2 * ((d - d.mean()) ** 2).sum() / (N - 1)  # MS of system x segment
    residual = (residual_a + residual_b) / 2
    expected = 2 / (n * N) * ((rows_a + rows_b) / 2 + interaction - residual)
    assert crossed(comparison(a, b)).se ** 2 == pytest.approx(expected, rel=1e-10)


def test_paired_seeds_are_an_analysis_of_the_differences():
    rng = np.random.default_rng(13)
    shared = rng.normal(0, 0.5, (7, 1))
    a = two_way(rng, 7, 60, 0.1) + shared
    b = two_way(rng, 7, 60, 0.1) + shared
    rows, columns, residual = anova(b - a)
    result = crossed(comparison(a, b), paired=True)
    assert result.se**2 == pytest.approx((rows + columns - residual) / (7 * 60), rel=1e-10)
    assert result.pairing == "id"
    assert result.se < crossed(comparison(a, b)).se


def test_groups_are_strata():
    """Two tuners of different level: their difference is not noise of a system."""
    rng = np.random.default_rng(14)
    N, effect = 70, rng.normal(size=70)
    parts = {
        (s, g): two_way(rng, k, N, 0.2, effect + 3 * (g == "pro"))
        for s in "ab"
        for g, k in (("mert", 3), ("pro", 6))
    }
    a, b = (np.concatenate([parts[s, "mert"], parts[s, "pro"]]) for s in "ab")
    groups = ["mert"] * 3 + ["pro"] * 6
    V_rep = V_int = 0.0
    for (_, g), x in parts.items():
        rows, _, residual = anova(x)
        k, share = len(x), (3 if g == "mert" else 6) / 9
        V_rep += share**2 * rows / (k * N)
        V_int += share**2 * residual / (k * N)
    d = b.mean(axis=0) - a.mean(axis=0)
    V_seg = d.var(ddof=1) / N
    pair = comparison(a, b, groups_a=groups, groups_b=groups)
    result = crossed(pair)
    assert result.se**2 == pytest.approx(max(V_rep + V_seg - V_int, V_rep, V_seg), rel=1e-10)
    assert result.se < 0.5 * crossed(pair, strata="none").se


def test_documents_of_equal_size_are_an_analysis_of_their_means():
    rng = np.random.default_rng(15)
    a, b = two_way(rng, 4, 200, 0.2), two_way(rng, 5, 200, 0.2)
    documents = np.repeat(np.arange(25), 8)
    by_document = crossed(comparison(a, b, documents=documents), unit="document")
    means = [x.reshape(len(x), 25, 8).mean(axis=2) for x in (a, b)]
    of_means = crossed(comparison(*means))
    assert by_document.se == pytest.approx(of_means.se, rel=1e-10)
    assert by_document.p == pytest.approx(of_means.p, rel=1e-10)
    assert (by_document.unit, by_document.documents) == ("document", 25)
    assert by_document.scope == "both"


def test_documents_of_one_segment_are_segments():
    rng = np.random.default_rng(16)
    pair = comparison(two_way(rng, 4, 90), two_way(rng, 3, 90))
    assert crossed(pair, unit="auto").unit == "segment"
    with pytest.raises(ReplituneError, match="no documents"):
        crossed(pair, unit="document")


def test_variance_is_floored_at_what_one_source_makes():
    rng = np.random.default_rng(17)
    noise = two_way(rng, 3, 400, rep=0.0, seg=0.0, noise=1.0)
    more = two_way(rng, 3, 400, rep=0.0, seg=0.0, noise=1.0)
    result = crossed(comparison(noise, more))
    d = more.mean(axis=0) - noise.mean(axis=0)
    floor = max(d.var(ddof=1) / 400, sum(np.var(x.mean(axis=1), ddof=1) / 3 for x in (noise, more)))
    assert result.se**2 >= floor * (1 - 1e-12)


# -- p and the interval -------------------------------------------------------------------


def test_without_tuner_noise_it_is_students_paired_t():
    rng = np.random.default_rng(21)
    a, b = np.repeat(rng.normal(size=(1, 30)), 3, 0), np.repeat(rng.normal(size=(1, 30)), 3, 0)
    a -= a.mean()  # no rounding left in V_rep
    result = crossed(comparison(a, b))
    oracle = stats.ttest_rel(b[0], a[0])
    assert result.p == pytest.approx(oracle.pvalue, rel=1e-6)
    assert result.df == pytest.approx(29)
    interval = oracle.confidence_interval()
    assert (result.ci_low, result.ci_high) == pytest.approx((interval.low, interval.high))


def test_p_and_interval_tell_the_same():
    rng = np.random.default_rng(22)
    for _ in range(40):
        shift = rng.normal(0, 0.4)
        pair = comparison(two_way(rng, 4, 60, 0.2), two_way(rng, 6, 60, 0.2) + shift)
        for alpha in (0.05, 0.3):
            result = crossed(pair, alpha=alpha)
            assert (result.p < alpha) == (result.ci_low > 0 or result.ci_high < 0)
            half = (result.ci_high - result.ci_low) / 2
            assert half == pytest.approx(stats.t.isf(alpha / 2, result.df) * result.se, rel=1e-6)


def test_p_is_one_half_of_the_two_sided_in_the_right_direction():
    rng = np.random.default_rng(23)
    a, b = two_way(rng, 5, 60, 0.2), two_way(rng, 5, 60, 0.2) + 0.3
    pair = comparison(a, b)
    both = crossed(pair).p
    assert crossed(pair, alternative="greater").p == pytest.approx(both / 2)
    assert crossed(pair, alternative="less").p == pytest.approx(1 - both / 2)
    error_rate = comparison(a, b, MeanMetric(higher_is_better=False))
    assert crossed(error_rate, alternative="less").p == pytest.approx(both / 2)


def test_swapping_the_systems_mirrors_the_result():
    rng = np.random.default_rng(24)
    z = bleu_counts(rng, 9, 120)
    pair = comparison(z[:4], z[4:], CountBleu(), documents=np.arange(120) // 4)
    for options in ({}, {"unit": "document"}, {"alternative": "greater"}):
        there = crossed(pair, **options)
        if "alternative" in options:
            options = {"alternative": "less"}
        back = crossed(pair.swapped(), **options).swapped()
        for name in ("delta", "p", "se", "df", "ci_low", "ci_high"):
            assert getattr(there, name) == pytest.approx(getattr(back, name), rel=1e-9)


def test_identical_systems_have_p_one():
    z = bleu_counts(np.random.default_rng(25), 5, 100)
    for options in ({}, {"paired": True}, {"alternative": "less"}, {"alternative": "greater"}):
        assert crossed(comparison(z, z, CountBleu()), **options).p == 1.0


def test_p_is_never_zero():
    a = np.random.default_rng(26).normal(0, 1e-6, (3, 50))
    p = crossed(comparison(a, np.random.default_rng(27).normal(1e3, 1e-6, (3, 50)))).p
    assert 0 < p < 1e-6
    same = np.repeat(a[:1] - a[0].mean(), 3, 0)
    assert crossed(comparison(same, np.flip(same, 1) + 1e3)).p > 0


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    n_a=st.integers(2, 5),
    n_b=st.integers(2, 5),
    N=st.integers(2, 12),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-6, 1.0, 1e5]),
    coarse=st.booleans(),
)
def test_any_comparison_has_a_valid_p(n_a, n_b, N, seed, scale, coarse):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n_a, N)), rng.normal(size=(n_b, N))
    if coarse:  # many ties and zero variances
        a, b = np.round(a), np.round(b)
    result = crossed(comparison(scale * a, scale * b))
    if result.p is None:
        assert "zero variance" in result.note
        return
    assert 0 < result.p <= 1
    plain = crossed(comparison(a, b))
    assert result.p == pytest.approx(plain.p, rel=1e-6)
    assert crossed(comparison(b, a)).p == pytest.approx(plain.p, rel=1e-6)
    if plain.ci_low is not None:
        assert plain.ci_low <= plain.delta <= plain.ci_high
        assert 1 - 1e-9 <= plain.df <= n_a + n_b + N - 3 + 1e-9


# -- what it cannot do, and says so -------------------------------------------------------


def test_one_replica_gives_no_p():
    rng = np.random.default_rng(31)
    result = crossed(comparison(two_way(rng, 1, 50), two_way(rng, 4, 50)))
    assert (result.p, result.se, result.df, result.ci_low) == (None, None, None, None)
    assert "one run of A" in result.note


def test_two_replicas_carry_a_note():
    rng = np.random.default_rng(32)
    result = crossed(comparison(two_way(rng, 2, 50), two_way(rng, 4, 50)))
    assert result.p is not None
    assert "two runs" in result.note


def test_two_replicas_in_a_group_carry_a_note():
    rng = np.random.default_rng(40)
    groups = ["mert", "mert", "pro", "pro"]
    x, y = two_way(rng, 4, 50), two_way(rng, 4, 50)
    result = crossed(comparison(x, y, groups_a=groups, groups_b=groups))
    assert "two runs in a group" in result.note


def test_one_segment_says_nothing_about_others():
    a, b = np.array([[1.0], [2.0], [2.5]]), np.array([[3.0], [4.0], [4.2]])
    result = crossed(comparison(a, b))
    assert result.p == pytest.approx(crossed(comparison(a, b), scope="runs").p)
    assert result.scope == "runs"
    assert "only 1 segment" in result.note
    alone = crossed(comparison(a, b), scope="segments")
    assert alone.p is None
    assert "one segment" in alone.note


def test_zero_variance_gives_no_p():
    result = crossed(comparison(np.ones((3, 20)), np.full((3, 20), 2.0)))
    assert result.p is None
    assert result.delta == 1.0
    assert "zero variance" in result.note


def test_constant_metric_has_p_one():
    assert crossed(comparison(np.ones((3, 20)), np.ones((4, 20)))).p == 1.0


def test_zero_denominator_has_a_result():
    empty = np.zeros((3, 20, 2))
    result = crossed(comparison(empty, empty))
    assert (result.delta, result.p) == (0.0, 1.0)
    nothing = np.zeros((3, 20, 10), np.int32)
    assert crossed(comparison(nothing, nothing, CountBleu())).p == 1.0


@pytest.mark.parametrize("unit", ["auto", "document"])
def test_few_documents_say_nothing_about_new_text_or_have_a_note(unit):
    rng = np.random.default_rng(33)
    a, b = two_way(rng, 3, 120), two_way(rng, 3, 120)
    uneven = np.where(np.arange(120) < 100, 0, np.arange(120) - 99)
    for documents in (np.zeros(120, int), np.arange(120) // 24, uneven):
        few = comparison(a, b, documents=documents)
        found = crossed(few, unit=unit)
        assert found.scope == "runs"
        assert found.p == crossed(few, scope="runs").p
        assert "this-text-alone" in [note.code for note in found.notes]
        samples = crossed(few, unit=unit, design="samples")
        assert (samples.scope, samples.run_kind) == ("runs", "sample")
        assert crossed(few, scope="segments", unit=unit).p is None
    found = crossed(comparison(a, b, documents=np.arange(120) // 24), unit=unit)
    assert "5.0 effective documents" in found.note
    some = crossed(comparison(a, b, documents=np.arange(120) // 10), unit=unit)
    assert (some.scope, some.unit) == ("both", "document")
    assert "12.0 effective documents: p is approximate" in some.note


@pytest.mark.parametrize("N", [2, 5, 6])
def test_few_segments_say_nothing_about_new_text_or_have_a_note(N):
    rng = np.random.default_rng(36)
    few = comparison(two_way(rng, 4, N), two_way(rng, 4, N))
    found = crossed(few)
    code = "few-segments" if N == 6 else "this-text-alone"
    assert [note.code for note in found.notes if "segments" in note.text] == [code]
    assert found.scope == ("both" if N == 6 else "runs")
    assert (crossed(few, scope="segments").p is None) == (N < 6)
    many = crossed(comparison(two_way(rng, 4, 20), two_way(rng, 4, 20)))
    assert "few-segments" not in [note.code for note in many.notes]


@pytest.mark.parametrize("sizes", [[20] * 10, [8, 12] * 5 + [20] * 5])
def test_ten_documents_keep_the_level(sizes):
    """Documents with a third of the variance of segments; as segments, .05 would be .2 and more."""
    rng = np.random.default_rng(37)
    documents = np.repeat(np.arange(len(sizes)), sizes)
    found = np.zeros(2)
    for _ in range(400):
        effects = rng.normal(0, 0.5, (2, len(sizes)))[:, documents]
        a, b = (two_way(rng, 3, len(documents), noise=0.3) + effect for effect in effects)
        pair = comparison(a, b, documents=documents)
        rows = [crossed(pair, scope="segments", unit=unit) for unit in ("auto", "segment")]
        found += [row.p is not None and row.p <= 0.05 for row in rows]
    assert found[0] <= 33, "of 400: .05 and three standard errors"
    assert found[1] > 60


def test_kink_is_told():
    z = bleu_counts(np.random.default_rng(34), 6, 100)
    z[:, :, 8] = z[:, :, 9]
    assert "multi-bootstrap" in crossed(comparison(z[:3], z[3:], CountBleu())).note
    z[:, :, 8] = z[:, :, 9] - 2
    assert crossed(comparison(z[:3], z[3:], CountBleu())).note is None


def test_a_tuner_with_one_replica_pools_the_tuners():
    rng = np.random.default_rng(35)
    a, b = two_way(rng, 4, 50), two_way(rng, 4, 50)
    groups = ["mert", "mert", "mert", "pro"]
    result = crossed(comparison(a, b, groups_a=groups, groups_b=groups))
    assert "all groups are pooled" in result.note
    assert result.p == crossed(comparison(a, b)).p


def test_different_shares_of_tuners_are_an_error_that_names_the_cure():
    rng = np.random.default_rng(36)
    a, b = two_way(rng, 4, 50), two_way(rng, 4, 50)
    pair = comparison(a, b, groups_a=["mert"] * 4, groups_b=["mert"] * 2 + ["pro"] * 2)
    with pytest.raises(ReplituneError, match="strata: none"):
        crossed(pair)
    assert crossed(pair, strata="none").p is not None


def test_a_tuned_system_is_compared_with_training_seeds_as_a_whole():
    rng = np.random.default_rng(38)
    a, b = two_way(rng, 4, 50), two_way(rng, 3, 50)
    mixed = comparison(a, b, groups_a=["mert"] * 2 + ["pro"] * 2, groups_b=[None] * 3)
    assert crossed(mixed).p == crossed(comparison(a, b)).p


def test_pairing_needs_the_same_ids():
    rng = np.random.default_rng(37)
    with pytest.raises(ReplituneError, match="do not pair by id"):
        crossed(comparison(two_way(rng, 3, 50), two_way(rng, 4, 50)), paired=True)


def test_statistics_that_are_not_finite_are_an_error():
    rng = np.random.default_rng(38)
    a = two_way(rng, 3, 50)
    a[1, 7] = np.nan
    with pytest.raises(ReplituneError, match="not a number"):
        crossed(comparison(a, two_way(rng, 3, 50)))


@pytest.mark.parametrize(
    ("option", "value"), [("alternative", "bigger"), ("unit", "word"), ("strata", "tuners"), ("alpha", 1.0)]
)
def test_unknown_options_are_errors(option, value):
    rng = np.random.default_rng(39)
    with pytest.raises(ReplituneError, match=option):
        crossed(comparison(two_way(rng, 3, 50), two_way(rng, 3, 50)), **{option: value})


# -- samples of runs ------------------------------------------------------------------------


@pytest.mark.parametrize("paired", [False, True])
def test_samples_of_a_prompt_are_one_run_with_their_mean_score(paired: bool):
    rng = np.random.default_rng(8)
    prompts, samples, N = 4, 3, 80
    x = rng.normal(size=(2, prompts, samples, N)) + rng.normal(size=(2, prompts, 1, 1))
    groups = [f"prompt{k:03d}" for k in range(1, prompts + 1) for _ in range(samples)]
    order = rng.permutation(prompts * samples)  # as they may come
    both = comparison(
        x[0].reshape(-1, N)[order],
        x[1].reshape(-1, N)[order],
        groups_a=[groups[i] for i in order],
        groups_b=[groups[i] for i in order],
    )
    nested = crossed(both, design="nested", paired=paired)
    means = comparison(x[0].mean(axis=1), x[1].mean(axis=1))
    runs = crossed(means, paired=paired)
    assert (nested.n_a, nested.n_b) == (prompts, prompts)
    assert (nested.scope, nested.run_kind) == ("both", "prompt")
    for key in ("delta", "p", "se", "df", "ci_low", "ci_high"):
        assert getattr(nested, key) == pytest.approx(getattr(runs, key), rel=1e-9)
    with pytest.raises(ReplituneError, match="noise_ratio"):
        crossed(both, design="nested", noise_ratio=3.0)
