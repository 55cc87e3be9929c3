"""How metrics, tests, intervals and corrections are called in print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replitune.results.result import Result

METRICS = {
    "bleu": "BLEU",
    "bleu+1": "BLEU+1",
    "chrf": "chrF",
    "chrf++": "chrF++",
    "length": "length ratio",
    "meteor": "METEOR",
    "nist": "NIST",
    "ribes": "RIBES",
    "ter": "TER",
}
CORRECTIONS = {"max-t": "max-t", "holm": "Holm", "bh": "Benjamini-Hochberg", "none": "uncorrected"}
INTERVALS = {"riezler": "Riezler", "clark": "Clark", "fu": "test-set"}
"""Interval methods as Fu et al. (2016), Table 7, call them."""


def base_name(word: str) -> str:
    """``ter`` of ``ter:id=ter-norm,normalized=true``."""
    return word.partition(":")[0]


def named(results: Sequence[Result]) -> list[Result]:
    """The results with their metrics called as papers call them, or else by their ids; two
    metrics of one name also show their ids."""
    names = {r.metric: METRICS.get(base_name(r.word), r.metric) for r in results}
    shown = list(names.values())
    for id, name in names.items():
        if shown.count(name) > 1:
            names[id] = f"{name} ({id})"
    return [replace(result, name=names[result.metric]) for result in results]


def count(number: int, what: str) -> str:
    """``1 replica``, ``3 replicas``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
