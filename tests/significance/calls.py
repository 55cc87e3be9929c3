"""The tests as functions of a comparison, whose options are settings and parts of the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from replitune.significance.base import Comparison
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.registry import TESTS

OF_CONTEXT = {field.name for field in fields(Context)}


def called(kind: type[SignificanceTest]) -> Callable[..., Any]:
    def call(
        given: Comparison | Sequence[Comparison],
        weights: Sequence[float] = (1.0,),
        *,
        rng: Any = None,
        draws: Any = None,
        margins: Any = None,
        **options: Any,
    ) -> Any:
        """A list: one pair on the test sets of a suite, or under several metrics."""
        common = {name: options.pop(name) for name in OF_CONTEXT & options.keys()}
        if rng is not None:
            common["stream"] = lambda: rng
        test = kind(**options)

        def context(*comparisons: Comparison) -> Context:
            margin = (margins or {}).get(comparisons[0].metric.id)
            return Context(comparisons, weights, shared=draws, margin=margin, **common)

        if isinstance(given, Comparison):
            return test.run(context(given))
        if kind.on_suite:
            return test.run(context(*given))
        return test.run_together([context(comparison) for comparison in given])

    call.kind = kind  # type: ignore[attr-defined]
    return call


clark, clark_bootstrap, crossed, fu_ar, fu_bootstrap, graham, human, koehn, lmem = (
    called(TESTS[name])
    for name in (
        "clark",
        "clark-bootstrap",
        "crossed",
        "fu-ar",
        "fu-bootstrap",
        "graham",
        "human",
        "koehn",
        "lmem",
    )
)
multi_bootstrap, replica_permutation, riezler = (
    called(TESTS[name]) for name in ("multi-bootstrap", "replica-permutation", "riezler")
)
