"""The answer about a pair of systems, in words and numbers: made here, once, and shown everywhere.

Terminal, page, Python, JSON and gate show an `Answer` and compute nothing.
Size and interval are seen from the system that is ahead, whatever the order of the pair and
whether more or less is better: an interval that reaches below 0 leaves open which is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from replitune.notes import Note, note, told
from replitune.results.findings import adjusted, next_run
from replitune.results.numbers import ends, p_equation, p_value, probability, score
from replitune.results.planning import FAR, Step, planner_of
from replitune.results.texts import mend, notes_of_texts
from replitune.results.wording import CORRECTIONS, count, generalises_to, listed, where, word_of
from replitune.significance.base import RunKind, Scope
from replitune.significance.settings import Rule
from replitune.significance.variances import ENOUGH, RUNS, bottleneck, shares

if TYPE_CHECKING:
    from replitune.results.result import Result
    from replitune.significance.base import TestResult

State = Literal[
    "better", "better-within-margin", "same", "undecided", "these-outputs", "different", "cannot"
]
"""`these-outputs`: single runs were compared, which says nothing about other runs. `different`: by a
metric for which neither more nor less is better. `cannot`: there is no p, or the outputs cannot
be judged."""
DECIDED: tuple[State, ...] = ("better", "better-within-margin", "same", "different")
AHEAD: tuple[State, ...] = ("better", "better-within-margin")

LOOKS = ("looks-settled", "looks-futile", "looks-open")
IMPLIED = ("one-replica", "these-runs")
"""What `one-run` and `only-outputs` say, too."""
WIDE = 5
"""A margin of more than so many times the usual differences of runs and segments lets anything pass. Below
that, a wide margin is only remarked on, since no equivalence can be shown with less."""
NOTHING = "nothing: it is decided"
NOTHING_YET = "Nothing can be said yet"


class Part(msgspec.Struct, frozen=True):
    """A source of doubt."""

    source: str
    """``the test set``, ``runs of A``, ``runs``."""
    about: str | None
    percent: int
    """Share of the variance of the difference; all parts add up to 100."""
    text: str


class Doubt(msgspec.Struct, frozen=True):
    """Where the width of the interval comes from, and what would narrow it; in units of the metric."""

    parts: tuple[Part, ...]
    text: str
    half: float
    """Half the width of the interval."""
    twice_runs: float
    """The same with twice the runs, by the variances of this experiment: rough if there are few runs."""
    twice_text: float


class Counts(msgspec.Struct, frozen=True):
    """How much was compared."""

    runs_a: int
    runs_b: int
    kind: RunKind
    segments: int
    documents: int

    samples_a: tuple[int, int] | None = None
    """The fewest and the most samples of a run of A, where runs are made of samples."""
    samples_b: tuple[int, int] | None = None

    @property
    def runs(self) -> str:
        """``3 runs each``, ``3 and 5 runs``, ``3 prompts x 5 samples each``."""
        a, b = (_of_samples(samples) for samples in (self.samples_a, self.samples_b))
        if a != b:
            return f"{count(self.runs_a, self.kind)}{a} and {count(self.runs_b, self.kind)}{b}"
        if self.runs_a == self.runs_b:
            return f"{count(self.runs_a, self.kind)}{a} each"
        return f"{self.runs_a} and {count(self.runs_b, self.kind)}{a}"


def _of_samples(samples: tuple[int, int] | None) -> str:
    """`` x 5 samples``, `` of 1 to 12 samples``; empty where runs are not made of samples."""
    if samples is None:
        return ""
    low, high = samples
    return f" x {count(low, 'sample')}" if low == high else f" of {low} to {high} samples"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one test set, or suite, says about systems A and B under one metric."""

    testset: str
    metric: str
    unit: str
    """The metric as it is printed."""
    a: str
    b: str
    method: str
    """The test that leads."""
    state: State
    ahead: str | None
    """The system with the better mean (of a neutral metric: the larger); None where they are equal."""
    behind: str | None
    size: float
    """How far it is ahead, in units of the metric; 0 or more."""
    low: float | None
    high: float | None
    interval: str | None
    """What the interval is called, as in ``simultaneous 95% CI``."""
    margin: float | None
    p: float | None
    """p, corrected if there is a correction."""
    holds: tuple[Rule, ...]
    """The rules that B meets against A, at the level of the experiment: for programs that decide."""
    scope: Scope
    speaks_of: str
    """What a small p generalises to, in words."""
    doubt: Doubt | None
    trust: tuple[Note, ...]
    counts: Counts
    step: Step | None
    """What to add next, where that can be told."""
    next: str
    """The one thing to do next."""
    size_text: str
    """``1.90 BLEU``"""
    interval_text: str
    """``1.10 to 2.70``; empty without an interval."""
    by_text: str
    """``B better by 1.90 (1.10 to 2.70)``; ``ahead`` instead of ``better`` where that is not sure."""
    sentence: str
    detail: str
    """p, test and correction, in small type."""
    more: tuple[str, ...]
    """Further sentences."""

    @property
    def decided(self) -> bool:
        return self.state in DECIDED

    @property
    def single(self) -> bool:
        """Whether a system has one output alone, so that nothing is known of others."""
        return self.state == "these-outputs" and min(self.counts.runs_a, self.counts.runs_b) == 1

    @property
    def tone(self) -> str:
        """amber where a caveat changes the reading, else blue where it is decided, else grey."""
        return tone(self.decided, self.trust)

    @property
    def grave(self) -> tuple[Note, ...]:
        return tuple(note for note in self.trust if note.grave)

    @property
    def text(self) -> str:
        """The whole answer, without the lesser caveats."""
        return f"{self.sentence} {self.rest}"

    @property
    def rest(self) -> str:
        """What follows the sentence."""
        grave = [note.sentence for note in self.grave]
        return " ".join(filter(None, [*grave, self.detail, *self.more]))

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<Answer, {self.state}: {self.sentence}>"


