"""How metrics, tests and corrections are called in print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replitune.significance.registry import TESTS

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
CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "uncorrected"}


def base_name(word: str) -> str:
    """``ter`` of ``ter:id=ter-norm,normalized=true``."""
    return word.partition(":")[0]


def display_name(word: str, id: str) -> str:
    """A metric as papers write it; its id when it has no such name.

    >>> display_name("ter:id=ter-norm,normalized=true", "ter-norm")
    'TER'
    """
    return METRICS.get(base_name(word), id)


def display_names(metrics: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Names by id of the (word, id) `metrics`; two metrics of one name also show their id."""
    names = {id: display_name(word, id) for word, id in metrics}
    shown = list(names.values())
    return {id: f"{n} ({id})" if shown.count(n) > 1 else n for id, n in names.items()}


def registered_names(methods: Sequence[Any]) -> dict[str, str]:
    """The test behind each label: ``clark:pairing=index,id=ci`` is called ci.

    >>> registered_names(["crossed", "clark:pairing=index,id=ci"])
    {'crossed': 'crossed', 'ci': 'clark'}
    """
    entries = [TESTS.entry(method) for method in methods]
    return {entry.id: entry.name for entry in entries}


def count(number: int, what: str) -> str:
    """``1 replica``, ``3 replicas``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
