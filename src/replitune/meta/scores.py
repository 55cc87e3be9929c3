"""What meta-evaluation compares: scores of a metric, or of humans, turned so that higher is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import MeanMetric, Metric
from replitune.significance.draws import SegmentDraws
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True)
class Scores:
    """S systems on N segments under one metric, or by one human criterion.

    A system with several replicas has the mean of their scores.
    """

    name: str
    metric: Metric
    statistics: tuple[SystemStatistics, ...]
    """One per system, in the order of `systems`."""
    system: NDArray[np.float64] = field(init=False)
    """(S,) oriented corpus scores; NaN for a system without a score."""
    segment: NDArray[np.float64] = field(init=False)
    """(S, N) oriented segment scores; NaN where there is none."""

    def __post_init__(self) -> None:
        system = [self.corpus_scores(item.sums).mean() for item in self.statistics]
        segment = [self.corpus_scores(item.statistics).mean(axis=0) for item in self.statistics]
        object.__setattr__(self, "system", np.array(system))
        object.__setattr__(self, "segment", np.stack(segment))

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.statistics)

    @property
    def present(self) -> NDArray[np.bool_]:
        """(S, N) which cells have a score."""
        return ~np.isnan(self.segment)

    def corpus_scores(self, sums: NDArray) -> NDArray[np.float64]:
        """(...) oriented scores of sums (..., K); NaN where nothing was counted."""
        scores = self.metric.score(sums)
        if isinstance(self.metric, MeanMetric):
            scores = np.where(np.asarray(sums)[..., 1] > 0, scores, np.nan)
        return self.metric.sign * scores

    def resampled(self, segments: SegmentDraws, samples: int) -> NDArray[np.float64]:
        """(samples, S) corpus scores on bootstrap test sets."""
        values = np.empty((samples, len(self.statistics)))
        for s, item in enumerate(self.statistics):
            for rows, sums in segments.sums(item.statistics, samples):
                values[rows, s] = self.corpus_scores(sums).mean(axis=1)
        return values

    def with_replicas(self, replicas: Mapping[str, Sequence[str]]) -> Scores:
        """The same with only some replicas of each system."""
        chosen = (
            item.take([item.replicas.index(replica) for replica in replicas[item.name]])
            for item in self.statistics
        )
        return replace(self, statistics=tuple(chosen))

    def on_segments(self, segments: NDArray[np.bool_]) -> Scores:
        """The same on some of the segments (N,)."""
        chosen = tuple(
            replace(item, statistics=np.ascontiguousarray(item.statistics[:, segments]))
            for item in self.statistics
        )
        return replace(self, statistics=chosen)


def human_scores(criterion: str, systems: Sequence[str], scores: NDArray[np.float64]) -> Scores:
    """Human scores (S, N), higher is better, NaN where nobody judged."""
    return Scores(
        criterion,
        MeanMetric(criterion),
        tuple(
            SystemStatistics(name, ("human",), (None,), cells_of(row[np.newaxis]))
            for name, row in zip(systems, scores, strict=True)
        ),
    )


def cells_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """(.., N, 2) statistics of scores (.., N): the score or 0, and 1 if there is a score, otherwise 0."""
    judged = ~np.isnan(scores)
    return np.stack([np.where(judged, scores, 0.0), judged.astype(np.float64)], axis=-1)
