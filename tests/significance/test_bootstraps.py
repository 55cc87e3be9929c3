"""koehn, graham, clark-bootstrap and multi-bootstrap against enumeration of every draw."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.significance.counting import shifted_p
from replitune.significance.draws import named_draws
from significance.calls import clark_bootstrap, fu_bootstrap, graham, koehn, multi_bootstrap
from significance.exchange_models import Counts, close, compare, counts, means, score_of

SAMPLES = 4000


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def every_test_set(c, units: int) -> np.ndarray:
    """delta of every equally likely bootstrap test set, one replica each."""
    drawn = np.array(list(itertools.product(range(units), repeat=units)))
    x, y = (s.statistics[0].astype(float)[drawn].sum(axis=1) for s in (c.a, c.b))
    return c.metric.score(y) - c.metric.score(x)


@pytest.mark.parametrize("make", [counts, means])
def test_koehn_agrees_with_enumeration(make) -> None:
    c = compare(make(1, 5, seed=1), make(1, 5, seed=7, gain=0.1))
    deltas = every_test_set(c, 5)
    found = koehn(c, rng=rng(), samples=SAMPLES)
    p_b, p_a = (deltas <= 1e-9).mean(), (deltas >= -1e-9).mean()
    assert close(found.p / 2, min(p_a, p_b), SAMPLES)
    assert close(koehn(c, rng=rng(), samples=SAMPLES, alternative="greater").p, p_b, SAMPLES)
    assert close(koehn(c, rng=rng(), samples=SAMPLES, alternative="less").p, p_a, SAMPLES)
    assert sum(found.details.values()) == pytest.approx(1)
    assert found.details["won"] == (found.distribution > 1e-9).mean()
    assert close(found.details["tied"], (abs(deltas) <= 1e-9).mean(), SAMPLES)


def test_koehn_counts_ties_against_both_and_knows_the_direction() -> None:
    a = counts(1, 40, seed=1)
    same = koehn(compare(a, a), rng=rng(), samples=99)
    assert (same.p, same.details["tied"]) == (1, 1)
    worse = compare(a, a + np.array([2, 0], np.int32), Counts(higher_is_better=False))
    found = koehn(worse, rng=rng(), samples=99)
    assert found.details == {"won": 0, "lost": 1, "tied": 0}
    assert found.swapped().details == {"won": 1, "lost": 0, "tied": 0}


@pytest.mark.parametrize("make", [counts, means])
def test_graham_agrees_with_enumeration(make) -> None:
    c = compare(make(1, 5, seed=1), make(1, 5, seed=2, gain=0.1))
    deltas = every_test_set(c, 5)
    shifted = deltas - deltas.mean()
    found = graham(c, rng=rng(), samples=SAMPLES)
    # tau is drawn, unless of a mean: what is short of a tie by its error counts
    error = 0.0 if make is means else deltas.std() / np.sqrt(SAMPLES)
    greater = graham(c, rng=rng(), samples=SAMPLES, alternative="greater")
    for p, truth in (
        (found.p, lambda slack: (abs(shifted) >= abs(found.delta) - slack).mean()),
        (greater.p, lambda slack: (shifted >= found.delta - slack).mean()),
    ):
        assert any(close(p, truth(slack), SAMPLES) for slack in (0, error, 2 * error))
    folded = graham(c, rng=rng(), samples=SAMPLES, compat="folded")
    size = abs(deltas)
    truth = (size - size.mean() > abs(found.delta)).mean()
    assert close(folded.p, truth, SAMPLES)
    assert "not a valid test" in folded.note


@pytest.mark.parametrize(
    "test", [koehn, graham, clark_bootstrap, fu_bootstrap, multi_bootstrap], ids=lambda t: t.__name__
)
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_bootstraps_interval_leaves_0_out_exactly_when_its_p_is_at_most_alpha(test, alternative) -> None:
    decided = set()
    for seed in range(25):
        shift = 0.3 * (seed % 4 - 1.5)
        c = compare(means(5, 30, seed=seed), means(5, 30, seed=seed + 99, gain=shift))
        found = test(c, rng=rng(), samples=199, alpha=0.2, alternative=alternative)
        outside = {
            "two-sided": found.ci_low > 0 or found.ci_high < 0,
            "greater": found.ci_low > 0,
            "less": found.ci_high < 0,
        }[alternative]
        assert outside == (found.p <= 0.2)
        assert found.ci_level == pytest.approx(0.8 if alternative == "two-sided" else 0.6)
        decided.add(outside)
    assert decided == {True, False}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("test", [graham, clark_bootstrap])
def test_a_shift_by_the_mean_that_was_drawn_drops_no_ties(test, seed: int) -> None:
    """Right or wrong on six items: many of the test sets drawn are ties with what was seen."""
    right = np.random.default_rng(seed).integers(0, 2, (2, 1, 6)).astype(float)
    c = compare(*(np.stack([x, np.ones_like(x)], -1) for x in right), metric=MeanMetric())
    delta = right[1].sum() - right[0].sum()
    if test is graham:
        drawn = np.array(list(itertools.product(range(6), repeat=6)))
        deltas = (right[1][0] - right[0][0])[drawn].sum(axis=1)
        p = (np.abs(deltas - delta) >= abs(delta)).mean()
    else:  # the test sets of A and of B are drawn by themselves: two binomials
        x, y = (stats.binom.pmf(np.arange(7), 6, values.mean()) for values in right)
        deltas = np.arange(7)[:, np.newaxis] - np.arange(7)
        p = np.outer(y, x)[np.abs(deltas - delta) >= abs(delta)].sum()
    assert close(test(c, rng=rng(), samples=SAMPLES).p, p, SAMPLES)


@pytest.mark.parametrize("b", [(1, 3), (2, 2, 5), (0, 4, 4, 4)])
def test_fu_bootstrap_counts_the_ties_of_every_draw(b: tuple[float, ...]) -> None:
    a = (0, 2)
    delta = np.mean(b) - np.mean(a)
    sides = [np.array(list(itertools.product(x, repeat=len(x)))).mean(axis=1) for x in (a, b)]
    deltas = (sides[1][:, np.newaxis] - sides[0]).ravel()
    p = (np.abs(deltas - delta) >= abs(delta) - 1e-9).mean()
    c = compare(*(np.array([[[x, 1.0]] for x in scores]) for scores in (a, b)), metric=MeanMetric())
    assert close(fu_bootstrap(c, rng=rng(), samples=SAMPLES).p, p, SAMPLES)


@pytest.mark.parametrize(
    ("p_ar", "predicted", "printed"), [(0.324, 0.124, 0.121), (0.719, 0.256, 0.265), (0.783, 0.288, 0.303)]
)
def test_folded_predicts_table_8_of_fu(p_ar: float, predicted: float, printed: float) -> None:
    """From Fu et al. 2016's own AR p of test sets (R1-R2 BLEU and NIST, R1-ODD BLEU): differences
    scatter normally about one that AR finds p_ar likely, and counted their way give theirs."""
    z = stats.norm.isf(p_ar / 2)
    deltas = z + stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    p, note = shifted_p(deltas, z, 0.0, 0.0, "two-sided", Counts(), "folded", False)
    assert p == pytest.approx(predicted, abs=0.001)
    assert p == pytest.approx(printed, abs=0.02)
    assert note
    valid, _ = shifted_p(deltas, z, z, 0.0, "two-sided", Counts(), None, False)
    assert valid == pytest.approx(p_ar, abs=0.001)


def test_folded_p_cannot_exceed_42_percent() -> None:
    deltas = stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    p, _ = shifted_p(deltas, 1e-9, 0.0, 0.0, "two-sided", Counts(), "folded", False)
    assert 0.41 < p < 0.43
    with pytest.raises(ReplituneError, match="has no direction"):
        graham(
            compare(counts(1, 9, seed=1), counts(1, 9, seed=2)),
            rng=rng(),
            compat="folded",
            alternative="less",
        )


@pytest.mark.parametrize("aggregation", ["pooled", "mean"])
def test_clark_bootstrap_agrees_with_enumeration(aggregation) -> None:
    c = compare(counts(2, 2, seed=1), counts(2, 2, seed=4, gain=0.1))
    drawn = np.array(list(itertools.product(range(4), repeat=4))).reshape(-1, 2, 2)
    sides = []
    for s in (c.a, c.b):
        pool = s.statistics.reshape(4, 2).astype(float)
        sides.append(score_of(c.metric, pool[drawn].sum(axis=2), aggregation))
    deltas = (sides[1][:, np.newaxis] - sides[0]).ravel()
    found = clark_bootstrap(c, rng=rng(), samples=SAMPLES, aggregation=aggregation)
    truth = (abs(deltas - deltas.mean()) >= abs(found.delta) - 1e-9).mean()
    assert close(found.p, truth, SAMPLES)
    assert found.distribution.mean() == pytest.approx(deltas.mean(), abs=0.1 * deltas.std())


def test_clark_bootstrap_of_a_large_pool_has_the_variance_of_a_mean() -> None:
    """Real numbers, groups: N n draws have the pooled variance over N n, group by group."""
    a, b = means(4, 200, seed=1), means(2, 200, seed=2)
    a[2:, :, 0] += 5
    b[1:, :, 0] += 5
    groups_a, groups_b = ("mert", "mert", "mira", "mira"), ("mert", "mira")
    c = compare(a, b, groups_a=groups_a, groups_b=groups_b)
    found = clark_bootstrap(c, rng=rng(), samples=2000)
    variance = sum(
        np.mean([x[h].reshape(-1, 2)[:, 0].var() for h in halves]) / (x.shape[0] * 200)
        for x, halves in ((a, ([0, 1], [2, 3])), (b, ([0], [1])))
    )
    assert found.distribution.var() == pytest.approx(variance, rel=0.12)
    ignored = clark_bootstrap(c, rng=rng(), samples=2000, strata="none")
    assert ignored.distribution.var() > 3 * variance


@pytest.mark.parametrize("aggregation", ["mean", "pooled"])
def test_multi_bootstrap_agrees_with_enumeration(aggregation) -> None:
    c = compare(counts(2, 3, seed=1), counts(2, 3, seed=2, gain=0.2))
    deltas, joint = [], []
    pairs = list(itertools.product(range(2), repeat=2))
    for segments in itertools.product(range(3), repeat=3):
        sums = [s.statistics[:, list(segments)].astype(float).sum(axis=1) for s in (c.a, c.b)]
        scores = [[score_of(c.metric, side[list(rows)], aggregation) for rows in pairs] for side in sums]
        deltas += [y - x for x in scores[0] for y in scores[1]]
        joint += [y - x for x, y in zip(*scores, strict=True)]
    for paired, every in ((False, np.array(deltas)), (True, np.array(joint))):
        found = multi_bootstrap(c, rng=rng(), samples=SAMPLES, aggregation=aggregation, paired=paired)
        truth = (abs(every - found.delta) >= abs(found.delta) - 1e-9).mean()
        assert close(found.p, truth, SAMPLES)
        assert found.scope == "both"
        assert found.unit == "segment"


def test_documents_are_drawn_as_a_whole() -> None:
    a, b = counts(2, 12, seed=1), counts(2, 12, seed=2)
    documents = np.array([0, 1, 1, 0, 2, 2, 3, 0, 3, 3, 4, 4])
    summed = [np.stack([x[:, documents == g].sum(axis=1) for g in range(5)], axis=1) for x in (a, b)]
    whole = compare(a, b, documents=documents)
    for test in (koehn, graham, clark_bootstrap, multi_bootstrap):
        found = test(whole, rng=rng(), samples=300, unit="document")
        assert found.p == test(compare(*summed), rng=rng(), samples=300).p


def test_tests_share_draws_of_segments() -> None:
    c = compare(counts(3, 30, seed=1), counts(3, 30, seed=2))
    one = koehn(c, rng=np.random.default_rng(1), draws=named_draws("test1", 7), samples=200)
    two = graham(c, rng=np.random.default_rng(2), draws=named_draws("test1", 7), samples=200)
    np.testing.assert_array_equal(one.distribution, two.distribution)


def test_identical_systems_have_p_one() -> None:
    for statistics in (counts(3, 30, seed=1), means(3, 30, seed=1)):
        c = compare(statistics, statistics)
        for test in (koehn, graham, clark_bootstrap, multi_bootstrap):
            assert test(c, rng=rng(), samples=200).p == 1
        assert graham(c, rng=rng(), samples=200, compat="folded").p == 1


def test_a_constant_difference_has_no_p() -> None:
    a = means(2, 30, seed=1)
    a[1] = a[0]
    b = a + np.array([1.0, 0.0])
    for test in (koehn, graham, multi_bootstrap):
        found = test(compare(a, b), rng=rng(), samples=200)
        assert found.p is None
        assert "zero variance" in found.note
        one = test(compare(counts(1, 1, seed=1), counts(1, 1, seed=2)), rng=rng(), samples=200)
        assert one.p is None


def test_few_replicas_carry_a_note() -> None:
    c = compare(counts(3, 30, seed=1), counts(3, 30, seed=2))
    assert "3 runs" in multi_bootstrap(c, rng=rng(), samples=100).note
    many = compare(counts(10, 30, seed=1), counts(10, 30, seed=2))
    assert multi_bootstrap(many, rng=rng(), samples=100).note is None
