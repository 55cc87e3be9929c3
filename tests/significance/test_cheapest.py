"""The cheapest plan: held against every plan there is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from crossed_models import comparison, two_way

from replitune.errors import ReplituneError
from replitune.significance.studies.cheapest import Prices, cheapest, proposal_lines
from replitune.significance.studies.pilot import Pilot, pilot
from replitune.significance.studies.planned import Plan, Planned


def made(n: int = 6, N: int = 500, run: float = 0.2, documents: np.ndarray | None = None) -> Pilot:
    rng = np.random.default_rng(1)
    common = rng.normal(0, 2, N)
    A, B = (two_way(rng, n, N, run, common + rng.normal(0, 1, N)) for _ in "ab")
    return pilot(comparison(A, B, documents=documents))


def detectable(found: Pilot, n: int, N: int) -> float:
    return float(Planned(found.model, Plan(n, n, N)).detectable())


@pytest.mark.parametrize("prices", [Prices(600, 0.5), Prices(20, 0.1), Prices(1e5, 1), Prices(0, 1)])
@pytest.mark.parametrize("delta", [0.3, 0.5])
def test_no_plan_that_suffices_is_cheaper(prices: Prices, delta: float):
    """Every number of runs to 40 with every number of segments on a grid."""
    found = made()
    best = cheapest(found, delta, prices).best
    assert detectable(found, best.plan.n_a, best.plan.segments) <= delta * 1.01
    assert best.cost == prices.cost(best.plan)
    for n in range(3, 41):
        for N in np.geomspace(100, 30_000, 60).astype(int):
            if prices.cost(Plan(n, n, int(N))) < 0.99 * best.cost:
                assert detectable(found, n, int(N)) > delta
                continue
            break


def test_dear_runs_want_segments_and_dear_segments_want_runs():
    found = made()
    dear_runs = cheapest(found, 0.4, Prices(1e6, 0.1)).best.plan
    dear_segments = cheapest(found, 0.4, Prices(1, 10)).best.plan
    assert dear_runs.n_a < dear_segments.n_a
    assert dear_runs.segments > dear_segments.segments


def test_the_neighbours_suffice_too_and_are_dearer():
    found = made()
    answer = cheapest(found, 0.25, Prices(20, 0.1))
    fewer, more = answer.others
    assert fewer.plan.n_a < answer.best.plan.n_a < more.plan.n_a
    assert fewer.plan.segments > answer.best.plan.segments > more.plan.segments
    for other in answer.others:
        assert other.cost >= answer.best.cost
        assert detectable(found, other.plan.n_a, other.plan.segments) <= 0.25 * 1.01


def test_the_plan_on_the_segments_at_hand_has_no_run_too_many():
    found = made()
    plan = cheapest(found, 0.3, Prices(600, 0.5)).at_hand.plan
    assert plan.segments == 500
    assert detectable(found, plan.n_a, 500) <= 0.3 * 1.005 < detectable(found, plan.n_a - 1, 500)


def test_its_power_is_the_wanted_one_and_has_limits():
    found = made()
    best = cheapest(found, 0.4, Prices(600, 0.5), power=0.9).best
    assert Planned(found.model, best.plan).power(0.4) == pytest.approx(0.9, abs=0.01)
    low, high = best.power
    assert low < 0.9 < high


def test_plans_keep_enough_documents_for_documents_to_be_the_unit():
    found = made(documents=np.repeat(np.arange(100), 5))
    plan = cheapest(found, 2.0, Prices(0, 1)).best.plan
    assert plan.segments == 100, "20 documents of five segments"


def test_the_answer_in_words():
    found = made()
    best, *others = proposal_lines(cheapest(found, 0.25, Prices(600, 0.1)), "BLEU")
    assert best.startswith("cheapest to detect 0.25 BLEU (power 0.8, alpha 0.05): ")
    assert "of which you have 500: " in best
    assert " h of CPU; by the pilot its power may be " in best
    assert all(line.startswith(("or ", "on the 500 segments at hand")) for line in others)
    assert all(line.endswith(("more expensive", "equally expensive", "suffices")) for line in others)
    (_, fewer, *_) = proposal_lines(cheapest(found, 0.3, Prices(1e9, 0.01)))
    assert fewer == "with fewer runs no number of segments suffices"


def test_nothing_suffices():
    found = made(run=2.0)
    (line,) = proposal_lines(cheapest(found, 0.01, Prices(1, 1)))
    assert line.startswith("no plan detects 0.01 (power 0.8, alpha 0.05): not even 1,000 runs")


def test_when_the_segments_at_hand_are_too_few_for_any_number_of_runs():
    answer = proposal_lines(cheapest(made(), 0.1, Prices(600, 0.01)))
    assert answer[-1] == "on the 500 segments at hand no number of runs suffices"


@pytest.mark.parametrize(("run", "segment"), [(-1, 1), (1, -1), (0, 0)])
def test_prices_are_not_negative(run: float, segment: float):
    with pytest.raises(ReplituneError, match="prices"):
        Prices(run, segment)
