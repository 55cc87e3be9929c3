"""The rule of adaptive replication against closed forms, and looks at small made-up experiments."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import combine_pvalues, f_oneway
from scipy.stats import t as student

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.replicas import Replica
from replitune.results.looking import all_looks, batches_p, first_replicas, next_look
from replitune.results.looks import require_given
from replitune.significance.base import Comparison
from replitune.significance.critical import Parts, net_parts
from replitune.significance.looks.record import FUTILE, NO_P, SETTLED, Plan, Record, read_record
from replitune.significance.looks.rule import asks, outlook, step_down
from replitune.significance.looks.settings import RuleSettings
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.systems import SystemStatistics
from significance.calls import crossed

RULE = RuleSettings()
SEGMENTS = 60


def scores(rng: np.random.Generator, n: int, shift: float, run: float, noise: float) -> np.ndarray:
    """(n, N, 2): score and count."""
    x = rng.normal(size=(n, SEGMENTS)) * noise + rng.normal(size=(n, 1)) * run + shift
    return np.stack([x, np.ones_like(x)], axis=-1)


def store_of(kind: str = "mert", **systems: np.ndarray) -> SegmentStatistics:
    found = {}
    for name, statistics in systems.items():
        ids = tuple(f"{kind}-{r + 1:03d}" for r in range(len(statistics)))
        groups = tuple(Replica(id).group for id in ids)
        found[name] = SystemStatistics(name, ids, groups, statistics)
    return SegmentStatistics("t", MeanMetric("score"), "", found, np.arange(SEGMENTS), None)


def plan_of(store: SegmentStatistics, looks: tuple[int, ...] = (3, 5, 8), **changes: Any) -> Plan:
    names = list(store.systems)
    most = {name: {"mert": system.n} for name, system in store.systems.items()}
    given: dict[str, Any] = {
        "testset": "t",
        "metric": "score",
        "suite": {},
        "method": "crossed",
        "options": {},
        "alpha": 0.05,
        "families": 1,
        "correction": "holm",
        "doubt": 0.1,
        "futility": 0.05,
        "skip": 0.1,
        "pairs": [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]],
        "most": most,
        "sizes": {
            name: [*(n for n in looks if n < system.n), system.n] for name, system in store.systems.items()
        },
    }
    return Plan(**{**given, **changes})


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def test_looks_that_are_repeated_ask_for_no_runs_that_there_were_not(tmp_path: Path, rng):
    store = store_of(A=scores(rng, 8, 0, 1, 1), B=scores(rng, 8, 0.9, 1, 1))
    record = all_looks(plan_of(store), [store])
    first = record.looks[0]
    assert first.next, "it goes on after three runs"
    require_given(first, record, tmp_path)
    with pytest.raises(ReplituneError, match="look 1 asks for more runs of A than are given"):
        require_given(first, Record(plan=record.plan, looks=[replace(first, next={})]), tmp_path)


# -- the rule


def test_with_one_part_the_bounds_are_students():
    """A's runs alone vary, so there is one layer: F = V/4, L = 3/4 V."""
    parts = Parts(np.array(2.0), np.array([2.0, 0.0]), np.array([4.0, 499.0]))
    found = outlook(1.0, parts, np.array([0.25]), RULE)
    reach = student.isf(0.025, 4) * np.sqrt(0.5)
    beyond = student.isf(0.0025, 4) * np.sqrt(1.5)
    assert float(found.needed(0.05)) == pytest.approx(reach + beyond)
    gain = student.isf(0.05, 4) * np.sqrt(1.5)
    assert bool(found.futile(0.05)) == (1.0 + gain < reach)
    small = student.isf(0.05, 4) * np.sqrt(2 * 0.01)
    late = outlook(0.5, parts, np.array([0.99]), RULE)
    assert bool(late.futile(0.05))
    assert 0.5 + small < student.isf(0.025, 4) * np.sqrt(1.98)


