"""The cheapest plan that finds a difference: how many runs, how many segments?

Runs cost their tuning or training, segments their decoding and scoring by every run:

    cost = n (cost of a run of A and of B + N (cost of a segment by a run of A and of B))

For each n there is a smallest N that suffices, or none; with it the cost falls and then rises in n,
and a ternary search finds where it turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from replitune.errors import ReplituneError
from replitune.significance.studies.pilot import Pilot
from replitune.significance.studies.planned import SEARCH_NODES, Plan, Planned
from replitune.significance.studies.power import (
    CONFIDENCE,
    Interval,
    documents,
    extreme,
    limits,
    segments_needed,
    testset_size,
)
from replitune.significance.system_parts import FEW_UNITS

FEWEST_RUNS = 3
"""With two, the level of `crossed` is approximate."""
MOST_RUNS = 1000
FEWEST_SEGMENTS = 100
"""With fewer segments a test set says little, and normal theory does not hold."""


@dataclass(frozen=True)
class Prices:
    """CPU seconds of one run of A and one of B together."""

    run: float
    """To tune or train them."""
    segment: float
    """To decode and score one segment."""

    def __post_init__(self) -> None:
        if min(self.run, self.segment) < 0 or self.run + self.segment <= 0:
            raise ReplituneError(
                "prices must not be negative, nor all 0",
                found=f"{self.run:g} CPU seconds for a run, {self.segment:g} for a segment",
            )

    def cost(self, plan: Plan) -> float:
        """The cost of n runs of each system."""
        return plan.n_a * (self.run + plan.segments * self.segment)


@dataclass(frozen=True)
class Proposal:
    """A plan that suffices, and its price."""

    plan: Plan
    cost: float
    power: Interval
    """Limits of the power, given the pilot; its estimate is the wanted power."""


@dataclass(frozen=True)
class Proposals:
    """What it takes to find `delta`."""

    pilot: Pilot
    delta: float
    power: float
    alpha: float
    best: Proposal | None
    """None when no plan suffices."""
    others: tuple[Proposal, ...]
    """With fewer and with more runs."""
    at_hand: Proposal | None
    """On the segments at hand; None if no number of runs suffices."""


@dataclass(frozen=True)
class Search:
    """Plans with the same number of runs of both systems that find `delta`."""

    pilot: Pilot
    delta: float
    prices: Prices
    power: float
    alpha: float

    @cached_property
    def fewest_segments(self) -> int:
        least = min(FEWEST_SEGMENTS, self.pilot.segments)
        if self.pilot.documents is not None:
            effective = self.pilot.units * self.pilot.segments
            least = max(least, int(np.ceil((np.minimum(FEW_UNITS, effective) / self.pilot.units).max())))
        return least

    def detectable(self, n: int, N: int) -> float:
        planned = Planned(self.pilot.model, Plan(n, n, N), alpha=self.alpha, nodes=SEARCH_NODES)
        return float(planned.detectable(self.power))

    @cached_property
    def segments(self) -> Callable[[int], int | None]:
        """The fewest segments that n runs need; None if no number suffices."""
        if self.pilot.scope == "runs":  # on this text
            N = self.pilot.segments
            return cache(lambda n: N if self.detectable(n, N) <= self.delta else None)
        return cache(
            lambda n: segments_needed(partial(self.detectable, n), self.delta, self.fewest_segments)
        )

    def cost(self, n: int) -> float:
        N = self.segments(n)
        return np.inf if N is None else self.prices.cost(Plan(n, n, N))

    def fewest_runs(self, enough: Callable[[int], bool]) -> int | None:
        """The smallest n that is enough."""
        if enough(FEWEST_RUNS):
            return FEWEST_RUNS
        low, high = FEWEST_RUNS, 2 * FEWEST_RUNS
        while not enough(high):
            if high == MOST_RUNS:
                return None
            low, high = high, min(2 * high, MOST_RUNS)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    @cached_property
    def first(self) -> int | None:
        """The fewest runs with which some number of segments suffices."""
        return self.fewest_runs(lambda n: self.segments(n) is not None)

    def best(self) -> int | None:
        """The cheapest number of runs."""
        first = self.first
        if first is None:
            return None
        low, high = first, first + 1
        while high < MOST_RUNS and self.cost(high) < self.cost(low):
            low, high = high, min(2 * high, MOST_RUNS)
        low = max(first, low // 2)
        while high - low > 4:
            third = (high - low) // 3
            if self.cost(low + third) <= self.cost(high - third):
                high -= third
            else:
                low += third
        return min(range(low, high + 1), key=self.cost)


def cheapest(
    pilot: Pilot, delta: float, prices: Prices, *, power: float = 0.8, alpha: float = 0.05
) -> Proposals:
    """The cheapest plan that finds `delta` with the wanted power, and its neighbours."""
    search = Search(pilot, abs(delta), prices, power, alpha)

    def proposal(n: int | None, N: int | None) -> Proposal | None:
        if n is None or N is None:
            return None
        plan = Plan(n, n, N)
        ends = extreme(pilot, plan, alpha, power).power(search.delta)
        return Proposal(plan, prices.cost(plan), limits(ends, power))

    n = search.best()
    at_hand = search.fewest_runs(lambda n: search.detectable(n, pilot.segments) <= search.delta)
    others: list[Proposal | None] = []
    if n is not None and search.first is not None:
        step = max(1, n // 4)
        fewer = max(n - step, search.first)
        others = [proposal(k, search.segments(k)) for k in (fewer, n + step) if k != n]
    return Proposals(
        pilot,
        search.delta,
        power,
        alpha,
        proposal(n, None if n is None else search.segments(n)),
        tuple(one for one in others if one is not None),
        proposal(at_hand, pilot.segments),
    )


# -- in words -----------------------------------------------------------------------------


def proposal_lines(proposals: Proposals, metric: str = "") -> list[str]:
    """The proposals as lines."""
    wish = f"{proposals.delta:.2g}{metric and f' {metric}'}"
    how = f"power {proposals.power:g}, alpha {proposals.alpha:g}"
    if proposals.best is None:
        return [
            f"no plan detects {wish} ({how}): not even {MOST_RUNS:,} runs of each system on "
            "any number of segments"
        ]
    best = proposals.best
    low, high = best.power
    lines = [
        f"cheapest to detect {wish} ({how}): {_plan(proposals.pilot, best.plan)}: "
        f"{time_text(best.cost)} of CPU; by the pilot its power may be {low:.2g} to {high:.2g} "
        f"({100 * CONFIDENCE:.0f}%)"
    ]
    if best.plan.n_a > FEWEST_RUNS and all(o.plan.n_a > best.plan.n_a for o in proposals.others):
        lines.append("with fewer runs no number of segments suffices")
    for other in proposals.others:
        lines.append(f"or {_plan(proposals.pilot, other.plan)}: {_dearer(other, best)}")
    N = proposals.pilot.segments
    if proposals.at_hand is None:
        lines.append(f"on the {N:,} segments at hand no number of runs suffices")
    elif best.plan.segments > N:
        lines.append(
            f"on the {N:,} segments at hand: {proposals.at_hand.plan.n_a} runs, "
            f"{_dearer(proposals.at_hand, best)}"
        )
    return lines


def _plan(pilot: Pilot, plan: Plan) -> str:
    size = testset_size(plan.segments, documents(pilot, plan.segments))
    have = "" if plan.segments <= pilot.segments else f", of which you have {pilot.segments:,}"
    return f"{plan.n_a} runs of each system on {size}{have}"


def _dearer(other: Proposal, best: Proposal) -> str:
    percent = 100 * (other.cost / best.cost - 1)
    return "equally expensive" if percent < 0.5 else f"{percent:,.0f}% more expensive"


def time_text(seconds: float) -> str:
    """CPU time in a suitable unit.

    >>> time_text(90), time_text(5400), time_text(1e6)
    ('90 s', '1.5 h', '11.6 days')
    """
    for least, length, unit in ((172_800, 86_400, "days"), (3600, 3600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.3g} s"
