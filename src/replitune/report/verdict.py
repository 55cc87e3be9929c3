"""The answer in words: does B beat A, by how much, how surely, and what it generalises to."""

from __future__ import annotations

import json
from dataclasses import dataclass

from replitune.report.findings import adjusted, next_run
from replitune.report.material import Material
from replitune.report.numbers import ends, p_equation, p_value, probability, score
from replitune.report.wording import CORRECTIONS, count, runs_of
from replitune.results.result import Result
from replitune.significance.base import Note, TestResult
from replitune.significance.variances import ENOUGH, bottleneck

SHOWN = 6
"""As many pairs of one metric stand on the first screen. Of more, the first metric shows those
with the baseline or the best system, the others the best and its rival; the rest unfolds."""

LOOKS = ("looks-settled", "looks-futile", "looks-open")
"""Notes that verdicts repeat."""

HYPOTHESES = {"greater": "is better than", "less": "is worse than"}
"""What a small p of a one-sided test says of B."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one pair."""

    testset: str
    metric: str
    result: TestResult
    significant: bool
    headline: str
    detail: str

    @property
    def key(self) -> str:
        """Test set, metric and systems, by which the page finds it."""
        names = [self.testset, self.metric, self.result.a, self.result.b]
        return json.dumps(names, ensure_ascii=False, separators=(",", ":"))

    @property
    def text(self) -> str:
        return f"{self.headline}{self.detail}"

    def __str__(self) -> str:
        """For a terminal, which breaks lines itself."""
        return self.text.replace("\N{NO-BREAK SPACE}", " ")


@dataclass(frozen=True)
class VerdictGroup:
    """Verdicts of one (test set, metric)."""

    testset: str
    metric: str
    shown: list[Verdict]
    folded: list[Verdict]


def verdict(cell: Result, result: TestResult) -> Verdict:
    """Better, worse, the same within a margin, or undecided, at the level of the experiment."""
    p = adjusted(result)

    def answer(significant: bool, headline: str, detail: str) -> Verdict:
        return Verdict(cell.testset, cell.name, result, significant, headline, detail)

    a, b, unit = result.a, result.b, cell.name
    if p is None:
        why = result.note or "no p-value"
        return answer(False, f"{a} and {b} cannot be compared by {result.method}", f": {why}.")
    if _equal(result):
        return answer(False, f"{a} and {b} have the same {unit}", f", {_p(p)} {_how(cell, result)}.")
    more, less = (b, a) if result.delta > 0 else (a, b)
    ahead, behind = (more, less) if cell.higher_is_better else (less, more)
    size = f"{score(abs(result.delta), cell.decimals)} {unit}"
    between, how = _between(cell, result), _how(cell, result)
    closing = _closing(cell, result)
    if cell.neutral:
        text = f"by {size}{between}, {_p(p)} {how}."
        if p <= cell.alpha:
            return answer(True, f"{more} has more {unit} than {less}", f" {text}")
        none = f"No significant difference between {a} and {b}"
        return answer(False, none, f": {more} has more {text}")
    direction = "" if cell.higher_is_better else " (lower is better)"
    if p <= cell.alpha:
        headline = f"{ahead} beats {behind} by {size}"
        detail = f"{direction}{between}, {_p(p)} {how}. It speaks of {result.generalises_to}."
        return answer(True, headline, f"{detail}{closing}")
    text = f"{ahead} is ahead by {size}{direction}{between}, {_p(p)} {how}."
    same = result.details.get("p_same_adjusted", result.details.get("p_same"))
    margin = result.details.get("margin")
    if same is not None and same <= cell.alpha:
        headline = f"{a} and {b} are the same within {margin:g} {unit}"
        return answer(True, headline, f" ({_p(same)}): {text}{closing}")
    if result.alternative != "two-sided":
        headline = f"No evidence that {b} {HYPOTHESES[result.alternative]} {a}"
    elif margin is not None:
        headline = f"{a} and {b}: undecided"
        text = f"neither a difference nor the same within {margin:g} {unit} is shown. {text}"
    else:
        headline = f"No significant difference between {a} and {b}"
    return answer(False, headline, f": {text}{closing}")


