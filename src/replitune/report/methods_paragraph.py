"""The methods paragraph, to be pasted into a paper."""

from __future__ import annotations

from replitune import __version__
from replitune.report.material import Material
from replitune.results.wording import corrected, listed
from replitune.significance.looks.record import Record
from replitune.significance.registry import TESTS


def _looks(record: Record) -> str:
    plan, (used, most) = record.plan, record.runs
    sizes = sorted({n for sizes in plan.sizes.values() for n in sizes})
    return (
        f"How many of at most {most} runs were made ({used}) was decided by {len(record.looks)} of the "
        f"planned looks, at {listed([*map(str, sizes)])} runs, by {plan.metric} on {plan.testset}: a "
        "difference was settled when the probability that the runs not made would undo it was below "
        f"{plan.doubt:g} times the level of its test, and given up when the probability that they would "
        f"settle it was below {100 * plan.futility:g}%. "
    )


CONVOLVED = ", exact over all exchanges (Zmigrod et al., 2022)"


MADE = {
    "run": ("Every system was tuned or trained {times} times", "Every system was run once"),
    "prompt": ("Every system was asked with {times} prompts", "Every system was asked with one prompt"),
    "sample": (
        "From every system {times} outputs were drawn for each segment",
        "From every system one output was drawn for each segment",
    ),
}
"""How the outputs of a system came about, if there are several, and if there is one."""


def _cited(test: str) -> str:
    """How a test cites itself; its name if it does not, or is not installed."""
    return str(getattr(TESTS[test], "cited", test)) if test in TESTS.names else test


def methods(material: Material) -> list[str]:
    """Paragraphs that say what was computed, with the signature of every metric."""
    cells = material.cells
    used = list(dict.fromkeys(result.method for cell in cells for result in cell.tests))
    convolved = {r.method for cell in cells for r in cell.tests if r.exact and r.samples is None}
    described = "; ".join(
        f"{name}: {_cited(name)}{CONVOLVED if name in convolved else ''}" for name in used
    )
    signatures = dict.fromkeys((cell.name, cell.signature) for cell in cells)
    metrics = "; ".join(f"{metric} ({signature})" for metric, signature in signatures)
    adjusted = f"p-values are {corrected(cells, material.family)}"
    runs = {system.n for cell in cells for system in cell.systems.values()}
    times = f"{min(runs)}" if len(runs) == 1 else f"{min(runs, default=0)} to {max(runs, default=0)}"
    made, once = MADE[material.kind]
    nested = next((one.counts.runs for cell in cells for one in cell.answers if one.counts.samples_a), "")
    made += f" ({nested})" if nested else ""
    replicated = (
        once
        if runs == {1}
        else f"{made.format(times=times)}, and scores are means over these {material.kind}s, following "
        "Clark et al. (2011)"
    )
    about_looks = "" if material.looks is None else _looks(material.looks)
    tested = (
        f"Differences were tested at {material.alpha:g} by {described}. Resampling tests use "
        f"{material.samples:,} samples; {adjusted}."
        if used
        else "No differences were tested."
    )
    return [
        f"{replicated}. {about_looks}{tested} Computed with replitune {__version__}.",
        f"Metrics: {metrics}.",
        "p is the probability of observing a difference at least as large if there were none in the "
        "population that the test generalises to. It is not the probability that the systems are equal, "
        "and a small difference can be significant.",
    ]