def verdict_word(one: Answer, system: str, delta: float) -> str:
    """The state of an answer in a word or two about one of its systems, whose score is `delta` above that
    of the other."""
    better = "better" if one.ahead == system else "worse"
    words: dict[State, str] = {
        "better": better,
        "better-within-margin": f"slightly {better}",
        "same": "same",
        "undecided": "open",
        "these-outputs": f"one {one.counts.kind}" if one.single else "these outputs",
        "different": "more" if delta > 0 else "less",
        "cannot": "no p",
    }
    return words[one.state]


def tone(decided: bool, trust: Sequence[Note]) -> str:
    return "amber" if any(note.grave for note in trust) else "blue" if decided else "grey"


def answers_of(cell: Result) -> tuple[Answer, ...]:
    """The answer about every pair, by the test that leads."""
    return tuple(_answer(cell, test) for test in cell.tests if test.method == cell.lead_method)


def _answer(cell: Result, test: TestResult) -> Answer:
    up = cell.sign > 0
    ahead, behind = (test.b, test.a) if (test.delta > 0) == up else (test.a, test.b)
    low, high = test.ci_low, test.ci_high
    if low is not None and high is not None and (test.delta < 0 or (test.delta == 0 and not up)):
        low, high = -high, -low
    state = _state(cell, test)
    limits = "" if low is None or high is None else " to ".join(ends(low, high, cell.decimals))
    size = score(abs(test.delta), cell.decimals)
    samples = (_samples(test, side) for side in "ab")
    counts = Counts(test.n_a, test.n_b, test.run_kind, test.segments, test.documents, *samples)
    word = "more" if cell.neutral else "better" if state in AHEAD else "ahead"
    name = "" if not limits else interval_name(cell, test)
    doubt = _doubt(test, low, high)
    following, step = _next(cell, test, state, counts)
    answer = Answer(
        testset=cell.testset,
        metric=cell.metric,
        unit=cell.name,
        a=test.a,
        b=test.b,
        method=test.method,
        state=state,
        ahead=None if test.delta == 0 else ahead,
        behind=None if test.delta == 0 else behind,
        size=abs(test.delta),
        low=low,
        high=high,
        interval=name or None,
        margin=test.details.get("margin"),
        p=None if cell.doubts((test.a, test.b)) else adjusted(test),
        holds=_holds(cell, test, state, ahead),
        scope=test.scope,
        speaks_of=generalises_to(test),
        doubt=doubt,
        trust=_trust(cell, test, state),
        counts=counts,
        step=step,
        next=following,
        size_text=f"{size} {cell.name}",
        interval_text=limits,
        by_text=("equal" if test.delta == 0 else f"{ahead} {word} by {size}")
        + (f" ({limits})" if limits else ""),
        sentence="",
        detail=_detail(cell, test, name),
        more=tuple(_more(cell, test, state, doubt)),
    )
    return msgspec.structs.replace(answer, sentence=_sentence(cell, test, answer))