def test_a_one_sided_look_with_one_part_is_students_too():
    """Both tails of the rule in one: .05 above, and .1 times .05 for what may still come."""
    parts = Parts(np.array(2.0), np.array([2.0, 0.0]), np.array([4.0, 499.0]))
    found = outlook(1.0, parts, np.array([0.25]), RULE, 1.0)
    reach = student.isf(0.05, 4) * np.sqrt(0.5)
    beyond = student.isf(0.005, 4) * np.sqrt(1.5)
    assert float(found.needed(0.05)) == pytest.approx(reach + beyond)
    other = outlook(1.0, parts, np.array([0.25]), RULE, -1.0)
    assert float(other.p()) > 0.5
    gain = student.isf(0.05, 4) * np.sqrt(1.5)
    for size in (1.0, 1.2):  # gain - reach lies between them
        one = outlook(size, parts, np.array([0.25]), RULE, -1.0)
        assert bool(one.futile(0.05)) == (-size + gain < reach) == (size == 1.2)
    t = student.sf(1 / np.sqrt(2), 4)
    last = [outlook(1.0, parts, np.array([1.0]), RULE, sign) for sign in (1.0, -1.0)]
    assert [float(one.p()) for one in last] == pytest.approx([t, 1 - t])


def test_a_one_sided_p_is_half_of_the_two_sided_one_on_its_side(rng: np.random.Generator):
    parts = net_parts(
        rng.chisquare(4, (20, 2)), np.full(2, 4.0), np.ones((20, 1)), np.array([99.0]), np.zeros((20, 1))
    )
    delta = np.abs(rng.normal(size=20) * 5) + 3
    both, above = (outlook(delta, parts, np.full((20, 2), 0.3), RULE, sign).p() for sign in (0.0, 1.0))
    assert (both < 1).sum() > 10
    np.testing.assert_allclose(2 * above[both < 1], both[both < 1], rtol=1e-9)


def test_p_is_the_level_at_which_the_difference_is_just_enough(rng: np.random.Generator):
    rep = rng.chisquare(4, (50, 2))
    parts = net_parts(rep, np.full(2, 4.0), np.ones((50, 1)), np.array([99.0]), np.zeros((50, 1)))
    found = outlook(rng.normal(size=50) * 10, parts, np.full((50, 2), 0.3), RULE)
    p = found.p()
    inside = (p > 1e-90) & (p < 1)
    assert inside.sum() > 20
    np.testing.assert_allclose(found.needed(p)[inside], np.abs(found.delta)[inside], rtol=1e-9)
    assert (np.abs(found.delta)[p == 1] <= found.needed(1.0)[p == 1] + 1e-9).all()
    assert (p >= found.p_now() - 1e-12).all()


def test_with_all_replicas_it_is_crossed(rng: np.random.Generator):
    store = store_of(A=scores(rng, 6, 0, 0.2, 1), B=scores(rng, 6, 0.5, 0.1, 1))
    record = all_looks(plan_of(store, looks=(6,)), [store])
    ordinary = crossed(Comparison(store.metric, store.systems["A"], store.systems["B"], store.documents))
    (pair,) = record.looks[0].pairs
    assert pair.p == pair.p_look == pair.p_alone == pytest.approx(ordinary.p, rel=1e-12)
    assert (pair.ci_low, pair.ci_high) == pytest.approx((ordinary.ci_low, ordinary.ci_high))


def test_holm_by_hand():
    rejected, level = step_down(np.array([[0.001, 0.04, 0.024], [0.02, 1, 1]]), 0.05, "holm")
    assert rejected.tolist() == [[True, True, True], [False, False, False]]
    assert level.tolist() == [0.05, pytest.approx(0.05 / 3)]
    rejected, level = step_down(np.array([0.02, 1, 1]), 0.05, "none")
    assert rejected.tolist() == [True, False, False]
    assert level == 0.05


def test_only_what_leaves_a_pair_open_gets_more_runs():
    shares = np.array([[0.95, 0.05], [0.5, 0.5], [0.6, 0.4]])
    found = asks(np.array([False, True, False]), np.array([False, False, True]), shares, 0.1)
    assert found.tolist() == [[True, False], [False, False], [False, False]]


# -- looks


