"""Tests of an experiment with looks: p and intervals of its deciding test are those of the looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replitune.notes import Note, note, without_none
from replitune.significance.base import TestResult
from replitune.significance.looks.record import FUTILE, PairLook, Record


def settle(tests: Sequence[TestResult], record: Record) -> list[TestResult]:
    """The rows of the deciding test with p adjusted for looks and the rule's intervals."""
    return [_settled(row, record) if row.method == record.plan.method else row for row in tests]


def _settled(row: TestResult, record: Record) -> TestResult:
    last = record.last(row.a, row.b)
    if last is None:
        return row
    plan = record.plan
    details = {k: v for k, v in row.details.items() if not k.startswith(("p_without_one", "reach_"))}
    drift = note("batches-differ", text=record.drift) if record.drift else None
    notes = without_none(*row.notes, _note(record, last), drift)
    if last.p is None or last.p_look is None:
        return replace(row, notes=notes, details=details)
    return replace(
        row,
        p=last.p,
        p_adjusted=last.p_adjusted,
        correction=plan.correction,
        ci_low=last.ci_low,
        ci_high=last.ci_high,
        ci_level=plan.confidence,
        details=details,
        notes=notes,
    )


def _note(record: Record, last: PairLook) -> Note:
    """How the looks at a pair ended, in a sentence."""
    plan, looks = record.plan, len(record.looks)
    most = [sum(plan.most[name].values()) for name in (last.a, last.b)]
    up_to = f"{most[0]}" if most[0] == most[1] else f"{most[0]} and {most[1]}"
    at = record.settled_at(last.a, last.b)
    if at is not None:
        return note("looks-settled", n_a=at.n_a, n_b=at.n_b, most=up_to)
    n = f"{last.n_a} and {last.n_b}"
    if last.decision == FUTILE:
        return note("looks-futile", n=n, most=up_to, percent=100 * plan.futility)
    if (last.n_a, last.n_b) == tuple(most):
        return note("looks-open", how=f"at {up_to} runs")
    how = f"with {n} of at most {up_to} runs"
    if last.left and sum(last.left) > 0:
        how += ", but further runs of these systems would tell too little"
    return note("looks-open", how=f"{how} ({looks} looks)" if looks > 1 else how)
