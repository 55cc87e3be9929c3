"""A decision for machines: whether B is better, not worse, or the same, by the test that leads.

It must hold for all tested pairs under all metrics. For `not-worse` and `same` no correction is needed
then: all of several tests reject by chance no more often than one (intersection-union).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replitune.errors import ReplituneError
from replitune.results.result import Result
from replitune.significance.base import TestResult
from replitune.significance.settings import Rule


@dataclass(frozen=True)
class Decision:
    """Whether the rule holds, and for which pairs."""

    rule: Rule
    ok: bool
    pairs: tuple[dict[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        return {"rule": self.rule, "ok": self.ok, "pairs": list(self.pairs)}


def decide(results: Sequence[Result], rule: Rule) -> Decision:
    """Of every pair (A, B): B is better than A, not worse than A by the margin, or the same within
    it."""
    for result in results:
        systems = len(result.systems)
        if systems > 2 and 2 * len(result.pairs) == systems * (systems - 1):
            raise ReplituneError(
                "which system is to be judged?",
                found=f"all pairs of {systems} systems",
                fix="name the one that the others are compared with as --baseline",
            )
    pairs = tuple(
        _pair(result, test, rule)
        for result in results
        for test in result.tests
        if test.method == result.lead_method
    )
    if not pairs:
        raise ReplituneError("no pair was tested, so nothing can be decided")
    return Decision(rule, all(pair["ok"] for pair in pairs), pairs)


def _pair(result: Result, test: TestResult, rule: Rule) -> dict[str, Any]:
    if result.neutral:
        raise ReplituneError(f"for {result.metric}, neither more nor less is better")
    margin = test.details.get("margin")
    if rule != "better" and margin is None:
        raise ReplituneError(
            f"`{rule}` needs a margin for {result.metric}",
            fix=f"say what counts as the same, on this metric's scale, such as --margin {_small(result)}; "
            "the test crossed uses margins",
        )
    p = {
        "better": test.p if test.p_adjusted is None else test.p_adjusted,
        "not-worse": test.details.get("p_no_worse_b"),
        "same": test.details.get("p_same"),
    }[rule]
    ahead = (test.delta > 0) == result.higher_is_better and test.delta != 0
    ok = p is not None and p <= result.alpha and (rule != "better" or ahead)
    return {
        "testset": result.testset,
        "metric": result.metric,
        "a": test.a,
        "b": test.b,
        "method": test.method,
        "delta": test.delta,
        "ci": [test.ci_low, test.ci_high],
        "margin": margin,
        "p": p,
        "ok": ok,
    }


def _small(result: Result) -> str:
    """A small difference on the scale of the scores: 0.5 of 100, 0.005 of 1."""
    largest = max(abs(summary.avg) for summary in result.systems.values())
    return f"{0.005 * 10 ** math.ceil(math.log10(largest or 1.0)):g}"