def test_a_large_difference_is_settled_at_the_first_look(rng: np.random.Generator):
    store = store_of(A=scores(rng, 8, 0, 0.05, 1), B=scores(rng, 8, 9, 0.05, 1))
    record = all_looks(plan_of(store), [store])
    assert len(record.looks) == 1
    assert record.settled
    assert record.wanted == {"A": 3, "B": 3}
    assert record.looks[0].pairs[0].decision == SETTLED
    assert record.runs == (6, 16)


def test_quiet_runs_of_equal_systems_are_given_up(rng: np.random.Generator):
    same = np.stack([rng.normal(size=SEGMENTS) * 3, np.zeros(SEGMENTS)], axis=-1)
    store = store_of(A=same + scores(rng, 8, 0, 0.01, 0.02), B=same[::-1] + scores(rng, 8, 0, 0.01, 0.02))
    record = all_looks(plan_of(store), [store])
    pair = record.looks[-1].pairs[0]
    assert pair.decision in (FUTILE, "open")
    assert pair.p is not None
    assert pair.p > 0.05
    assert record.runs[0] < 16


def test_only_the_noisy_system_is_run_again(rng: np.random.Generator):
    store = store_of(A=scores(rng, 8, 0, 5, 1), B=scores(rng, 8, 1, 0.01, 1))
    record = all_looks(plan_of(store), [store])
    assert record.wanted["B"] == 3
    assert record.wanted["A"] > 3


def test_every_look_sees_the_first_replicas_by_name_whatever_their_order(rng: np.random.Generator):
    store = store_of(A=scores(rng, 8, 0, 1, 1), B=scores(rng, 8, 0.5, 1, 1))
    plan = plan_of(store)
    order = rng.permutation(8)
    turned = {
        name: SystemStatistics(
            name,
            tuple(s.replicas[r] for r in order),
            tuple(s.groups[r] for r in order),
            s.statistics[order],
        )
        for name, s in store.systems.items()
    }
    other = SegmentStatistics("t", store.metric, "", turned, store.documents, None)
    assert all_looks(plan, [other]).json() == all_looks(plan, [store]).json()
    assert first_replicas(other, plan, {"A": 3}).systems["A"].replicas == (
        "mert-001",
        "mert-002",
        "mert-003",
    )


def test_one_look_after_the_other_is_all_at_once(rng: np.random.Generator, tmp_path: Path):
    """Through the file, as the workflow does."""
    store = store_of(A=scores(rng, 8, 0, 1, 1), B=scores(rng, 8, 0.3, 1, 1), C=scores(rng, 8, 4, 2, 1))
    plan = plan_of(store)
    whole = all_looks(plan, [store])
    assert len(whole.looks) > 1
    record = None
    while record is None or not record.settled:
        before = [] if record is None else record.looks
        wanted = before[-1].wanted if before else plan.first
        seen = first_replicas(store, plan, wanted)
        record = Record(plan=plan, looks=[*before, next_look(plan, before, [seen])])
        (tmp_path / "x.json").write_bytes(record.json())
        record = read_record(tmp_path / "x.json")
    assert record.json() == whole.json()


def test_what_is_settled_stays_settled_and_p_only_falls(rng: np.random.Generator):
    shifts = dict(zip("ABCDE", (0, 0.2, 1, 3, 6), strict=True))
    store = store_of(**{name: scores(rng, 12, shift, 1, 1) for name, shift in shifts.items()})
    record = all_looks(plan_of(store, looks=(3, 5, 8, 12)), [store])
    assert len(record.looks) > 1
    for a, b in record.plan.pairs:
        rows = [pair for look in record.looks for pair in look.pairs if (pair.a, pair.b) == (a, b)]
        p = [row.p for row in rows]
        assert p == sorted(p, reverse=True)
        settled = [row.decision == SETTLED for row in rows]
        assert settled == sorted(settled)
    for first, second in zip(record.looks, record.looks[1:], strict=False):
        assert second.wanted.keys() == first.wanted.keys()
        assert all(second.systems[name].n == n for name, n in first.wanted.items())


