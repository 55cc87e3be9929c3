"""What metrics, tests, intervals and corrections are called in print."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from replitune.metrics.registry import METRICS

if TYPE_CHECKING:
    from replitune.results.result import Result
    from replitune.significance.base import RunKind, Scope, TestResult

CORRECTIONS = {"max-t": "max-t", "holm": "Holm", "bh": "Benjamini-Hochberg", "none": "uncorrected"}
INTERVALS = {"riezler": "Riezler", "clark": "Clark", "fu": "test-set"}
"""Interval methods as Fu et al. (2016), Table 7, call them."""
LEVELS = {"system": "systems", "segment": "all judged outputs", "average": "systems within segments"}
"""What a correlation of metrics with people is over."""
COMPARISONS = {"williams": "Williams' test", "perm-systems": "PERM-SYS", "perm-both": "PERM-BOTH"}
"""Tests of two metrics."""


def base_name(word: str) -> str:
    """``ter`` of ``ter:id=ter-norm,normalized=true``."""
    return word.partition(":")[0]


def with_names(results: Sequence[Result]) -> list[Result]:
    """The results with names for print; metrics that share a name also show their ids."""
    names = {r.metric: title(base_name(r.word)) or r.metric for r in results}
    shown = list(names.values())
    for id, name in names.items():
        if shown.count(name) > 1:
            names[id] = f"{name} ({id})"
    return [replace(result, name=names[result.metric]) for result in results]


def title(metric: str) -> str:
    """A metric's name in print; empty if its class has none or is not installed."""
    return str(vars(METRICS[metric]).get("title", "")) if metric in METRICS.names else ""


CODE = re.compile(r"`([^`]+)`")


def plain(text: str) -> str:
    """A sentence without the backticks around its code."""
    return CODE.sub(r"\1", text)


def as_html(text: str) -> str:
    """The same, escaped, with its code as code."""
    return CODE.sub(r"<code>\1</code>", escape(text))


SCOPES: dict[Scope, tuple[str, str]] = {
    "both": ("new {unit}s and new {kind}s", "on new text and in new {runs}"),
    "runs": ("new {kind}s on this test set", "in new {runs} on this test set"),
    "samples": ("new {unit}s and new {kind}s", "on new text and in new {runs}"),
    "segments": ("new {unit}s", "on new text, for these {runs}"),
    "outputs": ("these outputs: not alike in every {unit}", "in these outputs"),
}
"""What a small p generalises to, by itself and as where a system is better."""


def generalises_to(test: TestResult) -> str:
    """``new segments and new tuning runs``"""
    unit = "segment" if test.unit == "replica" else test.unit
    return SCOPES[test.scope][0].format(unit=unit, kind=test.run_kind)


def where(test: TestResult) -> str:
    """``on new text and in new runs``"""
    return SCOPES[test.scope][1].format(runs=f"{word_of(test)}s")


def word_of(test: TestResult) -> str:
    """The word for what a replica of a test is: run, prompt, sample."""
    return short(test.run_kind)


def short(kind: RunKind) -> str:
    """Without what made a run: run, prompt, sample."""
    return kind if kind in ("prompt", "sample") else "run"


def count(number: int, what: str) -> str:
    """``1 run``, ``3 runs``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """``BLEU, chrF and TER``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


FAMILIES = {
    "pairs": "all pairs of a test set, metric and test",
    "pairs x metrics": "all pairs and metrics of a test set and test",
    "all": "all pairs, metrics and test sets of a test",
}


def corrected(results: Sequence[Result], family: str) -> str:
    """How p-values were corrected: ``corrected for all pairs of ... (max-t: crossed; Holm: clark)``."""
    used: dict[str, list[str]] = {}
    for row in (row for result in results for row in result.tests):
        if row.correction is not None and row.method not in used.setdefault(row.correction, []):
            used[row.correction].append(row.method)
    alone = family == "pairs" and all(len(result.pairs) < 2 for result in results)
    if not used or alone or [*used] == ["none"]:
        return "not corrected"
    by_correction = "; ".join(f"{CORRECTIONS[name]}: {', '.join(by)}" for name, by in used.items())
    how = CORRECTIONS[next(iter(used))] if len(used) == 1 else by_correction
    return f"corrected for {FAMILIES[family]} ({how})"
