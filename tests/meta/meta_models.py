"""Small data for tests of metrics, and oracles that know nothing of weights."""

from __future__ import annotations

import numpy as np
from scipy import stats

from replitune.meta.scores import Scores
from replitune.metrics.base import MeanMetric, Metric
from replitune.statistics.systems import SystemStatistics

SCIPY = {
    "pearson": lambda x, z: stats.pearsonr(x, z).statistic,
    "spearman": lambda x, z: stats.spearmanr(x, z).statistic,
    "kendall": lambda x, z: stats.kendalltau(x, z, variant="b").statistic,
}


def oracle(coefficient: str, x, z) -> float:
    """scipy's value; NaN for a constant, without its warning."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(z) == 0:
        return float("nan")
    return float(SCIPY[coefficient](x, z))


def drawn(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The resample itself: every item as often as it was drawn."""
    return np.repeat(values, weights.astype(int), axis=0)


def quality(S: int, N: int, seed: int, noise: float = 1.0) -> np.ndarray:
    """(S, N) scores of systems that differ, on segments that differ."""
    rng = np.random.default_rng(seed)
    system = np.linspace(0, 1, S)[:, np.newaxis]
    segment = np.random.default_rng(1).normal(0, 0.5, N)
    return system + segment + rng.normal(0, noise, (S, N))


def scores(name: str, cells: np.ndarray, metric: Metric | None = None) -> Scores:
    """A mean metric with one replica of each system; NaN is no score."""
    known = ~np.isnan(cells)
    statistics = np.stack([np.where(known, cells, 0.0), known.astype(float)], axis=-1)
    return Scores(
        name,
        metric or MeanMetric(name),
        tuple(
            SystemStatistics(f"sys{s}", ("run-001",), (None,), statistics[s : s + 1].copy())
            for s in range(len(cells))
        ),
    )
