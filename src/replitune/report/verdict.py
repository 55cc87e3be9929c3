"""The answer in words: does B beat A, by how much, how sure, and what it generalises to."""

from __future__ import annotations

from dataclasses import dataclass

from replitune.report.data import Cell
from replitune.report.numbers import p_equation, score
from replitune.significance.base import TestResult

CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "uncorrected"}
EXPECT = {
    "this test set": "this speaks of this test set and these runs only",
    "new segments": "expect the same sign on a new test set, with these same runs",
    "new tuner runs": "expect the same sign from new tuning runs, on this same test set",
    "new segments and new tuner runs": (
        "expect the same sign on a new test set and new tuning runs"
    ),
}


@dataclass(frozen=True)
class Verdict:
    """One sentence about one pair."""

    testset: str
    metric: str
    result: TestResult
    significant: bool
    text: str


def verdict(cell: Cell, result: TestResult, alpha: float, correction: str) -> Verdict:
    """Say what `result` says, at level `alpha` after `correction`."""
    p = result.p if result.p_adjusted is None else result.p_adjusted
    unit = cell.metric.upper() if cell.metric.islower() else cell.metric
    runs = f"{result.n_a} + {result.n_b} runs"
    how = f"({result.method}, {CORRECTIONS[correction]}, {runs})"
    confidence = f"{100 * (1 - alpha):g}% CI"
    if p is None:
        text = (
            f"{result.a} and {result.b} cannot be compared by {result.method}: "
            f"{result.note or 'no p-value'}"
        )
        return Verdict(cell.testset, cell.metric, result, False, text)
    b_better = (result.delta > 0) == cell.higher_is_better
    better, worse = (result.b, result.a) if b_better else (result.a, result.b)
    low, high = result.ci_low, result.ci_high
    if low is not None and high is not None and result.delta < 0:
        low, high = -high, -low
    between = (
        f", {confidence} {score(low)} to {score(high)}"
        if low is not None and high is not None
        else ""
    )
    if p <= alpha:
        expectation = EXPECT.get(result.generalises_to, result.generalises_to)
        text = (
            f"{better} beats {worse} by {score(abs(result.delta))} {unit}{between}, "
            f"{p_equation(p)} {how}; {expectation}."
        )
        return Verdict(cell.testset, cell.metric, result, True, text)
    if result.delta == 0:
        text = f"{result.a} and {result.b} have the same {unit} {how}, {p_equation(p)}."
    else:
        text = (
            f"No significant difference between {result.a} and {result.b}: {better} is ahead by "
            f"{score(abs(result.delta))} {unit}{between}, {p_equation(p)} {how}."
        )
    return Verdict(cell.testset, cell.metric, result, False, text)


def warnings(cell: Cell, alpha: float) -> list[str]:
    """What a reader must know before believing the table."""
    said: list[str] = []
    few = [s for s in cell.system_names if 0 < len(cell.replica_scores(s)) < 3]
    if few:
        said.append(
            f"{', '.join(few)}: fewer than 3 replicas; Clark et al. (2011) recommend at least 3."
        )
    for pair in cell.pairs:
        lead = cell.test(pair, cell.lead_method)
        if lead is None or lead.p is None:
            continue
        for method in cell.methods:
            other = cell.test(pair, method)
            if other is None or other.p is None or method == lead.method:
                continue
            p, q = (r.p if r.p_adjusted is None else r.p_adjusted for r in (lead, other))
            if p is not None and q is not None and (p <= alpha) != (q <= alpha):
                said.append(
                    f"{pair[0]} and {pair[1]}: {method} says {p_equation(q)} and "
                    f"{lead.method} {p_equation(p)}. {method} speaks of "
                    f"{other.generalises_to}, {lead.method} of {lead.generalises_to}."
                )
    for result in cell.tests:
        if result.note:
            said.append(f"{result.a} and {result.b}, {result.method}: {result.note}.")
    return list(dict.fromkeys(said))
