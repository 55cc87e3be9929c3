"""What replicas show about one system (Clark et al. 2011, Table 1; Fu et al. 2016, Table 7).

    Avg      mean over replicas of the test score
    s_dev    sd over replicas of the score on the dev set
    s_test   sd over replicas of the score on the test set: how far tuner runs differ
    s_sel    mean over replicas of the sd over bootstrap test sets: how far test sets differ

Confidence intervals come from three bootstraps, which Fu et al. call the Riezler, Clark and
test-set methods. They draw segments of one replica; outputs from the segment x replica pool; or
whole test sets. Each ignores the variation of what it does not draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import product
from replitune.metrics.base import MeanMetric, Metric
from replitune.notes import Note, note, without_none
from replitune.registry import Entry
from replitune.replicas import Design, sampled_runs
from replitune.settings import about, check_arguments
from replitune.significance import arguments as iv
from replitune.significance.counting import few_replicas_note, percentile_interval
from replitune.significance.draws import Draws, SegmentDraws, named_draws
from replitune.significance.intervals import Interval, bca_interval
from replitune.significance.next_run import prediction_interval
from replitune.significance.registry import INTERVALS
from replitune.significance.run import TestSetScores, run_scores
from replitune.significance.system_parts import analyse
from replitune.significance.tests.bootstraps import NO_VARIANCE, replica_counts
from replitune.statistics.systems import SystemStatistics

ONE_SEGMENT = note("one-unit", unit="segment, or none", what="nothing to draw from")


def spread_notes(system: str, kind: str, *statistics: NDArray[Any]) -> dict[str, tuple[Note, ...]]:
    """Why s_test of a system is None or meaningless: one run, or runs that are the same in every segment
    of every test set. `kind`: what a run is called."""
    runs = len(statistics[0])
    if runs == 1:
        return {"s_test": (one_replica(kind),)}
    if all(np.array_equal(of_set[0], run) for of_set in statistics for run in of_set[1:]):
        return {"s_test": (note("identical-runs", systems=[system], n=runs, kind=kind),)}
    return {}


def one_replica(kind: str) -> Note:
    return note("one-replica", runs=f"one {kind}", what="a standard deviation needs two")


@dataclass(frozen=True)
class SystemSummary:
    """One system on one test set under one metric. What cannot be computed is None, and `notes`
    say why."""

    name: str
    n: int
    avg: float
    scores: dict[str, float]
    """By replica."""
    s_sel: float | None
    s_dev: float | None
    s_test: float | None
    median_replica: str
    next_run: tuple[float, float] | None = None
    """Prediction interval of the score of the next run on this test set."""
    ci: dict[str, tuple[float, float] | None] = field(default_factory=dict)
    """By method: riezler, clark, fu."""
    notes: dict[str, tuple[Note, ...]] = field(default_factory=dict)
    """By field; for an interval, `ci_<method>`."""
    intervals: dict[str, Interval] = field(default_factory=dict, repr=False, compare=False)
    """The intervals with their bootstrap distributions, for `intervals.overlap_ratio`."""


def sd(values: NDArray[np.float64]) -> float | None:
    """Standard deviation with n - 1; None for one value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def s_sel(
    metric: Metric,
    system: SystemStatistics,
    documents: NDArray[np.int32],
    segments: SegmentDraws,
    *,
    samples: int = 1000,
) -> float | None:
    """Mean over replicas of the sd (k - 1) over k bootstrap test sets, the same for all replicas
    and systems; None for one segment. For a mean of segment scores it is computed directly, as if
    there were infinitely many test sets."""
    if system.segments == 1:
        return None
    if isinstance(metric, MeanMetric) and (system.statistics[..., 1] == 1).all():
        return float(np.std(system.statistics[..., 0], axis=1).mean() / np.sqrt(system.segments))
    scores = segments.scores(metric, system, documents, unit="segment", samples=samples)
    return float(np.std(scores, axis=0, ddof=1).mean())


Kind = Annotated[
    Literal["percentile", "bca"],
    about("Percentiles of the bootstrap distribution, or bias-corrected and accelerated (BCa)."),
]