def test_missing_replicas_are_named_and_the_others_are_gone_by(rng: np.random.Generator):
    a, b = scores(rng, 8, 0, 1, 1), scores(rng, 8, 0.5, 1, 1)
    store = store_of(A=a, B=b)
    plan = plan_of(store)
    kept = SystemStatistics(
        "A",
        store.systems["A"].replicas[1:],
        store.systems["A"].groups[1:],
        store.systems["A"].statistics[1:],
    )
    fewer = SegmentStatistics(
        "t", store.metric, "", {"A": kept, "B": store.systems["B"]}, store.documents, None
    )
    look = next_look(plan, [], [fewer], {"A": {"mert-001": "tune: diverged"}})
    assert look.systems["A"].missing == {"mert-001": "tune: diverged"}
    assert look.systems["A"].replicas == ["mert-002", "mert-003"]
    assert look.pairs[0].n_a == 2


def test_a_system_with_one_run_is_run_again_and_has_no_p(rng: np.random.Generator):
    store = store_of(A=scores(rng, 8, 0, 1, 1), B=scores(rng, 8, 0.5, 1, 1))
    plan = plan_of(store)
    one = SystemStatistics("A", ("mert-002",), ("mert",), store.systems["A"].statistics[:1])
    few = SegmentStatistics(
        "t", store.metric, "", {"A": one, "B": store.systems["B"]}, store.documents, None
    )
    look = next_look(plan, [], [few])
    assert look.pairs[0].decision == NO_P
    assert look.pairs[0].note
    assert look.next == {"A": 5}


def test_a_system_that_cannot_grow_stays_where_it_is(rng: np.random.Generator):
    store = store_of(A=scores(rng, 2, 0, 1, 1), B=scores(rng, 8, 0.5, 1, 1))
    record = all_looks(plan_of(store), [store])
    assert record.wanted["A"] == 2
    assert all("A" not in look.next for look in record.looks)


def test_without_variance_nothing_is_run_and_it_is_said():
    same = np.ones((8, SEGMENTS, 2))
    store = store_of(A=same, B=same * [2, 1])
    record = all_looks(plan_of(store), [store])
    assert record.settled
    assert record.runs[0] == 6
    assert record.looks[0].pairs[0].note == "zero variance"
    store = store_of(A=same, B=same)
    (pair,) = all_looks(plan_of(store), [store]).looks[0].pairs
    assert pair.p == 1.0
    assert pair.decision != SETTLED


def test_paired_replicas_advance_together(rng: np.random.Generator):
    store = store_of(A=scores(rng, 8, 0, 3, 1), B=scores(rng, 8, 0.5, 3, 1), C=scores(rng, 8, 99, 0.1, 1))
    plan = plan_of(store, options={"paired": True}, pairs=[("A", "B"), ("A", "C")])
    record = all_looks(plan, [store])
    assert len(record.looks) > 1
    for look in record.looks:
        assert len({system.n for system in look.systems.values()}) == 1


def test_where_replicas_may_change_from_day_to_day_an_open_pair_grows_together(rng: np.random.Generator):
    """A alone is noisy. C, which is settled against both, stays where it is."""
    store = store_of(
        A=scores(rng, 8, 0, 2, 0.1), B=scores(rng, 8, 0, 0.01, 0.1), C=scores(rng, 8, 900, 0.01, 0.1)
    )
    alone = all_looks(plan_of(store), [store])
    together = all_looks(plan_of(store, together=True), [store])
    assert alone.wanted["A"] > alone.wanted["B"]
    assert together.wanted["A"] == together.wanted["B"] == alone.wanted["A"]
    assert together.wanted["C"] == 3


