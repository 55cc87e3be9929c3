"""A decision for machines: whether B is better, not worse, or the same, by the test that leads.

It must hold for all tested pairs under all metrics. For `not-worse` and `same` no correction is needed
then: all of several tests reject by chance no more often than one (intersection-union).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replitune.errors import ReplituneError
from replitune.results.result import Result
from replitune.significance.base import TestResult
from replitune.significance.settings import Rule

ODD_RUN = 0.01
"""p of the oddest run, of normal runs, below which nothing is decided."""


@dataclass(frozen=True)
class Decision:
    """Whether the rule holds, and for which pairs."""

    rule: Rule
    ok: bool
    pairs: tuple[dict[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        return {"rule": self.rule, "ok": self.ok, "pairs": list(self.pairs)}


def decide(results: Sequence[Result], rule: Rule, allow_odd_runs: bool = False) -> Decision:
    """Of every pair (A, B): B is better than A, not worse than A by the margin, or the same within
    it. Not so where a run is so odd that runs of its system are not normal, unless that is allowed: a
    system whose bad runs were not drawn passes too often."""
    for result in results:
        systems = len(result.systems)
        if systems > 2 and 2 * len(result.pairs) == systems * (systems - 1):
            raise ReplituneError(
                "which system is to be judged?",
                found=f"all pairs of {systems} systems",
                fix="name the one that the others are compared with as --baseline",
            )
    pairs = tuple(
        _pair(result, test, rule, allow_odd_runs)
        for result in results
        for test in result.tests
        if test.method == result.lead_method
    )
    if not pairs:
        raise ReplituneError("no pair was tested, so nothing can be decided")
    return Decision(rule, all(pair["ok"] for pair in pairs), pairs)


def _pair(result: Result, test: TestResult, rule: Rule, allow_odd_runs: bool) -> dict[str, Any]:
    if result.neutral:
        raise ReplituneError(f"for {result.metric}, neither more nor less is better")
    margin = test.details.get("margin")
    if rule != "better" and margin is None:
        raise ReplituneError(
            f"`{rule}` needs a margin for {result.metric}",
            fix="say what counts as the same: "
            "--margin 0.5, or --margin METRIC=0.5; the test crossed uses margins",
        )
    p = {
        "better": test.p if test.p_adjusted is None else test.p_adjusted,
        "not-worse": test.details.get("p_no_worse_b"),
        "same": test.details.get("p_same"),
    }[rule]
    ahead = (test.delta > 0) == result.higher_is_better and test.delta != 0
    odd = test.details.get("p_odd_run", 1.0) <= ODD_RUN
    ok = p is not None and p <= result.alpha and (rule != "better" or ahead)
    ok = ok and (allow_odd_runs or not odd)
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
        "odd_runs": [note.text for note in test.notes if odd and note.code == "unstable-run"],
        "ok": ok,
    }
