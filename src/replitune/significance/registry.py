"""The tests, and the intervals of one system, by name.

A test is a function (comparison, *, ...) -> TestResult, or (comparisons, *, ...) -> a list of
them for the same pair of systems under several metrics. Its options are declared in its
signature. The caller passes what it takes of `rng` (its own Generator), `draws` (shared by
bootstraps), `samples` and `alpha`. An interval is a function (metric, system, documents,
draws, *, samples, confidence, ...) -> Interval.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from replitune.registry import Entry, Registry

TESTS: Registry[Callable[..., Any]] = Registry(
    "test",
    {
        "crossed": "replitune.significance.tests.crossed:crossed",
        "lmem": "replitune.significance.tests.lmem:lmem",
        "multi-bootstrap": "replitune.significance.tests.multi_bootstrap:multi_bootstrap",
        "riezler": "replitune.significance.tests.riezler:riezler",
        "koehn": "replitune.significance.tests.koehn:koehn",
        "graham": "replitune.significance.tests.graham:graham",
        "clark": "replitune.significance.tests.clark:clark",
        "clark-bootstrap": "replitune.significance.tests.clark_bootstrap:clark_bootstrap",
        "fu-ar": "replitune.significance.tests.fu_ar:fu_ar",
        "fu-bootstrap": "replitune.significance.tests.fu_bootstrap:fu_bootstrap",
        "human": "replitune.significance.tests.human:human",
        "replica-permutation": ("replitune.significance.tests.replica_permutation:replica_permutation"),
    },
    group="replitune.tests",
    expected="a function of a Comparison that returns a TestResult",
)

LEAD = "crossed"
"""The kind of test that leads: verdicts, ranks and looks are based on its first entry."""

PEOPLE = "human"
"""The kind of test that tests people's judgements, not a metric."""


def takes_design(test: str) -> bool:
    """Whether a test can tell samples of a run from runs."""
    return "design" in inspect.signature(TESTS[test]).parameters


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
