"""A system on a suite of test sets, on which its runs are the same.

Every system is decoded on all test sets by the same runs. So the run variance is that of each
run's weighted mean score, and only what segments add is a sum over test sets
(`system_parts.weighted`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replitune.significance.arguments import median_replica
from replitune.significance.next_run import prediction_interval
from replitune.significance.one_system import SystemSummary, sd, spread_notes
from replitune.significance.run import TestSetScores, run_scores
from replitune.significance.system_parts import analyse


def summarise_suite(
    testsets: Sequence[TestSetScores],
    weights: Sequence[float],
    id: str,
    system: str,
    *,
    alpha: float = 0.05,
) -> SystemSummary:
    """A system on a suite under one metric: scores are weighted means, and s_sel is by the
    linearised metric."""
    scores = run_scores(testsets, weights, id, system)
    pairs = [(metric, systems[system]) for metric, systems in (t.metrics[id] for t in testsets)]
    variances = [
        (weight * analyse(metric, statistics, None).units) ** 2
        for weight, (metric, statistics) in zip(weights, pairs, strict=True)
    ]
    replicas = pairs[0][1].replicas
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
        notes=spread_notes(*(statistics.statistics for _, statistics in pairs)),
    )
