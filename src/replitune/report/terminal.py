"""The comparison as one table in the terminal: at most 100 columns, colour only on a terminal."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TextIO

from replitune.report.numbers import interval, p_value, score, signed
from replitune.results.comparing import Results
from replitune.results.result import Result

WIDTH = 100


def print_comparison(table: Results, file: TextIO | None = None) -> None:
    """Systems with their spread, and differences with their p, per metric."""
    file = file or sys.stdout
    colour = file.isatty() and "NO_COLOR" not in os.environ
    settings = table.settings
    size = f"{table.segments} segments"
    if table.documents != table.segments:
        size += f", {table.documents} documents"
    for id, compared in table.metrics.items():
        better = "higher" if compared.higher_is_better else "lower"
        print(_bold(f"{id} on {table.testset}", colour), f"({size}; {better} is better)", file=file)
        for line in _systems(compared):
            print(line, file=file)
        print(file=file)
        for line in _pairs(compared, settings.alpha):
            print(line, file=file)
        for line in _clusters(compared):
            print(line, file=file)
        print(f"signature: {compared.signature}\n", file=file)
    adjusted = {"holm": "Holm", "bh": "Benjamini-Hochberg"}.get(settings.correction)
    print(
        f"p: {'adjusted for all pairs (' + adjusted + '), ' if adjusted else ''}"
        f"* at or below {settings.alpha:g}; a small p speaks of:",
        file=file,
    )
    first = next(iter(table.metrics.values()))
    for method, scope in {r.method: r.generalises_to for r in first.tests}.items():
        print(f"  {method}: {scope}", file=file)
    notes: dict[tuple[str, str], list[str]] = {}
    for id, compared in table.metrics.items():
        for result in compared.tests:
            if result.note:
                where = notes.setdefault((result.method, result.note), [])
                where.append(f"{id} {result.b} - {result.a}")
    if notes:
        print("notes:", file=file)
        for (method, note), where in notes.items():
            text = f"{method}: {note} ({_listed(where)})"
            print(
                textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    "), file=file
            )


def _listed(where: list[str]) -> str:
    """A few of many."""
    return ", ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")


def _systems(compared: Result) -> list[str]:
    width = max(6, *(len(name) for name in compared.systems))
    rows = [f"  {'system':<{width}} {'n':>4} {'score':>8} {'s_sel':>7} {'s_test':>7}   median run"]
    for name, summary in compared.systems.items():
        rows.append(
            f"  {name:<{width}} {summary.n:>4} {score(summary.avg):>8} {score(summary.s_sel):>7} "
            f"{score(summary.s_test):>7}   {summary.median_replica}"
        )
    return rows


def _pairs(compared: Result, alpha: float) -> list[str]:
    methods = list(dict.fromkeys(result.method for result in compared.tests))
    pairs = list(dict.fromkeys((result.a, result.b) for result in compared.tests))
    found = {(result.a, result.b, result.method): result for result in compared.tests}
    names = {pair: f"{pair[1]} - {pair[0]}" for pair in pairs}
    width = max([10, *map(len, names.values())])
    rows = []
    left = 2 + width + 1 + 8 + 1 + 18
    for part in _that_fit(methods, WIDTH - left):
        rows.append(
            f"  {'difference':<{width}} {'delta':>8} {'CI':>18}"
            + "".join(f" {'p ' + method:>{len(method) + 3}}" for method in part)
        )
        for pair in pairs:
            lead = found[(*pair, methods[0])]
            delta = compared.systems[pair[1]].avg - compared.systems[pair[0]].avg
            between = interval(lead.ci_low, lead.ci_high)
            row = f"  {names[pair]:<{width}} {signed(delta):>8} {between:>18}"
            for method in part:
                result = found[(*pair, method)]
                p = result.p if result.p_adjusted is None else result.p_adjusted
                mark = "*" if p is not None and p <= alpha else " "
                row += f" {p_value(p) + mark:>{max(len(method) + 3, 6)}}"
            rows.append(row.rstrip())
    return rows


def _clusters(compared: Result) -> list[str]:
    """For three systems and more: each system beats all those behind a `>`."""
    if len(compared.systems) < 3:
        return []
    rows = [
        textwrap.fill(
            f"{method}: {' > '.join(', '.join(names) for names in ranking.clusters)}",
            WIDTH,
            initial_indent="    ",
            subsequent_indent="      ",
        )
        for method, ranking in compared.rankings().items()
        if ranking.clusters is not None
    ]
    return ["", "  clusters (each system beats all behind a >)", *rows] if rows else []


def _that_fit(methods: list[str], width: int) -> list[list[str]]:
    """Columns of p in blocks that fit beside each other."""
    blocks: list[list[str]] = [[]]
    used = 0
    for method in methods:
        needed = max(len(method) + 3, 6) + 1
        if blocks[-1] and used + needed > width:
            blocks.append([])
            used = 0
        blocks[-1].append(method)
        used += needed
    return blocks


def _bold(text: str, colour: bool) -> str:
    return f"\033[1m{text}\033[0m" if colour else text
