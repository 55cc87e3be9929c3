"""Tests of an experiment with looks: p and intervals of its deciding test are those of the looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replitune.significance.base import Note, TestResult, without_none
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
    drift = Note("batches-differ", record.drift) if record.drift else None
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
        text = f"settled with {at.n_a} and {at.n_b} of at most {up_to} runs"
        return Note("looks-settled", text)
    n = f"{last.n_a} and {last.n_b}"
    if last.decision == FUTILE:
        text = f"more runs than {n} (at most {up_to}) are unlikely ({100 * plan.futility:g}%) to settle it"
        return Note("looks-futile", text)
    if (last.n_a, last.n_b) == tuple(most):
        return Note("looks-open", f"not settled at {up_to} runs")
    text = f"not settled with {n} of at most {up_to} runs"
    if last.left and sum(last.left) > 0:
        text += ", but further runs of these systems would tell too little"
    return Note("looks-open", f"{text} ({looks} looks)" if looks > 1 else text)
