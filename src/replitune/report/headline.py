"""One sentence for each test set, which holds for all of its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replitune.report.findings import adjusted
from replitune.report.material import Material
from replitune.report.ranks import ranking
from replitune.report.wording import count, listed
from replitune.results.result import Result
from replitune.significance.base import TestResult
from replitune.significance.multiple import verdict

NAMED = 3
"""Systems of a cluster, clusters and pairs that are named; of more, the number."""


@dataclass(frozen=True)
class Headline:
    """What a test set says."""

    testset: str
    text: str
    decided: bool
    """Whether any difference is significant."""


def headlines(material: Material) -> list[Headline]:
    """In the order of the test sets; those of which nothing was tested are left out."""
    testsets: dict[str, list[Result]] = {}
    for cell in material.cells:
        if cell.tests and not cell.neutral and cell.metric not in material.people:
            testsets.setdefault(cell.testset, []).append(cell)
    return [_headline(name, cells, material.baseline) for name, cells in testsets.items()]


def _headline(testset: str, cells: Sequence[Result], baseline: str | None) -> Headline:
    if all(len(cell.pairs) == 1 for cell in cells):
        text, decided = pair_headline([(cell, test) for cell in cells if (test := _lead(cell))])
    elif all(ranking(cell) is not None for cell in cells):
        text, decided = _clusters(cells)
    else:
        text, decided = _wins(cells, baseline)
    return Headline(testset, text, decided)


def _lead(cell: Result) -> TestResult | None:
    return cell.lead_test(cell.pairs[0])


def pair_headline(tested: Sequence[tuple[Result, TestResult]]) -> tuple[str, bool]:
    """``B beats A in BLEU and chrF; TER undecided``, and whether anything is decided."""
    sure: dict[str, list[str]] = {}
    undecided, untested = [], []
    for cell, test in tested:
        won = verdict(test, cell.alpha, cell.higher_is_better)
        if won is None:
            untested.append(cell.name)
        elif won:
            better, worse = (test.b, test.a) if won > 0 else (test.a, test.b)
            sure.setdefault(f"{better} beats {worse}", []).append(cell.name)
        elif _same(cell, test):
            sure.setdefault(f"{test.a} and {test.b} are the same within the margin", []).append(cell.name)
        else:
            undecided.append(cell.name)
    parts = [f"{what} in {listed(names)}" for what, names in sure.items()]
    _, first = tested[0]
    if undecided and parts:
        parts.append(f"{listed(undecided)} undecided")
    elif undecided:
        parts.append(f"{first.b} and {first.a}: undecided in {listed(undecided)}")
    if untested:
        parts.append(f"{listed(untested)}: no p")
    return "; ".join(parts), bool(sure)


def _same(cell: Result, test: TestResult) -> bool:
    p = test.details.get("p_same_adjusted", test.details.get("p_same"))
    return p is not None and p <= cell.alpha


def _clusters(cells: Sequence[Result]) -> tuple[str, bool]:
    """The clusters by the first metric, and how many there are by the others."""
    first, *others = cells
    order = ranking(first)
    assert order is not None
    clusters = order.clusters or ()
    wins = any(own.wins.any() for cell in cells if (own := ranking(cell)) is not None)
    if len(clusters) == 1:
        return _one_cluster(cells), wins
    text = " > ".join(map(_cluster, clusters[:NAMED]))
    if (rest := len(clusters) - NAMED) == 1:
        text += f" > {_cluster(clusters[-1])}"
    elif rest > 1:
        text += f" > {rest} more clusters"
    more, same = [], []
    for cell in others:
        own = ranking(cell)
        assert own is not None
        if [*map(frozenset, own.clusters or ())] == [*map(frozenset, clusters)]:
            same.append(cell.name)
        else:
            more.append(f"{count(len(own.clusters or ()), 'cluster')} by {cell.name}")
    return "; ".join([f"{text} by {listed([first.name, *same])}", *more]), wins


def _one_cluster(cells: Sequence[Result]) -> str:
    """Who beats whom by each metric, where no system stands apart by the first."""
    parts = []
    for cell in cells:
        order = ranking(cell)
        assert order is not None
        names, wins = order.systems, list(zip(*order.wins.nonzero(), strict=True))
        text = "; ".join(f"{names[i]} beats {names[j]}" for i, j in wins)
        if not 0 < len(wins) <= NAMED:
            text = f"{len(wins)} of {len(cell.pairs)} pairs decided"
        elif len(wins) < len(cell.pairs):
            text += f", {count(len(cell.pairs) - len(wins), 'pair')} undecided,"
        parts.append(f"{text} by {cell.name}")
    return "; ".join(parts)


def _cluster(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    if rest > 1:
        return f"({', '.join(names[:NAMED])} and {rest} more)"
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _wins(cells: Sequence[Result], baseline: str | None) -> tuple[str, bool]:
    """How many beat the baseline, or how many pairs are decided, under each metric."""
    first, *_ = cells
    anchored = baseline in first.systems and all(baseline in pair for cell in cells for pair in cell.pairs)
    parts, decided = [], False
    for cell in cells:
        tests = [test for pair in cell.pairs if (test := cell.lead_test(pair)) is not None]
        won = [verdict(test, cell.alpha, cell.higher_is_better) or 0 for test in tests]
        decided |= any(won)
        if anchored:
            ahead = [
                test.b if test.a == baseline else test.a
                for test, w in zip(tests, won, strict=True)
                if (w > 0 if test.a == baseline else w < 0)
            ]
            named = f" ({', '.join(ahead)})" if 0 < len(ahead) <= NAMED else ""
            parts.append(f"{len(ahead)} of {len(tests)} in {cell.name}{named}")
        else:
            known = sum(adjusted(test) is not None for test in tests)
            parts.append(f"{sum(map(bool, won))} of {known} pairs in {cell.name}")
    what = f"Systems that beat {baseline}" if anchored else "Decided"
    return f"{what}: {'; '.join(parts)}", decided
