"""Pools of hypotheses with statistics like BLEU's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from replitune.metrics.bleu import Bleu
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool


@dataclass
class Hypotheses:
    segments: np.ndarray
    features: np.ndarray
    statistics: np.ndarray
    n_segments: int

    def pool(self, rows: np.ndarray | None = None, dtype: type = np.float64) -> Pool:
        rows = np.arange(len(self.segments)) if rows is None else rows
        empty = Pool.empty(self.n_segments, self.features.shape[1], self.statistics.shape[1], dtype=dtype)
        return empty.extend(self.segments[rows], self.features[rows], self.statistics[rows])


def draw(seed: int, n_segments: int, most: int, n_features: int, *, whole: bool) -> Hypotheses:
    """Random hypotheses, 1 to `most` per segment; `whole` features are small integers, so that
    slopes and intercepts are often equal."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, most + 1, size=n_segments)
    counts[rng.integers(n_segments)] = most
    segments = np.repeat(np.arange(n_segments), counts)
    h = len(segments)
    if whole:
        features = rng.integers(-2, 3, size=(h, n_features)).astype(float)
    else:
        features = rng.normal(size=(h, n_features))
    length = rng.integers(6, 15, size=h)
    statistics = np.empty((h, 10), dtype=np.int32)
    matches = length
    for n in range(4):
        statistics[:, 4 + n] = length - n
        matches = rng.binomial(np.minimum(matches, length - n), 0.7)
        statistics[:, n] = np.maximum(matches, 1)
    statistics[:, 8] = length
    statistics[:, 9] = rng.integers(6, 15, size=n_segments)[segments]
    return Hypotheses(segments, features, statistics, n_segments)


def separable(seed: int, n_segments: int = 40, n_hypotheses: int = 12) -> Hypotheses:
    """Hypotheses that the weights (1, -1, 0, 0) order as the metric does."""
    rng = np.random.default_rng(seed)
    h = n_segments * n_hypotheses
    quality = np.tile(np.arange(n_hypotheses), n_segments)
    features = rng.normal(size=(h, 4))
    features[:, 0] = 0.25 * quality + features[:, 1]
    statistics = np.empty((h, 10), dtype=np.int32)
    for n in range(4):
        statistics[:, n] = np.maximum(quality + 4 - n, 1)
        statistics[:, 4 + n] = 20 - n
    statistics[:, 8:] = 20
    return Hypotheses(np.repeat(np.arange(n_segments), n_hypotheses), features, statistics, n_segments)


@pytest.fixture(scope="session")
def bleu() -> Objective:
    return Objective(Bleu(tokenize="none"))


@pytest.fixture(scope="session")
def draw_hypotheses():
    return draw


@pytest.fixture(scope="session")
def separable_hypotheses():
    return separable


def oracle(hypotheses: Hypotheses, objective: Objective) -> float:
    """Corpus score of the hypotheses with the best segment statistics (separable pools)."""
    best = hypotheses.statistics[hypotheses.statistics[:, 0] == hypotheses.statistics[:, 0].max()]
    return float(objective.metric.score(best.sum(axis=0)))


@pytest.fixture(scope="session")
def oracle_score():
    return oracle