def _samples(test: TestResult, side: str) -> tuple[int, int] | None:
    """The fewest and the most samples of a run of A or B."""
    known = [test.details.get(f"samples_{end}_{side}") for end in ("low", "high")]
    low, high = known
    return None if low is None or high is None else (int(low), int(high))


# -- the state ----------------------------------------------------------------------------


def of_outputs(test: TestResult) -> bool:
    """Whether single outputs were compared, so that nothing is said about other runs."""
    single = min(test.n_a, test.n_b) == 1 or test.replica_a is not None
    return single or test.scope == "outputs"


def unfit(cell: Result, test: TestResult) -> Note | None:
    """Why the test does not fit the data, if it does not (copies of a run do not matter to a test for
    these runs alone)."""
    notes = test.notes
    if test.scope not in ("segments", "outputs"):
        notes += _on_systems(cell, test)
    return next((one for one in notes if one.kind.unfit), None)


def _on_systems(cell: Result, test: TestResult) -> tuple[Note, ...]:
    """Notes on how the runs of both systems differ."""
    known = [cell.systems[name] for name in (test.a, test.b) if name in cell.systems]
    return tuple(one for system in known for one in system.notes.get("s_test", ()) if one.kind.unfit)


def _state(cell: Result, test: TestResult) -> State:
    p = adjusted(test)
    if cell.doubts((test.a, test.b)):
        return "cannot"
    if of_outputs(test):
        return "these-outputs"
    if p is None:
        return "cannot"
    if unfit(cell, test):
        return "undecided"
    found = p <= cell.alpha and test.delta != 0
    if cell.neutral:
        return "different" if found else "undecided"
    better = cell.better_by(test.delta) > 0
    asked = {"two-sided": found, "greater": found and better, "less": found and not better}
    same = test.details.get("p_same_adjusted", test.details.get("p_same"))
    within = same is not None and same <= cell.alpha
    if asked[test.alternative]:
        return "better-within-margin" if within else "better"
    return "same" if within else "undecided"


def _holds(cell: Result, test: TestResult, state: State, ahead: str) -> tuple[Rule, ...]:
    """The rules that B meets. For `not-worse` and `same`, p is not corrected: several tests all reject by
    chance no more often than one of them does (intersection-union)."""
    if cell.neutral or state in ("these-outputs", "cannot") or unfit(cell, test):
        return ()
    rules: dict[Rule, bool] = {
        "better": state in AHEAD and ahead == test.b,
        "not-worse": test.details.get("p_no_worse_b", 2.0) <= cell.alpha,
        "same": test.details.get("p_same", 2.0) <= cell.alpha,
    }
    return tuple(rule for rule, held in rules.items() if held)


# -- what to know -------------------------------------------------------------------------


def one_run(systems: Sequence[str], whose: str, kind: str) -> Note:
    """The note that systems have one run, and what its score may be due to."""
    luck = {"sample": "luck of the draw", "prompt": "luck with the prompt"}
    values = {"kind": kind, "luck": luck.get(kind, "luck in tuning or training")}
    return note("one-run", systems=systems, whose=whose, **values)


