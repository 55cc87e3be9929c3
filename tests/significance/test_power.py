"""Planning: components of a pilot, the power of plans, and how surely a pilot knows it."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from significance.calls import crossed

sys.path.insert(0, str(Path(__file__).parent))
from crossed_models import comparison, two_way

from replitune.errors import ReplituneError
from replitune.significance.base import Comparison
from replitune.significance.critical import critical_values, net_parts
from replitune.significance.studies.pilot import Pilot, VarianceModel, pilot
from replitune.significance.studies.planned import (
    FEW_NODES,
    MANY_SEGMENTS,
    Plan,
    Planned,
    PlannedInFamily,
    t_quantiles,
)
from replitune.significance.studies.power import (
    Estimate,
    PowerRow,
    design,
    extreme,
    family_sentence,
    limits,
    needed,
    plans,
    power_curve,
    segments_needed,
    sentence,
)
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.significance.variances import MeanSquares, interval


def model(
    replica: tuple[float, ...], segment: float, interaction: tuple[float, ...], units: float = 1.0
) -> VarianceModel:
    """Of one test set."""
    return VarianceModel(
        np.array(replica), np.array([segment]), np.array(interaction)[:, np.newaxis], np.array([units])
    )


def random_pilot(seed: int, n: int = 4, N: int = 80, run: float = 0.3) -> Pilot:
    rng = np.random.default_rng(seed)
    return pilot(comparison(two_way(rng, n, N, run), two_way(rng, n, N, run)))


# -- components of a pilot ----------------------------------------------------------------


def test_fit_recovers_the_components_on_average():
    rng = np.random.default_rng(1)
    design = Design(4, 6, 200, 0.2, 0.1, difference=0.8, noise_a=1.0, noise_b=0.5)
    A, B = mean_scores(design, 300, rng)
    models = [pilot(comparison(a, b)).model for a, b in zip(A, B, strict=True)]
    for found, true in (
        (np.mean([m.replica for m in models], axis=0), [0.04, 0.01]),
        (np.mean([m.segment for m in models], axis=0), [0.64]),
        (np.mean([m.interaction[:, 0] for m in models], axis=0), [1.0, 0.25]),
    ):
        np.testing.assert_allclose(found, true, rtol=0.1)


def test_variance_of_the_same_plan_is_the_variance_of_the_test():
    rng = np.random.default_rng(2)
    pair = comparison(two_way(rng, 5, 80, 0.4), two_way(rng, 7, 80, 0.4))
    assert Planned(pilot(pair).model, Plan(5, 7, 80)).se == pytest.approx(crossed(pair).se, rel=1e-9)
    same = comparison(two_way(rng, 6, 80, 0.4), two_way(rng, 6, 80, 0.4))
    assert Planned(pilot(same, paired=True).model, Plan(6, 6, 80)).se == pytest.approx(
        crossed(same, paired=True).se, rel=1e-9
    )


def test_documents_are_the_unit_where_crossed_has_them():
    rng = np.random.default_rng(3)
    documents = np.repeat(np.arange(30), [3, 5] * 15)
    A, B = (two_way(rng, 5, 120, 0.4) + rng.normal(0, 1, 30)[documents] for _ in "ab")
    pair = comparison(A, B, documents=documents)
    found = pilot(pair)
    assert found.unit == "document"
    assert found.documents == 30
    assert Planned(found.model, design(found)).se == pytest.approx(crossed(pair).se, rel=1e-9)
    assert (found.units * found.segments) == pytest.approx(120**2 / (15 * 9 + 15 * 25))
    few = pilot(comparison(A, B, documents=np.repeat(np.arange(10), 12)))
    assert few.unit == "document"
    fewest = pilot(comparison(A, B, documents=np.repeat(np.arange(5), 24)))
    assert fewest.scope == "runs", "5 documents say nothing about new text"
    assert plans(fewest, [3, 5], [50, 500]) == [Plan(n, n, 120) for n in (5, 3)]
    made = Planned(fewest.model, design(fewest))
    assert made.se == pytest.approx(crossed(pair, scope="runs").se, rel=1e-9)
    detected = Planned(found.model, design(found)).detectable()
    assert detected > Planned(pilot(pair, unit="segment").model, design(found)).detectable()


def test_a_suite_in_two_halves_is_planned_as_the_whole():
    rng = np.random.default_rng(4)
    A, B = two_way(rng, 5, 400, 0.2), two_way(rng, 5, 400, 0.2)
    halves = [comparison(A[:, half], B[:, half]) for half in (slice(0, 200), slice(200, 400))]
    suite, whole = pilot(halves), pilot(comparison(A, B))
    assert suite.segments == 400
    for plan in (design(suite), Plan(10, 10, 1000)):
        found = [float(Planned(one.model, plan).detectable()) for one in (suite, whole)]
        assert found[0] == pytest.approx(found[1], rel=0.02)
    heavy = pilot(halves, [1.0, 0.0])
    alone = pilot(halves[0])
    assert Planned(heavy.model, Plan(5, 5, 400)).se == pytest.approx(
        Planned(alone.model, Plan(5, 5, 200)).se
    )


def test_the_design_knows_its_tuners():
    rng = np.random.default_rng(6)
    pair = comparison(two_way(rng, 4, 20, 0.5), two_way(rng, 4, 20, 0.5))
    tuned = replace(
        pair, **{side: replace(getattr(pair, side), groups=("mert", "mert", "pro", "pro")) for side in "ab"}
    )
    assert design(pilot(tuned)) == Plan(4, 4, 20, tuners=2)
    lonely = replace(tuned, a=replace(tuned.a, groups=("mert", "mert", "mert", "pro")))
    assert design(pilot(lonely)) == Plan(4, 4, 20)
    assert repr(pilot(lonely)) == repr(pilot(lonely, strata="none"))
    with pytest.raises(ReplituneError, match="different shares"):
        pilot(lonely, strata="groups")


# -- the power of a plan ------------------------------------------------------------------


def simulated(
    found: VarianceModel, plan: Plan, alpha: float, trials: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(T,) delta where there is no difference, and the reach of the two-sided and of the one-sided
    interval, from drawn mean squares."""
    N, H = plan.segments, plan.tuners
    n = [plan.n_a] if found.paired else [plan.n_a, plan.n_b]
    rep, nus, both, variance = [], [], np.zeros(trials), found.segment[0] / N
    seg = variance
    for k, own, cell in zip(n, found.replica, found.interaction[:, 0], strict=True):
        V_rep, V_int = (own + cell / N) / k, cell / (k * N)
        variance += V_rep
        for _ in range(H):
            nu = k // H - 1
            rep.append(V_rep / H * rng.chisquare(nu, trials) / nu)
            nus.append(float(nu))
        nu = (k - H) * (N - 1)
        both += V_int * rng.chisquare(nu, trials) / nu
        seg += V_int
    nu_seg = found.units[0] * N - 1
    drawn = seg * rng.chisquare(nu_seg, trials) / nu_seg
    parts = net_parts(
        np.stack(rep, axis=-1), np.array(nus), drawn[:, np.newaxis], np.array([nu_seg]), both[:, np.newaxis]
    )
    reach = [
        critical_values(parts.values, parts.nus, q) * np.sqrt(parts.variance) for q in (alpha / 2, alpha)
    ]
    return rng.normal(0, np.sqrt(variance), trials), *reach


