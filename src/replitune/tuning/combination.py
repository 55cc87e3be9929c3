"""Objectives that add up metrics, such as (TER - BLEU) / 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.metrics.registry import get_metric
from replitune.tuning.settings import terms_of


def get_objective(word: str) -> Metric:
    """A metric written as elsewhere, ``bleu:tokenize=none``, or a sum of terms with spaces around the
    signs: ``0.5*ter - 0.5*bleu:tokenize=none``."""
    terms = terms_of(word)
    if terms == [(1.0, word)]:
        return get_metric(word)
    return Combination([(factor, get_metric(metric)) for factor, metric in terms], id=word)


class Combination(Metric):
    """A weighted sum of corpus metrics, over their statistics side by side."""

    name = "combination"

    def __init__(self, terms: Sequence[tuple[float, Metric]], id: str | None = None) -> None:
        super().__init__(id)
        if not terms or any(factor == 0 for factor, _ in terms):
            raise ReplituneError("a combination of metrics needs factors other than 0")
        directions = {factor * metric.sign > 0 for factor, metric in terms}
        if len(directions) > 1:
            raise ReplituneError(
                "the terms of the combination pull in opposite directions",
                found=" ".join(f"{factor:+g}*{metric.id}" for factor, metric in terms),
                expected="metrics where lower is better with the other sign",
            )
        self.terms = tuple(terms)
        self.direction = 1 if directions == {True} else -1
        self.integer_statistics = all(metric.integer_statistics for _, metric in terms)
        self.statistic_names = tuple(
            f"{i}_{name}" for i, (_, metric) in enumerate(terms) for name in metric.statistic_names
        )

    def signature(self) -> str:
        return "|".join(f"{factor:+g}*{m.name}({m.signature()})" for factor, m in self.terms)

    def prepare(self, refs: Sequence[Sequence[str]]) -> list[Any]:
        return [metric.prepare(refs) for _, metric in self.terms]

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: list[Any]
    ) -> NDArray[Any]:
        return np.concatenate(
            [
                metric.segment_statistics(hyps, segments, own)
                for (_, metric), own in zip(self.terms, prepared, strict=True)
            ],
            axis=1,
        )

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.asarray(sums)
        ends = np.cumsum([len(metric.statistic_names) for _, metric in self.terms])
        total = np.zeros(sums.shape[:-1])
        for (factor, metric), own in zip(self.terms, np.split(sums, ends[:-1], -1), strict=True):
            total = total + factor * metric.score(own)
        return total
