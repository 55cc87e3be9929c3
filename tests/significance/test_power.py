from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))
from crossed_models import comparison, two_way

from replitune.errors import ReplituneError
from replitune.significance.studies.power import (
    MANY_SEGMENTS,
    Plan,
    Simulated,
    VarianceModel,
    design,
    fit,
    plans,
    power_curve,
    segments_needed,
    sentence,
)
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.significance.tests.crossed import crossed


def test_fit_recovers_the_components_on_average():
    rng = np.random.default_rng(1)
    design = Design(4, 6, 200, 0.2, 0.1, difference=0.8, noise_a=1.0, noise_b=0.5)
    A, B = mean_scores(design, 300, rng)
    models = [fit(comparison(a, b)) for a, b in zip(A, B, strict=True)]
    for found, true in (
        (np.mean([m.replica[0] for m in models]), 0.04),
        (np.mean([m.replica[1] for m in models]), 0.01),
        (np.mean([m.segment for m in models]), 0.64),
        (np.mean([m.interaction[0] for m in models]), 1.0),
        (np.mean([m.interaction[1] for m in models]), 0.25),
    ):
        assert found == pytest.approx(true, rel=0.1)


def test_variance_of_the_same_plan_is_the_variance_of_the_test():
    rng = np.random.default_rng(2)
    pair = comparison(two_way(rng, 5, 80, 0.4), two_way(rng, 7, 80, 0.4))
    plan = Plan(5, 7, 80)
    assert fit(pair).variance(plan) == pytest.approx(crossed(pair).se ** 2, rel=1e-9)
    same = comparison(two_way(rng, 6, 80, 0.4), two_way(rng, 6, 80, 0.4))
    assert fit(same, paired=True).variance(Plan(6, 6, 80)) == pytest.approx(
        crossed(same, paired=True).se ** 2, rel=1e-9
    )


def test_simulated_power_is_the_share_of_rejections_on_data():
    """The mean squares are drawn as chi-squares; here the data are drawn and tested."""
    rng = np.random.default_rng(3)
    design = Design(4, 4, 60, 0.15, 0.15, delta=0.75)
    A, B = mean_scores(design, 2000, rng)
    rejected = np.mean([crossed(comparison(a, b)).p < 0.05 for a, b in zip(A, B, strict=True)])
    model = VarianceModel((0.0225, 0.0225), 1.0, (1.0, 1.0))
    expected = Simulated(model, Plan(4, 4, 60), rng=rng).power(0.75)
    assert 0.3 < expected < 0.95
    assert rejected == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 2000))


def test_without_tuner_noise_power_is_that_of_students_t():
    model = VarianceModel((0.0, 0.0), 4.0, (0.0, 0.0))
    found = Simulated(model, Plan(3, 3, 25), trials=200_000, rng=np.random.default_rng(4))
    for delta in (0.5, 1.0, 1.5):
        noncentral = stats.nct(24, delta / 0.4).sf(stats.t.isf(0.025, 24))
        assert found.power(delta) == pytest.approx(noncentral, abs=0.005)
    assert found.power(found.detectable(0.8)) == pytest.approx(0.8, abs=0.001)


def test_power_grows_with_the_difference_and_the_plan():
    rng = np.random.default_rng(5)
    pair = comparison(two_way(rng, 4, 80, 0.3), two_way(rng, 4, 80, 0.3))
    model = fit(pair)
    chosen = [Plan(3, 3, 80), Plan(10, 10, 80)]

    def own(plan: Plan) -> np.random.Generator:
        return np.random.default_rng(plan.n_a)

    rows = power_curve(pair, model, chosen, rng=own)
    small, large = rows[:25], rows[25:]
    alone = power_curve(pair, model, chosen[:1], rng=own)
    assert alone[0].detectable == small[0].detectable, "no plan changes the numbers of another"
    assert [r.power for r in small] == sorted(r.power for r in small)
    assert small[0].delta == 0
    assert small[0].power < 0.05  # one side of a two-sided test
    assert large[0].detectable < small[0].detectable
    assert large[-1].power > 0.99