PLANS = [
    (model((0.04, 0.04), 4, (10, 10)), Plan(3, 3, 500), 0.05),
    (model((0.0, 0.0), 4, (1, 1)), Plan(3, 3, 500), 0.05),
    (model((0.04, 0.4), 4, (10, 10)), Plan(3, 3, 500), 0.05),
    (model((0.04, 0.04), 8, (1, 1)), Plan(5, 5, 500), 0.01),
    (model((0.04, 0.01), 8, (20, 20)), Plan(10, 10, 500), 0.05),
    (model((0.1, 0.04), 8, (1, 1)), Plan(3, 20, 500), 0.05),
    (model((0.04, 0.04), 8, (1, 1)), Plan(9, 9, 500, tuners=3), 0.05),
    (model((0.04, 0.04), 8, (1, 1)), Plan(2, 2, 500), 0.05),
    (model((0.04,), 1, (1,)), Plan(5, 5, 100), 0.05),
    (model((0.01, 0.01), 8, (1, 1), units=0.02), Plan(5, 5, 500), 0.05),
    (model((0.0, 0.0), 0, (50, 50)), Plan(3, 3, 100), 0.05),
    (model((0.04, 0.02), 1, (1, 1)), Plan(5, 5, MANY_SEGMENTS), 0.05),
]


