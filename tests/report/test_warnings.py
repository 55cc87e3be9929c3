from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from replitune.report.material import Material
from replitune.report.segment_browser import Segments, embedded, page_data
from replitune.report.verdict import verdict, verdicts
from replitune.report.warnings import warnings
from replitune.report.wording import named
from replitune.results.result import Result
from replitune.significance.base import Note, TestResult
from replitune.significance.one_system import SystemSummary

RESULT = TestResult(
    method="crossed", a="a", b="b", score_a=40.0, score_b=38.0, delta=-2.0, p=0.02,
    p_adjusted=0.04, alternative="two-sided", unit="replica+segment", aggregation="mean",
    n_a=3, n_b=3, segments=10, documents=10, generalises_to="new segments and new runs",
    ci_low=-3.0, ci_high=-1.0, correction="max-t",
)  # fmt: skip


def summary(name: str, mean: float, runs: int = 3) -> SystemSummary:
    scores = {f"run-{i:03d}": mean for i in range(1, runs + 1)}
    return SystemSummary(name, runs, mean, scores, None, None, None, "run-001")


def result_of(
    *tests: TestResult,
    means: Mapping[str, float] = MappingProxyType({"a": 40.0, "b": 38.0}),
    word: str = "ter",
    higher: bool = False,
    runs: int = 3,
) -> Result:
    systems = {name: summary(name, mean, runs) for name, mean in means.items()}
    (named_so,) = named([Result("t1", "m", word, "sig", higher, 0.05, systems, tests)])
    return named_so


def material(*cells: Result, **more: Any) -> Material:
    return Material("small", 7, 0.05, "pairs", 99, cells, **more)


def test_lower_is_better_is_worded_right():
    said = verdict(result_of(RESULT), RESULT)
    assert said.significant
    assert said.text.replace("\N{NO-BREAK SPACE}", " ") == (
        "b beats a by 2.00 TER (lower is better), 95% CI 1.00 to 3.00, p = .040 "
        "(crossed, 3 + 3 runs). It speaks of new segments and new runs."
    )
    higher = verdict(result_of(RESULT, word="bleu", higher=True), RESULT)
    assert higher.headline == "a beats b by 2.00 BLEU"


def test_neither_length_is_better():
    said = verdict(result_of(RESULT, word="length", higher=True), RESULT)
    assert said.headline == "a has more length ratio than b"


def test_no_p_is_no_verdict():
    none = replace(
        RESULT, p=None, p_adjusted=None, notes=(Note("one-replica", "needs two replicas"),)
    )
    said = verdict(result_of(none), none)
    assert not said.significant
    assert "needs two replicas" in said.text


def test_each_warning_is_said_once():
    clark = replace(
        RESULT, method="clark", p=0.2, p_adjusted=0.2, generalises_to="new segments",
        notes=(Note("not-smooth", "a: hypothesis length 31 is within 2 standard errors", "a"),),
    )  # fmt: skip
    permutation = replace(RESULT, method="replica-permutation", p=0.1, p_adjusted=0.1, p_min=0.1)
    one = result_of(RESULT, clark, permutation, runs=2)
    other = replace(
        clark,
        notes=(Note("not-smooth", "a: hypothesis length 99 is within 2 standard errors", "a"),),
    )
    two = replace(one, testset="t2", tests=(RESULT, other, permutation))
    said = warnings(material(one, two))
    titles = [warning.title for warning in said]
    assert len(titles) == len(set(titles))
    assert titles == [
        "Fewer than 3 replicas",
        "replica-permutation could not reach 0.05",
        "clark and crossed disagree",
        "replica-permutation and crossed disagree",
        "Note on clark",
    ]
    assert all(len(warning.places) == 2 for warning in said)
    assert said[4].text.startswith("For example: Hypothesis length 31")
    assert said[4].places == ("t1, TER, a", "t2, TER, a")
    assert "different questions" in said[2].text
    assert "Both speak of" in said[3].text


def test_of_many_pairs_those_with_the_best_stand_first():
    names = [f"s{i}" for i in range(6)]
    tests = tuple(replace(RESULT, a=a, b=b) for i, a in enumerate(names) for b in names[i + 1 :])
    means = {name: float(i) for i, name in enumerate(names)}
    first = result_of(*tests, means=means, word="bleu", higher=True)
    group, other = verdicts(material(first, replace(first, metric="x")))
    assert len(group.shown) == 5
    assert all("s5" in (v.result.a, v.result.b) for v in group.shown)
    assert len(group.folded) == 10
    (rival,) = other.shown
    assert {rival.result.a, rival.result.b} == {"s5", "s4"}
    assert len(other.folded) == 14


@pytest.mark.parametrize("budget", [2_000, 10_000])
def test_segments_keep_to_the_budget_and_the_largest_differences_stay(budget: int):
    import numpy as np

    from replitune.report.segment_browser import Output

    n = 400
    scores = np.arange(n, dtype=float)
    outputs = [
        Output("a", "run-001", ["x y"] * n, np.zeros(n)),
        Output("b", "run-001", ["x z"] * n, scores),
    ]
    part = Segments("t1", "BLEU", True, [["x y z"] * n], None, None, outputs)
    text, ((_, shown, every),) = page_data([part], budget, {})
    assert every == n
    assert 0 < shown < n
    assert len(text) < budget + 500
    assert f"[{n - 1},null,null" in text
    assert "[0,null,null" not in text


def test_embedded_json_cannot_end_its_element():
    text = embedded(["</script>", "\u2028\u2029", "<!--", "&lt;"])
    assert not set("<>&\u2028\u2029") & set(text)


def test_replicas_that_cannot_be_made_again_are_named():
    found = warnings(material(unrepeatable=["nmt seed-001"]))
    assert [(w.title, w.places) for w in found] == [
        ("Replicas that cannot be made again to the same bytes", ("nmt seed-001",))
    ]
