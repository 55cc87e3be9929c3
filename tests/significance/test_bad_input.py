"""Every test on input that has no answer: a clear error, or a note; never NaN, never p = 0."""

from __future__ import annotations

import math

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.settings import settings_of
from replitune.significance.base import Comparison
from significance.calls import (
    clark,
    clark_bootstrap,
    crossed,
    fu_ar,
    fu_bootstrap,
    graham,
    koehn,
    multi_bootstrap,
    replica_permutation,
    riezler,
)
from significance.exchange_models import Counts, compare, counts, means, system

TESTS = (
    clark,
    clark_bootstrap,
    fu_ar,
    fu_bootstrap,
    graham,
    koehn,
    multi_bootstrap,
    replica_permutation,
    riezler,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def settled(result) -> None:
    """No NaN, no p of 0, and a reason where there is no p."""
    for value in (result.p, result.delta, result.ci_low, result.ci_high, result.p_min):
        assert value is None or math.isfinite(value)
    assert result.p is None or 0 < result.p <= 1
    assert result.p is not None or result.note
    assert not np.isnan(result.distribution if result.distribution is not None else 0).any()


ODD = {
    "one segment": (counts(3, 1, seed=1), counts(3, 1, seed=2)),
    "one replica": (counts(1, 20, seed=1), counts(1, 20, seed=2)),
    "one segment, one replica": (counts(1, 1, seed=1), counts(1, 1, seed=2)),
    "unequal n": (counts(2, 20, seed=1), counts(5, 20, seed=2)),
    "one against many": (counts(1, 20, seed=1), counts(4, 20, seed=2)),
    "zero denominator": (np.zeros((3, 8, 2)), means(3, 8, seed=1)),
    "zero everywhere": (np.zeros((3, 8, 2), np.int32), np.zeros((3, 8, 2), np.int32)),
    "constant": (np.ones((3, 8, 2)), np.ones((3, 8, 2))),
    "constant difference": (np.ones((3, 8, 2)), np.ones((3, 8, 2)) * [2, 1]),
    "tiny scores": (means(3, 8, seed=1) * [1e-300, 1], means(3, 8, seed=2) * [1e-300, 1]),
    "huge counts": (counts(3, 8, seed=1) * 10**7, counts(3, 8, seed=2) * 10**7),
}


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_odd_input_is_settled(test, case, alternative) -> None:
    settled(test(compare(*ODD[case]), rng=rng(), samples=60, alternative=alternative))


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("samples", [0, -1, 2.5, True, "many"])
def test_samples_must_be_a_positive_integer(test, samples) -> None:
    with pytest.raises(ReplituneError, match="`samples` must be a positive integer"):
        test(compare(*ODD["unequal n"]), rng=rng(), samples=samples)


@pytest.mark.parametrize("test", TESTS)
def test_one_sample_is_enough(test) -> None:
    settled(test(compare(*ODD["unequal n"]), rng=rng(), samples=1))


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(test, value) -> None:
    a, b = means(3, 8, seed=1), means(3, 8, seed=2)
    b[1, 5, 0] = value
    with pytest.raises(ReplituneError, match=r"run run-002, segment 5"):
        test(compare(a, b), rng=rng(), samples=20)


@pytest.mark.parametrize("test", TESTS)
def test_alternative_must_be_known(test) -> None:
    with pytest.raises(ReplituneError) as error:
        test(compare(*ODD["unequal n"]), rng=rng(), alternative="two_sided")
    assert error.value.expected == "two-sided, greater, less"
    assert error.value.fix == "did you mean `two-sided`?"


WRONG = {
    "unit": "sentence",
    "strata": "group",
    "aggregation": "average",
    "pairing": "indices",
    "compat": "fold",
    "paired": "yes",
    "scope": "run",
    "noise_ratio": "three",
    "exact": "yes",
    "replica": 3,
    "replica_a": 2,
    "replica_b": 1.5,
}


@pytest.mark.parametrize("test", [*TESTS, crossed])
def test_every_option_is_held_to_its_declaration(test) -> None:
    declared = settings_of(test.kind)
    given = {} if test is crossed else {"rng": rng(), "samples": 20}
    assert declared.keys() <= {"alternative", *WRONG}
    for name in declared.keys() & WRONG.keys():
        with pytest.raises(ReplituneError, match=f"{name} is not") as error:
            test(compare(*ODD["unequal n"]), **given, **{name: WRONG[name]})
        assert error.value.found == repr(WRONG[name])
        assert error.value.expected


@pytest.mark.parametrize("test", [*TESTS, crossed])
def test_alpha_is_between_0_and_1(test) -> None:
    given = {} if test is crossed else {"rng": rng(), "samples": 20}
    with pytest.raises(ReplituneError, match="`alpha` must be between 0 and 1"):
        test(compare(*ODD["unequal n"]), alpha=1, **given)


@pytest.mark.parametrize("test", TESTS)
def test_no_outputs_are_refused(test) -> None:
    for shape in ((0, 8, 2), (3, 0, 2)):
        empty = np.zeros(shape)
        with pytest.raises(ReplituneError, match="no outputs"):
            test(compare(empty, empty), rng=rng(), samples=20)


def test_different_segments_are_refused() -> None:
    with pytest.raises(ReplituneError, match="not scored on the same segments"):
        compare(counts(2, 8, seed=1), counts(2, 9, seed=1))
    with pytest.raises(ReplituneError, match="not scored on the same segments"):
        Comparison(
            MeanMetric(),
            system("A", means(2, 8, seed=1)),
            system("B", means(2, 8, seed=2)),
            np.arange(7, dtype=np.int32),
        )


@pytest.mark.parametrize("test", [t for t in TESTS if t not in (graham, koehn, riezler)])
def test_unequal_shares_of_groups_name_the_cure(test) -> None:
    a, b = counts(2, 8, seed=1), counts(2, 8, seed=2)
    c = compare(a, b, groups_a=("mert", "mert"), groups_b=("mert", "pro"))
    with pytest.raises(ReplituneError, match="`strata: none`"):
        test(c, rng=rng(), samples=20)
    settled(test(c, rng=rng(), samples=20, strata="none"))


def test_a_metric_that_lower_is_better_turns_the_tails() -> None:
    a, b = counts(12, 60, seed=1), counts(12, 60, seed=2, gain=0.1)
    for test in TESTS:
        up = test(compare(a, b), rng=rng(), samples=400, alternative="greater")
        down = test(
            compare(a, b, Counts(higher_is_better=False)), rng=rng(), samples=400, alternative="less"
        )
        assert up.p == down.p < 0.01
