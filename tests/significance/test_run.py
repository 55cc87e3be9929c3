"""The driver: streams keyed by names, pairs, corrections, and what does not change what."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Literal

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.notes import Note
from replitune.settings import about
from replitune.significance.base import TestResult
from replitune.significance.draws import named_draws
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.one_system import summarise
from replitune.significance.registry import PEOPLE, TESTS
from replitune.significance.run import histogram
from replitune.significance.settings import Baseline, pairs_of_systems
from significance.exchange_models import Counts, counts, means, system
from significance.one_testset import run_tests

METHODS = [name for name in TESTS.names if name != PEOPLE]
N = 40
DOCUMENTS = np.arange(N, dtype=np.int32) // 2
SETTINGS = {"testset": "t", "seed": 5, "samples": 150}


def systems(*names: str, n: int = 3) -> dict:
    return {name: system(name, counts(n, N, seed=ord(name), gain=0.1 * (name == "c"))) for name in names}


def same(x, y) -> bool:
    """Rows are equal to the bit, apart from what belongs to the family; shares to rounding."""
    skip = {"p_adjusted", "correction", "ci_low", "ci_high", "ci_level", "notes"}
    skip |= {"analysis", "next_run", "uncertainty"}
    for f in fields(x):
        one, other = getattr(x, f.name), getattr(y, f.name)
        if f.name == "details":
            if one != pytest.approx(other, rel=1e-9):
                return False
        elif f.name not in skip and not np.array_equal(one, other):
            return False
    return True


def by_name(rows) -> dict:
    return {(r.a, r.b, r.method): r for r in rows}


def test_rows_come_pair_by_pair_and_method_by_method() -> None:
    rows = run_tests({"m": (Counts(), systems("a", "b", "c"))}, DOCUMENTS, methods=METHODS, **SETTINGS)["m"]
    assert [(r.a, r.b, r.method) for r in rows] == [
        (a, b, method) for a, b in (("a", "b"), ("a", "c"), ("b", "c")) for method in METHODS
    ]
    assert all(r.p is not None and 0 < r.p <= 1 for r in rows)
    assert {r.seed for r in rows if r.method not in ("crossed", "lmem")} == {5}


def test_swapping_a_pair_changes_no_p() -> None:
    metric = {"m": (Counts(), systems("a", "b"))}
    sided = [
        {"name": "clark", "id": "clark-greater", "alternative": "greater"},
        {"name": "riezler", "id": "riezler-a", "replica-a": "run-003"},
    ]
    turned = [
        {"name": "clark", "id": "clark-greater", "alternative": "less"},
        {"name": "riezler", "id": "riezler-a", "replica-b": "run-003"},
    ]
    methods = METHODS
    ab = run_tests(metric, DOCUMENTS, pairs=[("a", "b")], methods=[*methods, *sided], **SETTINGS)
    ba = run_tests(metric, DOCUMENTS, pairs=[("b", "a")], methods=[*methods, *turned], **SETTINGS)
    for x, y in zip(ab["m"], ba["m"], strict=True):
        assert (x.p, x.delta) == (y.p, -y.delta)
        assert same(x, y.swapped())
    for row, first, second in ((ab["m"][0], "a", "b"), (ba["m"][0], "b", "a")):
        about = [source.about for source in row.variances if source.about]
        assert about == [first, second, first, second], "components in the order of the pair"


def test_nothing_else_changes_a_number() -> None:
    """Another system, metric, method, order or thread leaves every row as it was."""
    alone = by_name(
        run_tests({"m": (Counts(), systems("a", "b"))}, DOCUMENTS, methods=["clark", "graham"], **SETTINGS)[
            "m"
        ]
    )
    others = {name: system(name, means(2, N, seed=1)) for name in "dcba"}
    every = run_tests(
        {"z": (MeanMetric(), others), "m": (Counts(), systems("d", "c", "b", "a"))},
        DOCUMENTS,
        methods=[*reversed(METHODS)],
        threads=3,
        **SETTINGS,
    )
    pairs = (("d", "c"), ("d", "b"), ("d", "a"), ("c", "b"), ("c", "a"), ("b", "a"))
    assert [(r.a, r.b, r.method) for r in every["m"]] == [
        (a, b, method) for a, b in pairs for method in reversed(METHODS)
    ]
    found = by_name(every["m"])
    for (a, b, method), row in alone.items():
        assert same(row, found[b, a, method].swapped())
    twice = {"m": (Counts(), systems("a", "b")), "n": (Counts("n"), systems("a", "b"))}
    rows = run_tests(twice, DOCUMENTS, methods=METHODS, **SETTINGS)
    for x, y in zip(rows["m"], rows["n"], strict=True):
        assert same(x, y)


def test_real_statistics_do_not_depend_on_company_either() -> None:
    one = {name: system(name, means(3, N, seed=ord(name))) for name in "ab"}
    more = one | {"c": system("c", means(5, N, seed=9))}
    methods = [m for m in METHODS if m != "crossed"]
    alone = by_name(run_tests({"m": (MeanMetric(), one)}, DOCUMENTS, methods=methods, **SETTINGS)["m"])
    found = by_name(
        run_tests({"m": (MeanMetric(), more)}, DOCUMENTS, methods=methods[::-1], **SETTINGS)["m"]
    )
    for key, row in alone.items():
        assert same(row, found[key])


def test_another_seed_or_test_set_draws_anew() -> None:
    metric = {"m": (Counts(), systems("a", "b"))}
    first = run_tests(metric, DOCUMENTS, **SETTINGS)["m"][0]
    for change in ({"seed": 6}, {"testset": "u"}, {"seed": 0}):
        other = run_tests(metric, DOCUMENTS, **{**SETTINGS, **change})["m"][0]
        assert not np.array_equal(first.distribution, other.distribution)


def test_samples_are_a_prefix_of_more_samples() -> None:
    metric = {"m": (Counts(), systems("a", "b"))}
    methods = ["riezler", "koehn", "clark", "clark-bootstrap"]
    few = run_tests(metric, DOCUMENTS, methods=methods, **SETTINGS)["m"]
    many = run_tests(metric, DOCUMENTS, methods=methods, **{**SETTINGS, "samples": 400})["m"]
    for x, y in zip(few, many, strict=True):
        np.testing.assert_array_equal(x.distribution, y.distribution[:150])


def test_draws_are_shared_with_the_summaries() -> None:
    draws = named_draws("t", 5)
    metric, a = Counts(), systems("a")["a"]
    run_tests(
        {"m": (metric, {"a": a, **systems("b")})},
        DOCUMENTS,
        methods=["multi-bootstrap"],
        draws=draws,
        **{**SETTINGS, "samples": 1000},
    )
    options = {"testset": "t", "seed": 5, "samples": 80}
    shared = summarise(metric, a, DOCUMENTS, draws=draws, **options)
    assert shared == summarise(metric, a, DOCUMENTS, **options)


def test_holm_is_over_pairs_within_a_method() -> None:
    metric = {"m": (Counts(), systems("a", "b", "c"))}
    rows = run_tests(metric, DOCUMENTS, methods=["clark", "fu-ar"], **SETTINGS)["m"]
    p = sorted((r.p, r.p_adjusted) for r in rows if r.method == "clark")
    running = 0.0
    for rank, (value, adjusted) in enumerate(p):
        running = max(running, min(1, (3 - rank) * value))
        assert adjusted == pytest.approx(running)
    none = run_tests(metric, DOCUMENTS, correction="none", **SETTINGS)["m"]
    assert all(r.p_adjusted == r.p for r in none)


def test_a_test_that_cannot_reach_alpha_says_so() -> None:
    rows = run_tests({"m": (Counts(), systems("a", "b"))}, DOCUMENTS, methods=["fu-ar"], **SETTINGS)["m"]
    assert "cannot reach 0.05: its smallest p is 0.25" in rows[0].note
    many = run_tests(
        {"m": (Counts(), systems("a", "b", "c", n=6))}, DOCUMENTS, methods=["fu-ar"], **SETTINGS
    )["m"]
    assert all("0.05/3" in r.note for r in many)
    bh = run_tests(
        {"m": (Counts(), systems("a", "b", "c", n=6))},
        DOCUMENTS,
        methods=["fu-ar"],
        correction="bh",
        **SETTINGS,
    )["m"]
    assert not any("cannot reach" in (r.note or "") for r in bh)


def test_segments_without_a_score_are_left_out_for_both() -> None:
    a, b = means(3, N, seed=1), means(3, N, seed=2)
    keep = np.ones(N, dtype=bool)
    keep[[4, 5, 30]] = False
    a[1, [4, 5]], b[0, 30] = 0, 0
    methods = ["clark", {"name": "koehn", "unit": "document"}, "crossed"]
    holes = {"m": (MeanMetric(), {"a": system("a", a), "b": system("b", b)})}
    found = run_tests(holes, DOCUMENTS, methods=methods, **SETTINGS)["m"]
    whole = {"m": (MeanMetric(), {"a": system("a", a[:, keep]), "b": system("b", b[:, keep])})}
    documents = np.unique(DOCUMENTS[keep], return_inverse=True)[1].astype(np.int32)
    expected = run_tests(whole, documents, methods=methods, **SETTINGS)["m"]
    for x, y in zip(found, expected, strict=True):
        assert same(x, y)
        assert x.segments == N - 3
        assert x.documents == 19
        assert "3 segments without a score left out" in x.note
    a[2, :] = 0
    with pytest.raises(ReplituneError, match="no segment has scores"):
        run_tests(holes, DOCUMENTS, **SETTINGS)


def test_pairs() -> None:
    names = ["a", "b", "c"]
    assert pairs_of_systems("all", names) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs_of_systems(Baseline(baseline="b"), names) == [("b", "a"), ("b", "c")]
    assert pairs_of_systems((("c", "a"),), names) == [("c", "a")]
    with pytest.raises(ReplituneError, match="no system is called 'd'"):
        pairs_of_systems((("a", "d"),), names)
    with pytest.raises(ReplituneError, match="with itself"):
        pairs_of_systems((("a", "a"),), names)


def test_histograms_count_every_resample() -> None:
    row = run_tests({"m": (Counts(), systems("a", "b"))}, DOCUMENTS, **SETTINGS)["m"][0]
    bins, edges = histogram(row)
    assert (len(bins), len(edges), bins.sum()) == (200, 201, 150)
    assert edges[0] <= row.delta <= edges[-1]
    crossed = run_tests({"m": (Counts(), systems("a", "b"))}, DOCUMENTS, methods=["crossed"], **SETTINGS)[
        "m"
    ][0]
    assert len(histogram(crossed)[0]) == 0


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["clarke"], "unknown test 'clarke'"),
        ([{"name": "clark", "pairng": "index"}], "has no option 'pairng'"),
        ([{"name": "clark", "rng": 1}], "has no option 'rng'"),
        ([{"name": "clark", "alpha": 0.1}], "has no option 'alpha'"),
        (["clark", {"name": "clark", "pairing": "index"}], "two tests are called 'clark'"),
        ([{"pairing": "index"}], "a test needs a name"),
        ([{"name": "clark", "unit": "word"}], "expected: segment, document"),
        (["clark:unit=segmnt"], "did you mean `segment`"),
    ],
)
def test_mistakes_in_methods_are_named(methods, message) -> None:
    with pytest.raises(ReplituneError) as error:
        run_tests({"m": (Counts(), systems("a", "b"))}, DOCUMENTS, methods=methods, **SETTINGS)
    assert message in str(error.value)


class _Point:
    def __init__(self, name, target):
        self.name, self.target, self.value = name, target, f"somewhere:{name}"
        self.module = "somewhere"

    def load(self):
        return self.target


class Coin(SignificanceTest):
    """A third party's test: p is what a coin says."""

    name = "coin"

    alternative: Annotated[Literal["two-sided", "greater", "less"], about("Side.")] = "two-sided"
    bias: Annotated[float, about("Of the coin.", gt=0, lt=1)] = 0.5

    def run(self, context: Context) -> TestResult:
        p = 1.0 if context.rng.random() < self.bias else 0.5
        return context.contrast(self, scope="both").row(p, Note("coin", f"{self.alternative} coin"))