def _equal(result: TestResult) -> bool:
    """To the last digits that arithmetic leaves."""
    return abs(result.delta) <= 1e-9 * max(abs(result.score_a), abs(result.score_b))


def _how(cell: Result, result: TestResult) -> str:
    """By which test, corrected how, from how many runs."""
    words = [result.method, *(["paired"] if result.pairing == "id" else [])]
    if result.alternative != "two-sided":
        words.append(f"one-sided: {result.b} {HYPOTHESES[result.alternative]} {result.a}")
    if result.correction not in (None, "none") and len(cell.pairs) > 1:
        words.append(f"{CORRECTIONS[result.correction]} over {len(cell.pairs)} pairs")
    elif len(cell.pairs) > 1:
        words.append("uncorrected")
    looks = _looks(result)
    if looks is not None:
        words.append("adjusted for looks")
    if looks is not None and looks.code == "looks-settled":
        words.append(looks.text)
    elif result.replica_a is None:
        words.append(f"{result.n_a} + {count(result.n_b, runs_of(cell, result))}")
    else:
        words.append(f"runs {result.replica_a} and {result.replica_b}")
    return f"({', '.join(words)})"


def _p(p: float) -> str:
    """With spaces at which no line breaks."""
    return p_equation(p).replace(" ", "\N{NO-BREAK SPACE}")


def _between(cell: Result, result: TestResult) -> str:
    """The confidence interval, seen from the system that has more, and what it holds for."""
    low, high = result.ci_low, result.ci_high
    if low is None or high is None:
        return ""
    if result.delta < 0:
        low, high = -high, -low
    return f", {interval_name(cell, result)} {' to '.join(ends(low, high, cell.decimals))}"


def interval_name(cell: Result, result: TestResult) -> str:
    """``95% CI``; with several pairs, whether all intervals hold together or each by itself."""
    own = 1 - cell.alpha if result.ci_level is None else result.ci_level
    if len(cell.pairs) < 2:
        return f"{100 * own:g}% CI"
    if result.correction == "max-t" and result.ci_level is not None:
        joint = 1 - cell.alpha if result.alternative == "two-sided" else 1 - 2 * cell.alpha
        return f"simultaneous {100 * joint:g}% CI"
    return f"{100 * own:g}% CI of this pair alone"


def _looks(result: TestResult) -> Note | None:
    """How the looks at this pair ended."""
    return next((note for note in result.notes if note.code in LOOKS), None)


def _undecided(cell: Result, result: TestResult) -> list[str]:
    """What looks tell about a pair that they have not settled."""
    looks = _looks(result)
    if looks is None or looks.code == "looks-settled":
        return []
    sentences = [f"{looks.text[:1].upper()}{looks.text[1:]}."]
    rows, unit = result.variances, "document" if "document" in result.unit else "segment"
    of_set = [row.share or 0.0 for row in rows if row.source.startswith("system x")]
    if looks.code == "looks-futile" and of_set and of_set[0] >= ENOUGH:
        sentences.append(f"Add {unit}s.")
    return sentences


def _closing(cell: Result, result: TestResult) -> str:
    """What the next run would show, on how many test sets, and whether one run decides."""
    sentences = [
        *_undecided(cell, result),
        *_next_run(cell, result),
        *_on_testsets(cell, result),
        *_bottleneck(cell, result),
        *_one_run(cell, result),
    ]
    return "".join(f" {sentence}" for sentence in sentences)