@check_arguments
def riezler_interval(
    metric: Metric,
    system: SystemStatistics,
    documents: NDArray[np.int32],
    draws: Draws,
    *,
    samples: int = 1000,
    confidence: float = 0.95,
    unit: iv.Unit = "segment",
    replica: iv.ReplicaId = "median",
    kind: Kind = "percentile",
    half: Annotated[
        Literal["with replacement", "without replacement"] | None,
        about(
            "Neubig's Algorithm 4, subsets of N/2. With replacement, the interval is sqrt(2) times too "
            "wide for N segments; without, its width is right."
        ),
    ] = None,
) -> Interval:
    """Interval of the score of one replica, from bootstrap test sets of N segments."""
    scores = metric.score(system.sums)
    r = iv.select_replica(system, scores, replica)
    statistics = iv.in_units(system.statistics[[r]], documents, unit)
    if half is None:
        drawn = draws.segments.scores(metric, system, documents, unit=unit, samples=samples, replica=r)[
            :, 0
        ]
    else:
        drawn = np.empty(samples)
        blocks = draws.segments.sums(
            statistics,
            samples,
            size=max(1, statistics.shape[1] // 2),
            replacement=half == "with replacement",
        )
        for rows, sums in blocks:
            drawn[rows] = metric.score(sums[:, 0])
    every = iv.widened(statistics)
    jackknife = metric.score(every.sum(axis=1) - every[0])
    alone = None
    if statistics.shape[1] == 1:
        alone = note("one-unit", unit=unit, what="nothing to draw from")
    return _interval(drawn, float(scores[r]), jackknife, kind, confidence, alone)


@check_arguments
def clark_interval(
    metric: Metric,
    system: SystemStatistics,
    documents: NDArray[np.int32],
    draws: Draws,
    *,
    samples: int = 1000,
    confidence: float = 0.95,
    unit: iv.Unit = "segment",
    strata: iv.Strata = "groups",
    kind: Kind = "percentile",
) -> Interval:
    """Interval of the score of the pooled statistics, from N n draws out of the segment x replica pool."""
    pool = draws.pools(system.name)
    drawn = pool.scores(
        metric, system, documents, aggregation="pooled", strata=strata, unit=unit, samples=samples
    )
    total = system.sums.sum(axis=0)
    observed = float(iv.pooled_score(metric, total, system.n))
    jackknife = np.empty(0)
    if kind == "bca":
        left = total - iv.widened(iv.in_units(system.statistics, documents, unit))
        jackknife = iv.pooled_score(metric, left, system.n)
        for members in iv.own_strata(system, strata):
            jackknife[members] -= jackknife[members].mean()
    return _interval(drawn, observed, jackknife.ravel(), kind, confidence, None)


@check_arguments
def fu_interval(
    metric: Metric,
    system: SystemStatistics,
    documents: NDArray[np.int32],
    draws: Draws,
    *,
    samples: int = 1000,
    confidence: float = 0.95,
    strata: iv.Strata = "groups",
    kind: Kind = "percentile",
) -> Interval:
    """Interval of the mean replica score, from n draws of whole test sets."""
    scores = metric.score(system.sums)
    if system.n == 1:
        return Interval(None, None, (NO_VARIANCE,))
    rng = draws.replicas(system.name)
    drawn = product(replica_counts(system, strata, samples, rng), scores) / system.n
    jackknife = np.empty(system.n)
    for members in iv.own_strata(system, strata):
        jackknife[members] = scores[members].mean() - scores[members]
    note = few_replicas_note(system.n, system.n)
    return _interval(drawn, float(scores.mean()), jackknife, kind, confidence, note)


def _interval(
    drawn: NDArray[np.float64],
    observed: float,
    jackknife: NDArray[np.float64],
    kind: str,
    confidence: float,
    note: Note | None,
) -> Interval:
    if kind == "bca":
        low, high, reason = bca_interval(drawn, observed, jackknife, confidence)
        return Interval(low, high, without_none(note, reason), drawn)
    return Interval(*percentile_interval(drawn, confidence), without_none(note), drawn)


def summarise(
    metric: Metric,
    system: SystemStatistics,
    documents: NDArray[np.int32],
    *,
    testset: str,
    seed: int,
    samples: int = 10_000,
    alpha: float = 0.05,
    intervals: Sequence[str | Mapping[str, Any] | Entry] = ("riezler", "clark", "fu"),
    design: Design = "runs",
    dev: SystemStatistics | None = None,
    draws: Draws | None = None,
) -> SystemSummary:
    """What Clark's Table 1 and Fu's Table 7 report about a system.

    Random streams are keyed by names alone, as in `run.run_tests`.

    Parameters
    ----------
    samples : int
        For intervals.
    alpha : float
        Intervals have confidence 1 - alpha.
    intervals
        Names of `INTERVALS`, with options or without.
    design
        What replicas are; of samples of runs, the mean is that of the means of the runs.
    dev : optional
        The same replicas on the dev set, under the same metric.
    draws : optional
        `draws.named_draws(testset, seed)`, to share what was drawn with tests and other systems.
    """
    iv.system_iv(system)
    shared = named_draws(testset, seed) if draws is None else draws
    scores = metric.score(system.sums)
    kind = "run" if design == "runs" else "sample"
    notes = spread_notes(system.name, kind, system.statistics)
    if system.segments == 1:
        notes["s_sel"] = (ONE_SEGMENT,)
    s_dev = None
    if dev is None:
        notes["s_dev"] = (note("no-dev"),)
    else:
        s_dev = sd(metric.score(dev.sums))
        if s_dev is None:
            notes["s_dev"] = (one_replica(kind),)
    drawn = {
        entry.id: INTERVALS[entry.name](
            metric, system, documents, shared, samples=samples, confidence=1 - alpha, **entry.options
        )
        for entry in INTERVALS.entries(intervals)
    }
    for name, interval in drawn.items():
        if interval.notes:
            notes[f"ci_{name}"] = interval.notes
    return _summary(
        system,
        scores,
        alpha,
        design,
        s_sel=s_sel(metric, system, documents, shared.segments),
        s_dev=s_dev,
        ci={name: interval.limits for name, interval in drawn.items()},
        notes=notes,
        intervals=drawn,
    )


def summarise_suite(
    testsets: Sequence[TestSetScores],
    weights: Sequence[float],
    id: str,
    system: str,
    *,
    alpha: float = 0.05,
    design: Design = "runs",
) -> SystemSummary:
    """A system on a suite of test sets, with the same runs on each, under one metric. Scores are
    weighted means, and s_sel is that of the linearised metric."""
    scores = run_scores(testsets, weights, id, system)
    parts = [(metric, systems[system]) for metric, systems in (t.metrics[id] for t in testsets)]
    variances = [
        (weight * analyse(metric, statistics, None).units) ** 2
        for weight, (metric, statistics) in zip(weights, parts, strict=True)
    ]
    return _summary(
        parts[0][1],
        scores,
        alpha,
        design,
        s_sel=float(np.sqrt(sum(v.sum(axis=1) for v in variances)).mean()),
        s_dev=None,
        notes=spread_notes(
            system,
            "run" if design == "runs" else "sample",
            *(statistics.statistics for _, statistics in parts),
        ),
    )


def _summary(
    system: SystemStatistics, scores: NDArray[np.float64], alpha: float, design: Design, **more: Any
) -> SystemSummary:
    """The summary of a system: what the scores of its runs show, and `more`."""
    means = scores
    if design == "nested":
        runs = sampled_runs(system.name, system.replicas, system.groups)
        means = np.array([scores[samples].mean() for samples in runs.values()])
    return SystemSummary(
        name=system.name,
        n=system.n,
        avg=float(means.mean()),
        scores=dict(zip(system.replicas, scores.tolist(), strict=True)),
        s_test=sd(scores),
        median_replica=system.replicas[iv.median_replica(scores, system.replicas)],
        next_run=prediction_interval(means, 1 - alpha),
        **more,
    )
