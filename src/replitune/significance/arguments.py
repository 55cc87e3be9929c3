"""What every test is given, and what it checks and prepares before it draws anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, did_you_mean
from replitune.metrics.base import Metric
from replitune.replicas import same_shares
from replitune.settings import about
from replitune.significance.base import Comparison
from replitune.statistics.systems import SystemStatistics

if TYPE_CHECKING:
    from replitune.significance.system_parts import SystemParts

    Replicated = SystemStatistics | SystemParts

Alternative = Annotated[
    Literal["two-sided", "greater", "less"],
    about("Whether B differs from A, or is better (`greater`) or worse (`less`) than A."),
]
Unit = Annotated[
    Literal["segment", "document"], about("What is exchanged or drawn: segments, or documents.")
]
Strata = Annotated[
    Literal["groups", "none"],
    about("`groups`: runs are exchanged with, and drawn from, runs of the same tuner only."),
]
Aggregation = Annotated[
    Literal["mean", "pooled"], about("Mean of the scores of runs, or score of their pooled statistics.")
]
Paired = Annotated[bool, about("Run k of A and run k of B, by id, share a seed.")]
ReplicaId = Annotated[str, about("The run with the median score (`median`), or with this id.")]
ReplicaOfA = Annotated[str | None, about("The run of A, if not `replica`.")]
ReplicaOfB = Annotated[str | None, about("The run of B, if not `replica`.")]
Folded = Annotated[
    Literal["folded"] | None, about("`folded`: count as Fu et al. 2016 and sacrebleu do; not a valid test.")
]


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise ReplituneError(
            f"`{name}` must be one of {{{listed}}}",
            found=repr(value),
            fix=did_you_mean(value, map(str, allowed), "{!r}"),
        )


def system_iv(system: SystemStatistics) -> None:
    if system.n == 0 or system.segments == 0:
        raise ReplituneError(
            f"system {system.name} has no outputs to test",
            found=f"{system.n} runs of {system.segments} segments",
            expected="at least one of each",
        )
    if system.statistics.dtype.kind == "f" and not np.isfinite(system.statistics).all():
        replica, segment, _ = np.argwhere(~np.isfinite(system.statistics))[0]
        raise ReplituneError(
            f"system {system.name} has a statistic that is not a number",
            found=f"NaN or infinity in run {system.replicas[replica]}, segment {segment}",
            expected="finite statistics",
            fix="leave the segment out for every system, or score it again",
        )


def widened(array: NDArray) -> NDArray:
    """The array in 64 bits, so that sums fit."""
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)


def by_document(statistics: NDArray, documents: NDArray[np.int32]) -> NDArray:
    """(n, N, K) -> (n, G, K): sums over the segments of each document."""
    order = np.argsort(documents, kind="stable")
    starts = np.flatnonzero(np.diff(documents[order], prepend=-1))
    return np.add.reduceat(widened(statistics[:, order]), starts, axis=1)


def in_units(statistics: NDArray, documents: NDArray[np.int32], unit: str) -> NDArray:
    """(n, U, K): statistics of the units that are exchanged or drawn."""
    return statistics if unit == "segment" else by_document(statistics, documents)


def strata_of(a: Replicated, b: Replicated, strata: str) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """For each group of replicas, its members in A and in B.

    Outputs of one tuner are exchangeable with outputs of the same tuner only, and a group that
    weighs more in A than in B would be counted as a difference between the systems. Where A and B
    have no group in common (a tuned system against training seeds), how replicas are made is part
    of the systems, and groups are ignored.
    """
    every = (np.arange(a.n), np.arange(b.n))
    groups = [*dict.fromkeys((*a.groups, *b.groups))]
    if strata == "none" or len(groups) == 1 or not set(a.groups) & set(b.groups):
        return [every]
    if not same_shares(Counter(a.groups), Counter(b.groups)):
        counts = [
            f"{s.name}: " + ", ".join(f"{s.groups.count(g)} {g or 'without'}" for g in groups)
            for s in (a, b)
        ]
        raise ReplituneError(
            f"systems {a.name} and {b.name} have different shares of each group of runs",
            found="; ".join(counts),
            expected="the same proportions, since runs are exchanged within their group",
            fix="use `strata: none` to ignore the groups (as Fu et al. 2016 do), or give "
            "both systems the same runs",
        )
    return [
        (np.flatnonzero([g == group for g in a.groups]), np.flatnonzero([g == group for g in b.groups]))
        for group in groups
    ]


def own_strata(system: Replicated, strata: str) -> list[NDArray[np.intp]]:
    """Members of each group of one system's replicas."""
    if strata == "none":
        return [np.arange(system.n)]
    return [np.flatnonzero([g == group for g in system.groups]) for group in dict.fromkeys(system.groups)]


