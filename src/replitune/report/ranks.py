"""Ranks and clusters of systems, by tests and by people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replitune.meta.rows import MetaRow
from replitune.results.numbers import MISSING
from replitune.results.result import Result
from replitune.significance.multiple import Ranking, verdict

if TYPE_CHECKING:
    from replitune.report.material import Material

Ranks = tuple[int, int]
"""The best and the worst rank that a system may have."""


@dataclass(frozen=True)
class Place:
    """Where a system stands."""

    cluster: int
    ranks: Ranks


def ranking(result: Result) -> Ranking | None:
    """The order of three or more systems by the lead test, if all pairs were tested and all decisions
    hold jointly."""
    if len(result.systems) < 3 or any(
        one.state == "these-outputs" or any(note.kind.unfit for note in one.trust) for one in result.answers
    ):
        return None
    ranked = result.rankings().get(result.lead_method)
    return None if ranked is None or ranked.clusters is None else ranked


def places(result: Result) -> dict[str, Place]:
    """The place of every system, best first; empty without a ranking."""
    ranked = ranking(result)
    if ranked is None or ranked.clusters is None:
        return {}
    cluster = {name: k for k, names in enumerate(ranked.clusters, start=1) for name in names}
    ranks = zip(ranked.systems, ranked.ranks or (), strict=True)
    return {name: Place(cluster[name], span) for name, span in ranks}


def rank_text(ranks: Ranks | None) -> str:
    """``2``, ``2-4``."""
    if ranks is None:
        return MISSING
    best, worst = ranks
    return str(best) if best == worst else f"{best}-{worst}"


def by_people(material: Material) -> dict[str, dict[str, Ranks]]:
    """By test set, the ranks of each system by people: by the judgements given to `compare`, or by
    the rank-sum tests of the study `meta`."""
    by_testset = {testset: _ranks_of_rows(rows) for testset, rows in material.meta.items()}
    for cell in material.cells:
        if cell.metric in material.people:
            lead = [test for test in cell.tests if test.method == cell.lead_method]
            names = {name for test in lead for name in (test.a, test.b)}
            won = [(test, verdict(test, cell.alpha, cell.sign)) for test in lead]
            beaten = [(t.b, t.a) if w > 0 else (t.a, t.b) for t, w in won if w]
            by_testset.setdefault(cell.testset, _ranks(names, beaten))
    return {testset: ranks for testset, ranks in by_testset.items() if ranks}


def _ranks_of_rows(rows: Sequence[MetaRow]) -> dict[str, Ranks]:
    pairs = [row for row in rows if row.study == "pair" and row.method == "rank-sum"]
    pairs = [r for r in pairs if (r.criterion, r.alpha) == (pairs[-1].criterion, pairs[0].alpha)]
    beaten = [(r.b, r.a) if r.outcome == 1 else (r.a, r.b) for r in pairs if r.outcome in (1, -1)]
    names = {name for row in pairs for name in (row.a, row.b) if name is not None}
    return _ranks(names, [(a, b) for a, b in beaten if a is not None and b is not None])


def _ranks(names: set[str], wins: Sequence[tuple[str, str]]) -> dict[str, Ranks]:
    """Ranks of systems, from who beats whom."""
    above = dict.fromkeys(names, 0)
    below = dict.fromkeys(names, 0)
    for better, worse in wins:
        above[worse] += 1
        below[better] += 1
    return {name: (1 + above[name], len(names) - below[name]) for name in sorted(names)}
