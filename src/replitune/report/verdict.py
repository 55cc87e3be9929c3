"""The answer in words: does B beat A, by how much, how sure, and what it generalises to."""

from __future__ import annotations

from dataclasses import dataclass

from replitune.report.findings import adjusted
from replitune.report.material import Material
from replitune.report.numbers import p_equation, score
from replitune.report.wording import CORRECTIONS, count
from replitune.results.result import Result
from replitune.significance.base import TestResult

EXPECT = {
    "this test set": "this speaks of this test set and these runs only",
    "new segments": "expect the same sign on a new test set, with these same runs",
    "new documents": "expect the same sign on new documents, with these same runs",
    "new tuner runs": "expect the same sign from new tuning runs, on this same test set",
    "new segments and new tuner runs": (
        "expect the same sign on a new test set and new tuning runs"
    ),
    "new documents and new tuner runs": (
        "expect the same sign on new documents and new tuning runs"
    ),
}
SHOWN = 6
"""As many pairs of one metric stand on the first screen. Of more, the first metric shows those
with the baseline or the best system, the others the best and its rival; the rest unfolds."""


@dataclass(frozen=True)
class Verdict:
    """One sentence about one pair."""

    testset: str
    metric: str
    result: TestResult
    significant: bool
    headline: str
    detail: str

    @property
    def text(self) -> str:
        return f"{self.headline}{self.detail}"


@dataclass(frozen=True)
class VerdictGroup:
    """Verdicts of one (test set, metric)."""

    testset: str
    metric: str
    shown: list[Verdict]
    folded: list[Verdict]


def verdict(cell: Result, result: TestResult, alpha: float, correction: str) -> Verdict:
    """Say what `result` says, at level `alpha` after `correction`."""
    p = adjusted(result)
    unit = cell.name
    runs = (
        f"{result.n_a} + {count(result.n_b, 'run')}"
        if result.replica_a is None
        else f"runs {result.replica_a} and {result.replica_b}"
    )
    how = f"({result.method}, {CORRECTIONS[correction]}, {runs})"

    def said(significant: bool, headline: str, detail: str) -> Verdict:
        return Verdict(cell.testset, cell.name, result, significant, headline, detail)

    if p is None:
        why = result.note or "no p-value"
        pair = f"{result.a} and {result.b}"
        return said(False, f"{pair} cannot be compared by {result.method}", f": {why}.")
    if cell.neutral:
        more, less = (result.b, result.a) if result.delta > 0 else (result.a, result.b)
        size = f"by {score(abs(result.delta))} {unit}{_between(result, alpha)}, "
        size += f"{_p(p)} {how}"
        if p <= alpha:
            return said(True, f"{more} has more {unit} than {less}", f" {size}.")
        none = f"No significant difference between {result.a} and {result.b}"
        return said(False, none, f": {more} has more {size}.")
    b_better = (result.delta > 0) == cell.higher_is_better
    better, worse = (result.b, result.a) if b_better else (result.a, result.b)
    between = _between(result, alpha)
    direction = "" if cell.higher_is_better else " (lower is better)"
    if p <= alpha:
        expectation = EXPECT.get(result.generalises_to, result.generalises_to)
        return said(
            True,
            f"{better} beats {worse} by {score(abs(result.delta))} {unit}",
            f"{direction}{between}, {_p(p)} {how}; {expectation}.",
        )
    if result.delta == 0:
        same = f"{result.a} and {result.b} have the same {unit}"
        return said(False, same, f", {_p(p)} {how}.")
    return said(
        False,
        f"No significant difference between {result.a} and {result.b}",
        f": {better} is ahead by {score(abs(result.delta))} {unit}{direction}{between}, "
        f"{_p(p)} {how}.",
    )


def _p(p: float) -> str:
    """With spaces at which no line breaks."""
    return p_equation(p).replace(" ", "\N{NO-BREAK SPACE}")


def _between(result: TestResult, alpha: float) -> str:
    """The confidence interval, seen from the system that is ahead."""
    low, high = result.ci_low, result.ci_high
    if low is None or high is None:
        return ""
    if result.delta < 0:
        low, high = -high, -low
    return f", {100 * (1 - alpha):g}% CI {score(low)} to {score(high)}"


def verdicts(material: Material) -> list[VerdictGroup]:
    """By (test set, metric); of many pairs, a few are shown."""
    groups: list[VerdictGroup] = []
    for cell in material.cells:
        every = [
            verdict(cell, result, material.alpha, material.correction)
            for result in cell.tests
            if result.method == cell.lead_method
        ]
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