def _trust(cell: Result, test: TestResult, state: State) -> tuple[Note, ...]:
    of_texts, kind = notes_of_texts([cell], (test.a, test.b)), word_of(test)
    if cell.doubts((test.a, test.b)):
        return told(of_texts)
    notes = [*of_texts, *test.notes, *_on_systems(cell, test)]
    if state == "these-outputs":
        lonely = [name for name, n in ((test.a, test.n_a), (test.b, test.n_b)) if n == 1]
        notes = [one for one in notes if one.code not in IMPLIED]
        whose = "each system" if len(lonely) == 2 else listed(lonely)
        notes.append(one_run(lonely, whose, kind) if lonely else note("only-outputs", kind=kind))
    if (margin := test.details.get("margin")) is not None:
        known = [cell.systems[name] for name in (test.a, test.b) if name in cell.systems]
        scores = [score for system in known for score in system.scores.values()]
        usual = max([(max(scores) - min(scores)) / 2, *(system.s_sel or 0.0 for system in known)])
        if margin > usual:
            code = "wide-margin" if margin > WIDE * usual else "margin"
            notes.append(note(code, margin=margin, usual=usual, kind=kind))
    low, high = (test.details.get(f"p_without_one_{end}") for end in ("low", "high"))
    sides = {p <= cell.alpha for p in (test.p, low, high) if p is not None}
    if state in AHEAD and low is not None and high is not None and len(sides) == 2:
        notes.append(note("one-run-decides", low=p_value(low), high=p_value(high), kind=kind))
    return told(notes)


# -- doubt, and what to do about it -------------------------------------------------------


def _doubt(test: TestResult, low: float | None, high: float | None) -> Doubt | None:
    rows = test.variances
    by_runs, by_units = (test.details.get(f"reach_twice_{what}") for what in ("runs", "units"))
    if not rows or low is None or high is None or by_runs is None or by_units is None:
        return None
    parts, kind = [], word_of(test)
    for one in shares(rows):
        about = one.row.about if one.row.source == RUNS else None
        what = "the test set" if one.row.source != RUNS else f"{kind}s of {about}" if about else f"{kind}s"
        parts.append(Part(what, about, one.percent, str(one)))
    unit = "document" if test.unit == "document" else "segment"
    return Doubt(
        parts=tuple(parts),
        text=(bottleneck(rows, unit, kind) or "").partition(":")[0],
        half=(high - low) / 2,
        twice_runs=by_runs,
        twice_text=by_units,
    )


def _next(cell: Result, test: TestResult, state: State, counts: Counts) -> tuple[str, Step | None]:
    """The one thing to do next, in words; and as a step, if it is one."""
    kind, unit = counts.kind, "document" if test.unit == "document" else "segment"
    if doubts := cell.doubts((test.a, test.b)):
        return mend(doubts), None
    if state == "these-outputs":
        if test.n_a > 1 < test.n_b:
            return f"use the test `crossed`, which generalises to new {kind}s", None
        whose = test.a if test.n_b > 1 else test.b if test.n_a > 1 else "each system"
        return f"2 more {kind}s of {whose}", None
    if misfit := unfit(cell, test):
        return misfit.words(misfit.kind.next, cell.kind), None
    if state in DECIDED:
        return NOTHING, None
    if (looks := _looks(test)) is not None and state != "cannot":
        why = ", which would hardly decide it" if looks.code == "looks-futile" else ""
        return f"more {unit}s: the looks ask for no more {kind}s{why}", None
    planner = None if state == "cannot" else planner_of(cell, test)
    if planner is None:
        more = {"runs": f"more {kind}s", "segments": f"more {unit}s"}
        return more.get(test.scope, f"more {kind}s or more {unit}s"), None
    step = planner.step
    if step is None:
        if test.scope == "both" and min(test.n_a, test.n_b) == 2 * planner.own.tuners:
            return f"more {kind}s of each: two hardly show how much {kind}s vary", None
        if planner.margin is None:
            text = f"even {FAR} times as much may not decide this one"
            return f"decide which difference matters (a margin): {text}", None
        return f"nothing that is in reach: even {FAR} times as much would hardly decide it", None
    if step.times:
        return f"about {_about(step.times)} times the {kind}s and the {unit}s", step
    if step.units:
        return f"about {count(step.units, f'more {unit}')}", step
    return f"about {count(step.runs, f'more {kind}')} of each", step


