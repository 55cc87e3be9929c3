from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from replitune.errors import ReplituneError
from replitune.significance.base import TestResult, note_text
from replitune.significance.multiple import adjust, clusters, rank_systems, verdict

P = st.lists(st.floats(0, 1), min_size=1, max_size=12)
QUICK = settings(deadline=None, derandomize=True, max_examples=60)


def row(a: str, b: str, delta: float, p: float | None, **more) -> TestResult:
    return TestResult(
        method=more.pop("method", "crossed"),
        a=a,
        b=b,
        score_a=0.0,
        score_b=delta,
        delta=delta,
        p=p,
        alternative=more.pop("alternative", "two-sided"),
        unit="segment",
        aggregation="mean",
        n_a=3,
        n_b=3,
        segments=10,
        documents=10,
        scope="outputs",
        **more,
    )


def test_holm_by_hand():
    # sorted .005 .01 .03 .04 times 4 3 2 1 is .02 .03 .06 .04; the last is raised to .06
    assert adjust([0.01, 0.04, 0.03, 0.005], "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust([0.5, 0.6], "holm") == [1.0, 1.0]


def test_bh_by_hand():
    # sorted .005 .01 .03 .04 times 4/1 4/2 4/3 4/4 is .02 .02 .04 .04
    assert adjust([0.01, 0.04, 0.03, 0.005], "bh") == pytest.approx([0.02, 0.04, 0.04, 0.02])


@QUICK
@given(P)
def test_bh_is_scipys(p: list[float]):
    assert adjust(p, "bh") == pytest.approx(false_discovery_control(p, method="bh"), abs=1e-15)


@QUICK
@given(P)
def test_holm_rejects_what_the_step_down_procedure_rejects(p: list[float]):
    # Holm's own description: reject while p_(j) <= alpha / (m - j + 1), stop at the first failure
    alpha, m = 0.05, len(p)
    rejected = set()
    for j, i in enumerate(sorted(range(m), key=lambda i: p[i])):
        if p[i] * (m - j) > alpha:
            break
        rejected.add(i)
    found = adjust(p, "holm")
    assert {i for i in range(m) if found[i] <= alpha} == rejected  # type: ignore[operator]


@QUICK
@given(P, st.sampled_from(["holm", "bh"]))
def test_adjusting_keeps_the_order_and_never_lowers_p(p: list[float], method: str):
    found = adjust(p, method)
    assert all(q >= x - 1e-15 for x, q in zip(p, found, strict=True))  # type: ignore[operator]
    order = np.argsort(p, kind="stable")
    assert (np.diff([found[i] for i in order]) >= 0).all()  # type: ignore[misc]


@QUICK
@given(P, st.data(), st.sampled_from(["holm", "bh"]))
def test_null_p_stay_null_and_do_not_count(p: list[float], data, method: str):
    at = data.draw(st.integers(0, len(p)))
    found = adjust([*p[:at], None, *p[at:]], method)
    assert found.pop(at) is None
    assert found == adjust(p, method)


def test_a_p_outside_0_and_1_is_refused():
    with pytest.raises(ReplituneError, match="not between 0 and 1"):
        adjust([0.2, 1.5], "holm")
    with pytest.raises(ReplituneError, match="not between 0 and 1"):
        adjust([float("nan")], "bh")


def test_a_verdict_has_a_direction():
    assert verdict(row("A", "B", 1.0, 0.01), 0.05, True) == 1
    assert verdict(row("A", "B", 1.0, 0.01), 0.05, False) == -1
    assert verdict(row("A", "B", -1.0, 0.01), 0.05, True) == -1
    assert verdict(row("A", "B", 1.0, 0.06), 0.05, True) == 0
    assert verdict(row("A", "B", 1.0, 0.01, p_adjusted=0.06), 0.05, True) == 0
    assert verdict(row("A", "B", 1.0, None), 0.05, True) is None
    assert verdict(row("A", "B", -1.0, 0.01, alternative="greater"), 0.05, True) == 0
    assert verdict(row("A", "B", -1.0, 0.01, alternative="less"), 0.05, True) == -1


def test_clusters_by_hand():
    # A beats all; B and C do not differ, C and D neither, but B beats D: one cluster of three
    scores = {"A": 30.0, "B": 28.0, "C": 27.5, "D": 27.0}
    results = [
        row("A", "B", -2.0, 0.001),
        row("A", "C", -2.5, 0.001),
        row("D", "A", 3.0, 0.001),
        row("B", "C", -0.5, 0.4),
        row("B", "D", -1.0, 0.01),
        row("C", "D", -0.5, 0.3),
    ]
    ranking = rank_systems(results, scores)
    assert ranking.systems == ("A", "B", "C", "D")
    assert ranking.clusters == (("A",), ("B", "C", "D"))
    assert ranking.wins.sum(axis=1).tolist() == [3, 1, 0, 0]
    assert ranking.wins[1].tolist() == [False, False, False, True]


def test_a_lower_score_is_better_when_the_metric_says_so():
    results = [row("A", "B", 2.0, 0.001)]
    ranking = rank_systems(results, {"A": 60.0, "B": 62.0}, sign=-1)
    assert ranking.clusters == (("A",), ("B",))


def test_a_significant_difference_the_other_way_is_no_boundary():
    # the test looks at one replica and contradicts the means that the order comes from
    ranking = rank_systems([row("A", "B", 1.0, 0.001)], {"A": 30.0, "B": 29.0})
    assert ranking.clusters == (("A", "B"),)
    assert ranking.wins.tolist() == [[False, False], [True, False]]


def test_untested_pairs_leave_no_clusters():
    scores = {"base": 1.0, "X": 2.0, "Y": 3.0}
    ranking = rank_systems([row("base", "X", 1, 0.01), row("base", "Y", 2, None)], scores)
    assert ranking.clusters is None
    assert note_text(ranking.notes) == "no clusters: no p for Y and X and 1 other pairs"


def test_one_system_is_one_cluster():
    assert rank_systems([], {"A": 1.0}).clusters == (("A",),)
    assert rank_systems([], {}).clusters == ()


def test_a_ranking_is_of_one_method_and_of_known_systems():
    with pytest.raises(ReplituneError, match="one test"):
        rank_systems([row("A", "B", 1, 0.1), row("A", "B", 1, 0.1, method="clark")], {})
    with pytest.raises(ReplituneError, match="no score for system B"):
        rank_systems([row("A", "B", 1, 0.1)], {"A": 1.0})


@QUICK
@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_every_boundary_is_one_and_there_is_no_other(size: int, random):
    wins = np.array([[random.random() < 0.8 for _ in range(size)] for _ in range(size)])
    found = clusters(wins)
    assert [i for part in found for i in part] == list(range(size))
    boundaries = {part.start for part in found} - {0}
    for k in range(1, size):
        everyone = all(wins[i, j] for i in range(k) for j in range(k, size))
        assert (k in boundaries) == everyone
