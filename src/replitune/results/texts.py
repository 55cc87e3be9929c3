"""What is wrong with texts, as notes: each kind once, with its systems and the metrics that mind it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from replitune.notes import Note, note
from replitune.results.wording import count, listed
from replitune.statistics.findings import Finding, Span, span

if TYPE_CHECKING:
    from replitune.results.result import Result

MOST_NAMED = 6
"""Up to so many systems are named; of more, only the number is given."""
MARKS = {
    "escapes": "the escapes of the Moses tokeniser",
    "hyphens": "the hyphens of the Moses tokeniser",
    "joiners": "subword joiners",
    "word-marks": "SentencePiece's word marks",
}
"""What marks of a tokeniser are called."""


def notes_of_texts(cells: Sequence[Result], systems: Sequence[str] | None = None) -> list[Note]:
    """What is to be told of the texts behind these results; of these systems only."""
    metrics: dict[str, list[str]] = {}
    for cell in cells:
        for testset in cell.suite or (cell.testset,):
            metrics.setdefault(testset, []).append(cell.name)
    found = [
        (cell.name, one)
        for cell in cells
        for one in cell.findings
        if systems is None or one.system in systems
    ]
    return notes_of(found, metrics)


def notes_of(found: Iterable[tuple[str, Finding]], metrics: Mapping[str, Sequence[str]]) -> list[Note]:
    """Notes about findings, each with a metric that minds it. `metrics`: all by test set."""
    groups: dict[tuple[str, ...], list[tuple[str, Finding]]] = {}
    for metric, one in found:
        alone = (one.system, one.other, *one.runs) if one.code in ("copied", "copied-runs") else ()
        groups.setdefault((one.testset, one.code, one.marks, *alone), []).append((metric, one))
    notes = []
    for (testset, *_), of_kind in groups.items():
        same = [*dict.fromkeys(one for _, one in of_kind)]
        told = _note(same, [metric for metric, _ in of_kind], metrics.get(testset, ()))
        notes.append(replace(told, text=f"on {testset}, {told.text}") if len(metrics) > 1 else told)
    return notes


def warn(found: Sequence[tuple[str, Finding]], metrics: Sequence[str]) -> None:
    """Print what is wrong with texts that were just scored."""
    for one in notes_of(found, {"": metrics}):
        print(f"warning: {one.text}", file=sys.stderr)


def mend(doubts: Sequence[Finding]) -> str:
    """What to do before anything can be said."""
    return f"mend the outputs of {_systems(doubts)}"


def _note(found: Sequence[Finding], metrics: Sequence[str], every: Sequence[str]) -> Note:
    """One note for findings of one kind. `metrics`: those that mind; `every`: those that there are."""
    first, minding = found[0], [*dict.fromkeys(metrics)]
    here, there = (span(one.here for one in found), span(one.there for one in found))
    form = "{:,.0f}" if first.lines else "{:.0%}"
    fitting = [*dict.fromkeys(one.fitting for one in found if one.fitting)]
    return note(
        first.code,
        systems=dict.fromkeys(one.system for one in found),
        run=first.runs[0] if len(found) == len(first.runs) == 1 else None,
        whose=_systems(found),
        here=_between(here, form),
        there=_between(there, form),
        lines=f"{first.lines:,}",
        what=MARKS.get(first.marks, ""),
        mark=first.mark,
        metrics=listed(minding),
        minded=f"; this matters to {listed(minding)}" if {*every} - {*minding} else "",
        fitting=" or ".join(fitting),
        or_fitting=f", or score with {listed(fitting)}" if fitting else "",
        other=first.other,
        runs=_runs(first.runs),
    )


def _systems(found: Sequence[Finding]) -> str:
    """``a, b (run-002) and c``"""
    runs_of = {one.system: one.runs for one in found}
    if len(runs_of) > MOST_NAMED:
        return count(len(runs_of), "system")
    return listed([f"{name} ({_runs(runs)})" if runs else name for name, runs in runs_of.items()])


def _runs(runs: Sequence[str]) -> str:
    return listed(runs) if len(runs) <= MOST_NAMED else count(len(runs), "run")


def _between(values: Span, form: str) -> str:
    """``97%``, or ``95% to 98%``"""
    return " to ".join(dict.fromkeys(map(form.format, values)))