def test_another_package_may_bring_a_test(monkeypatch):
    points = [_Point("coin", Coin), _Point("broken", "text")]
    monkeypatch.setattr(TESTS, "_points", {point.name: point for point in points})
    monkeypatch.setattr(TESTS, "_loaded", {})
    assert TESTS.names[-2:] == ["broken", "coin"]
    assert TESTS.settings("coin").keys() == {"alternative", "bias"}
    metric = {"m": (Counts(), systems("a", "b"))}
    methods = ["clark", "coin:bias=0.99999,id=sure", {"name": "coin", "alternative": "greater"}]
    rows = run_tests(metric, DOCUMENTS, methods=methods, **SETTINGS)["m"]
    assert [row.method for row in rows] == ["clark", "sure", "coin"]
    assert (rows[1].p, rows[1].seed) == (1.0, 5)
    assert [note.code for note in rows[1].notes] == ["coin", "documents-ignored"]
    assert rows[1].p_adjusted == 1.0
    assert (rows[1].scope, rows[1].run_kind) == ("both", "run")
    turned = run_tests(
        metric,
        DOCUMENTS,
        pairs=(("b", "a"),),
        methods=[{"name": "coin", "alternative": "less"}],
        **SETTINGS,
    )["m"]
    assert same(turned[0].swapped(), rows[2])
    for given, said in (
        ("coin:bias=2", "less than 1"),
        ("coin:byas=1", "did you mean `bias`"),
        ("broken", "is not a test"),
    ):
        with pytest.raises(ReplituneError) as error:
            run_tests(metric, DOCUMENTS, methods=[given], **SETTINGS)
        assert said in str(error.value)


def test_intervals_follow_alpha():
    """crossed and the bootstraps give intervals of confidence 1 - alpha."""
    from replitune.metrics.base import MeanMetric
    from replitune.statistics.systems import SystemStatistics

    rng = np.random.default_rng(3)
    systems = {}
    for name in "ab":
        scores = np.stack([rng.normal(0, 1, (4, 60)), np.ones((4, 60))], axis=-1)
        replicas = tuple(f"run-{k}" for k in range(4))
        systems[name] = SystemStatistics(name, replicas, (None,) * 4, scores)
    methods = ["crossed", "multi-bootstrap", "koehn", "graham", "clark-bootstrap", "fu-bootstrap"]

    def widths(alpha: float) -> list[float]:
        rows = run_tests(
            {"mean": (MeanMetric(), systems)},
            np.arange(60, dtype=np.int32),
            testset="t",
            seed=1,
            methods=methods,
            samples=400,
            alpha=alpha,
        )["mean"]
        return [row.ci_high - row.ci_low for row in rows]

    for wide, narrow in zip(widths(0.01), widths(0.2), strict=True):
        assert wide > narrow