def _about(times: float) -> str:
    return f"{times:.1f}" if times < 10 else f"{times:.0f}"


# -- sentences ----------------------------------------------------------------------------


def _sentence(cell: Result, test: TestResult, answer: Answer) -> str:
    """At most thirty words, the size first."""
    if cell.doubts((test.a, test.b)):
        return f"{NOTHING_YET} about {test.a} and {test.b}."
    x, y, size, state = answer.ahead, answer.behind, answer.size_text, answer.state
    limits = answer.interval_text
    between = f" ({limits})" if limits else ""
    if cell.neutral:
        if x is None:
            return f"{test.a} and {test.b} have the same {cell.name}."
        sure = "" if state == "different" else ", which may be chance"
        return f"{x} has {size} more than {y}{between}{sure}; neither more nor less is better."
    above = "above" if cell.sign > 0 else "below"
    lower = "" if cell.sign > 0 else "lower is better, "
    between_lower = f" ({lower[:-2]})" if lower else ""
    between = f" ({lower}{limits})" if limits else between_lower
    kind = word_of(test)
    this = kind if _samples(test, "a") else "output"
    with_ = answer.counts.runs
    if test.segments > 1:
        with_ += f" and {count(test.segments, 'segment')}"
    if x is None:
        both = f"{test.a} and {test.b} scored the same, {score(test.score_b, cell.decimals)} {cell.name}"
        if state == "these-outputs":
            return f"{both}, in these outputs; other {kind}s of either may not."
        if state == "same":
            return f"{both}; they are the same within the margin of {answer.margin:g}{between}."
        return f"{both}; with {with_} either may be better{between}."
    if state == "these-outputs":
        if test.n_a == test.n_b == 1:
            ours = f"This {this} of {x} scored {size} {above} this {this} of {y}"
            return f"{ours}{between_lower}; another {kind} of either may reverse it."
        lonely = test.a if test.n_a == 1 else test.b
        why = (
            f"{lonely} has one {kind}"
            if min(test.n_a, test.n_b) == 1
            else "only these outputs were compared"
        )
        return f"{x} scored {size} {above} {y}{between_lower}, but {why}; other {kind}s may reverse it."
    start = f"{x} scored {size} {above} {y}"
    if state == "better":
        return f"{start} and is better, {where(test)}{between}."
    if state == "better-within-margin":
        return f"{start} and is better, but by less than the margin of {answer.margin:g}{between}."
    if state == "same":
        return f"{start}; they are the same within the margin of {answer.margin:g}{between}."
    if state == "cannot":
        return f"{start}; whether it is better cannot be told here."
    if misfit := unfit(cell, test):
        return (
            f"{start}{between}; but {misfit.words(misfit.kind.unfit, cell.kind)}, so this is not decided."
        )
    if test.alternative != "two-sided":
        word = {"greater": "better", "less": "worse"}[test.alternative]
        return f"{start}{between}; that {test.b} is {word} than {test.a} is not shown."
    return f"{start}; with {with_} it is not sure to be better{between}."


def _detail(cell: Result, test: TestResult, interval: str) -> str:
    """p, the test, its correction, the number of runs, and what the test generalises to."""
    p = adjusted(test)
    if cell.doubts((test.a, test.b)):
        return ""
    if p is None:
        return f"No p by {test.method}: {test.note or 'it has none'}."
    words = [test.method, *(["paired"] if test.pairing == "id" else [])]
    if test.alternative != "two-sided":
        side = {"greater": "better", "less": "worse"}[test.alternative]
        words.append(f"one-sided: {test.b} is {side} than {test.a}")
    if test.correction not in (None, "none") and len(cell.pairs) > 1:
        words.append(f"{CORRECTIONS[test.correction]} over {len(cell.pairs)} pairs")
    elif len(cell.pairs) > 1:
        words.append("uncorrected")
    looks = _looks(test)
    if looks is not None:
        words.append("adjusted for looks")
    if looks is not None and looks.code == "looks-settled":
        words.append(looks.text)
    elif test.replica_a is None:
        words.append(_numbers(test))
    else:
        words.append(f"{cell.kind}s {test.replica_a} and {test.replica_b}")
    of = f" The interval is a {interval}." if interval else ""
    return f"{p_equation(p)} ({', '.join(words)}).{of} It holds for {generalises_to(test)}."


