"""Two systems with replicas crossed with segments, and everything their variance components show.

`tests.crossed` makes the row of a test from it; inference on suites and on many pairs uses it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot
from replitune.notes import Note, note
from replitune.significance import arguments as iv
from replitune.significance.components import Components, Side, components, leave_one_out, run_effect
from replitune.significance.counting import kind_of_runs
from replitune.significance.critical import Drawn, Layers, Parts, critical_values, layers, net_parts, tails
from replitune.significance.difference import Difference
from replitune.significance.multiple import partial_conjunction
from replitune.significance.next_run import NextRun, spread_of
from replitune.significance.noise_ratio import Bound, Bounded
from replitune.significance.simultaneous import Estimate
from replitune.significance.system_parts import (
    FEW_UNITS,
    FEWEST_UNITS,
    SystemParts,
    contributing_df,
    contributing_note,
    few_contributing,
    units_note,
)
from replitune.significance.variances import VarianceRow, variance_table

RUN_EFFECT = 0.01
"""p of the F test below which samples are said to have a run effect."""
SHARED_SEEDS = 0.01
"""One-sided p below which a correlation of runs with the same number is reported."""
FEWEST_FOR_FLAG = 5
UNSTABLE = 4 * 1.4826
"""A run further than this many MADs from the median of its group is flagged: four standard
deviations of a normal distribution. If runs are normal, one group in six has such a run at n = 5,
one in twelve at 10, one in twenty at 20 (docs/evidence.md)."""


@dataclass(frozen=True, eq=False)
class OddRun:
    """A run that is far from its group."""

    system: SystemParts
    run: int
    """Its position."""
    robust_sd: float
    """Its distance from the median, in robust standard deviations."""
    p: float
    """Probability that, of normal runs, some run is as far from the others."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Var(delta) by its parts, and the runs that the first of them belong to."""

    parts: Parts
    runs: tuple[tuple[str, tuple[str, ...]], ...]
    """System and ids of the replicas of each part; for paired replicas, those of the first system."""
    sign: float
    """Sign of the delta that a one-sided alternative asks for; 0 for a two-sided one."""

    def swapped(self) -> Uncertainty:
        """The same for A - B."""
        return replace(self, sign=-self.sign)


