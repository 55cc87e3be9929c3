"""A decision for machines: whether B is better, not worse, or the same, by the test that leads.

It must hold for all tested pairs under all metrics. For single outputs it never holds: they say
nothing about other runs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from replitune.errors import ReplituneError
from replitune.results.answer import Answer
from replitune.results.result import Result
from replitune.significance.settings import Rule

ODD_RUN = 0.01
"""Nothing is decided if p of the oddest run, assuming normal runs, is at most this."""


@dataclass(frozen=True)
class Decision:
    """Whether the rule holds, and for which pairs."""

    rule: Rule
    ok: bool
    pairs: tuple[dict[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        return {"rule": self.rule, "ok": self.ok, "pairs": list(self.pairs)}


def junit(decision: Decision) -> str:
    """The decision as JUnit XML: a suite for each test set and metric, a test case for each pair."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    def counted(element: Element, pairs: Sequence[dict[str, Any]]) -> Element:
        element.set("tests", f"{len(pairs)}")
        element.set("failures", f"{sum(not pair['ok'] for pair in pairs)}")
        return element

    root = counted(Element("testsuites", name="replitune"), decision.pairs)
    for testset, metric in dict.fromkeys((pair["testset"], pair["metric"]) for pair in decision.pairs):
        own = [pair for pair in decision.pairs if (pair["testset"], pair["metric"]) == (testset, metric)]
        suite = counted(SubElement(root, "testsuite", name=f"{testset}.{metric}"), own)
        for pair in own:
            name = f"{pair['b']} is {decision.rule} against {pair['a']}"
            case = SubElement(suite, "testcase", classname=f"{testset}.{metric}", name=name)
            keys = ("delta", "ci", "margin", "p", "method")
            said = ", ".join(f"{key} {pair[key]}" for key in keys if pair[key] is not None)
            if not pair["ok"]:
                SubElement(
                    case,
                    "failure",
                    type=decision.rule,
                    message="; ".join(pair["refused"]) or f"not shown: {said}",
                )
            SubElement(case, "system-out").text = said
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def decide(results: Sequence[Result], rule: Rule, allow: Collection[str] = ()) -> Decision:
    """Whether, in every pair (A, B), B is better than A, not worse than A by the margin, or the same
    within it. Never for outputs that can hardly be translations of these segments, nor where p is not
    what it says, unless that is allowed, by the name of a `notes.Gate`. So a run that is odd enough to
    show that its system's runs are not normal is refused: such a system would pass too often, when none
    of its bad runs was drawn."""
    pairs = tuple(_pair(result, answer, rule, allow) for result in results for answer in result.answers)
    if not pairs:
        raise ReplituneError("no pair was tested, so nothing can be decided")
    return Decision(rule, all(pair["ok"] for pair in pairs), pairs)


def _pair(result: Result, answer: Answer, rule: Rule, allow: Collection[str]) -> dict[str, Any]:
    if result.neutral:
        raise ReplituneError(f"for {result.metric}, neither more nor less is better")
    if rule != "better" and answer.margin is None and answer.state != "these-outputs":
        raise ReplituneError(
            f"`{rule}` needs a margin for {result.metric}",
            fix=f"say what counts as the same, on this metric's scale, such as --margin {_small(result)}; "
            "the test crossed uses margins",
        )
    test = result.test((answer.a, answer.b), answer.method)
    assert test is not None
    refused = [note.sentence for note in answer.trust if note.kind.doubt]
    if answer.state == "these-outputs":
        text = f"{answer.grave[0].sentence} No rule can be decided from these outputs; next: {answer.next}"
        refused.append(text)
    p = {"better": answer.p, "not-worse": "p_no_worse_b", "same": "p_same"}[rule]
    normal = test.details.get("p_odd_run", 1.0) > ODD_RUN
    for note in answer.trust:
        gate = note.kind.gate
        if gate is not None and gate.name not in allow and not (normal and note.code == "unstable-run"):
            refused.append(f"{note.sentence.removesuffix('.')} (--allow-{gate.name})")
    return {
        "testset": result.testset,
        "metric": result.metric,
        "a": answer.a,
        "b": answer.b,
        "method": answer.method,
        "state": answer.state,
        "delta": test.delta,
        "ci": [test.ci_low, test.ci_high],
        "margin": answer.margin,
        "p": test.details.get(p) if isinstance(p, str) else p,
        "refused": refused,
        "ok": rule in answer.holds and not refused,
    }


def _small(result: Result) -> str:
    """A small difference on the scale of the scores: 0.5 of 100, 0.005 of 1."""
    largest = max(abs(summary.avg) for summary in result.systems.values())
    return f"{0.005 * 10 ** math.ceil(math.log10(largest or 1.0)):g}"
