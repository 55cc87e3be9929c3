"""Answers that people believe: they say what the test says, and no more."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from replitune.notes import NOTES, Note
from replitune.report.page import answers_in_words
from replitune.report.terminal import comparison_lines
from replitune.results.answer import Answer, answers_of
from replitune.results.decision import decide
from replitune.results.numbers import p_value, probability
from replitune.results.result import Result
from replitune.results.summary import MOST_WORDS, summarise_answers
from replitune.significance.base import TestResult
from report.result_models import RESULT, material, result_of
from results.answer_models import SINGLE, SITUATIONS, result, results, table
from support import ROOT


def one(cell: Result) -> Answer:
    (answer,) = cell.answers
    return answer


def of(test: TestResult, **how) -> Answer:
    return one(result_of(test, **how))


def test_size_and_interval_are_those_of_the_system_that_is_ahead():
    lower = of(RESULT)
    assert (lower.ahead, lower.behind, lower.size, lower.low, lower.high) == ("b", "a", 2.0, 1.0, 3.0)
    assert lower.sentence == (
        "b scored 2.00 TER below a and is better, on new text and in new runs "
        "(lower is better, 1.00 to 3.00)."
    )
    assert lower.detail == (
        "p = .040 (crossed, 3 + 3 runs). The interval is a 95% CI. It holds for new segments and new runs."
    )
    higher = of(RESULT, word="bleu", direction=1)
    assert (higher.ahead, higher.low, higher.high) == ("a", 1.0, 3.0)
    assert higher.by_text == "a better by 2.00 (1.00 to 3.00)"


def test_a_pair_given_the_other_way_round_has_the_same_answer():
    for word, direction in (("bleu", 1), ("ter", -1), ("length", None)):
        there, back = (of(test, word=word, direction=direction) for test in (RESULT, RESULT.swapped()))
        for name in ("state", "ahead", "behind", "size", "low", "high", "sentence", "by_text", "tone"):
            assert getattr(there, name) == getattr(back, name), name


@pytest.mark.parametrize("word", ["length", "anything"])
def test_of_a_metric_without_a_direction_neither_is_better(word: str):
    answer = one(replace(result_of(RESULT, word=word, direction=None), name="length ratio"))
    assert answer.state == "different"
    assert answer.sentence == (
        "a has 2.00 length ratio more than b (1.00 to 3.00); neither more nor less is better."
    )
    assert answer.holds == ()


def test_without_p_nothing_can_be_said():
    none = replace(RESULT, p=None, p_adjusted=None, notes=(Note("one-unit", "one segment: no p"),))
    answer = of(none)
    assert (answer.state, answer.decided) == ("cannot", False)
    assert "one segment: no p" in [caveat.text for caveat in answer.trust]


@pytest.mark.parametrize("p", [0.001, 0.04, 0.5, None])
@pytest.mark.parametrize(
    "changes",
    [
        {"n_a": 1, "n_b": 1},
        {"n_a": 1},
        {"replica_a": "run-001", "replica_b": "run-002"},
        {"scope": "outputs"},
    ],
)
def test_single_outputs_are_never_decided(p: float | None, changes: dict):
    single = replace(RESULT, p=p, p_adjusted=p, details={"p_same": 0.0, "p_no_worse_b": 0.0, "margin": 9.0})
    cell = result_of(replace(single, **changes))
    answer = one(cell)
    assert (answer.state, answer.decided, answer.tone, answer.holds) == (
        "these-outputs",
        False,
        "amber",
        (),
    )
    assert answer.trust[0].code == ("one-run" if "n_a" in changes else "only-outputs")
    assert "reverse it" in answer.sentence
    assert "better (" not in answer.sentence.replace("(lower is better)", "")
    assert not decide([cell], "better").ok
    assert not decide([cell], "same").ok
    (refused,) = decide([cell], "better").pairs[0]["refused"]
    assert refused.endswith(f"No rule can be decided from these outputs; next: {answer.next}")
    summary = summarise_answers([cell])
    assert summary.headlines[0].decided == 0


def test_a_small_p_and_a_margin_are_both_told():
    details = {"p_same": 1e-4, "margin": 4.0}
    answer = of(replace(RESULT, details=details))
    assert answer.state == "better-within-margin"
    assert (
        "and is better, but by less than the margin of 4 (lower is better, 1.00 to 3.00)" in answer.sentence
    )
    assert answer.holds == ("better", "same")
    same = of(replace(RESULT, p_adjusted=0.2, details=details))
    assert same.state == "same"
    assert "they are the same within the margin of 4" in same.sentence
    assert of(replace(RESULT, p_adjusted=0.2)).state == "undecided"


def test_scores_that_differ_are_not_the_same_however_large_they_are():
    far = replace(RESULT, score_a=1e12 + 500.0, score_b=1e12, delta=-500.0, ci_low=-700.0, ci_high=-300.0)
    answer = of(far, means={"a": 1e12 + 500.0, "b": 1e12})
    assert answer.state == "better"
    assert "500.00 TER below" in answer.sentence
    equal = replace(RESULT, delta=0.0, score_b=40.0, p=1.0, p_adjusted=1.0, ci_low=-0.3, ci_high=0.3)
    answer = of(equal)
    assert (answer.state, answer.ahead) == ("undecided", None)
    assert answer.sentence.startswith(
        "a and b scored the same, 40.00 TER; with 3 runs each and 10 segments"
    )


def test_samples_that_are_runs_decide_nothing():
    answer = one(result(0.0, 1.0, rep=0.5, design="samples"))
    assert (answer.state, answer.tone) == ("undecided", "amber")
    assert answer.p is not None
    assert answer.p < 0.05
    assert answer.next == "compare them with `design: runs`"


@pytest.mark.parametrize("scope", ["both", "runs"])
def test_samples_are_not_called_runs(scope: str):
    answer = one(result(0.0, 1.0, rep=0.0, design="samples", methods=[f"crossed:scope={scope}"]))
    where, to = {
        "both": ("on new text and in new samples", "new segments and new samples"),
        "runs": ("in new samples on this test set", "new samples on this test set"),
    }[scope]
    assert f"is better, {where} (" in answer.sentence
    assert answer.detail.endswith(f"It holds for {to}.")
    assert "runs" not in answer.sentence + answer.detail
    assert answer.counts.kind == "sample"


@pytest.mark.parametrize("unit", ["segment", "document", "replica"])
@pytest.mark.parametrize(
    ("scope", "kind", "where"),
    [
        ("both", "tuning run", "on new text and in new runs"),
        ("both", "prompt", "on new text and in new prompts"),
        ("samples", "sample", "on new text and in new samples"),
        ("runs", "training run", "in new runs on this test set"),
        ("segments", "run", "on new text, for these runs"),
    ],
)
def test_the_sentence_says_what_the_scope_says_whatever_the_unit(unit, scope, kind, where):
    answer = of(replace(RESULT, scope=scope, unit=unit, run_kind=kind))
    assert f"is better, {where} (" in answer.sentence
    assert (answer.scope, answer.counts.kind) == (scope, kind)


def test_one_sided_tests_say_what_they_asked():
    greater = one(result(0.0, 1.0, methods=["crossed:alternative=greater"]))
    assert (greater.state, greater.interval) == ("better", "90% CI")
    assert "one-sided: s1 is better than s0" in greater.detail
    less = one(result(0.0, 1.0, methods=["crossed:alternative=less"]))
    assert less.state == "undecided"
    assert "that s1 is worse than s0 is not shown" in less.sentence
    assert f"p = {p_value(less.p)}" in less.detail


def test_with_several_pairs_the_interval_says_whether_all_hold_together():
    assert {a.interval for a in result(0.0, 0.1, 0.2).answers} == {"simultaneous 95% CI"}
    holm = result(0.0, 0.1, 0.2, correction="holm").answers
    assert {a.interval for a in holm} == {"95% CI of this pair alone"}


def test_no_answer_contradicts_its_interval():
    rng = np.random.default_rng(4)
    decided = set()
    for _ in range(10):
        for answer in result(*rng.normal(0, 0.25, 4)).answers:
            assert answer.low is not None
            assert answer.decided == (answer.low > 0), answer.sentence
            decided.add(answer.decided)
    assert decided == {True, False}


@pytest.mark.parametrize(
    ("prefix", "word"), [("mert", "tuning run"), ("seed", "training run"), ("run", "run")]
)
def test_runs_are_called_what_they_are(prefix: str, word: str):
    answer = one(result(0.0, 1.0, prefix=prefix))
    assert answer.counts.kind == word
    assert f"(crossed, 4 + 4 {word}s)" in answer.detail
    assert f"The next {word} of s1 would score above the next one of s0 with probability" in answer.more[0]


def test_the_probability_of_the_next_run_is_seen_from_who_is_ahead():
    cell = result(1.0, 0.4, rep=1.0)
    (row,) = cell.tests
    (text, *_) = one(cell).more
    share, low, high = (1 - row.details[k] for k in ("superior", "superior_high", "superior_low"))
    assert f"{probability(share)} ({probability(low)} to {probability(high)})" in text
    new = tuple(1 - row.details[f"superior_new{end}"] for end in ("", "_high", "_low"))
    assert "{} ({} to {}) on a new one".format(*map(probability, new)) in text
    assert "The next run of s0" in text
    assert "(90% intervals; taking every true difference as equally likely)" in text
    (line,) = [
        line
        for line in comparison_lines([cell], "pairs", summarise_answers([cell]))
        if line.startswith("  s0 over s1")
    ]
    assert line.split()[-2] == probability(new[0])  # in the same direction


def test_with_four_systems_the_next_run_names_what_it_assumes():
    text = " ".join(result(0.0, 0.0, 0.1, 0.1, rep=0.5).answers[0].more)
    assert "assuming true differences as large as those among the scores of 4 systems" in text


def test_paired_runs_are_called_so():
    assert "(crossed, paired, 4 + 4 runs)" in one(result(0.0, 1.0, methods=["crossed:paired=true"])).detail


def test_doubt_adds_up_and_says_what_more_would_do():
    answer = one(result(0.0, 0.1, rep=2.0))
    doubt = answer.doubt
    assert doubt is not None
    assert sum(part.percent for part in doubt.parts) == 100
    assert doubt.half / 3 < doubt.twice_runs < doubt.half
    assert doubt.half / np.sqrt(2) - 1e-9 <= doubt.twice_text <= doubt.half
    assert any("twice the runs would give about" in text for text in answer.more)
    two = one(result(0.0, 1.0, n=2, rep=0.3))
    assert two.next == "more runs of each: two hardly show how much runs vary"
    assert (
        answer.next
        == "decide which difference matters (a margin): even 20 times as much may not decide this one"
    )


def test_a_suite_says_on_how_many_test_sets():
    more = one(result(0.0, 2.0, testsets=3, rep=0.05)).more
    assert "s1 is better than s0 on all 3 test sets." in more


def test_twice_the_runs_are_about_what_is_promised():
    """Of experiments with four runs, and others with eight."""
    promised, seen = [], []
    for seed in range(12):
        few, more = (one(result(0.0, 0.1, n=n, rep=1.0, seed=seed)) for n in (4, 8))
        assert few.doubt is not None
        assert more.doubt is not None
        promised.append(few.doubt.twice_runs)
        seen.append(more.doubt.half)
    assert 0.8 < np.median(promised) / np.median(seen) < 1.25


# -- summaries ----------------------------------------------------------------------------

MEANS = {"a": 40.0, "b": 38.0, "c": 30.0}


def metric(name: str, p: float | None, delta: float) -> Result:
    test = replace(RESULT, delta=delta, p=p, p_adjusted=p, ci_low=None, ci_high=None)
    return replace(result_of(test, word="bleu", direction=1), name=name, metric=name)


@pytest.mark.parametrize(
    ("cells", "end"),
    [
        (
            [("BLEU", 0.01, 2.0), ("chrF", 0.02, 2.0), ("TER", 0.4, 2.0)],
            "also better in chrF; not sure in TER.",
        ),
        ([("BLEU", 0.01, 2.0), ("chrF", 0.02, -2.0)], "a better in chrF."),
        ([("BLEU", 0.2, 2.0), ("chrF", 0.01, 2.0)], "b better in chrF."),
    ],
)
def test_one_sentence_for_all_metrics_of_a_pair(cells: list, end: str):
    (found,) = summarise_answers([metric(*one) for one in cells]).headlines
    assert found.sentence.startswith("b scored 2.00 BLEU above a")
    assert found.sentence.endswith(f"; {end}")


def many(*p: float) -> Result:
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    tests = [
        replace(RESULT, a=a, b=b, delta=MEANS[b] - MEANS[a], p_adjusted=q)
        for (a, b), q in zip(pairs, p, strict=True)
    ]
    return result_of(*tests, means=MEANS, word="bleu", direction=1)


@pytest.mark.parametrize(
    ("p", "said"),
    [
        ((0.01, 0.01, 0.02), "a leads by BLEU, ahead of all 2 others; 3 of 3 pairs decided."),
        ((0.3, 0.01, 0.02), "a leads by BLEU, ahead of all but b; 2 of 3 pairs decided."),
        ((0.3, 0.2, 0.4), "a scored best by BLEU, but is surely ahead of none; 0 of 3 pairs decided."),
    ],
)
def test_of_many_pairs_it_says_who_leads(p: tuple, said: str):
    assert summarise_answers([many(*p)]).sentence == said


def test_against_a_baseline_those_that_are_better_are_named():
    cell = many(0.3, 0.01, 0.02)
    cell = replace(cell, tests=tuple(t for t in cell.tests if t.a == "a"))
    said = summarise_answers([cell], baseline="a").sentence
    assert said == "None of 2 systems is surely better than a by BLEU; c is worse."


def test_of_many_pairs_those_with_the_best_stand_first():
    names = [f"s{i}" for i in range(6)]
    tests = tuple(replace(RESULT, a=a, b=b) for i, a in enumerate(names) for b in names[i + 1 :])
    means = {name: float(i) for i, name in enumerate(names)}
    first = result_of(*tests, means=means, word="bleu", direction=1)
    (told,) = answers_in_words(material(first, replace(first, metric="x"))).values()
    assert len(told) == 30
    assert all("s5" in (answer.a, answer.b) for answer in (*told[:5], *told[15:20]))


# -- situations ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def situations() -> dict:
    return {name: make() for name, make in SITUATIONS.items()}


def test_sentences_are_short_and_plain(situations: dict):
    jargon = re.compile(r"\b(p|CI|max-t|Holm|crossed|significant|hypothesis|null|df|alpha|variance)\b")
    for found in situations.values():
        answers = [answer for cell in found.metrics.values() for answer in cell.answers]
        for text in [*(answer.sentence for answer in answers), found.summary.sentence]:
            assert len(text.split()) <= MOST_WORDS, text
            assert not jargon.search(text), text


def test_an_answer_is_what_its_json_is(situations: dict):
    for found in situations.values():
        for cell in found.metrics.values():
            for answer in cell.answers:
                assert msgspec.json.decode(msgspec.json.encode(answer), type=Answer) == answer
            assert answers_of(cell) == cell.answers


def test_caveats_that_change_the_reading_make_it_amber(situations: dict):
    for found in situations.values():
        grave = {caveat.code for caveat in found.summary.trust if NOTES[caveat.code].gravity == "grave"}
        assert (found.summary.headlines[0].tone == "amber") == bool(grave)


def test_the_page_on_reports_says_what_each_situation_says():
    docs = (ROOT / "docs" / "reading-the-report.md").read_text("utf-8")
    said = table()
    assert said in docs, f"docs/reading-the-report.md should have:\n\n{said}"


def test_single_outputs_rank_nothing():
    cell = next(iter(results(0.0, 0.1, 2.0, **SINGLE).metrics.values()))
    assert {answer.state for answer in cell.answers} == {"these-outputs"}
    assert cell.rankings() == {}
