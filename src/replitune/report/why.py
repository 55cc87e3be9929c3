"""Why a system is better: segments, groups of segments, and words, over all runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import TestSet, codes
from replitune.metrics.base import Metric
from replitune.report.groups import Grouping, GroupScores, by_length, by_ratio, group_scores
from replitune.report.words import Words, compare_words, words_of
from replitune.statistics.outputs import DistinctPairs
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True)
class Why:
    """What explains the differences on one test set."""

    testset: str
    means: Mapping[str, Mapping[str, NDArray[np.float64]]]
    """By metric and system: (N,) score of each segment alone, mean over runs; NaN: none."""
    groups: Sequence[tuple[str, GroupScores]]
    """Each with its metric."""
    words: Words | None = None
    """If there are texts."""


def explain(
    testset: str,
    stores: Iterable[tuple[str, SegmentStatistics]],
    *,
    texts: TestSet | None = None,
    outputs: Mapping[str, DistinctPairs] | None = None,
    train: Iterable[str] | None = None,
) -> Why:
    """`stores`: the statistics of each metric. `outputs`: those of all replicas of the systems, in the
    order of the store. `train`: target side of the training text."""
    groupings = [] if texts is None else text_groupings(texts, outputs or {})
    means: dict[str, dict[str, NDArray[np.float64]]] = {}
    groups: list[tuple[str, GroupScores]] = []
    for id, store in stores:
        means[id] = {n: segment_means(store.metric, s) for n, s in store.systems.items()}
        for by in [*document_groupings(store, texts), *groupings]:
            if len(by.names) > 1:
                groups.append((id, group_scores(store.metric, store.systems, by)))
    words = None
    if texts is not None and outputs:
        words = compare_words(texts.references, outputs, train)
    return Why(testset, means, groups, words)


def segment_means(metric: Metric, system: SystemStatistics) -> NDArray[np.float64]:
    """(N,) mean score over replicas; NaN where any replica has none."""
    means = system.scores(metric).mean(axis=0)
    missing = metric.missing(system.statistics)
    return means if missing is None else np.where(missing.any(axis=0), np.nan, means)


def document_groupings(store: SegmentStatistics, texts: TestSet | None) -> list[Grouping]:
    """Documents, where segments are in documents; parts, where the test set has parts."""
    groupings = []
    if store.document_names is not None:
        groupings.append(Grouping("document", store.document_names, store.documents))
    if texts is not None and texts.parts is not None:
        groupings.append(Grouping("part", list(dict.fromkeys(texts.parts)), codes(texts.parts)))
    return groupings


def text_groupings(texts: TestSet, outputs: Mapping[str, DistinctPairs]) -> list[Grouping]:
    """By the length of the reference, and by that of the outputs relative to it."""
    groupings = [by_length(texts.references)]
    if outputs:
        lengths = []
        for pairs in outputs.values():
            words = np.array([len(words_of(line)) for line in pairs.hyps], np.float64)
            lengths.append(words[pairs.inverse].mean(axis=0))
        groupings.append(by_ratio(np.mean(lengths, axis=0), texts.references))
    return groupings
