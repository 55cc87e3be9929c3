"""Which pairs of systems humans and metrics tell apart, and how often they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from replitune.meta.human_tests import HumanTest, agreement, all_pairs, combined_outcome
from replitune.meta.rows import MetaRow, MetaRun, join_notes
from replitune.meta.scores import Scores
from replitune.significance.base import TestResult
from replitune.significance.multiple import verdict
from replitune.significance.run import TestSetScores, run_tests

Judged = Mapping[str, Mapping[str, Sequence[HumanTest]]]
"""Tests of all pairs, by the name of the test and by criterion."""


def agreements(
    metrics: Sequence[Scores], humans: Sequence[Scores], documents: NDArray[np.int32], run: MetaRun
) -> list[MetaRow]:
    """Outcomes of all pairs by humans and by each metric's tests, and how often they agree."""
    judged: Judged = {
        test: {human.name: all_pairs(test, human, run) for human in humans}
        for test in run.settings.human_tests
    }
    rows = [
        row
        for test, tests in judged.items()
        for human in humans
        for row in _human_pairs(test, human, tests[human.name], run)
    ]
    scores = {
        metric.name: (metric.metric, {item.name: item for item in metric.statistics}) for metric in metrics
    }
    results = run_tests(
        [TestSetScores(scores, documents)],
        testset=run.testset,
        seed=run.seed,
        methods=run.settings.methods,
        samples=run.settings.samples,
        alpha=run.settings.alphas[0],
        correction=run.settings.correction,
        threads=run.threads,
    )
    for metric in metrics:
        of_metric = results[metric.name]
        for method in dict.fromkeys(result.method for result in of_metric):
            tests_of = [result for result in of_metric if result.method == method]
            rows += _metric_pairs(metric, tests_of, run)
            rows += _agreements(metric, tests_of, judged, run)
    return rows


def _human_pairs(name: str, human: Scores, tests: Sequence[HumanTest], run: MetaRun) -> list[MetaRow]:
    alpha = run.settings.alphas[0]
    resampled = name == "permutation"
    rows = []
    for (i, j), test in zip(combinations(range(len(human.systems)), 2), tests, strict=True):
        delta = float(human.system[j] - human.system[i])
        rows.append(
            MetaRow(
                "pair",
                human.name,
                name,
                a=human.systems[i],
                b=human.systems[j],
                alpha=alpha,
                value=None if np.isnan(delta) else delta,
                statistic=test.statistic,
                p=test.p,
                n=test.n,
                outcome=None if test.p is None else test.outcome(alpha),
                samples=run.settings.samples if resampled else None,
                seed=run.seed if resampled else None,
                note=test.note,
            )
        )
    return rows


def _metric_pairs(metric: Scores, tests: Sequence[TestResult], run: MetaRun) -> list[MetaRow]:
    alpha = run.settings.alphas[0]
    return [
        MetaRow(
            "pair",
            None,
            result.method,
            metric=metric.name,
            a=result.a,
            b=result.b,
            alpha=alpha,
            value=result.delta,
            p=result.p if result.p_adjusted is None else result.p_adjusted,
            p_min=result.p_min,
            outcome=verdict(result, alpha, metric.metric.sign),
            samples=result.samples,
            seed=result.seed,
            note=result.note,
        )
        for result in tests
    ]


def _agreements(metric: Scores, tests: Sequence[TestResult], judged: Judged, run: MetaRun) -> list[MetaRow]:
    """The agreement of one test of a metric with each test of people's scores, at each level."""
    rows = []
    reached = {result.p_min for result in tests if result.p_min is not None}
    for level in run.settings.alphas:
        outcomes = [verdict(result, level, metric.metric.sign) for result in tests]
        unreachable = (
            f"the test cannot reach {level:g}: its smallest p is {min(reached):.3g}"
            if reached and min(reached) * (1 - 1e-12) > level
            else None
        )
        for test, by_criterion in judged.items():
            theirs = _human_outcomes(by_criterion, run.settings.human_alpha or level)
            for criterion, human_outcomes in theirs.items():
                agreed = agreement(human_outcomes, outcomes)
                rows.append(
                    MetaRow(
                        "agreement",
                        criterion,
                        tests[0].method,
                        metric=metric.name,
                        human_test=test,
                        alpha=level,
                        value=agreed.share,
                        ci_low=agreed.ci_low,
                        ci_high=agreed.ci_high,
                        n=agreed.pairs,
                        note=join_notes(agreed.note, unreachable),
                    )
                )
    return rows


def _human_outcomes(judged: Mapping[str, Sequence[HumanTest]], alpha: float) -> dict[str, list[int | None]]:
    """Outcomes by criterion; also combined (Graham et al. 2014) if adequacy and fluency were judged."""
    outcomes: dict[str, list[int | None]] = {
        criterion: [None if test.p is None else test.outcome(alpha) for test in tests]
        for criterion, tests in judged.items()
    }
    if "adequacy" in judged and "fluency" in judged:
        outcomes["combined"] = [
            combined_outcome(*tests, alpha)
            for tests in zip(judged["adequacy"], judged["fluency"], strict=True)
        ]
    return outcomes