@pytest.mark.parametrize(("found", "plan", "alpha"), PLANS)
def test_the_nodes_agree_with_a_simulation(found: VarianceModel, plan: Plan, alpha: float):
    """Detectable difference and smallest margin within 2% (few nodes: 3%), power within .01."""
    delta, two_sided, one_sided = simulated(found, plan, alpha, 100_000, np.random.default_rng(5))
    detectable = np.quantile(two_sided - delta, 0.8)
    margin = np.quantile(np.abs(delta) + one_sided, 0.8)
    for nodes, tolerance in ((4096, 0.02), (FEW_NODES, 0.03)):
        made = Planned(found, plan, alpha=alpha, nodes=nodes)
        assert made.detectable(0.8) == pytest.approx(detectable, rel=tolerance)
        assert made.smallest_margin(0.8) == pytest.approx(margin, rel=tolerance)
    made = Planned(found, plan, alpha=alpha)
    for share in (0.3, 1.0, 1.5):
        rejected = np.mean(delta + share * detectable > two_sided)
        assert made.power(share * detectable) == pytest.approx(rejected, abs=0.01)
        shown = np.mean(np.abs(delta) + one_sided < share * margin)
        assert made.same(share * margin) == pytest.approx(shown, abs=0.01)


def test_power_is_the_share_of_rejections_on_data():
    """The mean squares are known multiples of chi-squares; here data are drawn and tested."""
    rng = np.random.default_rng(3)
    design = Design(4, 4, 60, 0.15, 0.15, delta=0.75)
    A, B = mean_scores(design, 2000, rng)
    rejected = np.mean([crossed(comparison(a, b)).p < 0.05 for a, b in zip(A, B, strict=True)])
    expected = Planned(model((0.0225, 0.0225), 1.0, (1.0, 1.0)), Plan(4, 4, 60)).power(0.75)
    assert 0.3 < expected < 0.95
    assert rejected == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 2000))


def test_equivalence_is_shown_as_often_on_data():
    rng = np.random.default_rng(4)
    A, B = mean_scores(Design(4, 4, 60, 0.05, 0.05), 1000, rng)
    shown = np.mean(
        [
            crossed(comparison(a, b), margins={"mean": 0.6}).details["p_same"] < 0.05
            for a, b in zip(A, B, strict=True)
        ]
    )
    expected = Planned(model((0.0025, 0.0025), 1.0, (1.0, 1.0)), Plan(4, 4, 60)).same(0.6)
    assert 0.3 < expected < 0.95
    assert shown == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 1000))


def test_without_tuner_noise_power_is_that_of_students_t():
    found = Planned(model((0.0, 0.0), 4.0, (0.0, 0.0)), Plan(3, 3, 25))
    for delta in (0.5, 1.0, 1.5):
        noncentral = stats.nct(24, delta / 0.4).sf(stats.t.isf(0.025, 24))
        assert found.power(delta) == pytest.approx(noncentral, abs=0.001)
    assert found.power(float(found.detectable(0.8))) == pytest.approx(0.8, abs=1e-6)
    assert found.same(float(found.smallest_margin(0.8))) == pytest.approx(0.8, abs=1e-6)


