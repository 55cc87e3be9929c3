"""What a finished comparison shows for the next: its variance components, and how certain they are.

The components say what one run, one segment and one output of one run add to Var(delta). Three
runs say little about the variance of runs, so there are also *extremes*: components at which a
quantity that grows with them, such as the difference that a plan detects, is at the limits of its
interval. For a sum of mean squares these are the limits of Graybill and Wang (1980): the estimate
minus or plus the root of a sum of squares, the distances that each mean square alone would move the
estimate at the limit of its own chi-square interval. Here the mean squares are moved together, each
by its part of that root, so that a quantity that is not quite a sum is computed, not approximated.

Quantiles from draws of the mean squares (Weerahandi 1993) would do the same, but are too high where
components are cut off at 0: with three runs, nominal 90% are 80%.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot, product
from replitune.errors import ReplituneError
from replitune.replicas import same_shares
from replitune.significance.base import Comparison
from replitune.significance.components import Components, components, sides_of
from replitune.significance.critical import Drawn
from replitune.significance.settings import pairs_of_systems, require_system
from replitune.significance.system_parts import FEWEST_UNITS, analyse, effective_units, unit_of, weighted
from replitune.significance.variances import REST, RUNS, VarianceRow
from replitune.statistics.segments import SegmentStatistics


@dataclass(frozen=True, eq=False)
class VarianceModel:
    """What single runs, segments and outputs add to the variance of a difference.

    S sides (A and B, or the differences of paired replicas) and B test sets. There may be a leading
    axis, of several sets of components.
    """

    replica: NDArray[np.float64]
    """(..., S) sigma2_a of A and of B."""
    segment: NDArray[np.float64]
    """(..., B) sigma2_d: how differently a segment of each test set suits A and B."""
    interaction: NDArray[np.float64]
    """(..., S, B) sigma2_e."""
    units: NDArray[np.float64]
    """(B,) effective units on each test set per segment of the plan: 1; where documents are the unit,
    effective documents per segment; on a suite, the test set's share."""
    scope: Drawn = "both"
    """What plans are to generalise to."""

    @property
    def paired(self) -> bool:
        return self.replica.shape[-1] == 1