@dataclass(frozen=True, eq=False)
class CrossedPair(Difference):
    """Two systems, and what their components show about the difference."""

    a: SystemParts
    b: SystemParts
    sides: tuple[Side, ...]
    scope: Drawn
    alternative: str
    paired: bool
    sign: float = 1.0
    """-1 if lower scores are better."""
    bound: Bound | None = None
    """Bound on the noise of runs; None if there is none, or if the runs contradict it."""

    @cached_property
    def scores(self) -> tuple[float, float]:
        return float(self.a.scores.mean()), float(self.b.scores.mean())

    @property
    def lonely(self) -> list[str]:
        """Systems with one replica, which does not show the noise of runs."""
        return [s.name for s in (self.a, self.b) if s.n == 1]

    @property
    def one_unit(self) -> bool:
        return any(block.units.stop - block.units.start < 2 for block in self.a.blocks)

    @property
    def estimable(self) -> bool:
        if self.scope == "segments":
            return not self.one_unit
        return not self.lonely and (self.scope == "runs" or not self.one_unit)

    @cached_property
    def components(self) -> Components | None:
        """None if a system has a single replica."""
        if self.lonely:
            return None
        return components(self.sides, self.a.blocks, self.bound)

    @cached_property
    def differences(self) -> tuple[NDArray[np.float64], ...]:
        """(U,) B - A of each unit, mean over replicas, on each test set."""
        d = self.b.mean - self.a.mean
        return tuple(d[block.units] for block in self.a.blocks)

    @cached_property
    def parts(self) -> Parts:
        if self.components is not None:
            return self.components.parts(self.scope)
        d = self.differences  # the scope asks about these runs only
        seg = np.array([dot(x, x) for x in d])
        nu = np.array([contributing_df(x, b.nu) for x, b in zip(d, self.a.blocks, strict=True)])
        return net_parts(np.zeros(0), np.zeros(0), seg, nu, np.zeros_like(seg), self.scope)

    @cached_property
    def contributing(self) -> tuple[float, bool]:
        """How many units make up the difference, on the test set with the fewest, and whether they are
        enough for a p. Test sets that add at most a tenth of the variance do not count."""
        d = self.differences if self.scope != "runs" else ()
        known = [few_contributing(x) for x in d if 10 * dot(x, x) > self.parts.variance]
        return min((few for few, _ in known), default=float(np.inf)), all(enough for _, enough in known)

    @cached_property
    def critical(self) -> Layers | Bounded:
        if self.bound is None:
            return super().critical
        own = len(self.parts.values) - len(self.sides)
        return Bounded(self.bound, (self.a.n, self.b.n), self.parts, own)

    @property
    def side(self) -> float:
        """Sign of the delta that a one-sided alternative asks for; 0 for a two-sided one."""
        return {"two-sided": 0.0, "greater": self.sign, "less": -self.sign}[self.alternative]

    @property
    def uncertainty(self) -> Uncertainty:
        systems = (self.a,) if self.paired else (self.a, self.b)
        runs = tuple(
            (system.name, tuple(system.replicas[r] for r in members))
            for side, system in zip(self.sides, systems, strict=True)
            for members in side.strata
        )
        return Uncertainty(self.parts, () if self.scope == "segments" else runs, self.side)

    @property
    def estimate(self) -> Estimate:
        return Estimate(
            self.a.name,
            self.b.name,
            self.delta,
            self.se,
            self.critical,
            self.scope,
            self.side,
            (self.a.mean, self.b.mean),
            self.a.blocks,
            None if self.paired else self.components,
        )

    @property
    def p(self) -> float | None:
        """None when nothing varies and yet the scores differ."""
        if abs(self.delta) <= self.slack:
            return 1.0
        if not self.varies:
            return None
        p = self.p_beyond(0.0, self.side or np.sign(self.delta))
        return p if self.side else min(1.0, 2 * p)

    def notes(self, size: float, unit: str, design: str) -> list[Note | None]:
        """What a reader must know about the design and single runs; size: of the test set, in these
        units."""
        notes: list[Note | None] = []
        kind = kind_of_runs((*self.a.replicas, *self.b.replicas), design)
        kind = kind if kind in ("prompt", "sample") else "run"
        if self.scope != "segments" and self.lonely:
            notes.append(lonely_note(self.lonely, kind))
        if self.scope != "runs" and self.one_unit:
            notes.append(note("one-unit", unit=unit, what="no p"))
        if not self.estimable:
            return notes
        for system in (self.a, self.b):
            notes += system.notes
        if not (self.a.smooth and self.b.smooth) and self.scope != "runs":
            notes.append(note("no-gradient"))
        if self.scope != "segments" and any(
            len(members) == 2 for side in self.sides for members in side.strata
        ):
            of = "" if min(self.a.n, self.b.n) == 2 else " in a group"
            notes.append(note("two-replicas", where=of, kind=kind))
        if self.scope != "runs" and size < FEW_UNITS:
            notes.append(units_note(size, unit, "no p" if size < FEWEST_UNITS else "p is approximate"))
        notes.append(contributing_note(*self.contributing, unit))
        if not self.varies:
            notes.append(note("zero-variance"))
        notes += self.unstable_runs(kind)
        notes += self.run_effects() if design == "samples" else [self.shared_seeds(kind)]
        return notes

    @cached_property
    def odd_runs(self) -> tuple[OddRun, ...]:
        """Runs that are far from their group."""
        odd = []
        for system in (self.a, self.b):
            for members in iv.own_strata(system, "groups"):
                x = system.scores[members]
                if len(x) < FEWEST_FOR_FLAG:
                    continue
                off = np.abs(x - median(x))
                mad = median(off)
                far = off > max(UNSTABLE * mad, self.slack) if mad > 0 else np.zeros(len(x), bool)
                for r in np.flatnonzero(far):
                    p = among_normal(x[r], x[~far], len(x))
                    odd.append(OddRun(system, int(members[r]), float(off[r]) / (1.4826 * mad), p))
        return tuple(odd)

    def unstable_runs(self, kind: str) -> list[Note]:
        notes = []
        for odd in self.odd_runs:
            system, run = odd.system.name, odd.system.replicas[odd.run]
            p = self.p_without_each.get((system, run))
            without = "" if p is None else f"; without this {kind}, p of this pair alone is {p:.2g}"
            values = {"sd": odd.robust_sd, "without": without, "kind": kind}
            notes.append(note("unstable-run", run=run, systems=[system], **values))
        return notes

    def shared_seeds(self, kind: str) -> Note | None:
        """Whether runs of the same number vary together, as those that share a seed may."""
        if self.paired or self.lonely or self.a.replicas != self.b.replicas:
            return None
        if np.abs(self.a.scores - self.b.scores).max() <= self.slack:
            return None  # the same outputs
        members = iv.own_strata(self.a, "groups")
        x, y = (
            np.concatenate([s.scores[m] - s.scores[m].mean() for m in members]) for s in (self.a, self.b)
        )
        df = self.a.n - len(members) - 1
        squares = dot(x, x) * dot(y, y)
        r = dot(x, y) / np.sqrt(squares) if squares > 0 else 0.0
        if df < 1 or r <= 0:
            return None
        from scipy.special import stdtr

        p = float(stdtr(df, -r * np.sqrt(df / max(1 - r * r, 1e-15))))
        if p >= SHARED_SEEDS:
            return None
        return note("shared-seeds", r=r, p=max(p, 1e-4), kind=kind)

    def run_effects(self) -> list[Note]:
        """Notes on samples that differ from each other as a whole, as runs do."""
        notes = []
        for side, system in zip(self.sides, (self.a, self.b), strict=False):
            if len(side.scores) < 2:
                continue
            p = run_effect(side, self.a.blocks)
            if p < RUN_EFFECT:
                whose = "the pairs" if self.paired else system.name
                about = () if self.paired else (system.name,)
                notes.append(note("run-effect", systems=about, whose=whose, p=max(p, 1e-4)))
        return notes

    @cached_property
    def p_without_each(self) -> dict[tuple[str, str], float]:
        """p without each run, by system and run (of pairs, the first system's); empty under a bound,
        which depends on all systems."""
        if self.components is None or not self.varies or self.scope == "segments" or self.bound:
            return {}
        rest = leave_one_out(self.sides, self.a.blocks, self.components)
        if rest is None:
            return {}
        parts = rest.parts(self.scope)
        se = np.sqrt(parts.variance)
        if not (se > self.slack).all():
            return {}
        weight, nu = layers(parts.values, parts.nus)
        q = tails(weight, nu, np.abs(rest.delta) / se)
        p = np.where(self.side * rest.delta > 0, q, 1 - q) if self.side else np.minimum(1.0, 2 * q)
        runs = [
            (system.name, system.replicas[r])
            for side, system in zip(self.sides, (self.a, self.b), strict=False)
            for members in side.strata
            for r in members
        ]
        return dict(zip(runs, p.tolist(), strict=True))

    def single_runs(self) -> dict[str, float]:
        """The effect of single runs: the range of p without each, and p of the oddest."""
        details = {}
        if p := self.p_without_each.values():
            details = {"p_without_one_low": min(p), "p_without_one_high": max(p)}
        if self.odd_runs:
            details["p_odd_run"] = min(odd.p for odd in self.odd_runs)
        return details

    def variances(self, unit: str, alpha: float) -> tuple[VarianceRow, ...]:
        """Where Var(delta) comes from; empty for a single replica or segment."""
        if self.components is None or self.one_unit:
            return ()
        own = components(self.sides, self.a.blocks) if self.bound else self.components
        return variance_table(self.a, self.b, self.sides, own, unit=unit, alpha=alpha)

    def with_more(self, level: float) -> dict[str, float]:
        """Half the width that the interval with confidence 1 - level would have with twice the runs, or
        twice the units, by these estimates."""
        c = self.components
        if c is None or self.scope != "both" or self.bound:
            return {}
        both = c.both / 2
        fewer = np.maximum(c.seg - both.sum(axis=0), 0.0), np.maximum(c.rep - both.sum(axis=1), c.rep / 2)
        more = Components(
            c.delta,
            rep=np.array([c.rep / 2, fewer[1]]),
            nu_rep=np.array([2 * c.nu_rep + 1, c.nu_rep]),
            seg=np.array([fewer[0], c.seg / 2]),
            nu_seg=np.array([c.nu_seg, 2 * c.nu_seg + 1]),
            both=np.array([both, both]),
        )
        parts = more.parts("both")
        reach = critical_values(parts.values, parts.nus, level / 2) * np.sqrt(parts.variance)
        return dict(zip(("reach_twice_runs", "reach_twice_units"), reach.tolist(), strict=True))

    @property
    def next_run(self) -> NextRun | None:
        """What predicts whether the next run of B beats the next run of A, on this test set and on a
        new one; None for single runs."""
        if self.components is None:
            return None
        n = [float(len(self.sides[s].scores)) for s in self.components.sides]
        here = spread_of(self.components.parts("runs"), np.array(n), self.slack)
        ones = [1.0] * len(self.a.blocks)
        both = self.parts if self.scope == "both" else self.components.parts("both")
        on_new_set = spread_of(both, np.array([*n, *ones]), self.slack)
        return NextRun(here, None if self.one_unit else on_new_set, self.sign)