def test_batches_that_score_otherwise_are_told(rng: np.random.Generator):
    """Against scipy's F tests, by Fisher's product."""
    a, b = scores(rng, 8, 0, 1, 0.1), scores(rng, 8, 0, 1, 0.1)
    for shift in (0.0, 6.0):
        a[5:, :, 0] += shift
        store = store_of(A=a, B=b)
        plan = plan_of(store)
        runs = [x[..., 0].mean(axis=1) for x in (a, b)]
        p = [f_oneway(x[:3], x[3:5], x[5:]).pvalue for x in runs]
        expected = combine_pvalues(p, "fisher").pvalue
        assert batches_p(plan, [store]) == pytest.approx(expected, rel=1e-6)
        last = next_look(plan, all_looks(plan_of(store, futility=1e-9), [store]).looks[:2], [store])
        told = Record(plan=plan, looks=[last]).drift
        assert (told is not None) == (expected < 0.01) == (shift > 0)
    assert batches_p(plan, [first_replicas(store, plan, plan.first)]) == 1.0


def test_a_damaged_record_is_an_error(tmp_path: Path):
    (tmp_path / "1.json").write_text("{}")
    with pytest.raises(ReplituneError, match="not a record of looks"):
        read_record(tmp_path / "1.json")


# -- the simulation of the gate


@pytest.fixture(scope="module")
def simulate() -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / "adaptive" / "simulate.py"
    spec = importlib.util.spec_from_file_location("adaptive_simulate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["adaptive_simulate"] = module
    spec.loader.exec_module(module)
    return module


def test_the_simulation_has_the_moments_of_whole_data(simulate: Any):
    """Mean squares of 4,000 simulated experiments against their expectation, and their spread."""
    cell = simulate.Cell("x", 0.4, 2.0, "9:1", schedule=(3, 5), nu_seg=40.0)
    drawn = simulate.draw(cell, 4000, np.random.default_rng(1), 3.0)
    u = drawn.units
    for j, n in enumerate(cell.schedule):
        seg = ((u[:, 1, j] - u[:, 0, j]) ** 2).sum(axis=-1)
        assert seg.mean() == pytest.approx(0.6 + 0.4 * 3 / n, rel=0.03)
        assert seg.var() == pytest.approx(2 / 40 * seg.mean() ** 2, rel=0.15)
        assert drawn.both[:, :, j].sum(axis=1).mean() == pytest.approx(0.4 * 3 / n, rel=0.03)
        rep = drawn.rep[:, :, j, 0].mean(axis=0)
        assert rep == pytest.approx(np.array([1.8 + 0.2, 0.2 + 0.2]) * 3 / n, rel=0.1)
        delta = drawn.score[:, 1, j] - drawn.score[:, 0, j]
        assert delta.var() == pytest.approx(2.4 * 3 / n + 0.6, rel=0.1)


def test_the_simulation_decides_as_the_library_does(simulate: Any, rng: np.random.Generator):
    """Whole data, and what the simulation would have drawn of them."""
    schedule = (3, 5, 8)
    cell = simulate.Cell("x", 0.4, 1.0, systems=3, schedule=schedule, nu_seg=SEGMENTS - 1.0)
    used = set()
    for shift in (0.0, 0.3, 1.0, 3.0):
        data = {name: scores(rng, 8, k * shift, 0.5, 1) for k, name in enumerate("ABC")}
        store = store_of(**data)
        record = all_looks(plan_of(store), [store])
        x = np.stack(list(data.values()))[..., 0]  # (S, 8, N)
        units = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(SEGMENTS * (SEGMENTS - 1))
        mean, rep, both, unit = [], [], [], []
        for n in schedule:
            v, e = x[:, :n].mean(axis=-1), units[:, :n]
            mean.append(v.mean(axis=1))
            rep.append(v.var(axis=1, ddof=1) / n)
            unit.append(e.mean(axis=1))
            rest = ((e - e.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
            both.append(rest / (n * (n - 1)))
        drawn = simulate.Drawn(
            np.stack(mean, -1)[np.newaxis],
            np.stack(rep, -1)[np.newaxis, ..., np.newaxis],
            np.stack(both, -1)[np.newaxis],
            np.stack(unit, 1)[np.newaxis],
        )
        outcome = simulate.experiment(cell, drawn, 0.05)
        assert outcome.n[0].tolist() == [record.wanted[name] for name in "ABC"]
        last = [pair.decision == SETTLED for pair in record.looks[-1].pairs]
        assert outcome.rejected[0].tolist() == last
        used.add(tuple(record.wanted.values()))
    assert len(used) > 1