@dataclass(frozen=True, eq=False)
class Pilot:
    """A comparison from which others are planned."""

    a: str
    b: str
    n_a: int
    n_b: int
    tuners: int
    """Groups of equal size; 1 where there are none or they differ."""
    segments: int
    documents: int | None
    """Documents of the test set if they are the unit; None if segments are."""
    units: NDArray[np.float64]
    """(B,) effective units of each test set, per segment."""
    components: Components
    nu_both: NDArray[np.float64]
    """(R, B) degrees of freedom of V_int."""
    n: NDArray[np.float64]
    """(S,) runs of each side."""
    scope: Drawn = "both"
    """What plans are to generalise to: `runs` if the test set is too small to stand for new text."""

    @property
    def unit(self) -> str:
        return "segment" if self.documents is None else "document"

    @property
    def model(self) -> VarianceModel:
        """The estimates: sigma2_a,s = n (V_rep,s - V_int,s), sigma2_d = N (V_seg - sum V_int),
        sigma2_e,s = n N V_int,s; never below 0. If one side's sigma2_a is negative, it is set to 0 and
        taken off the other side's, so that V is that of the test."""
        return self._model(self._squares)

    def extremes(
        self, measure: Callable[[VarianceModel], NDArray[np.float64]], confidence: float
    ) -> VarianceModel:
        """Components (2, ...) with which a measure is at its lower and at its upper limit.

        `measure` maps components (D, ...) to (D,), and is not negative.
        """

        tail = (1 - confidence) / 2
        still = self._run_effect() > tail  # runs may well have no variance of their own
        low = self._moved(measure, tail, -1, runs=not still)
        high = self._moved(measure, tail, 1)
        return VarianceModel(
            np.stack([low.replica, high.replica]),
            np.stack([low.segment, high.segment]),
            np.stack([low.interaction, high.interaction]),
            self.units,
            self.scope,
        )

    def _moved(
        self,
        measure: Callable[[VarianceModel], NDArray[np.float64]],
        tail: float,
        sign: int,
        runs: bool = True,
    ) -> VarianceModel:
        """The components at one limit; without `runs`, with no variance of runs."""
        from scipy.special import chdtri

        x, nus = self._squares, self._nus
        K = len(x)
        ends = x * nus / np.stack([chdtri(nus, tail), chdtri(nus, 1 - tail)])  # (2, K)
        alone = np.where(np.eye(K, dtype=bool), ends[:, np.newaxis], x).reshape(2 * K, K)
        values = measure(self._model(np.vstack([x, alone]), runs)) ** 2  # a variance: almost a sum
        gains = np.maximum(sign * (values[1:].reshape(2, K) - values[0]), 0.0)
        size, end = gains.max(axis=0), ends[gains.argmax(axis=0), np.arange(K)]
        length = float(np.sqrt(dot(size, size)))
        part = size / length if length > 0 else size
        return self._model(x + part * (end - x), runs)

    @property
    def _squares(self) -> NDArray[np.float64]:
        """(K,) the independent mean squares: V_rep, V_seg, V_int."""
        parts = self.components
        return np.concatenate([parts.rep, parts.seg, parts.both.ravel()])

    @property
    def _nus(self) -> NDArray[np.float64]:
        return np.concatenate([self.components.nu_rep, self.components.nu_seg, self.nu_both.ravel()])

    def _run_effect(self) -> float:
        """p of F = sum V_rep / sum V_int, with Satterthwaite's degrees of freedom for runs without a
        variance of their own."""
        from scipy.special import fdtrc

        noise, total = self.components.both.sum(axis=-1), float(self.components.both.sum())
        if total <= 0:
            return 0.0
        above = total**2 / float((noise**2 / self.components.nu_rep).sum())
        below = total**2 / float((self.components.both**2 / self.nu_both).sum())
        return float(fdtrc(above, below, float(self.components.rep.sum()) / total))

    def _model(self, squares: NDArray[np.float64], of_runs: bool = True) -> VarianceModel:
        """Components from mean squares (..., K); without `of_runs`, runs have no variance."""
        R, B = self.components.both.shape
        rep, seg, both = np.split(squares, [R, R + B], axis=-1)
        own = self.components.sides == np.arange(len(self.n))[:, np.newaxis]  # (S, R)
        several = both.reshape(*both.shape[:-1], 1, R, B)
        noise = (own[:, :, np.newaxis] * several).sum(axis=-2)  # (..., S, B)
        runs = product(rep, own.T.astype(np.float64)) - noise.sum(axis=-1)
        above = np.maximum(runs, 0.0) if of_runs else np.zeros_like(runs)
        total, kept = above.sum(axis=-1), np.maximum(runs.sum(axis=-1), 0.0)
        share = np.divide(kept, total, out=np.zeros_like(total), where=total > 0)
        return VarianceModel(
            self.n * above * share[..., np.newaxis],
            self.segments * np.maximum(seg - noise.sum(axis=-2), 0.0),
            self.n[:, np.newaxis] * self.segments * noise,
            self.units,
            self.scope,
        )