def test_quantiles_from_the_table_are_students():
    df = np.concatenate([np.linspace(1, 5, 100), np.geomspace(5, 1e6, 100)])
    for q in (0.05, 0.025, 0.005):
        np.testing.assert_allclose(t_quantiles(df, q), stats.t.isf(q, df), rtol=1e-5)


def test_tuners_cost_degrees_of_freedom():
    found = model((0.25, 0.25), 1.0, (0.5, 0.5))
    one = Planned(found, Plan(6, 6, 500)).detectable()
    assert one < Planned(found, Plan(6, 6, 500, tuners=3)).detectable()


# -- what a pilot leaves open -------------------------------------------------------------


def test_of_one_mean_square_the_limits_are_those_of_its_chi_square():
    """Of paired runs on any number of segments, with hardly any noise, V is V_rep alone."""
    rng = np.random.default_rng(5)
    runs = rng.normal(0, 1, (4, 1))
    found = pilot(
        comparison(two_way(rng, 4, 80, 0, 0.0, 1e-9), two_way(rng, 4, 80, 0, 0.0, 1e-9) + runs), paired=True
    )
    ends = Planned(found.extremes(lambda m: Planned(m, Plan(4, 4, 80)).se, 0.9), Plan(4, 4, 80)).se
    expected = np.var(runs, ddof=1) / 4 * 3 / stats.chi2.isf([0.05, 0.95], 3)
    np.testing.assert_allclose(ends**2, expected, rtol=1e-6)


def test_of_a_sum_the_limits_are_graybill_and_wangs():
    found = random_pilot(5, n=6, run=2.0)
    plan = Plan(6, 6, 80)
    ends = Planned(found.extremes(lambda m: Planned(m, plan).se, 0.9), plan).se
    parts = found.components
    plus = MeanSquares((*parts.rep, *parts.seg), (*parts.nu_rep, *parts.nu_seg))
    _, low, high = interval(plus, MeanSquares((), ()), 0.1)
    noise = parts.both.sum()  # a thousandth of V
    np.testing.assert_allclose(ends**2, [low - noise, high - noise], rtol=2e-3)


def test_no_component_at_a_limit_is_negative():
    rng = np.random.default_rng(6)
    still = pilot(comparison(two_way(rng, 3, 30, 0.0, noise=2), two_way(rng, 3, 30, 0.0, noise=2)))
    ends = extreme(still, Plan(3, 3, 30), 0.05, 0.8)
    found = still.extremes(lambda m: Planned(m, Plan(3, 3, 30)).se, 0.9)
    assert min(found.replica.min(), found.segment.min(), found.interaction.min()) >= 0
    assert found.replica[0].tolist() == [0, 0], "an F test finds no noise of runs here"
    assert ends.se[0] < ends.se[1]


@pytest.mark.parametrize(
    ("n", "run", "own", "noise"),
    [(3, 0.2, 1.0, 1.0), (3, 0.05, 0.5, 1.0), (3, 0.0, 0.5, 1.0), (5, 0.1, 1.0, 0.5)],
)
def test_limits_cover_the_true_detectable_difference(n: int, run: float, own: float, noise: float):
    """Nominally 90%, for a plan with twice as many runs and segments; and the power there, and at
    a smaller difference."""
    rng = np.random.default_rng(7)
    trials, plan = 400, Plan(2 * n, 2 * n, 200)
    made = Planned(model((run**2, run**2), own**2, (noise**2, noise**2)), plan)
    truth = float(made.detectable())
    asked = {delta: float(made.power(delta)) for delta in (0.6 * truth, truth)}
    design = Design(n, n, 100, run, run, difference=own, noise_a=noise, noise_b=noise)
    covered = dict.fromkeys(["detectable", *asked], 0)
    for A, B in zip(*mean_scores(design, trials, rng), strict=True):
        ends = extreme(pilot(comparison(A, B)), plan, 0.05, 0.8, FEW_NODES)
        low, high = limits(ends.detectable())
        covered["detectable"] += low <= truth <= high
        for delta, power in asked.items():
            low, high = limits(ends.power(delta))
            covered[delta] += low <= power <= high
    assert min(covered.values()) / trials >= 0.87, covered