def pair_replicas(
    a: Replicated, b: Replicated, strata: str
) -> tuple[NDArray[np.intp], NDArray[np.intp], str]:
    """Replicas of A and of B that are paired, and how the pairs were found; n_A = n_B."""
    if len(set(a.replicas)) == a.n and set(a.replicas) == set(b.replicas):
        place = {replica: r for r, replica in enumerate(b.replicas)}
        partner = np.array([place[replica] for replica in a.replicas])
        same = all(a.groups[r] == b.groups[partner[r]] for r in range(a.n))
        if strata == "none" or same:
            return np.arange(a.n), partner, "replica id"
    members = strata_of(a, b, strata)
    return (
        np.concatenate([in_a for in_a, _ in members]),
        np.concatenate([in_b for _, in_b in members]),
        "stored order",
    )


def matched(a: Replicated, b: Replicated) -> NDArray[np.int64]:
    """For each replica of A, the position in B of the replica with the same id."""
    place = {name: k for k, name in enumerate(b.replicas)}
    if set(place) != set(a.replicas) or len(place) != b.n or a.n != b.n:
        only = sorted(set(a.replicas) ^ set(place))
        raise ReplituneError(
            f"runs of {a.name} and {b.name} do not pair by id",
            found=f"in one system only: {', '.join(only) or 'none; ids repeat'}",
            expected="the same replica ids in both systems",
            fix="leave `paired` (of all tests: `paired_replicas`) off, or give both systems the same runs",
        )
    return np.array([place[name] for name in a.replicas], np.int64)


def median_replica(scores: NDArray[np.float64], replicas: Sequence[str]) -> int:
    """Index of the median replica: at place (n - 1) // 2 when sorted by (score, id)."""
    order = sorted(range(len(scores)), key=lambda r: (scores[r], replicas[r]))
    return order[(len(order) - 1) // 2]


def select_replicas(
    comparison: Comparison, replica: str, replica_a: str | None = None, replica_b: str | None = None
) -> tuple[int, int]:
    """Indices of the replicas of A and of B that a one-replica test compares; `replica`: of both."""
    return (
        select_replica(comparison.a, comparison.scores_a, replica_a or replica),
        select_replica(comparison.b, comparison.scores_b, replica_b or replica),
    )


def select_replica(system: SystemStatistics, scores: NDArray[np.float64], wanted: str) -> int:
    """Index of the replica with the id `wanted`, or of the median one ("median")."""
    if wanted in system.replicas:
        return system.replicas.index(wanted)
    if wanted == "median":
        return median_replica(scores, system.replicas)
    raise ReplituneError(
        f"system {system.name} has no run {wanted!r}",
        expected="`median` or one of " + ", ".join(system.replicas),
    )


def pooled_score(metric: Metric, sums: NDArray, n: int) -> NDArray[np.float64]:
    """Score of statistics (..., K) summed over n replicas.

    The sums are divided by n, so that smoothing, and anything else that is not scale-free, acts as
    on one output.
    """
    return metric.score(sums if n == 1 else sums / n)


def aggregate_scores(comparison: Comparison, aggregation: str) -> tuple[float, float]:
    """Scores of A and B: the mean over replicas, or of the pooled statistics."""
    if aggregation == "mean":
        return float(comparison.scores_a.mean()), float(comparison.scores_b.mean())
    a, b = (
        float(pooled_score(comparison.metric, system.sums.sum(axis=0), system.n))
        for system in (comparison.a, comparison.b)
    )
    return a, b