def pilot(
    comparisons: Comparison | Sequence[Comparison],
    weights: Sequence[float] | None = None,
    *,
    unit: str = "auto",
    strata: str = "auto",
    paired: bool = False,
) -> Pilot:
    """The pilot made of a comparison, or of those of one pair on all test sets of a suite.

    `weights` of the test sets: equal by default. A plan for a suite keeps its proportions.
    `strata` as for the tests; `auto` is `groups` if both systems have the same share of each group,
    as these tests require, else `none`.
    """
    given = [comparisons] if isinstance(comparisons, Comparison) else list(comparisons)
    shares = [1 / len(given)] * len(given) if weights is None else list(weights)
    a, b = given[0].a, given[0].b
    if strata == "auto":
        strata = "groups" if same_shares(Counter(a.groups), Counter(b.groups)) else "none"
    if min(a.n, b.n) < 2 or min(one.segments for one in given) < 2:
        raise ReplituneError(
            "planning needs two runs of each system and two segments",
            found=f"{a.n} of {a.name}, {b.n} of {b.name}, {given[0].segments} segments",
            fix="tune each system once more",
        )
    units = [unit_of(one, unit, "both") for one in given]
    few = any(effective_units(one, of) < FEWEST_UNITS for one, of in zip(given, units, strict=True))
    documents = [one.documents if of == "document" else None for one, of in zip(given, units, strict=True)]
    of_a, of_b = (
        weighted(
            [
                analyse(one.metric, system, of)
                for one, system, of in zip(given, systems, documents, strict=True)
            ],
            shares,
        )
        for systems in ([one.a for one in given], [one.b for one in given])
    )
    sides = sides_of(of_a, of_b, strata, paired)
    parts = components(sides, of_a.blocks)
    nus = np.array([block.nu for block in of_a.blocks])
    N = sum(one.segments for one in given)
    sizes = np.array([len(members) - 1 for side in sides for members in side.strata])
    in_documents = all(of == "document" for of in units)
    return Pilot(
        a=a.name,
        b=b.name,
        n_a=a.n,
        n_b=b.n,
        tuners=tuners_of(a.groups, b.groups) if strata == "groups" else 1,
        segments=N,
        documents=sum(one.n_documents for one in given) if in_documents else None,
        units=(nus + 1) / N,
        components=parts,
        nu_both=sizes[:, np.newaxis] * nus,
        n=np.array([float(len(side.scores)) for side in sides]),
        scope="runs" if few else "both",
    )


def tuners_of(a: Sequence[str | None], b: Sequence[str | None]) -> int:
    """Number of groups of the replicas of two systems, if all groups have the same number of
    replicas, at least two; else 1."""
    counts = {groups.count(group) for groups in (a, b) for group in set(groups)}
    balanced = set(a) == set(b) and len(counts) == 1 and min(counts) > 1
    return len(set(a)) if balanced else 1


def model_of(rows: Sequence[VarianceRow], segments: int) -> VarianceModel:
    """The components in the rows of a pair on one test set of N segments: as `Pilot.model`, but
    without moving negative parts to the other side."""
    runs = [row.sd**2 for row in rows if row.source == RUNS]
    rest = [row.sd**2 for row in rows if row.source == REST]
    of_set = next(row for row in rows if row.source.startswith("system x"))
    per_unit = segments / of_set.n
    return VarianceModel(
        np.array(runs),
        np.array([of_set.sd**2 * per_unit]),
        np.array(rest)[:, np.newaxis] * per_unit,
        np.array([1 / per_unit]),
    )


def with_systems(store: SegmentStatistics, names: Sequence[str]) -> SegmentStatistics:
    for name in names:
        require_system(name, list(store.systems))
    return replace(store, systems={name: store.systems[name] for name in names})


def pair_of(store: SegmentStatistics, a: str, b: str) -> Comparison:
    return Comparison(store.metric, store.systems[a], store.systems[b], store.documents)


def replicated_pairs(store: SegmentStatistics, pairs: Any, fewest: int) -> Iterator[Comparison]:
    """The pairs whose systems have enough replicas; the others are named on the terminal."""
    wanted = pairs_of_systems(pairs, list(store.systems))
    short = {name: s.n for name, s in store.systems.items() if s.n < fewest}
    kept = [pair for pair in wanted if not short.keys() & set(pair)]
    if not kept:
        raise ReplituneError(
            f"no pair of systems with {fewest} runs each",
            found=", ".join(f"{s.n} of {name}" for name, s in store.systems.items()),
            fix="tune or train each system once more",
        )
    for a, b in wanted:
        if (a, b) in kept:
            yield pair_of(store, a, b)
        else:
            scarce = [f"{short[name]} of {name}" for name in (a, b) if name in short]
            print(f"  {b} - {a}: left out, too few runs ({', '.join(scarce)})")