def test_more_runs_in_the_pilot_leave_less_open():
    width = []
    for n in (3, 10, 40):
        low, high = limits(extreme(random_pilot(8, n=n), Plan(5, 5, 80), 0.05, 0.8).detectable())
        width.append(high / low)
    assert width[0] > width[1] > width[2]


# -- rows and sentences -------------------------------------------------------------------


def curve(found: Pilot, chosen: list[Plan], **options: object) -> list[PowerRow]:
    return power_curve(found, chosen, **options)


def test_power_grows_with_the_difference_and_the_plan():
    found = random_pilot(5)
    chosen = [Plan(3, 3, 80), Plan(10, 10, 80)]
    rows = curve(found, chosen)
    small, large = rows[:25], rows[25:]
    alone = curve(found, chosen[:1])
    assert alone[0].detectable == small[0].detectable, "no plan changes the numbers of another"
    assert alone[0].detectable.high == small[0].detectable.high
    powers = [r.power.value for r in small]
    assert powers == sorted(powers)
    assert small[0].delta == 0
    assert powers[0] < 0.05  # one side of a two-sided test
    assert large[0].detectable.value < small[0].detectable.value
    assert large[-1].power.value > 0.99
    for row in rows:
        assert row.power.low <= row.power.high
        assert row.detectable.low <= row.detectable.value <= row.detectable.high


def test_no_number_of_segments_replaces_replicas():
    found = model((0.25, 0.25), 1.0, (0.5, 0.5))

    def detectable(n: int):
        return lambda N: float(Planned(found, Plan(n, n, N)).detectable())

    assert segments_needed(detectable(3), 0.5) is None
    enough = segments_needed(detectable(30), 0.5)
    assert enough is not None
    assert detectable(30)(enough) <= 0.5 < detectable(30)(round(enough * 0.99))
    assert segments_needed(detectable(30), 100.0, fewest=7) == 7


def test_where_runs_may_have_no_noise_segments_may_do_everything():
    found = random_pilot(5, run=0.0)
    (row,) = curve(found, [Plan(4, 4, MANY_SEGMENTS)], points=1)
    assert row.detectable.low == 0 < row.detectable.high


def test_segments_needed_have_limits_where_those_of_the_difference_are_it():
    found = random_pilot(9, n=12, run=0.1)
    segments = needed(found, Plan(10, 10, 80), 0.35)
    low, own, high = segments.low, segments.value, segments.high
    assert low < own < high
    for N, end in ((low, 0), (high, 1)):
        ends = extreme(found, Plan(10, 10, N), 0.05, 0.8).detectable()
        assert limits(ends)[end] == pytest.approx(0.35, rel=0.02)


def test_the_sentence_says_what_the_row_says():
    found = random_pilot(6, run=0.5)
    chosen = plans(found, [3, 30], [500])
    assert chosen == [Plan(4, 4, 80), Plan(3, 3, 500), Plan(30, 30, 500)]
    own, few, many = curve(found, chosen, asked=0.5, points=1)
    assert own.design
    assert not few.design
    few = replace(few, needed=Estimate())
    text = sentence(few, "BLEU")
    span = f"90%: {few.detectable.low:.2g} to {few.detectable.high:.2g}"
    expected = f"{few.detectable.value:.2g} BLEU ({span}; power 0.8, alpha 0.05)"
    assert text.startswith(f"3 runs and 500 segments would detect a difference of {expected}")
    assert text.endswith("no number of segments suffices for 0.5 with 3 runs")
    assert sentence(replace(few, needed=Estimate(None, 900, None))).endswith("with 3 runs (90%: 900 might)")
    many = replace(many, needed=Estimate(700, 300, None))
    assert sentence(many).endswith("for 0.5, 30 runs need 700 segments (90%: 300 to any number)")
    assert "any number of segments" in sentence(replace(few, segments=MANY_SEGMENTS))
    assert "would detect any difference (90%: 0 to" in sentence(
        replace(few, detectable=replace(few.detectable, value=0.0, low=0.0))
    )
    assert "500 segments (20 documents)" in sentence(replace(few, documents=20))


