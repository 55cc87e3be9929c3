"""Metrics of metrics: everything that `replitune meta` computes about metrics and humans.

Streams are keyed by (test set, study), never by the metric: all metrics see the same resamples
and coin flips, and adding a metric changes no number of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.meta.correlations import COEFFICIENTS, few_items, many_items
from replitune.meta.metric_correlations import FEWEST, LEVELS, MetaDraws, correlate, williams
from replitune.meta.pairs import agreements
from replitune.meta.perm_both import exchange_p, perm_both, soft_pairwise_accuracy
from replitune.meta.rows import MetaRow, MetaRun, MetaStudy
from replitune.meta.scores import Scores

COMPARED_LEVELS = ("system", "segment")
"""Where metrics are compared, with Pearson's r."""

EXCHANGES = {"perm-systems": "systems", "perm-both": "both"}
"""Tests that exchange scores of two metrics, and what each of them exchanges."""


def evaluate(
    metrics: Sequence[Scores],
    humans: Sequence[Scores],
    documents: NDArray[np.int32],
    run: MetaRun,
    notes: Sequence[str] = (),
) -> MetaStudy:
    """Compare metrics with humans.

    Parameters
    ----------
    metrics, humans
        Scores of the same systems and segments; `humans` by criterion.
    documents : (N,)
        Document number of each segment.
    """
    _validate(metrics, humans)
    rows: list[MetaRow] = []
    for human in humans:
        rows += _correlations(metrics, human, run)
        rows += _comparisons(metrics, human, run)
        rows += _soft_pairwise(metrics, human, run)
    rows += agreements(metrics, humans, documents, run)
    return MetaStudy(
        run=run,
        systems=metrics[0].systems,
        metrics=tuple(metric.name for metric in metrics),
        criteria=tuple(human.name for human in humans),
        segments=len(documents),
        judged={human.name: int(human.present.sum()) for human in humans},
        rows=rows,
        notes=tuple(notes),
    )


def _validate(metrics: Sequence[Scores], humans: Sequence[Scores]) -> None:
    if not metrics or not humans:
        raise ReplituneError("nothing to compare", expected="a metric and human scores")
    first = metrics[0]
    for other in (*metrics, *humans):
        if other.systems != first.systems or other.segment.shape != first.segment.shape:
            raise ReplituneError(
                f"{other.name} and {first.name} are not scores of the same outputs",
                found=f"{len(other.systems)} systems, {other.segment.shape[1]} segments",
                expected=f"{len(first.systems)} systems, {first.segment.shape[1]} segments",
            )


def _correlations(metrics: Sequence[Scores], human: Scores, run: MetaRun) -> list[MetaRow]:
    draws = MetaDraws.from_rng(run.stream("bootstrap"))
    rows = []
    for metric in metrics:
        for level in LEVELS:
            for coefficient in COEFFICIENTS:
                correlation = correlate(
                    metric,
                    human,
                    level=level,
                    coefficient=coefficient,
                    resample=run.settings.resample,
                    draws=draws,
                    samples=run.settings.ci_samples,
                )
                rows.append(
                    MetaRow(
                        "correlation",
                        human.name,
                        coefficient,
                        metric=metric.name,
                        level=level,
                        value=correlation.value,
                        ci_low=correlation.ci_low,
                        ci_high=correlation.ci_high,
                        n=correlation.n,
                        resampled=correlation.resampled,
                        samples=correlation.samples,
                        seed=run.seed,
                        note=correlation.note,
                    )
                )
    return rows


def _comparisons(metrics: Sequence[Scores], human: Scores, run: MetaRun) -> list[MetaRow]:
    """Each pair of metrics in both directions: is the first one better?"""
    rows = []
    for x, y in combinations(metrics, 2):
        for level in COMPARED_LEVELS:
            row = partial(MetaRow, "comparison", human.name, level=level)
            r, n = _three_correlations(human, x, y, level)
            for first, second, (r12, r13) in ((x, y, r[:2]), (y, x, r[1::-1])):
                tested = williams(r12, r13, r[2], n)
                rows.append(
                    row(
                        "williams",
                        metric=first.name,
                        other=second.name,
                        value=None if r12 is None or r13 is None else r12 - r13,
                        statistic=tested.t,
                        p=tested.p,
                        n=n,
                        note=tested.note,
                    )
                )
            a, b = sorted((x, y), key=lambda scores: scores.name)
            for method, exchange in EXCHANGES.items():
                exchanged = perm_both(
                    a.segment,
                    b.segment,
                    human.segment,
                    rng=run.stream(method, level, a.name, b.name),
                    level=level,
                    exchange=exchange,
                    samples=run.settings.samples,
                )
                for result, metric, other in ((exchanged, a, b), (exchanged.swapped(), b, a)):
                    rows.append(
                        row(
                            method,
                            metric=metric.name,
                            other=other.name,
                            value=result.delta,
                            p=result.p,
                            p_min=result.p_min,
                            n=n,
                            samples=result.samples,
                            seed=run.seed,
                            note=result.note,
                        )
                    )
    return rows


def _three_correlations(human: Scores, x: Scores, y: Scores, level: str) -> tuple[list[float | None], int]:
    """Pearson's r of (human, x), (human, y), (x, y) on the items that all three score, and their number."""
    data = [getattr(scores, level) for scores in (human, x, y)]
    known = ~np.isnan(data).any(axis=0)
    n = int(known.sum())
    if n < FEWEST[level]:
        return [None, None, None], n
    h, a, b = (values[known] for values in data)
    pearson = few_items if level == "system" else many_items
    values = [float(np.ravel(pearson(p, q, "pearson"))[0]) for p, q in ((h, a), (h, b), (a, b))]
    return [None if np.isnan(value) else value for value in values], n


def _soft_pairwise(metrics: Sequence[Scores], human: Scores, run: MetaRun) -> list[MetaRow]:
    def p_of(scores: Scores) -> NDArray[np.float64]:
        coins = run.stream("exchange")
        return exchange_p(scores, rng=coins, samples=run.settings.samples)

    p_human = p_of(human)
    rows = []
    for metric in metrics:
        accuracy = soft_pairwise_accuracy(p_human, p_of(metric))
        rows.append(
            MetaRow(
                "soft-pairwise",
                human.name,
                "soft-pairwise-accuracy",
                metric=metric.name,
                value=accuracy.value,
                n=accuracy.pairs,
                samples=run.settings.samples,
                seed=run.seed,
                note=accuracy.note,
            )
        )
    return rows
