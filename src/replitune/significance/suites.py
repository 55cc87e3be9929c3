"""One verdict over a suite of test sets, on which the runs of a system are the same.

Every system is decoded on all test sets by the same runs. So the run variance is that of each
run's weighted mean score, and only what segments add is a sum over test sets
(`system_parts.weighted`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.registry import Entry
from replitune.significance.arguments import median_replica, options_iv
from replitune.significance.base import Comparison, TestResult
from replitune.significance.next_run import prediction_interval
from replitune.significance.one_system import ONE_REPLICA, SystemSummary, sd
from replitune.significance.pairs import pairs_of_systems
from replitune.significance.run import adjusted, scored_by_both, turned
from replitune.significance.settings import Correction, Pairs
from replitune.significance.system_parts import Analyses, analyse, same_replicas
from replitune.significance.tests.crossed import crossed, crossed_suite
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True)
class TestSetScores:
    """All systems on one test set of a suite, under the metric of the suite."""

    __test__ = False  # not a test case for pytest

    metric: Metric
    systems: Mapping[str, SystemStatistics]
    documents: NDArray[np.int32]

    def comparison(self, a: str, b: str) -> Comparison:
        found = Comparison(self.metric, self.systems[a], self.systems[b], self.documents)
        return scored_by_both(found)


def run_suite(
    testsets: Sequence[TestSetScores],
    weights: Sequence[float],
    methods: Sequence[Entry],
    *,
    suite: str,
    seed: int,
    pairs: Pairs = "all",
    samples: int = 10_000,
    alpha: float = 0.05,
    correction: Correction = "max-t",
    families: int = 1,
    design: str = "runs",
    margins: Mapping[str, float] | None = None,
) -> list[TestResult]:
    """Rows of every pair by each of the methods that is `crossed`, the only test of a suite."""
    names = list(testsets[0].systems)
    wanted = pairs_of_systems(pairs, names)

    def run_scores(_: str) -> list[NDArray[np.float64]]:
        return [run_scores_on_suite(testsets, weights, name) for name in names]

    analyses = Analyses(run_scores, seed)
    given: dict[str, Any] = {"alpha": alpha, "design": design, "margins": margins, "analyses": analyses}
    entries = [entry for entry in methods if entry.name == "crossed"] or [Entry("crossed")]
    rows = []
    for pair in wanted:
        first, second = sorted(pair)
        comparisons = [testset.comparison(first, second) for testset in testsets]
        for entry in entries:
            options: dict[str, Any] = dict(entry.options)
            if pair != (first, second):
                options = turned(options)
            options = options_iv(crossed, options)
            row = replace(crossed_suite(comparisons, weights, **options, **given), method=entry.id)
            rows.append(row if pair == (first, second) else row.swapped())
    return adjusted(rows, alpha=alpha, correction=correction, families=families, samples=samples, seed=seed)


def summarise_suite(
    testsets: Sequence[TestSetScores], weights: Sequence[float], system: str, *, alpha: float = 0.05
) -> SystemSummary:
    """A system on a suite: scores are weighted means, and s_sel is by the linearised metric."""
    scores = run_scores_on_suite(testsets, weights, system)
    variances = [
        (weight * analyse(testset.metric, testset.systems[system], None).units) ** 2
        for weight, testset in zip(weights, testsets, strict=True)
    ]
    replicas = testsets[0].systems[system].replicas
    return SystemSummary(
        name=system,
        n=len(scores),
        avg=float(scores.mean()),
        scores=dict(zip(replicas, scores.tolist(), strict=True)),
        s_sel=float(np.sqrt(sum(v.sum(axis=1) for v in variances)).mean()),
        s_dev=None,
        s_test=sd(scores),
        median_replica=replicas[median_replica(scores, replicas)],
        next_run=prediction_interval(scores, 1 - alpha),
        notes={"s_test": (ONE_REPLICA,)} if len(scores) == 1 else {},
    )


def run_scores_on_suite(
    testsets: Sequence[TestSetScores], weights: Sequence[float], system: str
) -> NDArray[np.float64]:
    """(n,) weighted mean scores of a system's runs."""
    found = [testset.systems[system] for testset in testsets]
    same_replicas(system, [one.replicas for one in found])
    scores = [testset.metric.score(s.sums) for testset, s in zip(testsets, found, strict=True)]
    summed: NDArray[np.float64] = np.sum([w * x for w, x in zip(weights, scores, strict=True)], axis=0)
    return summed
