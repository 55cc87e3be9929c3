"""Small comparisons and oracles written independently of the kernels."""

from __future__ import annotations

import itertools

import numpy as np

from replitune.metrics.base import MeanMetric, Metric
from replitune.significance.base import Comparison
from replitune.statistics.systems import SystemStatistics


class Counts(Metric):
    """A ratio of counts, curved in its sums: 100 sqrt(match / total)."""

    name = "counts"
    statistic_names = ("match", "total")

    def __init__(self, id: str | None = None, higher_is_better: bool = True) -> None:
        super().__init__(id)
        self.direction = 1 if higher_is_better else -1

    def signature(self) -> str:
        return "test"

    def segment_statistics(self, hyps, segments, prepared):
        raise TypeError

    def score(self, sums):
        sums = np.asarray(sums, dtype=np.float64)
        return 100 * np.sqrt(sums[..., 0] / np.maximum(sums[..., 1], 1e-300))


def system(name: str, statistics: np.ndarray, groups: tuple = (), ids: tuple = ()):
    n = len(statistics)
    return SystemStatistics(
        name,
        ids or tuple(f"run-{r + 1:03d}" for r in range(n)),
        groups or (None,) * n,
        np.ascontiguousarray(statistics),
    )


def counts(n: int, N: int, *, seed: int, gain: float = 0.0) -> np.ndarray:
    """(n, N, 2) int32 match and total."""
    rng = np.random.default_rng(seed)
    total = rng.integers(5, 30, N)
    match = rng.binomial(total, 0.4 + gain, (n, N))
    return np.stack([match, np.broadcast_to(total, (n, N))], axis=2).astype(np.int32)


def means(n: int, N: int, *, seed: int, gain: float = 0.0) -> np.ndarray:
    """(n, N, 2) float64 score and count."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(gain, 1, (n, N))
    return np.stack([scores, np.ones((n, N))], axis=2)


def compare(a: np.ndarray, b: np.ndarray, metric: Metric | None = None, **more) -> Comparison:
    groups_a, groups_b = more.pop("groups_a", ()), more.pop("groups_b", ())
    documents = more.pop("documents", np.arange(a.shape[1]))
    if metric is None:
        metric = Counts() if a.dtype.kind in "iu" else MeanMetric()
    return Comparison(
        metric, system("A", a, groups_a), system("B", b, groups_b), np.asarray(documents, dtype=np.int32)
    )


def score_of(metric: Metric, parts: np.ndarray, aggregation: str) -> np.ndarray:
    """parts (..., n, K): sums of each replica."""
    if aggregation == "mean":
        return metric.score(parts).mean(axis=-1)
    return metric.score(parts.sum(axis=-2) / parts.shape[-2])


def every_deal(comparison: Comparison, aggregation: str) -> np.ndarray:
    """delta of every deal of each segment's outputs to the two systems, one by one."""
    a, b = comparison.a.statistics, comparison.b.statistics
    n_a, m, N = len(a), len(a) + len(b), a.shape[1]
    outputs = np.concatenate([a, b]).astype(np.float64)
    orders = (
        list(itertools.permutations(range(m)))
        if aggregation == "mean"
        else [(*x, *(o for o in range(m) if o not in x)) for x in itertools.combinations(range(m), n_a)]
    )
    deltas = []
    for deal in itertools.product(orders, repeat=N):
        dealt = sum(outputs[list(order), i] for i, order in enumerate(deal))
        x, y = dealt[:n_a], dealt[n_a:]
        metric = comparison.metric
        deltas.append(score_of(metric, y, aggregation) - score_of(metric, x, aggregation))
    return np.array(deltas)


def every_swap(comparison: Comparison, aggregation: str) -> np.ndarray:
    """delta of every exchange of paired outputs."""
    a = comparison.a.statistics.astype(np.float64)
    b = comparison.b.statistics.astype(np.float64)
    deltas = []
    for bits in itertools.product([False, True], repeat=a.shape[0] * a.shape[1]):
        swap = np.reshape(bits, a.shape[:2])[..., np.newaxis]
        x, y = np.where(swap, b, a).sum(axis=1), np.where(swap, a, b).sum(axis=1)
        metric = comparison.metric
        deltas.append(score_of(metric, y, aggregation) - score_of(metric, x, aggregation))
    return np.array(deltas)


def share(deltas: np.ndarray, delta: float) -> float:
    """Two-sided share of deltas as large as delta."""
    return float((np.abs(deltas) >= abs(delta) - 1e-9).mean())


def close(p: float, truth: float, samples: int) -> bool:
    """Within four Monte-Carlo standard errors, and the +1."""
    return abs(p - truth) <= 4 * np.sqrt(truth * (1 - truth) / samples) + 2 / samples