def test_a_margin_is_planned_for_too():
    found = random_pilot(6)
    (row,) = curve(found, [Plan(10, 10, 200)], margin=0.5, points=1)
    made = Planned(found.model, Plan(10, 10, 200))
    assert row.same.value == pytest.approx(float(made.same(0.5)))
    assert row.same.low <= row.same.value <= row.same.high
    assert row.smallest_margin.value == pytest.approx(float(made.smallest_margin()))
    assert f"the same within 0.5 with probability {row.same.value:.2f}" in sentence(row)
    assert f"with 0.8 within {row.smallest_margin.value:.2g}" in sentence(row)


def test_plans_of_documents_say_how_many():
    rng = np.random.default_rng(10)
    pair: Comparison = comparison(
        two_way(rng, 4, 200, 0.2), two_way(rng, 4, 200, 0.2), documents=np.repeat(np.arange(40), 5)
    )
    rows = curve(pilot(pair), [Plan(5, 5, 1000), Plan(5, 5, MANY_SEGMENTS)], points=1)
    assert [row.documents for row in rows] == [200, None]
    assert {row.unit for row in rows} == {"document"}


def test_what_cannot_be_planned_is_an_error():
    rng = np.random.default_rng(8)
    with pytest.raises(ReplituneError, match="two runs"):
        pilot(comparison(two_way(rng, 1, 30), two_way(rng, 3, 30)))
    with pytest.raises(ReplituneError, match="two runs"):
        Plan(5, 5, 100, tuners=3)
    with pytest.raises(ReplituneError, match="two segments"):
        Plan(5, 5, 1)
    with pytest.raises(ReplituneError, match="power"):
        Planned(model((1.0, 1.0), 1.0, (1.0, 1.0)), Plan(3, 3, 50)).detectable(1)


def test_nothing_varies():
    found = pilot(comparison(np.ones((3, 20)), np.full((3, 20), 2.0)))
    made = Planned(found.model, Plan(3, 3, 20))
    assert made.detectable() == 0.0
    assert made.power(1.0) == 1.0
    assert made.same(0.1) == 1.0
    (row, *_) = curve(found, [Plan(3, 3, 20)], asked=1.0)
    assert row.needed.value == 2


# -- families ------------------------------------------------------------------------------


@pytest.mark.parametrize(("systems", "n", "ratio"), [(2, 3, 10.0), (3, 3, 1.0), (5, 5, 1.0), (5, 3, 10.0)])
def test_power_of_a_family_with_a_bound_is_that_of_the_gate(systems, n, ratio):
    """benchmarks/calibration/noise_ratio.csv: 20,000 simulated families, a pair 3 standard errors apart."""
    path = Path(__file__).parents[2] / "benchmarks" / "calibration" / "noise_ratio.csv"
    cell = {"kind": "power", "systems": str(systems), "n": str(n), "ratio": str(ratio)}
    with path.open(newline="") as file:
        (row,) = (r for r in csv.DictReader(file) if cell.items() <= r.items())
    family = tuple(combinations(range(systems), 2))
    planned = PlannedInFamily(model((ratio * n / 1000,) * 2, 1.0, (0.0, 0.0)), n, 500, 3.0, family)
    assert planned.power(3 * planned.se) == pytest.approx(float(row["found 0.05"]), abs=0.012)


def test_advice_of_a_family_names_the_bound_beside_bonferroni():
    known = random_pilot(6, 3, 200)
    text = family_sentence(known, [3, 5], ((0, 1), (0, 2), (1, 2)))
    assert text.startswith("for one of 3 pairs, with adjusted p, `crossed: {noise_ratio: 3}`, chosen")
    bounds = [Planned(known.model, Plan(n, n, 200), alpha=0.05 / 3).detectable() for n in (3, 5)]
    assert all(f"({bound:.2g})" in text for bound in bounds)
