"""From judgements to one human score per output: standardising by annotator, and averaging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest
from replitune.meta.human import HumanJudgements, Judgement


def standardise(judgements: HumanJudgements) -> HumanJudgements:
    """Scores minus the mean of their annotator, divided by the standard deviation (n - 1).

    As in Graham et al. (2014), since people use scales differently. Annotators whose scores do
    not vary tell nothing: their judgements are left out and counted.
    """
    scaled: dict[str, list[Judgement]] = {}
    lost = 0
    for criterion, rows in judgements.judgements.items():
        by_annotator: dict[str, list[float]] = {}
        for row in rows:
            if row.annotator is None:
                raise ReplituneError(
                    "scores cannot be standardised: it is not known who gave them",
                    file=judgements.path,
                    expected="a column `annotator`",
                )
            by_annotator.setdefault(row.annotator, []).append(row.score)
        means = {name: float(np.mean(scores)) for name, scores in by_annotator.items()}
        spreads = {
            name: float(np.std(scores, ddof=1)) if min(scores) < max(scores) else 0.0
            for name, scores in by_annotator.items()
        }
        scaled[criterion] = [
            replace(row, score=(row.score - means[row.annotator]) / spreads[row.annotator])
            for row in rows
            if row.annotator is not None and spreads[row.annotator] > 0
        ]
        lost += len(rows) - len(scaled[criterion])
    note = f"{judgements.path}: left out {lost} judgements by annotators whose scores do not vary"
    return HumanJudgements(judgements.path, scaled, (*judgements.notes, *([note] if lost else [])))


def cell_means(
    judgements: HumanJudgements,
    criterion: str,
    systems: Sequence[str],
    numbers: NDArray[np.int64],
    *,
    first: int = 0,
    others: Sequence[str] = (),
) -> NDArray[np.float64]:
    """(S, N) mean judgement of each output, NaN where nobody judged.

    Parameters
    ----------
    systems, numbers : (S,), (N,)
        Names of the systems and numbers of the segments that were scored.
    first
        Number of the first segment in the file of judgements.
    others
        Systems to ignore if the file has them.
    """
    row_of = {name: s for s, name in enumerate(systems)}
    column_of = {int(number) + first: i for i, number in enumerate(numbers)}
    sums, counts = np.zeros((2, len(systems), len(numbers)))
    rows = judgements.judgements.get(criterion, [])
    for row in rows:
        if row.system not in row_of:
            if row.system in others:
                continue
            close = nearest(row.system, list(systems))
            raise ReplituneError(
                f"no system is called {row.system!r}",
                file=judgements.path,
                line=row.line,
                found=row.system,
                expected=", ".join(systems),
                fix=f"did you mean {close}?" if close else "score it too, or leave it out with --exclude",
            )
        if row.segment not in column_of:
            raise _no_segment(judgements.path, row, rows, column_of, first)
        at = row_of[row.system], column_of[row.segment]
        sums[at] += row.score
        counts[at] += 1
    for s, name in enumerate(systems):
        if not counts[s].any():
            raise ReplituneError(
                f"no {criterion} judgement of system {name}",
                file=judgements.path,
                found=", ".join(sorted({row.system for row in rows})),
                expected=", ".join(systems),
                fix="judge it too, or leave it out with --exclude",
            )
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def note_on_counting(rows: Sequence[Judgement], numbers: NDArray[np.int64]) -> list[str]:
    """A note where judgements that are taken to count from 0 may count from 1: nobody judged the first
    scored segment, and no probabilities say that the judged ones are a sample."""
    judged = {row.segment for row in rows}
    if len(numbers) < 2 or numbers[0] in judged or any(row.probability is not None for row in rows):
        return []
    return [
        f"nobody judged segment {numbers[0]}: if the judgements count segments from 1, say so "
        "(first_segment: 1, or --first-segment 1)"
    ]


def _no_segment(
    path: Path, row: Judgement, rows: Sequence[Judgement], known: dict[int, int], first: int
) -> ReplituneError:
    low, high = min(known), max(known)
    from_one = (
        first == 0 and row.segment == high + 1 and all(1 <= other.segment <= high + 1 for other in rows)
    )
    return ReplituneError(
        f"no segment {row.segment} in this test set",
        file=path,
        line=row.line,
        found=f"segment {row.segment} of system {row.system}",
        expected=f"segments {low} to {high}",
        fix="the file seems to count from 1: use --first-segment 1"
        if from_one
        else "check that the judgements are of this test set",
    )
