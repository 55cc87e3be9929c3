"""What replicas say of one system (Clark et al. 2011, Table 1; Fu et al. 2016, Table 7).

    Avg      mean over replicas of the test score
    s_dev    sd over replicas of the score on the dev set
    s_test   sd over replicas of the score on the test set: how far tuner runs differ
    s_sel    mean over replicas of the sd over bootstrap test sets: how far test sets differ

Confidence intervals are drawn in three ways, after what Fu et al. call the Riezler, Clark and
test-set methods: segments of one replica; outputs from the segment x replica pool; whole test
sets. Each ignores what it does not draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest
from replitune.metrics.base import Metric
from replitune.significance import arguments as iv
from replitune.significance.base import Note, some
from replitune.significance.counting import few_replicas, percentile_interval
from replitune.significance.draws import Draws, PoolDraws, SegmentDraws, named_draws
from replitune.significance.intervals import Interval, bca_interval
from replitune.significance.methods import Method, parameters
from replitune.significance.tests.fu_bootstrap import replica_counts
from replitune.statistics.systems import SystemStatistics
from replitune.streams import stream

KINDS = ("percentile", "bca")
HALVES = (None, "with replacement", "without replacement")
NO_VARIANCE = Note("one-replica", "one replica has no variance to draw from")
ONE_REPLICA = Note("one-replica", "one replica: a standard deviation needs two")


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
    ci: dict[str, tuple[float, float] | None] = field(default_factory=dict)
    """By method: riezler, clark, fu."""
    notes: dict[str, tuple[Note, ...]] = field(default_factory=dict)
    """By field; of an interval `ci_<method>`."""
    intervals: dict[str, Interval] = field(default_factory=dict, repr=False, compare=False)
    """The same with their bootstrap distributions, for `intervals.overlap_ratio`."""


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
    unit: str = "segment",
) -> float | None:
    """Mean over replicas of the sd (k - 1) over k bootstrap test sets, the same for all replicas
    and systems; None for one bootstrap test set."""
    samples = iv.samples_iv(samples)
    iv.one_of("unit", unit, iv.UNITS)
    if samples < 2:
        return None
    scores = segments.scores(metric, system, documents, unit=unit, samples=samples)
    return float(np.std(scores, axis=0, ddof=1).mean())


def riezler_interval(
    metric: Metric,
    system: SystemStatistics,
    documents: NDArray[np.int32],
    segments: SegmentDraws,
    *,
    samples: int = 1000,
    unit: str = "segment",
    replica: str = "median",
    kind: str = "percentile",
    half: str | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Of the score of one replica: bootstrap test sets of N segments.

    Parameters
    ----------
    replica : {"median", <id>}
    kind : {"percentile", "bca"}
    half : {"with replacement", "without replacement"}, optional
        Neubig's Algorithm 4: subsets of N/2. With replacement, the interval is sqrt(2) too wide
        for N segments; without, its width is right.
    """
    _interval_iv(samples, unit, kind, confidence)
    iv.one_of("half", half, HALVES)
    scores = metric.score(system.sums)
    r = iv.select_replica(metric, system, scores, replica)
    statistics = iv.in_units(system.statistics[[r]], documents, unit)
    if half is None:
        found = segments.scores(metric, system, documents, unit=unit, samples=samples, replica=r)[
            :, 0
        ]
    else:
        found = np.empty(samples)
        blocks = segments.sums(
            statistics,
            samples,
            size=max(1, statistics.shape[1] // 2),
            replacement=half == "with replacement",
        )
        for rows, sums in blocks:
            found[rows] = metric.score(sums[:, 0])
    wide = _wide(statistics)
    name = "riezler" if half is None else f"riezler, half {half}"
    jackknife = metric.score(wide.sum(axis=1) - wide[0])
    note = None
    if statistics.shape[1] == 1:
        note = Note("one-unit", f"one {unit}: nothing to draw from")
    return _interval(found, float(scores[r]), jackknife, name, kind, confidence, note)


def clark_interval(
    metric: Metric,
    system: SystemStatistics,
    documents: NDArray[np.int32],
    pool: PoolDraws,
    *,
    samples: int = 1000,
    unit: str = "segment",
    strata: str = "groups",
    kind: str = "percentile",
    confidence: float = 0.95,
) -> Interval:
    """Of the score of the pooled statistics: N n draws from the segment x replica pool."""
    _interval_iv(samples, unit, kind, confidence)
    iv.one_of("strata", strata, iv.STRATA)
    found = pool.pooled_scores(metric, system, documents, strata=strata, unit=unit, samples=samples)
    total = system.sums.sum(axis=0)
    observed = float(iv.pooled_score(metric, total, system.n))
    jackknife = np.empty(0)
    if kind == "bca":
        statistics = _wide(iv.in_units(system.statistics, documents, unit))
        left = total - statistics
        jackknife = iv.pooled_score(metric, left, system.n)
        for members in iv.own_strata(system, strata):
            jackknife[members] -= jackknife[members].mean()
    return _interval(found, observed, jackknife.ravel(), "clark", kind, confidence, None)


def fu_interval(
    metric: Metric,
    system: SystemStatistics,
    rng: np.random.Generator,
    *,
    samples: int = 1000,
    strata: str = "groups",
    kind: str = "percentile",
    confidence: float = 0.95,
) -> Interval:
    """Of the mean replica score: n draws of whole test sets."""
    _interval_iv(samples, "segment", kind, confidence)
    iv.one_of("strata", strata, iv.STRATA)
    scores = metric.score(system.sums)
    if system.n == 1:
        return Interval(None, None, "fu", (NO_VARIANCE,))
    found = replica_counts(system, strata, samples, rng) @ scores / system.n
    jackknife = np.empty(system.n)
    for members in iv.own_strata(system, strata):
        jackknife[members] = scores[members].mean() - scores[members]
    note = few_replicas(system.n, system.n)
    return _interval(found, float(scores.mean()), jackknife, "fu", kind, confidence, note)


def _interval_iv(samples: int, unit: str, kind: str, confidence: float) -> None:
    iv.samples_iv(samples)
    iv.one_of("unit", unit, iv.UNITS)
    iv.one_of("kind", kind, KINDS)
    iv.between_0_and_1("confidence", confidence)


def _wide(statistics: NDArray) -> NDArray:
    return statistics.astype(np.int64 if statistics.dtype.kind in "iu" else np.float64)


def _interval(
    found: NDArray[np.float64],
    observed: float,
    jackknife: NDArray[np.float64],
    name: str,
    kind: str,
    confidence: float,
    note: Note | None,
) -> Interval:
    if kind == "bca":
        low, high, reason = bca_interval(found, observed, jackknife, confidence)
        return Interval(low, high, f"{name}, BCa", some(note, reason), found)
    return Interval(*percentile_interval(found, confidence), name, some(note), found)


INTERVALS: dict[str, Callable[..., Interval]] = {
    "riezler": riezler_interval,
    "clark": clark_interval,
    "fu": fu_interval,
}


def interval_method(given: str | Mapping[str, Any]) -> Method:
    """An interval from its name, or from a mapping {name: ..., id: ..., <option>: ...}."""
    options = {"name": given} if isinstance(given, str) else dict(given)
    name = options.pop("name")
    iv.one_of("intervals", name, tuple(INTERVALS))
    label = options.pop("id", None)
    allowed = sorted(parameters(INTERVALS[name]) & {"half", "kind", "replica", "strata", "unit"})
    for option in options:
        if option not in allowed:
            close = nearest(option, allowed)
            raise ReplituneError(
                f"interval {name!r} has no option {option!r}",
                expected="one of " + ", ".join(allowed),
                fix=f"did you mean {close!r}?" if close else None,
            )
    return Method(name, tuple(sorted(options.items())), label)


def summarise(
    metric: Metric,
    system: SystemStatistics,
    documents: NDArray[np.int32],
    *,
    testset: str,
    seed: int,
    samples: int = 10_000,
    test_sets: int = 1000,
    alpha: float = 0.05,
    unit: str = "segment",
    strata: str = "groups",
    kind: str = "percentile",
    intervals: Sequence[str | Mapping[str, Any]] = tuple(INTERVALS),
    dev: SystemStatistics | None = None,
    tuned: bool = True,
    draws: Draws | None = None,
) -> SystemSummary:
    """What Clark's Table 1 and Fu's Table 7 say of a system.

    Random streams are keyed by names alone, as in `run.run_tests`.

    Parameters
    ----------
    samples : int
        For intervals.
    test_sets : int
        k bootstrap test sets for s_sel.
    alpha : float
        Intervals have confidence 1 - alpha.
    kind : {"percentile", "bca"}
    intervals :
        Which, as names, or mappings with name, id and options of their functions; options stand
        above the arguments of the same name here.
    dev : optional
        The same replicas on the dev set, under the same metric.
    tuned : bool
        Whether the replicas were tuned for this metric.
    draws : optional
        `draws.named_draws(testset, seed)`, to share what was drawn with tests and other systems.
    """
    iv.system_iv(system)
    iv.between_0_and_1("alpha", alpha)
    shared = named_draws(testset, seed) if draws is None else draws
    scores = metric.score(system.sums)
    notes: dict[str, tuple[Note, ...]] = {}
    if system.n == 1:
        notes["s_test"] = (ONE_REPLICA,)
    s_dev = None
    if dev is None:
        notes["s_dev"] = (Note("no-dev", "no scores on the dev set"),)
    else:
        s_dev = sd(metric.score(dev.sums))
        if s_dev is None:
            notes["s_dev"] = (ONE_REPLICA,)
        elif not tuned:
            text = "replicas were not tuned for this metric"
            notes["s_dev"] = (Note("not-tuned", text),)
    selection = s_sel(metric, system, documents, shared.segments, samples=test_sets, unit=unit)
    if selection is None:
        text = "one bootstrap test set: a standard deviation needs two"
        notes["s_sel"] = (Note("one-resample", text),)
    general = {
        "samples": samples, "kind": kind, "unit": unit, "strata": strata, "confidence": 1 - alpha,
    }  # fmt: skip
    drawn = {}
    for wanted in map(interval_method, intervals):
        function = INTERVALS[wanted.name]
        known = parameters(function)
        options = {key: value for key, value in general.items() if key in known}
        options |= dict(wanted.options)
        if wanted.name == "fu":
            # every interval from the same draws, whichever others there are
            rng = stream(seed, "test", testset, "replicas", system.name)
            drawn[wanted.label] = function(metric, system, rng, **options)
        else:
            source = shared.segments if wanted.name == "riezler" else shared.pools(system.name)
            drawn[wanted.label] = function(metric, system, documents, source, **options)
    for name, interval in drawn.items():
        if interval.notes:
            notes[f"ci_{name}"] = interval.notes
    return SystemSummary(
        name=system.name,
        n=system.n,
        avg=float(scores.mean()),
        scores=dict(zip(system.replicas, scores.tolist(), strict=True)),
        s_sel=selection,
        s_dev=s_dev,
        s_test=sd(scores),
        median_replica=system.replicas[iv.median_replica(scores, system.replicas)],
        ci={name: interval.limits for name, interval in drawn.items()},
        notes=notes,
        intervals=drawn,
    )
