"""Sentences that people believe: they say what the test says, and no more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from replitune.metrics.base import MeanMetric
from replitune.report.numbers import p_value, probability, score
from replitune.report.terminal import comparison_lines
from replitune.report.verdict import lead_verdicts, verdict, verdicts
from replitune.report.wording import with_names
from replitune.results.comparing import compare
from replitune.results.result import Result
from replitune.significance.base import Note
from replitune.significance.registry import TESTS
from replitune.significance.settings import TestSettings
from replitune.statistics.store import SegmentStatistics
from replitune.statistics.systems import SystemStatistics
from report.result_models import RESULT, material, result_of
from significance.crossed_models import mean_statistics, two_way


def text_of(said) -> str:
    return said.text.replace("\N{NO-BREAK SPACE}", " ")


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
    none = replace(RESULT, p=None, p_adjusted=None, notes=(Note("one-replica", "needs two replicas"),))
    said = verdict(result_of(none), none)
    assert not said.significant
    assert "needs two replicas" in said.text


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


# -- of real comparisons ------------------------------------------------------------------


def compared(
    *shifts: float,
    prefix: str = "mert",
    n: int = 4,
    noise: float = 0.5,
    rep: float = 0.1,
    testsets: int = 1,
    design: str = "runs",
    **settings,
) -> Result:
    """Systems s0, s1, ... that are better by so much, on 80 segments."""
    rng = np.random.default_rng(3)
    runs = [rng.normal(0, rep, (n, 1)) for _ in shifts]
    ids = tuple(f"{prefix}-{r + 1:03d}" for r in range(n))
    group = None if prefix in ("seed", "run") else prefix
    stores = []
    for t in range(testsets):
        effect = rng.normal(50, 1, 80)
        systems = {
            f"s{i}": SystemStatistics(
                f"s{i}",
                ids,
                (group,) * n,
                mean_statistics(run + shift + two_way(rng, n, 80, 0.0, effect, noise)),
            )
            for i, (run, shift) in enumerate(zip(runs, shifts, strict=True))
        }
        documents = np.arange(80, dtype=np.int32)
        stores.append(SegmentStatistics(f"t{t}", MeanMetric(), "sig", systems, documents, None))
    methods = tuple(TESTS.entries(settings.pop("methods", ["crossed"])))
    chosen = TestSettings(methods=methods, samples=500, intervals=(), **settings)
    suite = {store.testset: 1 / testsets for store in stores} if testsets > 1 else {}
    found = compare(stores, chosen, testset="all" if suite else "t0", suite=suite, seed=1, design=design)
    (result,) = with_names([*found.metrics.values()])
    return result


def only(result: Result) -> str:
    (said,) = lead_verdicts(result)
    return text_of(said)


@pytest.mark.parametrize(
    ("prefix", "word"), [("mert", "tuning run"), ("seed", "training run"), ("run", "run")]
)
def test_runs_are_called_what_they_are(prefix: str, word: str):
    said = only(compared(0.0, 1.0, prefix=prefix))
    assert f"(crossed, 4 + 4 {word}s). It speaks of new segments and new {word}s." in said
    assert f"The next {word} of s1 would score above the next one of s0 with probability" in said


def test_the_probability_of_the_next_run_is_that_of_the_result_and_seen_from_who_is_ahead():
    result = compared(1.0, 0.4, rep=1.0)
    (row,) = result.tests
    said = only(result)
    share, low, high = (1 - row.details[k] for k in ("superior", "superior_high", "superior_low"))
    assert f"{probability(share)} ({probability(low)} to {probability(high)})" in said
    new = tuple(1 - row.details[f"superior_new{end}"] for end in ("", "_high", "_low"))
    assert "{} ({} to {}) on a new one".format(*map(probability, new)) in said
    assert "The next tuning run of s0" in said
    assert "(90% intervals; any true difference being as likely beforehand)" in said
    table = [line for line in comparison_lines([result], "pairs") if line.startswith("  s1 - s0")]
    assert table[0].split()[-2] == probability(new[0])  # in the same direction


def test_an_undecided_pair_says_what_twice_the_runs_or_segments_would_do():
    for result in (compared(0.0, 0.05), compared(0.0, 0.05, 0.0)):
        row = next(test for test in result.tests if test.p_adjusted > 0.05)
        (said,) = [text_of(v) for v in lead_verdicts(result) if v.result is row]
        now, runs, units = (
            f"±{score(x, result.decimals)}"
            for x in (
                (row.ci_high - row.ci_low) / 2,
                row.details["reach_twice_runs"],
                row.details["reach_twice_units"],
            )
        )
        assert (
            f"With twice the tuning runs {runs}, with twice the segments {units}, instead of {now}." in said
        )
        assert row.details["reach_twice_runs"] < (row.ci_high - row.ci_low) / 2


def test_paired_runs_are_called_so():
    said = only(compared(0.0, 1.0, methods=["crossed:paired=true"]))
    assert "(crossed, paired, 4 + 4 tuning runs)" in said


def test_with_four_systems_the_next_run_names_what_it_assumes():
    said = text_of(lead_verdicts(compared(0.0, 0.0, 0.1, 0.1, rep=0.5))[0])
    assert "true differences being as large as the scores of 4 systems show" in said


def test_samples_have_no_next_run():
    said = only(compared(0.0, 1.0, prefix="run", rep=0.0, design="samples"))
    assert "4 + 4 samples). It speaks of new segments and new samples." in said
    assert "next" not in said


def test_one_sided_tests_are_labelled_and_worded_by_what_they_ask():
    greater = only(compared(0.0, 1.0, methods=["crossed:alternative=greater"]))
    assert greater.startswith("s1 beats s0 by ")
    assert "90% CI" in greater
    assert "one-sided: s1 is better than s0" in greater
    less = compared(0.0, 1.0, methods=["crossed:alternative=less"])
    said = only(less)
    assert said.startswith("No evidence that s1 is worse than s0: s1 is ahead by")
    assert f"p = {p_value(less.tests[0].p)} (crossed, one-sided: s1 is worse than s0" in said


def test_with_several_pairs_the_interval_says_whether_all_hold_together():
    joint = compared(0.0, 0.1, 0.2)
    assert all("simultaneous 95% CI" in text_of(v) for v in lead_verdicts(joint))
    assert "(crossed, max-t over 3 pairs, 4 + 4 tuning runs)" in text_of(lead_verdicts(joint)[0])
    holm = compared(0.0, 0.1, 0.2, correction="holm")
    assert all("95% CI of this pair alone" in text_of(v) for v in lead_verdicts(holm))


def test_no_verdict_contradicts_its_interval():
    rng = np.random.default_rng(4)
    decided = set()
    for _ in range(15):
        for v in lead_verdicts(compared(*rng.normal(0, 0.25, 4))):
            outside = v.result.ci_low > 0 or v.result.ci_high < 0
            assert v.significant == outside, text_of(v)
            decided.add(outside)
    assert decided == {True, False}


def test_the_same_within_a_margin_is_a_verdict_and_undecided_is_one():
    same = only(compared(0.0, 0.02, rep=0.01, noise=0.1, margin={"mean": 0.5}))
    assert same.startswith("s0 and s1 are the same within 0.5 mean (p")
    wide = only(compared(0.0, 0.02, rep=1.0, margin={"mean": 0.5}))
    assert wide.startswith("s0 and s1: undecided: neither a difference nor the same within 0.5")
    better = only(compared(0.0, 2.0, margin={"mean": 0.5}))
    assert better.startswith("s1 beats s0")


def test_what_stands_in_the_way_is_said():
    runs = only(compared(0.0, 0.1, rep=2.0))
    assert "the runs" in runs
    assert "more segments" in runs
    segments = compared(0.0, 0.02, rep=0.0, noise=2.0)
    assert "of the uncertainty" in only(segments)


def test_a_suite_says_on_how_many_test_sets():
    said = only(compared(0.0, 2.0, testsets=3, rep=0.05))
    assert "s1 is better than s0 on at least 3 of the 3 test sets." in said


def test_clark_never_speaks_of_a_new_test_set():
    said = only(compared(0.0, 2.0, methods=["clark"]))
    assert "It speaks of these outputs: not alike in every segment." in said
    assert "new" not in said
    alone = only(compared(0.0, 3.0, n=1, methods=["clark"]))
    assert "It speaks of new segments." in alone


def test_equal_systems_are_equal_whatever_the_metric():
    same = replace(RESULT, delta=0.0, score_b=40.0, p=1.0, p_adjusted=1.0)
    for word in ("ter", "length"):
        assert verdict(result_of(same, word=word), same).headline.startswith("a and b have the same")


def test_scores_are_printed_as_in_the_tables():
    result = compared(0.0, 1.0)
    (row,) = result.tests
    limits = f"95% CI {score(row.ci_low)} to {score(row.ci_high)}"
    assert f"by {score(row.delta)} mean, {limits}" in only(result)
