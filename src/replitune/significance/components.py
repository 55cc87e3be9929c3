"""Variance components of a difference between systems, their replicas crossed with segments.

Every replica translates every segment, so a score varies with the run, with the segments, and
with their interaction. The components come from the two-way random-effects analysis of variance
of linearised values (`system_parts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot
from replitune.significance import arguments as iv
from replitune.significance.critical import Drawn, Parts, net_parts
from replitune.significance.noise_ratio import Bound, shrunk
from replitune.significance.system_parts import Block, SystemParts, contributing_df


@dataclass(frozen=True, eq=False)
class Side:
    """Replicas whose mean is a term of delta: those of A, those of B, or differences of paired ones."""

    sign: float
    scores: NDArray[np.float64]
    """(n,)"""
    units: NDArray[np.float64]
    """(n, U)"""
    strata: tuple[NDArray[np.intp], ...]
    """Members of each group of replicas."""


@dataclass(frozen=True, eq=False)
class Components:
    """The parts of Var(delta) = sum V_rep + sum V_seg - sum V_int.

    There may be leading axes, (..., R) and (..., B): leave-one-out has one row per replica.
    """

    delta: NDArray[np.float64]
    """(...)"""
    rep: NDArray[np.float64]
    """(..., R) V_rep of each group of replicas of each side."""
    nu_rep: NDArray[np.float64]
    seg: NDArray[np.float64]
    """(..., B) V_seg of each test set."""
    nu_seg: NDArray[np.float64]
    both: NDArray[np.float64]
    """(..., R, B) V_int, counted in V_rep and in V_seg, hence subtracted once."""
    sides: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    """(R,) side of each V_rep."""

    def parts(self, scope: Drawn = "both") -> Parts:
        return net_parts(self.rep, self.nu_rep, self.seg, self.nu_seg, self.both.sum(axis=-2), scope)


def sides_of(a: SystemParts, b: SystemParts, strata: str, paired: bool) -> tuple[Side, ...]:
    """A and B, or the differences of their paired replicas.

    A group with one replica does not show its noise: then all groups are pooled.
    """
    if paired:
        partner = iv.matched(a, b)
        groups = iv.own_strata(a, strata)
        if min(len(group) for group in groups) < 2:
            groups = [np.arange(a.n)]
        return (Side(1.0, b.scores[partner] - a.scores, b.units[partner] - a.units, tuple(groups)),)
    members = iv.strata_of(a, b, strata)
    if pools_groups(a, b, strata):
        members = [(np.arange(a.n), np.arange(b.n))]
    in_a, in_b = zip(*members, strict=True)
    return Side(-1.0, a.scores, a.units, in_a), Side(1.0, b.scores, b.units, in_b)


def pools_groups(a: SystemParts, b: SystemParts, strata: str) -> bool:
    """Whether there are several groups, one of them with a single replica."""
    groups = iv.strata_of(a, b, strata)
    return len(groups) > 1 and min(min(len(x), len(y)) for x, y in groups) < 2


def components(sides: Sequence[Side], blocks: Sequence[Block], bound: Bound | None = None) -> Components:
    """Components from at least two replicas of each group; under a `bound`, with shrunk V_rep."""
    rep, nu_rep, both, of = [], [], [], []
    for number, side in enumerate(sides):
        n = len(side.scores)
        for members in side.strata:
            k = len(members)
            share = (k / n) ** 2
            variance = float(np.var(side.scores[members], ddof=1))
            if bound is not None:
                variance = float(shrunk(variance, k - 1.0, bound.pooled))
            rep.append(share * variance / k)
            nu_rep.append(k - 1.0)
            residual = side.units[members]
            residual -= residual.mean(axis=0)
            residual *= residual  # in place: it is as large as the side
            squares = [np.ascontiguousarray(residual[:, b.units]).sum() for b in blocks]
            both.append(share * np.array(squares) / ((k - 1) * k))
            of.append(number)
    d = difference(sides)
    return Components(
        delta=np.array(sum(side.sign * side.scores.mean() for side in sides)),
        rep=np.array(rep),
        nu_rep=np.array(nu_rep),
        seg=np.array([dot(d[b.units], d[b.units]) for b in blocks]),
        nu_seg=np.array([contributing_df(d[b.units], b.nu) for b in blocks]),
        both=np.array(both),
        sides=np.array(of),
    )


def difference(sides: Sequence[Side]) -> NDArray[np.float64]:
    """(U,) B - A of each unit, mean over replicas."""
    differences: NDArray[np.float64] = sum(side.sign * side.units.mean(axis=0) for side in sides)
    return differences


def leave_one_out(sides: Sequence[Side], blocks: Sequence[Block], whole: Components) -> Components | None:
    """Components without each replica in turn, (n_A + n_B, ...); None where that would leave fewer
    than three in a group: p would then show the loss of degrees of freedom, not of the replica.

    Groups keep their shares. Without x_r, and with e = x_r - mean: mean' = mean - e/(k - 1), and
    sum of squares' = sum of squares - k/(k - 1) e^2.
    """
    if min(len(members) for side in sides for members in side.strata) < 4:
        return None
    d = difference(sides)
    rows: list[Components] = []
    part = 0
    for side in sides:
        n = len(side.scores)
        for members in side.strata:
            k = len(members)
            w = k / n
            x = side.scores[members]
            e = x - x.mean()
            mean = side.units[members].mean(axis=0)
            squares, along = np.empty((k, len(blocks))), np.empty((k, len(blocks)))
            for r, row in enumerate(members):  # one at a time: together they are as large as the side
                E = side.units[row] - mean
                squares[r] = [dot(E[b.units], E[b.units]) for b in blocks]
                along[r] = [dot(E[b.units], d[b.units]) for b in blocks]
            step = w / (k - 1)
            variance = np.maximum((dot(e, e) - k / (k - 1) * e**2) / (k - 2), 0.0)
            rest = np.maximum(squares.sum(axis=0) - k / (k - 1) * squares, 0.0)
            rep = np.repeat(whole.rep[np.newaxis], k, axis=0)
            rep[:, part] = w**2 * variance / (k - 1)
            nus = np.repeat(whole.nu_rep[np.newaxis], k, axis=0)
            nus[:, part] = k - 2.0
            both = np.repeat(whole.both[np.newaxis], k, axis=0)
            both[:, part] = w**2 * rest / ((k - 2) * (k - 1))
            seg = whole.seg - 2 * side.sign * step * along + step**2 * squares
            rows.append(
                Components(
                    whole.delta - side.sign * step * e,
                    rep,
                    nus,
                    np.maximum(seg, 0.0),
                    np.broadcast_to(whole.nu_seg, seg.shape),
                    both,
                )
            )
            part += 1
    names = ("delta", "rep", "nu_rep", "seg", "nu_seg", "both")
    return Components(*(np.concatenate([getattr(row, name) for row in rows]) for name in names))


def run_effect(side: Side, blocks: Sequence[Block]) -> float:
    """p of F = MS_rep / MS_int: whether replicas of a side differ by more than their noise on segments.

    With H groups, F has (n - H, (n - H)(U - 1)) degrees of freedom. On a suite, the squares of all
    test sets are added up, and there is one p.
    """
    from scipy.special import fdtrc

    between = within = 0.0
    for members in side.strata:
        x, Y = side.scores[members], side.units[members]
        between += float(((x - x.mean()) ** 2).sum())
        within += float(((Y - Y.mean(axis=0)) ** 2).sum())
    nu = len(side.scores) - len(side.strata)
    units = sum(b.units.stop - b.units.start - 1 for b in blocks)
    if within <= 0:
        return 0.0 if between > 0 else 1.0
    return float(fdtrc(nu, nu * units, between / within))
