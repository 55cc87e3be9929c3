"""The comparison as one table in the terminal: at most 100 columns, colour only on a terminal."""

from __future__ import annotations

import os
import sys
import textwrap

from replitune.report.findings import adjusted, difference
from replitune.report.numbers import p_value, score, signed
from replitune.report.specification import WIDTH, Column, Table, limits
from replitune.report.wording import CORRECTIONS
from replitune.results.comparing import Results
from replitune.results.result import Result


def print_comparison(comparison: Results) -> None:
    """Systems with their spread, and differences with their p, per metric."""
    settings = comparison.settings
    size = f"{comparison.segments} segments"
    if comparison.documents != comparison.segments:
        size += f", {comparison.documents} documents"
    for id, result in comparison.metrics.items():
        better = "higher" if result.higher_is_better else "lower"
        print(bold(f"{id} on {comparison.testset}"), f"({size}; {better} is better)")
        print_table(_systems(result))
        print()
        print_table(_pairs(result, settings.alpha), repeated=3)
        print(*_clusters(result), f"signature: {result.signature}\n", sep="\n")
    family = ""
    if settings.correction != "none":
        family = f"adjusted for all pairs ({CORRECTIONS[settings.correction]}), "
    print(f"p: {family}* at or below {settings.alpha:g}; a small p speaks of:")
    first = next(iter(comparison.metrics.values()))
    for method, scope in {r.method: r.generalises_to for r in first.tests}.items():
        print(f"  {method}: {scope}")
    notes: dict[tuple[str, str], list[str]] = {}
    for id, result in comparison.metrics.items():
        for test in result.tests:
            if test.note:
                where = notes.setdefault((test.method, test.note), [])
                where.append(f"{id} {test.b} - {test.a}")
    if notes:
        print("notes:")
        for (method, note), where in notes.items():
            print(*wrapped(f"{method}: {note} ({some_of(where)})"), sep="\n")


def bold(text: str) -> str:
    """On a terminal that has colours."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\033[1m{text}\033[0m" if colour else text


def print_table(table: Table, indent: int = 2, repeated: int = 0) -> None:
    for block in table.terminal(indent, repeated):
        print(*block, sep="\n")


def wrapped(text: str, indent: int = 2) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2)
    )


def some_of(where: list[str]) -> str:
    """A few of many."""
    return ", ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")


def _systems(result: Result) -> Table:
    return Table(
        columns=(
            Column("system", "name", left=True),
            Column("n", "n", width=4),
            Column("score", "avg", show=score, width=8),
            *(Column(name, name, show=score, width=7) for name in ("s_sel", "s_test")),
            Column("median run", "median_replica", left=True, gap=3),
        ),
        rows=[(summary,) for summary in result.systems.values()],
    )


def _pairs(result: Result, alpha: float) -> Table:
    def p(method: str) -> Column:
        def star(pair: tuple[str, str]) -> str:
            found = adjusted(result.test(pair, method))
            return p_value(found) + ("*" if found is not None and found <= alpha else " ")

        return Column(f"p {method}", None, star, width=len(method) + 3)

    def ends(pair: tuple[str, str]) -> tuple[float | None, float | None]:
        lead = result.test(pair, result.methods[0])
        assert lead is not None
        return lead.ci_low, lead.ci_high

    return Table(
        columns=(
            Column("difference", None, lambda pair: f"{pair[1]} - {pair[0]}", left=True),
            Column("delta", None, lambda pair: difference(result, pair), signed, width=8),
            Column("CI", None, ends, limits(), width=18),
            *map(p, result.methods),
        ),
        rows=[(pair,) for pair in result.pairs],
    )


def _clusters(result: Result) -> list[str]:
    """For three systems and more: each system beats all those behind a `>`."""
    if len(result.systems) < 3:
        return []
    rows = [
        line
        for method, ranking in result.rankings().items()
        if ranking.clusters is not None
        for line in wrapped(f"{method}: {' > '.join(map(', '.join, ranking.clusters))}", 4)
    ]
    return ["", "  clusters (each system beats all behind a >)", *rows] if rows else []