def lonely_note(systems: Sequence[str], kind: str = "run") -> Note:
    """Why there is no p for systems with one run."""
    return note(
        "one-replica",
        systems=systems,
        runs=f"one {kind} of {' and of '.join(systems)}",
        what=f"no p, as the noise of {kind}s is unknown",
    )


def median(x: NDArray[np.float64]) -> float:
    """The median; numpy's takes a tenth of a millisecond."""
    ordered = np.sort(x)
    return float(ordered[(len(x) - 1) // 2] + ordered[len(x) // 2]) / 2


def among_normal(x: float, others: NDArray[np.float64], n: int) -> float:
    """p of the score x of a run beside `others`, which are not odd: Student's t, Bonferroni for n runs."""
    from scipy.special import stdtr

    m = len(others)
    t = abs(x - others.mean()) / (np.std(others, ddof=1) * np.sqrt(1 + 1 / m))
    return min(1.0, 2 * n * float(stdtr(m - 1, -t)))


def better_on(pairs: Sequence[CrossedPair], alpha: float) -> dict[str, float]:
    """On how many test sets, at least, B is better, and worse, each with confidence 1 - alpha / 2."""
    counts = {}
    for name, sign in (("better_on", 1.0), ("worse_on", -1.0)):
        p = [pair.p_beyond(0.0, sign * pair.sign) if pair.varies else 1.0 for pair in pairs]
        counts[name] = float(partial_conjunction(p, alpha / 2))
    return counts
