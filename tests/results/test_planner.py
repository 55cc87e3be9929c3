"""What more runs and segments would decide: one planner, whichever way it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import replitune as api
import replitune as library
from replitune.report.page import settles
from replitune.results.planning import FAR, LEAST, WANTED, Planner, fewest, planner_of
from replitune.results.result import Result
from replitune.significance.studies.planned import Plan
from support import Ran


def planner(cell: Result) -> Planner:
    (test,) = cell.tests
    found = planner_of(cell, test)
    assert found is not None
    return found


def scores(rng: np.random.Generator, n: int, N: int, run: float, suit: float, gap: float) -> dict:
    """Two systems: runs of sd `run`, and segments that suit them differently by sd `suit`."""
    item = rng.normal(50, 1, N)
    return {
        name: item
        + shift
        + rng.normal(0, suit, N)
        + rng.normal(0, run, (n, 1))
        + rng.normal(0, 0.3, (n, N))
        for name, shift in (("a", 0.0), ("b", gap))
    }


def cell_of(data: dict, **settings: object) -> Result:
    report = api.test(data, methods=["crossed"], intervals=[], **settings)
    return next(iter(report.comparison.metrics.values()))


def test_the_own_plan_has_the_standard_error_of_the_test():
    for run in (0.0, 0.2, 2.0):
        for n in (2, 3, 8):
            cell = cell_of(scores(np.random.default_rng(n), n, 60, run, 1.0, 0.3))
            assert planner(cell)._own.se == pytest.approx(cell.tests[0].se, rel=1e-9)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 1.3])
def test_with_many_runs_and_segments_it_is_a_normal_calculation(share: float):
    """Half of the final information is in hand: the estimate moves by N(0, V - V/2)."""
    cell = cell_of(scores(np.random.default_rng(1), 300, 3000, 5.0, 0.0, 0.0))
    found = planner(cell)
    se = found._own.se
    asked = replace(found, delta=share * 1.96 * se)
    double = Plan(600, 600, 3000)
    by_hand = stats.norm.cdf((share * 1.96 - 1.96 * np.sqrt(0.5)) / np.sqrt(0.5))
    assert asked.decides(double) == pytest.approx(by_hand, abs=0.02)
    assert asked.decides(found.own) == (share > 1), "nothing is added: it is decided, or not"


def test_a_margin_is_decided_too():
    found = planner(cell_of(scores(np.random.default_rng(2), 6, 80, 0.1, 0.5, 0.0)))
    none = replace(found, delta=0.0, margin=None)
    assert none.decides(none.times(10, 10)) < 0.5
    assert replace(none, margin=found._own.se * 3).decides(none.times(10, 10)) > 0.9


def test_a_step_is_the_smallest_that_decides_and_none_is_small_or_too_large():
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        run, suit = [(1.0, 0.1), (0.05, 2.0), (0.5, 1.5)][seed % 3]
        data = scores(rng, int(rng.integers(2, 8)), 50, run, suit, float(rng.uniform(0, 1.5)))
        cell = cell_of(data)
        (answer,) = cell.answers
        if answer.decided:
            assert answer.step is None
            assert answer.next == "nothing: it is decided"
            continue
        step, found = answer.step, planner(cell)
        if step is None:
            seen.add("none")
            two = "more runs of each: two hardly show" if found.own.n_a == 2 else "decide which difference"
            assert answer.next.startswith(two)
            assert found.decides(found.times(FAR, FAR)) < WANTED
        elif step.times:
            seen.add("both")
            assert 1 + LEAST <= step.times <= FAR
            assert found.decides(found.times(step.times, step.times)) >= WANTED
        elif step.runs:
            seen.add("runs")
            n = found.own.n_a
            assert LEAST * n <= step.runs <= FAR * n
            assert found.decides(found.more_runs(step.runs)) >= WANTED
            less = step.runs - max(1, step.runs // 50)
            assert less < max(LEAST * n, 1) or found.decides(found.more_runs(less)) < WANTED
        else:
            seen.add("text")
            assert LEAST * 50 <= step.units <= FAR * 50
            assert found.decides(found.times(1, 1 + step.units / 50)) >= WANTED
    assert seen == {"none", "both", "runs", "text"}


def test_on_this_text_only_runs_are_advised_and_on_new_text_of_these_runs_only_text():
    here = cell_of(scores(np.random.default_rng(6), 4, 60, 1.0, 1.0, 1.2), scope="runs")
    assert planner(here).model.scope == "runs"
    assert planner(here)._own.se == pytest.approx(here.tests[0].se, rel=1e-9)
    text = cell_of(scores(np.random.default_rng(5), 3, 60, 0.3, 3.0, 0.9), scope="segments")
    for cell in (here, text):
        (answer,) = cell.answers
        assert not answer.decided
        assert answer.step is not None
        assert (answer.step.runs > 0, answer.step.units > 0) == (cell is here, cell is text)


def test_with_many_pairs_the_step_is_for_the_corrected_level():
    data = scores(np.random.default_rng(11), 4, 80, 0.4, 0.5, 0.5)
    two = cell_of(data)
    more = cell_of({**data, "c": data["a"] + 9, "d": data["a"] - 9, "e": data["a"] + 30})
    pair = more.lead_test(("a", "b"))
    assert pair is not None
    found = planner_of(more, pair)
    assert found is not None
    assert found.alpha < planner(two).alpha == pytest.approx(0.05)


def test_followed_advice_decides():
    """Three quarters of pilots that are followed to the letter; true differences of all sizes."""
    rng = np.random.default_rng(13)
    followed = decided = 0
    while followed < 60:
        n, gap = int(rng.choice([3, 5])), rng.uniform(-2, 2)
        item, suit, run = rng.normal(0, 1, 40), rng.normal(0, 0.5, (2, 40)), rng.normal(0, 0.6, (2, 200))
        x = item + suit[:, None] + run[:, :, None] + rng.normal(0, 0.3, (2, 200, 40))
        first, *_ = cell_of({"a": x[0, :n], "b": x[1, :n] + gap}).answers
        if first.decided or first.step is None or not first.step.runs:
            continue
        followed += 1
        n += first.step.runs
        second, *_ = cell_of({"a": x[0, :n], "b": x[1, :n] + gap}).answers
        decided += second.decided
    assert decided >= 0.75 * followed


def test_the_fewest_of_many():
    assert fewest(lambda k: k >= 7, 1, 40) == 7
    assert fewest(lambda k: k >= 3, 3, 40) == 3
    assert fewest(lambda k: k >= 900, 1, 1000) in range(900, 920)
    assert fewest(lambda k: False, 1, 40) is None


@pytest.mark.parametrize(("n", "gap"), [(3, 0.0), (3, 0.8), (4, 3.0), (10, 0.4)])
def test_compare_power_next_and_page_say_the_same(
    replitune: Callable[..., Ran], tmp_path: Path, n: int, gap: float
):
    data = scores(np.random.default_rng(n), n, 50, 0.4, 0.8, gap)
    rows = [
        (name, f"run-{r + 1:03d}", i, x)
        for name, values in data.items()
        for r, run in enumerate(values.tolist())
        for i, x in enumerate(run)
    ]
    path = tmp_path / "scores.parquet"
    pd.DataFrame(rows, columns=["system", "replica", "segment", "score"]).to_parquet(path)
    cell = cell_of(data)
    (answer,) = cell.answers
    said = {
        "compare": replitune("compare", "--scores", path, "--methods", "crossed", "--intervals"),
        "power": replitune("power", path),
        "next": replitune("next", path, "--most", "20"),
    }
    for name, ran in said.items():
        assert ran.code == 0, ran.err
        assert answer.next in " ".join(ran.out.split()), name
    page = settles(library.scores(path, methods=["crossed"], intervals=[]).material)
    assert page.endswith(f"Next: {answer.next}.")
    if answer.step is not None and answer.step.runs:
        found = planner(cell)
        assert found.decides(found.more_runs(answer.step.runs)) >= WANTED
    rule, _, alone = said["next"].out.partition("without looks")
    if "more run" in rule:
        assert ("they share the level" if answer.decided else "four times out of five") in alone
