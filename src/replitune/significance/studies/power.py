"""How many replicas and segments does it take to find a difference of d?

The variance components of a finished comparison say what one tuner run, one segment and one
output of one run add to Var(delta). A plan with other numbers of replicas and segments has

    V = sum_s sigma2_a,s / n_s  +  sigma2_d / N  +  sum_s sigma2_e,s / (n_s N)

and the power of `crossed` under the plan is simulated: in the normal model its mean squares are
independent scaled chi-squares, so no data need be made up. More segments do nothing about the
first term; when that alone is too large, no number of segments suffices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.significance.base import Comparison
from replitune.significance.components import analyse, components, sides_of
from replitune.significance.critical import critical_values, net_parts

MANY_SEGMENTS = 10_000_000
"""As good as infinitely many."""


@dataclass(frozen=True)
class VarianceModel:
    """What single tuner runs, segments and outputs add to the variance of a difference."""

    replica: tuple[float, ...]
    """sigma2_a of A and of B; one number when replicas are paired by seed."""
    segment: float
    """sigma2_d: how differently a segment suits A and B."""
    interaction: tuple[float, ...]
    """sigma2_e, as `replica`."""

    @property
    def paired(self) -> bool:
        return len(self.replica) == 1

    def variance(self, plan: Plan) -> float:
        """Var(delta) under a plan."""
        return (
            sum(s / n for s, n in zip(self.replica, plan.n(self), strict=True))
            + self.segment / plan.segments
            + sum(
                s / (n * plan.segments) for s, n in zip(self.interaction, plan.n(self), strict=True)
            )
        )


@dataclass(frozen=True)
class Plan:
    """Replicas of A and B (in `tuners` equal groups) and segments."""

    n_a: int
    n_b: int
    segments: int
    tuners: int = 1

    def __post_init__(self) -> None:
        if self.segments < 2:
            raise ReplituneError("a plan needs two segments", found=str(self.segments))
        for n in (self.n_a, self.n_b):
            if n % self.tuners or n // self.tuners < 2:
                raise ReplituneError(
                    "a plan needs two replicas per system and tuner, the same number of each",
                    found=f"{n} replicas of {self.tuners} tuners",
                )

    def n(self, model: VarianceModel) -> tuple[int, ...]:
        return (self.n_a,) if model.paired else (self.n_a, self.n_b)


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
    """The plan is what this experiment has."""
    alpha: float
    delta: float
    power: float
    se: float
    """sqrt(Var(delta)) under the plan."""
    wanted: float
    """Probability of finding a difference of `detectable`."""
    detectable: float
    asked: float | None = None
    """A difference to be found with the wanted probability by as many replicas."""
    needed: int | None = None
    """Segments that this takes; None when no number of them suffices, or nothing is asked."""


def fit(comparison: Comparison, *, strata: str = "groups", paired: bool = False) -> VarianceModel:
    """Variance components of a comparison with two replicas or more of each system.

    sigma2_a,s = n (V_rep,s - V_int,s), sigma2_d = N (V_seg - sum V_int), sigma2_e,s = n N V_int,s;
    never below 0.
    """
    a, b, N = comparison.a, comparison.b, comparison.segments
    if min(a.n, b.n) < 2 or N < 2:
        raise ReplituneError(
            "planning needs two replicas of each system and two segments",
            found=f"{a.n} of {a.name}, {b.n} of {b.name}, {N} segments",
            fix="tune each system once more",
        )
    of_a, of_b = (analyse(comparison.metric, system, None) for system in (a, b))
    sides = sides_of(of_a, of_b, strata, paired)
    parts = components(sides, of_a.blocks)
    replica, interaction = [], []
    for number, side in enumerate(sides):
        own, n = parts.sides == number, len(side.scores)
        V_rep, V_int = float(parts.rep[own].sum()), float(parts.both[own].sum())
        replica.append(n * max(V_rep - V_int, 0.0))
        interaction.append(n * N * V_int)
    own_segments = float(parts.seg.sum() - parts.both.sum())
    return VarianceModel(tuple(replica), N * max(own_segments, 0.0), tuple(interaction))


class Simulated:
    """Draws of the mean squares of one plan: power at any difference, monotone in it."""

    def __init__(
        self,
        model: VarianceModel,
        plan: Plan,
        *,
        alpha: float = 0.05,
        trials: int = 20_000,
        rng: np.random.Generator,
    ) -> None:
        N, H = plan.segments, plan.tuners
        rep, nus, both = [], [], np.zeros(trials)
        seg = model.segment / N
        for n, own, cell in zip(plan.n(model), model.replica, model.interaction, strict=True):
            V_rep, V_int = (own + cell / N) / n, cell / (n * N)
            for _ in range(H):
                nu = n // H - 1
                rep.append(V_rep / H * rng.chisquare(nu, trials) / nu)
                nus.append(float(nu))
            nu = (n - H) * (N - 1)
            both += V_int * rng.chisquare(nu, trials) / nu
            seg += V_int
        drawn = seg * rng.chisquare(N - 1, trials) / (N - 1)
        parts = net_parts(
            np.stack(rep, axis=-1), np.array(nus), drawn[:, np.newaxis], np.array([N - 1.0]),
            both[:, np.newaxis],
        )  # fmt: skip
        self.se = float(np.sqrt(model.variance(plan)))
        self._noise = rng.normal(0.0, self.se, trials)
        if self.se == 0:  # nothing varies: any difference is certain
            self._reach: NDArray[np.float64] = np.zeros(trials)
        else:
            self._reach = critical_values(parts.values, parts.nus, alpha / 2) * np.sqrt(
                parts.variance
            )

    def power(self, delta: float) -> float:
        """P(p < alpha, the right way round) at a true difference."""
        return float((self._noise + abs(delta) > self._reach).mean())

    def detectable(self, power: float = 0.8) -> float:
        """The smallest difference with this power: an order statistic of the draws."""
        if not 0 < power < 1:
            raise ReplituneError("`power` must be between 0 and 1", found=repr(power))
        return max(0.0, float(np.quantile(self._reach - self._noise, power, method="higher")))


def segments_needed(
    model: VarianceModel,
    delta: float,
    n_a: int,
    n_b: int,
    *,
    tuners: int = 1,
    power: float = 0.8,
    alpha: float = 0.05,
    trials: int = 20_000,
    rng: np.random.Generator,
) -> int | None:
    """Segments with which n replicas find `delta`; None when no number of segments suffices."""
    seed = int(rng.integers(2**63))

    def detectable(segments: int) -> float:
        plan = Plan(n_a, n_b, segments, tuners)
        own = np.random.default_rng(seed)  # common random numbers: a smooth search
        return Simulated(model, plan, alpha=alpha, trials=trials, rng=own).detectable(power)

    delta = abs(delta)
    if detectable(MANY_SEGMENTS) > delta:
        return None
    low, high = 1, 2
    while detectable(high) > delta:
        low, high = high, min(2 * high, MANY_SEGMENTS)
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (middle, high) if detectable(middle) > delta else (low, middle)
    return high


def plans(
    comparison: Comparison, replicas: Sequence[int], segments: Sequence[int] = ()
) -> list[Plan]:
    """What the experiment has, and every number of replicas with every number of segments.

    Without `segments`: those at hand, twice and four times as many, and any number.
    """
    N = comparison.segments
    own = design(comparison)
    chosen = [own] if segments else [own, replace(own, segments=MANY_SEGMENTS)]
    for m in segments or (N, 2 * N, 4 * N, MANY_SEGMENTS):
        chosen += [Plan(n, n, m) for n in replicas]
    return list(dict.fromkeys(chosen))


def design(comparison: Comparison) -> Plan:
    """The plan of a finished comparison: with its tuners where each has two replicas or more."""
    a, b = comparison.a, comparison.b
    tuners = len(set(a.groups))
    counts = {system.groups.count(group) for system in (a, b) for group in set(a.groups)}
    balanced = set(a.groups) == set(b.groups) and len(counts) == 1 and min(counts) > 1
    return Plan(a.n, b.n, comparison.segments, tuners if balanced else 1)


def power_curve(
    comparison: Comparison,
    model: VarianceModel,
    plans: Sequence[Plan],
    *,
    rng: Callable[[Plan], np.random.Generator],
    alpha: float = 0.05,
    power: float = 0.8,
    asked: float | None = None,
    points: int = 25,
    trials: int = 20_000,
) -> list[PowerRow]:
    """Power over true differences from 0 to where it is all but certain, for each plan.

    `rng` makes the generator of a plan, so that no plan changes the numbers of another.
    """
    own = {plan: rng(plan) for plan in plans}
    made = {
        plan: Simulated(model, plan, alpha=alpha, trials=trials, rng=own[plan]) for plan in plans
    }
    widest = max(one.detectable(0.99) for one in made.values())
    needed: dict[tuple[int, int, int], int | None] = {}
    for plan in plans:
        runs = (plan.n_a, plan.n_b, plan.tuners)
        if asked is not None and runs not in needed:
            needed[runs] = segments_needed(
                model, asked, plan.n_a, plan.n_b, tuners=plan.tuners, power=power, alpha=alpha,
                trials=trials, rng=own[plan],
            )  # fmt: skip
    return [
        PowerRow(
            a=comparison.a.name,
            b=comparison.b.name,
            n_a=plan.n_a,
            n_b=plan.n_b,
            tuners=plan.tuners,
            segments=plan.segments,
            design=plan == design(comparison),
            alpha=alpha,
            delta=float(delta),
            power=one.power(float(delta)),
            se=one.se,
            wanted=power,
            detectable=one.detectable(power),
            asked=asked,
            needed=needed.get((plan.n_a, plan.n_b, plan.tuners)),
        )
        for plan, one in made.items()
        for delta in np.linspace(0.0, widest, points)
    ]


def sentence(row: PowerRow, unit: str = "") -> str:
    """What a plan can find, in words; where it was asked, also what a difference would take."""
    n = f"{row.n_a}" if row.n_a == row.n_b else f"{row.n_a} and {row.n_b}"
    runs = f"{n} replicas" + (f" of {row.tuners} tuners" if row.tuners > 1 else "")
    size = "any number of" if row.segments >= MANY_SEGMENTS else f"{row.segments:,}"
    text = (
        f"{runs} and {size} segments would detect a difference of {row.detectable:.2g}"
        f"{unit and f' {unit}'} (power {row.wanted:g}, alpha {row.alpha:g})"
    )
    if row.asked is None:
        return text
    if row.needed is None:
        return f"{text}; no number of segments suffices for {row.asked:.2g} with {runs}"
    return f"{text}; for {row.asked:.2g}, {runs} need {row.needed:,} segments"
