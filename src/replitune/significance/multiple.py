"""Many comparisons: adjusted p-values, who beats whom, and clusters of systems.

The family is all pairs within one (test set, metric, method). Systems fall into clusters by the
rule of the WMT campaigns: ordered by score, a boundary lies where every system above beats
every system below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.notes import Note, note
from replitune.significance.base import TestResult


def adjust(p: Sequence[float | None], method: str) -> list[float | None]:
    """Adjusted p-values: "holm" (family-wise error) or "bh" (false discovery rate).

    Holm (1979): max over j <= rank of min(1, (m - j + 1) p_(j)). Benjamini and Hochberg (1995):
    min over j >= rank of min(1, m/j p_(j)). None stays None and does not count as a test.
    """
    known = sorted((value, i) for i, value in enumerate(p) if value is not None)
    m = len(known)
    for value, i in known:
        if not 0 <= value <= 1:
            raise ReplituneError("a p-value is not between 0 and 1", found=f"{value!r} in place {i}")
    adjusted: list[float | None] = [None] * len(p)
    if method == "holm":
        largest = 0.0
        for rank, (value, i) in enumerate(known):
            largest = max(largest, min(1.0, (m - rank) * value))
            adjusted[i] = largest
    else:
        smallest = 1.0
        for rank in range(m, 0, -1):
            value, i = known[rank - 1]
            # m/m is 1, so that the largest p is left as it is
            smallest = min(smallest, value * (m / rank))
            adjusted[i] = smallest
    return adjusted


def verdict(result: TestResult, alpha: float, sign: int) -> int | None:
    """1 when B beats A, -1 when A beats B, 0 for no significant difference; None without a p.

    p is the adjusted one if there is one. A one-sided test finds winners on its side only.
    """
    p = result.p if result.p_adjusted is None else result.p_adjusted
    if p is None:
        return None
    if p > alpha or result.delta == 0:
        return 0
    side = 1 if result.delta * sign > 0 else -1
    allowed = {"two-sided": (1, -1), "greater": (1,), "less": (-1,)}[result.alternative]
    return side if side in allowed else 0


@dataclass(frozen=True)
class Ranking:
    """Systems under one metric and one test, from best to worst."""

    systems: tuple[str, ...]
    scores: tuple[float, ...]
    wins: NDArray[np.bool_]
    """(S, S): the system of the row beats that of the column."""
    tested: NDArray[np.bool_]
    """(S, S): the pair has a p-value; symmetric."""
    clusters: tuple[tuple[str, ...], ...] | None
    """From best to worst; None if not every pair was tested, or if p are not corrected so that all
    decisions hold together."""
    notes: tuple[Note, ...] = ()

    joint: bool = True
    """All decisions hold together, with confidence 1 - alpha."""

    @property
    def ranks(self) -> tuple[tuple[int, int], ...] | None:
        """The best and worst rank that each system may have: 1 + the number of systems that beat it,
        and the number, itself included, that it does not beat (Klein et al. 2020). All ranks hold
        together, as the decisions do; None if these do not."""
        if not self.joint:
            return None
        above, below = self.wins.sum(axis=0), self.wins.sum(axis=1)
        size = len(self.systems)
        return tuple((1 + int(i), size - int(j)) for i, j in zip(above, below, strict=True))


def rank_systems(
    results: Sequence[TestResult], scores: Mapping[str, float], *, alpha: float = 0.05, sign: int = 1
) -> Ranking:
    """Order systems by score, fill the win matrix, and cut the order into clusters.

    Parameters
    ----------
    results
        One row per pair, of one method and one metric.
    scores : {system: score}
        What the systems are ordered by; equal scores by name.
    """
    methods = list(dict.fromkeys(result.method for result in results))
    if len(methods) > 1:
        raise ReplituneError("a ranking needs rows of one test", found=", ".join(methods), fix="choose one")
    names = tuple(sorted(scores, key=lambda name: (-sign * scores[name], name)))
    place = {name: i for i, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)), dtype=bool)
    tested = np.zeros_like(wins)
    for result in results:
        for name in (result.a, result.b):
            if name not in place:
                raise ReplituneError(
                    f"no score for system {name}", expected=f"a score of each of {', '.join(names)}"
                )
        a, b = place[result.a], place[result.b]
        won = verdict(result, alpha, sign)
        if won is None:
            continue
        tested[a, b] = tested[b, a] = True
        wins[b, a] |= won > 0
        wins[a, b] |= won < 0
    used = {result.correction for result in results}
    joint = len(results) < 2 or not used & {"bh", "none"}
    untested = [
        f"{names[i]} and {names[j]}" for i, j in combinations(range(len(names)), 2) if not tested[i, j]
    ]
    notes: tuple[Note, ...] = ()
    if untested:
        others = f" and {len(untested) - 1} other pairs" if len(untested) > 1 else ""
        notes = (note("no-clusters", why=f"no p for {untested[0]}{others}"),)
    elif not joint:
        why = "they need a correction that holds for all pairs together (holm, max-t)"
        notes = (note("no-clusters", why=why),)
    groups = None
    if joint and not untested:
        groups = tuple(tuple(names[i] for i in c) for c in clusters(wins))
    return Ranking(
        systems=names,
        scores=tuple(float(scores[name]) for name in names),
        wins=wins,
        tested=tested,
        clusters=groups,
        notes=notes,
        joint=joint,
    )


def clusters(wins: NDArray[np.bool_]) -> list[range]:
    """Cut an order of S systems: after rank k iff each of the first k beats each of the others.

    wins: (S, S), systems from best to worst; the row's system beats the column's.
    """
    size = len(wins)
    cuts = [k for k in range(1, size) if wins[:k, k:].all()]
    edges = [0, *cuts, size] if size else [0]
    return [range(start, end) for start, end in pairwise(edges)]


def partial_conjunction(p: Sequence[float], alpha: float) -> int:
    """On how many of K test sets, at least, there is an effect, with confidence 1 - alpha.

    Dror et al. (2017): the p of "on at least u of K" is (K - u + 1) p_(u), valid however the test
    sets depend on each other; here they share their runs. The result is the largest u such that the
    p of u and of all smaller numbers is at most alpha.
    """
    K, ordered = len(p), sorted(p)
    count = 0
    while count < K and (K - count) * ordered[count] <= alpha:
        count += 1
    return count