def _next_run(cell: Result, result: TestResult) -> list[str]:
    """The probability that the next run of the better system scores above that of the other."""
    here, new = next_run(cell, result), next_run(cell, result, "_new")
    if here is None:
        return []
    b_ahead = (result.delta > 0) == cell.higher_is_better
    ahead, behind = (result.b, result.a) if b_ahead else (result.a, result.b)
    run = runs_of(cell, result)
    text = (
        f"The next {run} of {ahead} would score above the next one of {behind} with probability "
        f"{_likely(here)} on {'these test sets' if cell.suite else 'this test set'}"
    )
    if new is not None:
        text += f", {_likely(new)} on {'new ones' if cell.suite else 'a new one'}"
    systems = result.details.get("superior_systems")
    prior = "any true difference being as likely beforehand"
    if systems:
        prior = f"true differences being as large as the scores of {systems:.0f} systems show"
    return [f"{text} (90% intervals; {prior})."]


def _likely(limits: tuple[float, float, float]) -> str:
    p, low, high = map(probability, limits)
    return f"{p} ({low} to {high})"


def _on_testsets(cell: Result, result: TestResult) -> list[str]:
    """Of a suite: on how many of its test sets there surely is a difference."""
    sentences = []
    for name, word in (("better_on", "better"), ("worse_on", "worse")):
        number = result.details.get(name)
        if number:
            sentences.append(
                f"{result.b} is {word} than {result.a} on at least {number:.0f} of the "
                f"{len(cell.suite)} test sets."
            )
    return sentences


def _bottleneck(cell: Result, result: TestResult) -> list[str]:
    """What stands in the way of a smaller interval, where the difference is not settled."""
    p = adjusted(result)
    if not result.unit.startswith("replica+") or p is None or p <= cell.alpha:
        return []
    unit = "document" if "document" in result.unit else "segment"
    sentence = bottleneck(result.variances, unit) if result.variances else None
    return [] if sentence is None else [f"{sentence}.", *_with_more(cell, result, unit)]


def _with_more(cell: Result, result: TestResult, unit: str) -> list[str]:
    """The interval that twice the runs or segments would have."""
    by_runs, by_units = (result.details.get(f"reach_twice_{what}") for what in ("runs", "units"))
    if by_runs is None or by_units is None or result.ci_low is None or result.ci_high is None:
        return []
    now, runs, units = (
        f"±{score(x, cell.decimals)}" for x in ((result.ci_high - result.ci_low) / 2, by_runs, by_units)
    )
    run = runs_of(cell, result)
    return [f"With twice the {run}s {runs}, with twice the {unit}s {units}, instead of {now}."]


def _one_run(cell: Result, result: TestResult) -> list[str]:
    """Whether a single run decides."""
    low, high = (result.details.get(f"p_without_one_{end}") for end in ("low", "high"))
    if low is None or high is None or result.p is None:
        return []
    if (result.p <= cell.alpha) == (high <= cell.alpha) == (low <= cell.alpha):
        return []
    span = f"{p_value(low)} to {p_value(high)}"
    return [f"One run decides: with one run left out, uncorrected p is {span}."]


def verdicts(material: Material) -> list[VerdictGroup]:
    """By (test set, metric); of many pairs, a few are shown."""
    groups: list[VerdictGroup] = []
    for cell in material.cells:
        every = lead_verdicts(cell)
        if not every:
            continue
        shown, folded = every, []
        if len(every) > SHOWN:
            best, second = cell.ranked[:2]
            anchor = material.baseline if material.baseline in cell.systems else best
            shown = [v for v in every if anchor in (v.result.a, v.result.b)]
            if any(group.testset == cell.testset for group in groups):
                rival = second if anchor == best else best
                closest = [v for v in shown if rival in (v.result.a, v.result.b)]
                shown = closest or shown[:1]
            folded = [v for v in every if v not in shown]
        groups.append(VerdictGroup(cell.testset, cell.name, shown, folded))
    return groups


def lead_verdicts(cell: Result) -> list[Verdict]:
    """Of every pair, by the test that speaks for the result."""
    return [verdict(cell, result) for result in cell.tests if result.method == cell.lead_method]
