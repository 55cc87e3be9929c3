"""Scores by groups of segments: where a difference comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.report.words import words_of
from replitune.statistics.systems import SystemStatistics

FIFTHS = (0.2, 0.4, 0.6, 0.8)


@dataclass(frozen=True)
class Grouping:
    """The group of each of N segments: one of G, numbered in the order of their names."""

    kind: str
    """document, part, length, ratio."""
    names: Sequence[str]
    codes: NDArray[np.int32]
    """(N,)"""


@dataclass(frozen=True)
class GroupScores:
    """G groups of the segments of a test set."""

    kind: str
    names: Sequence[str]
    sizes: Sequence[int]
    """Number of segments of each."""
    scores: Mapping[str, NDArray[np.float64]]
    """By system: (n, G) score of each replica on each group alone."""


def group_scores(metric: Metric, systems: Mapping[str, SystemStatistics], by: Grouping) -> GroupScores:
    order = np.argsort(by.codes, kind="stable")
    sorted_codes = by.codes[order]
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    scores = {}
    for name, system in systems.items():
        kind = np.int64 if system.statistics.dtype.kind in "iu" else np.float64
        sums = np.add.reduceat(system.statistics[:, order], starts, axis=1, dtype=kind)
        scores[name] = metric.score(sums)
    return GroupScores(by.kind, by.names, np.bincount(by.codes).tolist(), scores)


def by_length(references: Sequence[Sequence[str]]) -> Grouping:
    """Fifths of the segments by the number of words of the first reference."""
    lengths = np.array([len(words_of(line)) for line in references[0]])
    edges = np.unique(np.quantile(lengths, FIFTHS).astype(int))
    codes = np.searchsorted(edges, lengths, side="left")
    return _named("length", lengths, codes, lambda x: f"{x:.0f}", " words")


def by_ratio(lengths: NDArray[np.float64], references: Sequence[Sequence[str]]) -> Grouping:
    """Fifths of the segments by the ratio of `lengths` (N,), the words of the outputs averaged over all
    systems and runs, to the words of the first reference."""
    expected = np.array([max(len(words_of(line)), 1) for line in references[0]])
    ratio = np.round(lengths / expected, 2)
    codes = np.searchsorted(np.unique(np.quantile(ratio, FIFTHS)), ratio, side="left")
    return _named("ratio", ratio, codes, lambda x: f"{x:.2f}", " of the reference")


def _named(
    kind: str, values: NDArray[Any], codes: NDArray[np.integer], form: Callable[[float], str], unit: str
) -> Grouping:
    """Groups named by their smallest and largest value; empty ones are left out."""
    known, codes = np.unique(codes, return_inverse=True)
    names = []
    for k in range(len(known)):
        low, high = (form(end(values[codes == k])) for end in (np.min, np.max))
        names.append((low if low == high else f"{low} to {high}") + unit)
    return Grouping(kind, names, codes.astype(np.int32))
