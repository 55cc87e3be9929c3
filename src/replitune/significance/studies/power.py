"""How many replicas and segments does it take to find a difference of d?

The power of plans with other numbers (`planned`), from a finished comparison, the pilot (`pilot`),
as rows and sentences. More segments do not reduce the noise of runs: if that alone is too large, no
number of segments suffices. A pilot with few runs shows their noise poorly, so every answer has an
interval: what it would be at the extremes of the pilot's components.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from replitune.significance.critical import Drawn
from replitune.significance.noise_ratio import Pairs
from replitune.significance.studies.pilot import Pilot, VarianceModel
from replitune.significance.studies.planned import (
    FEW_NODES,
    MANY_SEGMENTS,
    NODES,
    SEARCH_NODES,
    Plan,
    Planned,
    PlannedInFamily,
)

CONFIDENCE = 0.9
"""Confidence of the intervals."""
Interval = tuple[float, float]
NOISE_RATIO = 3.0
"""The bound in sentences about families: twice the ratio seen in systems of one kind."""


N = TypeVar("N", int, float)


@dataclass(frozen=True)
class Estimate(Generic[N]):
    """A number, and the limits that the pilot leaves open; None where nothing was asked, or no number
    suffices."""

    value: N | None = None
    low: N | None = None
    high: N | None = None


@dataclass(frozen=True)
class PowerRow:
    """Power of `crossed` at one plan and true difference: `studies/power/<testset>/<metric>`."""

    a: str
    b: str
    n_a: int
    n_b: int
    tuners: int
    segments: int
    """`MANY_SEGMENTS` stands for any number of them."""
    design: bool
    """Whether the plan is that of this experiment."""
    scope: Drawn
    """`both`; or `runs`, where the test set says nothing about new text."""
    unit: str
    """What is new in a new test set; with `document`, `segments` come in documents of the size at
    hand."""
    documents: int | None
    alpha: float
    delta: float
    power: Estimate[float]
    se: float
    """sqrt(Var(delta)) under the plan."""
    wanted: float
    """Probability of finding a difference of `detectable`."""
    detectable: Estimate[float]
    confidence: float = CONFIDENCE
    """Confidence of the limits of estimates."""
    asked: float | None = None
    """A difference to be found with the wanted probability and these numbers of replicas."""
    needed: Estimate[int] = Estimate()
    """Segments that this takes."""
    margin: float | None = None
    """Two systems that differ by less count as the same."""
    same: Estimate[float] = Estimate()
    """Probability that two systems without any difference are shown to be the same."""
    smallest_margin: Estimate[float] = Estimate()
    """The margin for which this probability is `wanted`."""


def design(pilot: Pilot) -> Plan:
    """The plan of a finished comparison: with its tuners where each has two replicas or more."""
    return Plan(pilot.n_a, pilot.n_b, pilot.segments, pilot.tuners)


def plans(pilot: Pilot, replicas: Sequence[int], segments: Sequence[int] = ()) -> list[Plan]:
    """The plan of the experiment, and every number of replicas with every number of segments.

    Without `segments`: those at hand, twice and four times as many, and any number.
    """
    N = pilot.segments
    own = design(pilot)
    if pilot.scope == "runs":  # on this text
        return list(dict.fromkeys([own, *(Plan(n, n, N) for n in replicas)]))
    chosen = [own] if segments else [own, replace(own, segments=MANY_SEGMENTS)]
    for m in segments or (N, 2 * N, 4 * N, MANY_SEGMENTS):
        chosen += [Plan(n, n, m) for n in replicas]
    return list(dict.fromkeys(chosen))


def power_curve(
    pilot: Pilot,
    plans: Sequence[Plan],
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    asked: float | None = None,
    margin: float | None = None,
    points: int = 25,
) -> list[PowerRow]:
    """Power over true differences from 0 to where it is all but certain, for each plan."""
    made = {
        plan: (Planned(pilot.model, plan, alpha=alpha), extreme(pilot, plan, alpha, power))
        for plan in plans
    }
    widest = max(float(one.detectable(0.99)) for one, _ in made.values())
    needs: dict[tuple[int, int, int], Estimate[int]] = {}
    for plan in plans:
        if asked is not None and pilot.scope == "both" and plan.runs not in needs:
            needs[plan.runs] = needed(pilot, plan, asked, alpha=alpha, power=power)
    rows = []
    for plan, (one, many) in made.items():
        row = PowerRow(
            a=pilot.a,
            b=pilot.b,
            n_a=plan.n_a,
            n_b=plan.n_b,
            tuners=plan.tuners,
            segments=plan.segments,
            design=plan == design(pilot),
            scope=pilot.scope,
            unit=pilot.unit,
            documents=documents(pilot, plan.segments),
            alpha=alpha,
            delta=0.0,
            power=Estimate(),
            se=float(one.se),
            wanted=power,
            detectable=_between(one.detectable(power), many.detectable(power)),
            asked=asked,
            needed=needs.get(plan.runs, Estimate()),
        )
        if margin is not None:
            row = replace(
                row,
                margin=margin,
                same=_between(one.same(margin), many.same(margin)),
                smallest_margin=_between(one.smallest_margin(power), many.smallest_margin(power)),
            )
        rows += [
            replace(row, delta=float(x), power=_between(one.power(x), many.power(x)))
            for x in np.linspace(0.0, widest, points)
        ]
    return rows


def documents(pilot: Pilot, segments: int) -> int | None:
    """How many documents like those at hand have this number of segments; None if segments are the
    unit, and for any number of segments."""
    if pilot.documents is None or segments >= MANY_SEGMENTS:
        return None
    return max(1, round(segments * pilot.documents / pilot.segments))


def extreme(pilot: Pilot, plan: Plan, alpha: float, power: float, nodes: int = NODES) -> Planned:
    """A plan under the components (2, ...) at which the difference that it detects is at the limits
    of its interval."""

    def detectable(model: VarianceModel) -> NDArray[np.float64]:
        return Planned(model, plan, alpha=alpha, nodes=FEW_NODES).detectable(power)

    return Planned(pilot.extremes(detectable, CONFIDENCE), plan, alpha=alpha, nodes=nodes)


def limits(ends: NDArray[np.float64], *own: float) -> Interval:
    """The interval that two ends (2,) make, with the estimate inside."""
    values = [*ends.tolist(), *own]
    return min(values), max(values)


def _between(estimate: NDArray[np.float64], ends: NDArray[np.float64]) -> Estimate[float]:
    """An answer and its limits."""
    return Estimate(float(estimate), *limits(ends, float(estimate)))


# -- segments for a difference ------------------------------------------------------------


def needed(
    pilot: Pilot, plan: Plan, delta: float, *, alpha: float = 0.05, power: float = 0.8
) -> Estimate[int]:
    """Segments with which a plan's replicas find `delta`, and their limits.

    The limits are the numbers at which the limits of the detectable difference are `delta`.
    """

    def estimate(N: int) -> float:
        planned = Planned(pilot.model, replace(plan, segments=N), alpha=alpha, nodes=SEARCH_NODES)
        return float(planned.detectable(power))

    def end(number: int, N: int) -> float:
        planned = extreme(pilot, replace(plan, segments=N), alpha, power, FEW_NODES)
        return float(planned.detectable(power)[number])

    return Estimate(
        segments_needed(estimate, delta),
        segments_needed(partial(end, 0), delta),
        segments_needed(partial(end, 1), delta),
    )


def segments_needed(detectable: Callable[[int], float], delta: float, fewest: int = 2) -> int | None:
    """The fewest segments N with detectable(N) <= delta, to half a percent; None when no number of
    them suffices.

    `detectable` decreases, and its square is almost linear in 1/N.
    """
    delta = abs(delta)
    known = {MANY_SEGMENTS: detectable(MANY_SEGMENTS)}
    if known[MANY_SEGMENTS] > delta:
        return None
    known[fewest] = detectable(fewest)
    if known[fewest] <= delta:
        return fewest
    low, high = fewest, MANY_SEGMENTS
    last, before = low, high
    while high - low > max(1, high // 200):
        squares = known[last] ** 2 - known[before] ** 2
        inverse = 1 / last + (delta**2 - known[last] ** 2) * (1 / last - 1 / before) / (squares or 1.0)
        # a little beyond the root, so that the next value bounds it from the other side
        beyond = 1 + (0.002 if known[last] > delta else -0.002)
        guess = round(beyond / inverse) if inverse > 1 / MANY_SEGMENTS else 0
        if not low < guess < high:
            guess = round((low * high) ** 0.5)
            guess = min(max(guess, low + 1), high - 1)
        known[guess] = detectable(guess)
        last, before = guess, last
        low, high = (guess, high) if known[guess] > delta else (low, guess)
    return high


# -- in words -----------------------------------------------------------------------------


def sentence(row: PowerRow, metric: str = "") -> str:
    """What a plan can find, in words; if asked, also what a given difference would take, and whether
    two equal systems would be shown to be the same."""
    n = f"{row.n_a}" if row.n_a == row.n_b else f"{row.n_a} and {row.n_b}"
    runs = f"{n} runs" + (f" of {row.tuners} tuners" if row.tuners > 1 else "")
    name = metric and f" {metric}"
    text = f"{runs} and {testset_size(row.segments, row.documents)} would detect "
    detectable = row.detectable.value
    text += f"a difference of {detectable:.2g}{name}" if detectable else "any difference"
    here = "" if row.scope == "both" else "on this text, "
    text += f" ({here}{_range(row, row.detectable)}power {row.wanted:g}, alpha {row.alpha:g})"
    if row.asked is not None and row.scope == "both":
        text += f"; {_needs(row, runs)}"
    if row.margin is not None:
        text += (
            f"; would show two equal systems to be the same within {row.margin:g} with probability "
            f"{row.same.value:.2f} ({_range(row, row.same, '.2f')}with {row.wanted:g} within "
            f"{row.smallest_margin.value:.2g})"
        )
    return text


def family_sentence(
    pilot: Pilot, replicas: Sequence[int], pairs: Pairs, *, alpha: float = 0.05, power: float = 0.8
) -> str:
    """The differences that would be detected with p adjusted for all `pairs`, in words: with a bound on
    the noise of runs, and without one, by Bonferroni's correction (max-t is never stricter)."""
    found = []
    for n in replicas:
        bounded = PlannedInFamily(pilot.model, n, pilot.segments, NOISE_RATIO, pairs, alpha=alpha)
        plain = Planned(pilot.model, Plan(n, n, pilot.segments), alpha=alpha / len(pairs))
        found.append(f"{bounded.detectable(power):.2g} with {n} runs ({plain.detectable(power):.2g})")
    return (
        f"for one of {len(pairs)} pairs, with adjusted p, `crossed: {{noise_ratio: {NOISE_RATIO:g}}}`, "
        f"chosen before looking, would detect (in brackets: at most, without it) {', '.join(found)}"
    )


def testset_size(segments: int, documents: int | None) -> str:
    if segments >= MANY_SEGMENTS:
        return "any number of segments"
    return f"{segments:,} segments" + (f" ({documents:,} documents)" if documents else "")


def _range(row: PowerRow, estimate: Estimate[float], form: str = ".2g") -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{100 * row.confidence:.0f}%: {estimate.low:{form}} to {estimate.high:{form}}; "


def _needs(row: PowerRow, runs: str) -> str:
    needed = row.needed
    percent = f"{100 * row.confidence:.0f}%"
    if needed.value is None:
        text = f"no number of segments suffices for {row.asked:.2g} with {runs}"
        return text + ("" if needed.low is None else f" ({percent}: {needed.low:,} might)")
    high = "any number" if needed.high is None else f"{needed.high:,}"
    span = "" if needed.low is None else f" ({percent}: {needed.low:,} to {high})"
    return f"for {row.asked:.2g}, {runs} need {needed.value:,} segments{span}"
