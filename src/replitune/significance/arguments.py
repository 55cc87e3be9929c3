"""What every test checks and prepares before it draws anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest
from replitune.metrics.base import Metric
from replitune.significance.base import Comparison
from replitune.statistics.systems import SystemStatistics

ALTERNATIVES = ("two-sided", "greater", "less")
AGGREGATIONS = ("mean", "pooled")
PAIRINGS = ("free", "index")
UNITS = ("segment", "document")
STRATA = ("groups", "none")


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        close = nearest(str(value), [str(a) for a in allowed])
        raise ReplituneError(
            f"`{name}` must be one of {{{listed}}}",
            found=repr(value),
            fix=f"did you mean {close!r}?" if close else None,
        )


def samples_iv(samples: Any) -> int:
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 1:
        raise ReplituneError("`samples` must be a positive integer", found=repr(samples))
    return int(samples)


def between_0_and_1(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ReplituneError(f"`{name}` must be between 0 and 1", found=repr(value))


def comparison_iv(comparison: Comparison) -> None:
    for system in (comparison.a, comparison.b):
        system_iv(system)


def system_iv(system: SystemStatistics) -> None:
    if system.n == 0 or system.segments == 0:
        raise ReplituneError(
            f"system {system.name} has no outputs to test",
            found=f"{system.n} replicas of {system.segments} segments",
            expected="at least one of each",
        )
    if system.statistics.dtype.kind == "f" and not np.isfinite(system.statistics).all():
        replica, segment, _ = np.argwhere(~np.isfinite(system.statistics))[0]
        raise ReplituneError(
            f"system {system.name} has a statistic that is not a number",
            found=f"NaN or infinity in replica {system.replicas[replica]}, segment {segment}",
            expected="finite statistics",
            fix="leave the segment out for every system, or score it again",
        )


def by_document(statistics: NDArray, documents: NDArray[np.int32]) -> NDArray:
    """(n, N, K) -> (n, G, K): sums over the segments of each document."""
    order = np.argsort(documents, kind="stable")
    starts = np.flatnonzero(np.diff(documents[order], prepend=-1))
    kind = np.int64 if statistics.dtype.kind in "iu" else np.float64
    return np.add.reduceat(statistics[:, order].astype(kind), starts, axis=1)


def in_units(statistics: NDArray, documents: NDArray[np.int32], unit: str) -> NDArray:
    """(n, U, K): statistics of what is exchanged or drawn."""
    return statistics if unit == "segment" else by_document(statistics, documents)


def strata_of(
    a: SystemStatistics, b: SystemStatistics, strata: str
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """For each group of replicas, its members in A and in B.

    Outputs of one tuner are exchangeable with outputs of the same tuner only, and a group that
    weighs more in A than in B would be counted as a difference between the systems. Where they
    have no group in common (a tuned system against training seeds), how replicas come about is
    a part of the systems, and groups say nothing more.
    """
    every = (np.arange(a.n), np.arange(b.n))
    groups = [*dict.fromkeys((*a.groups, *b.groups))]
    if strata == "none" or len(groups) == 1 or not set(a.groups) & set(b.groups):
        return [every]
    found = []
    for group in groups:
        in_a = np.flatnonzero([g == group for g in a.groups])
        in_b = np.flatnonzero([g == group for g in b.groups])
        if len(in_a) * b.n != len(in_b) * a.n:
            counts = [
                f"{s.name}: " + ", ".join(f"{s.groups.count(g)} {g or 'without'}" for g in groups)
                for s in (a, b)
            ]
            raise ReplituneError(
                f"systems {a.name} and {b.name} have different shares of each group of replicas",
                found="; ".join(counts),
                expected="the same proportions, since replicas are exchanged within their group",
                fix="use `strata: none` to ignore the groups (as Fu et al. 2016 do), or give "
                "both systems the same replicas",
            )
        found.append((in_a, in_b))
    return found


def own_strata(system: SystemStatistics, strata: str) -> list[NDArray[np.intp]]:
    """Members of each group of one system's replicas."""
    if strata == "none":
        return [np.arange(system.n)]
    return [
        np.flatnonzero([g == group for g in system.groups])
        for group in dict.fromkeys(system.groups)
    ]


def pair_replicas(
    a: SystemStatistics, b: SystemStatistics, strata: str
) -> tuple[NDArray[np.intp], NDArray[np.intp], str]:
    """Members of A and B that belong together, and how that was decided; n_A = n_B."""
    if len(set(a.replicas)) == a.n and set(a.replicas) == set(b.replicas):
        place = {replica: r for r, replica in enumerate(b.replicas)}
        partner = np.array([place[replica] for replica in a.replicas])
        same = all(a.groups[r] == b.groups[partner[r]] for r in range(a.n))
        if strata == "none" or same:
            return np.arange(a.n), partner, "replica id"
    found = strata_of(a, b, strata)
    return (
        np.concatenate([in_a for in_a, _ in found]),
        np.concatenate([in_b for _, in_b in found]),
        "stored order",
    )


def median_replica(scores: NDArray[np.float64], replicas: Sequence[str]) -> int:
    """Index of the replica in the middle: sorted by (score, id), place (n - 1) // 2."""
    order = sorted(range(len(scores)), key=lambda r: (scores[r], replicas[r]))
    return order[(len(order) - 1) // 2]


def select_replica(
    metric: Metric, system: SystemStatistics, scores: NDArray[np.float64], wanted: str
) -> int:
    """Index of the replica that a one-replica test looks at: "median", or a replica's id."""
    if wanted in system.replicas:
        return system.replicas.index(wanted)
    if wanted == "median":
        return median_replica(scores, system.replicas)
    raise ReplituneError(
        f"system {system.name} has no replica {wanted!r}",
        expected="`median` or one of " + ", ".join(system.replicas),
    )


def pooled_score(metric: Metric, sums: NDArray, n: int) -> NDArray[np.float64]:
    """Score of statistics (..., K) summed over n replicas.

    Divided by n, so that smoothing, and whatever else is not scale-free, acts as on one output.
    """
    return metric.score(sums if n == 1 else sums / n)


def aggregate_scores(comparison: Comparison, aggregation: str) -> tuple[float, float]:
    """Scores of A and B: the mean over replicas, or of the pooled statistics."""
    if aggregation == "mean":
        return float(comparison.scores_a.mean()), float(comparison.scores_b.mean())
    a, b = comparison.a, comparison.b
    return (
        float(pooled_score(comparison.metric, a.sums.sum(axis=0), a.n)),
        float(pooled_score(comparison.metric, b.sums.sum(axis=0), b.n)),
    )