def _numbers(test: TestResult) -> str:
    """``3 + 3 runs``, ``3 + 3 prompts x 5 samples``"""
    a, b = (_of_samples(_samples(test, side)) for side in "ab")
    if a != b:
        return f"{count(test.n_a, test.run_kind)}{a} + {count(test.n_b, test.run_kind)}{b}"
    return f"{test.n_a} + {count(test.n_b, test.run_kind)}{a}"


def interval_name(cell: Result, test: TestResult) -> str:
    """``95% CI``; with several pairs, whether all intervals hold together or each by itself."""
    own = 1 - cell.alpha if test.ci_level is None else test.ci_level
    if len(cell.pairs) < 2:
        return f"{100 * own:g}% CI"
    if test.correction == "max-t" and test.ci_level is not None:
        joint = 1 - cell.alpha if test.alternative == "two-sided" else 1 - 2 * cell.alpha
        return f"simultaneous {100 * joint:g}% CI"
    return f"{100 * own:g}% CI of this pair alone"


def _looks(test: TestResult) -> Note | None:
    """How the looks at this pair ended."""
    return next((one for one in test.notes if one.code in LOOKS), None)


def _more(cell: Result, test: TestResult, state: State, doubt: Doubt | None) -> Iterator[str]:
    if cell.doubts((test.a, test.b)):
        return
    looks = _looks(test)
    if looks is not None and looks.code != "looks-settled":
        yield f"{looks.text[:1].upper()}{looks.text[1:]}."
        of_set = [row.share or 0.0 for row in test.variances if row.source.startswith("system x")]
        if looks.code == "looks-futile" and of_set and of_set[0] >= ENOUGH:
            yield f"Add {'document' if test.unit == 'document' else 'segment'}s."
    yield from _next_run(cell, test)
    for name, word in (("better_on", "better"), ("worse_on", "worse")):
        if number := test.details.get(name):
            of = len(cell.suite)
            on = f"at least {number:.0f} of the {of}" if number < of else "both" if of == 2 else f"all {of}"
            yield f"{test.b} is {word} than {test.a} on {on} test sets."
    if state == "undecided" and doubt is not None:
        half, runs, text = (
            score(x, cell.decimals) for x in (doubt.half, doubt.twice_runs, doubt.twice_text)
        )
        kind = word_of(test)
        twice = f"twice the {kind}s would give about ±{runs} instead of ±{half}, twice the text ±{text}"
        yield f"{doubt.text}: {twice}."


def _next_run(cell: Result, test: TestResult) -> Iterator[str]:
    """The probability that the next run of the better system scores above that of the other."""
    here, new = next_run(cell, test), next_run(cell, test, "_new")
    if here is None:
        return
    b_ahead = cell.better_by(test.delta) > 0
    ahead, behind = (test.b, test.a) if b_ahead else (test.a, test.b)
    text = (
        f"The next {test.run_kind} of {ahead} would score above the next one of {behind} with "
        f"probability {_likely(here)} on {'these test sets' if cell.suite else 'this test set'}"
    )
    if new is not None:
        text += f", {_likely(new)} on {'new ones' if cell.suite else 'a new one'}"
    prior = "taking every true difference as equally likely"
    if systems := test.details.get("superior_systems"):
        prior = f"assuming true differences as large as those among the scores of {systems:.0f} systems"
    yield f"{text} (90% intervals; {prior})."


def _likely(limits: tuple[float, float, float]) -> str:
    p, low, high = map(probability, limits)
    return f"{p} ({low} to {high})"
