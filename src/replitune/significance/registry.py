"""The tests, and the intervals of one system, by name.

A test is a subclass of `interface.SignificanceTest`. An interval is a function (metric, system, documents,
draws, *, samples, confidence, ...) -> Interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from replitune.registry import Entry, Registry

if TYPE_CHECKING:
    from replitune.significance.interface import SignificanceTest

TESTS: Registry[type[SignificanceTest]] = Registry(
    "test",
    {
        "crossed": "replitune.significance.tests.crossed:Crossed",
        "lmem": "replitune.significance.tests.lmem:Lmem",
        "multi-bootstrap": "replitune.significance.tests.bootstraps:MultiBootstrap",
        "riezler": "replitune.significance.tests.randomisation:Riezler",
        "koehn": "replitune.significance.tests.bootstraps:Koehn",
        "graham": "replitune.significance.tests.bootstraps:Graham",
        "clark": "replitune.significance.tests.randomisation:Clark",
        "clark-bootstrap": "replitune.significance.tests.bootstraps:ClarkBootstrap",
        "fu-ar": "replitune.significance.tests.replicas:FuAr",
        "fu-bootstrap": "replitune.significance.tests.bootstraps:FuBootstrap",
        "human": "replitune.significance.tests.human:Human",
        "replica-permutation": "replitune.significance.tests.replicas:ReplicaPermutation",
    },
    group="replitune.tests",
    base="replitune.significance.interface:SignificanceTest",
)

LEAD = "crossed"
"""The kind of test that leads: verdicts, ranks and looks are based on its first entry."""

PEOPLE = "human"
"""The kind of test that tests people's judgements, not a metric."""


def leading(methods: Sequence[Entry]) -> Entry:
    """The test that leads: the first of kind `LEAD`, or else the first of all."""
    return next((entry for entry in methods if entry.name == LEAD), methods[0])


INTERVALS: Registry[Callable[..., Any]] = Registry(
    "interval",
    {
        "riezler": "replitune.significance.one_system:riezler_interval",
        "clark": "replitune.significance.one_system:clark_interval",
        "fu": "replitune.significance.one_system:fu_interval",
    },
)