def test_no_number_of_segments_replaces_replicas():
    rng = np.random.default_rng(6)
    model = VarianceModel((0.25, 0.25), 1.0, (0.5, 0.5))
    assert segments_needed(model, 0.5, 3, 3, rng=rng) is None
    enough = segments_needed(model, 0.5, 30, 30, rng=rng)
    assert enough is not None
    assert Simulated(model, Plan(30, 30, enough), rng=rng).detectable() == pytest.approx(
        0.5, rel=0.03
    )


def test_the_sentence_says_what_the_row_says():
    rng = np.random.default_rng(6)
    pair = comparison(two_way(rng, 4, 80, 0.5), two_way(rng, 4, 80, 0.5))
    model = VarianceModel((0.25, 0.25), 1.0, (0.5, 0.5))
    chosen = plans(pair, [3, 30], [500])
    assert chosen == [Plan(4, 4, 80), Plan(3, 3, 500), Plan(30, 30, 500)]
    rows = power_curve(
        pair, model, chosen, rng=lambda plan: np.random.default_rng(plan.n_a), asked=0.5, points=1
    )
    own, few, many = rows
    assert own.design
    assert not few.design
    assert few.needed is None
    text = sentence(few, "BLEU")
    found = f"{few.detectable:.2g} BLEU (power 0.8, alpha 0.05)"
    assert text.startswith(f"3 replicas and 500 segments would detect a difference of {found}")
    assert text.endswith("no number of segments suffices for 0.5 with 3 replicas")
    assert many.needed is not None
    assert sentence(many).endswith(f"for 0.5, 30 replicas need {many.needed:,} segments")
    assert "any number of segments" in sentence(replace(few, segments=MANY_SEGMENTS))


def test_the_design_knows_its_tuners():
    rng = np.random.default_rng(6)
    pair = comparison(two_way(rng, 4, 20, 0.5), two_way(rng, 4, 20, 0.5))
    tuned = replace(pair, **{
        side: replace(getattr(pair, side), groups=("mert", "mert", "pro", "pro")) for side in "ab"
    })  # fmt: skip
    assert design(tuned) == Plan(4, 4, 20, tuners=2)
    lonely = replace(tuned, a=replace(tuned.a, groups=("mert", "mert", "mert", "pro")))
    assert design(lonely) == Plan(4, 4, 20)


def test_tuners_cost_degrees_of_freedom():
    model = VarianceModel((0.25, 0.25), 1.0, (0.5, 0.5))
    rng = np.random.default_rng(7)
    one = Simulated(model, Plan(6, 6, 500), rng=rng).detectable()
    three = Simulated(model, Plan(6, 6, 500, tuners=3), rng=rng).detectable()
    assert one < three


def test_what_cannot_be_planned_is_an_error():
    rng = np.random.default_rng(8)
    with pytest.raises(ReplituneError, match="two replicas"):
        fit(comparison(two_way(rng, 1, 30), two_way(rng, 3, 30)))
    with pytest.raises(ReplituneError, match="two replicas"):
        Plan(5, 5, 100, tuners=3)
    with pytest.raises(ReplituneError, match="two segments"):
        Plan(5, 5, 1)
    with pytest.raises(ReplituneError, match="power"):
        Simulated(VarianceModel((1.0, 1.0), 1.0, (1.0, 1.0)), Plan(3, 3, 50), rng=rng).detectable(1)


def test_nothing_varies():
    rng = np.random.default_rng(9)
    model = fit(comparison(np.ones((3, 20)), np.full((3, 20), 2.0)))
    made = Simulated(model, Plan(3, 3, 20), rng=rng)
    assert made.detectable() == 0.0
    assert made.power(1.0) == 1.0
    assert segments_needed(model, 1.0, 3, 3, rng=rng) == 2
