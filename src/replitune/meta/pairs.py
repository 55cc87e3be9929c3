"""Which pairs of systems humans and metrics tell apart, and how often they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from replitune.meta.agreement import RankSum, agreement, combined_outcome, rank_sum
from replitune.meta.rows import MetaRow, MetaRun, join_notes
from replitune.meta.scores import Scores
from replitune.significance.multiple import verdict
from replitune.significance.run import run_tests


def agreements(
    metrics: Sequence[Scores],
    humans: Sequence[Scores],
    documents: NDArray[np.int32],
    run: MetaRun,
) -> list[MetaRow]:
    """Outcomes of all pairs by humans and by each metric's tests, and how often they agree."""
    names = metrics[0].systems
    pairs = list(combinations(range(len(names)), 2))
    alpha = run.settings.alphas[0]
    rows: list[MetaRow] = []
    judged: dict[str, list[RankSum]] = {}
    for human in humans:
        cells = [row[~np.isnan(row)] for row in human.segment]
        judged[human.name] = tests = [rank_sum(cells[i], cells[j]) for i, j in pairs]
        for (i, j), test in zip(pairs, tests, strict=True):
            delta = float(human.system[j] - human.system[i])
            rows.append(
                MetaRow(
                    "pair",
                    human.name,
                    "rank-sum",
                    a=names[i],
                    b=names[j],
                    alpha=alpha,
                    value=None if np.isnan(delta) else delta,
                    statistic=test.u,
                    p=test.p,
                    n=test.n_a + test.n_b,
                    outcome=None if test.p is None else test.outcome(alpha),
                    note=test.note,
                )
            )
    results = run_tests(
        {
            metric.name: (metric.metric, {item.name: item for item in metric.statistics})
            for metric in metrics
        },
        documents,
        testset=run.testset,
        seed=run.seed,
        methods=run.settings.methods,
        samples=run.settings.samples,
        alpha=alpha,
        correction=run.settings.correction,
        threads=run.threads,
    )
    for metric in metrics:
        better = metric.metric.higher_is_better
        found = results[metric.name]
        for method in dict.fromkeys(result.method for result in found):
            tests_of = [result for result in found if result.method == method]
            for result in tests_of:
                rows.append(
                    MetaRow(
                        "pair",
                        None,
                        method,
                        metric=metric.name,
                        a=result.a,
                        b=result.b,
                        alpha=alpha,
                        value=result.delta,
                        p=result.p if result.p_adjusted is None else result.p_adjusted,
                        p_min=result.p_min,
                        outcome=verdict(result, alpha, better),
                        samples=result.samples,
                        seed=result.seed,
                        note=result.note,
                    )
                )
            for level in run.settings.alphas:
                outcomes = [verdict(result, level, better) for result in tests_of]
                reached = {result.p_min for result in tests_of if result.p_min is not None}
                unreachable = (
                    f"the test cannot reach {level:g}: its smallest p is {min(reached):.3g}"
                    if reached and min(reached) * (1 - 1e-12) > level
                    else None
                )
                for criterion, theirs in _human_outcomes(
                    judged, run.settings.human_alpha or level
                ).items():
                    agreed = agreement(theirs, outcomes)
                    rows.append(
                        MetaRow(
                            "agreement",
                            criterion,
                            method,
                            metric=metric.name,
                            alpha=level,
                            value=agreed.share,
                            ci_low=agreed.ci_low,
                            ci_high=agreed.ci_high,
                            n=agreed.pairs,
                            note=join_notes(agreed.note, unreachable),
                        )
                    )
    return rows


def _human_outcomes(
    judged: Mapping[str, Sequence[RankSum]], alpha: float
) -> dict[str, list[int | None]]:
    """By criterion; combined (Graham et al. 2014) where adequacy and fluency were judged."""
    found: dict[str, list[int | None]] = {
        criterion: [None if test.p is None else test.outcome(alpha) for test in tests]
        for criterion, tests in judged.items()
    }
    if "adequacy" in judged and "fluency" in judged:
        found["combined"] = [
            combined_outcome(*tests, alpha)
            for tests in zip(judged["adequacy"], judged["fluency"], strict=True)
        ]
    return found
