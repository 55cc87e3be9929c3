"""Small metrics and random-effects models that the tests of `crossed` and its kin share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import MeanMetric, Metric
from replitune.significance.base import Comparison
from replitune.statistics.systems import SystemStatistics


class CountBleu(Metric):
    """BLEU over (match_1..4, total_1..4, hyp_len, ref_len), smoothed by adding 0.1 to zeros."""

    name = "count-bleu"
    statistic_names = tuple(
        [f"match_{k}" for k in (1, 2, 3, 4)] + [f"total_{k}" for k in (1, 2, 3, 4)] + ["hyp_len", "ref_len"]
    )

    def signature(self) -> str:
        return "test"

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: Any
    ) -> NDArray[Any]:
        rows = np.zeros((len(hyps), 10), np.int32)
        for j, (hyp, i) in enumerate(zip(hyps, segments, strict=True)):
            h, r = hyp.split(), prepared[0][i].split()
            for k in range(4):
                own = [tuple(h[s : s + k + 1]) for s in range(len(h) - k)]
                ref = [tuple(r[s : s + k + 1]) for s in range(len(r) - k)]
                rows[j, k] = sum(min(own.count(g), ref.count(g)) for g in set(own))
                rows[j, 4 + k] = len(own)
            rows[j, 8], rows[j, 9] = len(h), len(r)
        return rows

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.asarray(sums, np.float64)
        match = np.maximum(sums[..., 0:4], 0.1)
        total = np.maximum(sums[..., 4:8], 1.0)
        hyp, ref = np.maximum(sums[..., 8], 1e-9), sums[..., 9]
        brevity = np.minimum(0.0, 1.0 - ref / hyp)
        return 100 * np.exp(brevity + np.log(match / total).mean(axis=-1))

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.asarray(sums, np.float64)
        out = np.zeros_like(sums)
        out[..., 0:4] = np.where(sums[..., 0:4] > 0.1, 0.25 / np.maximum(sums[..., 0:4], 0.1), 0)
        out[..., 4:8] = np.where(sums[..., 4:8] > 1, -0.25 / np.maximum(sums[..., 4:8], 1), 0)
        hyp, ref = np.maximum(sums[..., 8], 1e-9), sums[..., 9]
        short = hyp < ref
        out[..., 8] = np.where(short, ref / hyp**2, 0)
        out[..., 9] = np.where(short, -1 / hyp, 0)
        return out * self.score(sums)[..., None]

    def kink(self, sums: NDArray[Any], spread: NDArray[np.float64]) -> str | None:
        gap = sums[8] - sums[9]
        wide = spread[8, 8] + spread[9, 9] - 2 * spread[8, 9]
        return "hypotheses about as long as references" if gap**2 <= 4 * wide else None


class RootMetric(MeanMetric):
    """A smooth metric that does not know its gradient: 10 sqrt(mean)."""

    name = "root"

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        return 10 * np.sqrt(super().score(sums))

    def gradient(self, sums: NDArray[Any]) -> None:  # type: ignore[override]
        return None


def mean_statistics(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, N) segment scores -> (n, N, 2)."""
    return np.stack([values, np.ones_like(values)], axis=-1)


def system(name: str, statistics: NDArray, groups: Sequence[str | None] | None = None) -> SystemStatistics:
    n = len(statistics)
    ids = tuple(f"run-{r + 1:03d}" for r in range(n))
    return SystemStatistics(name, ids, tuple(groups or [None] * n), statistics)


def comparison(
    a: NDArray,
    b: NDArray,
    metric: Metric | None = None,
    documents: NDArray | None = None,
    groups_a: Sequence[str | None] | None = None,
    groups_b: Sequence[str | None] | None = None,
) -> Comparison:
    """Statistics (n, N, K), or segment scores (n, N) of a mean metric."""
    if a.ndim == 2:
        a, b = mean_statistics(a), mean_statistics(b)
    if documents is None:
        documents = np.arange(a.shape[1])
    return Comparison(
        metric or MeanMetric(),
        system("A", a, groups_a),
        system("B", b, groups_b),
        documents.astype(np.int32),
    )


def two_way(
    rng: np.random.Generator,
    n: int,
    N: int,
    rep: float = 0.1,
    seg: NDArray[np.float64] | float = 1.0,
    noise: float = 0.5,
) -> NDArray[np.float64]:
    """(n, N) scores: replica effect + segment effect (given, or of sd `seg`) + noise."""
    effect = seg if isinstance(seg, np.ndarray) else rng.normal(0, seg, N)
    return rng.normal(0, rep, (n, 1)) + effect + rng.normal(0, noise, (n, N))


def bleu_counts(rng: np.random.Generator, n: int, N: int, quality: float = 0.6) -> NDArray:
    """(n, N, 10) BLEU statistics of replicas that differ in quality and in length."""
    ref = rng.integers(6, 30, N)
    hard = rng.normal(0, 0.3, N)
    out = np.zeros((n, N, 10), np.int32)
    for r in range(n):
        hyp = np.maximum(4, ref + rng.integers(-3, 3, N) + rng.integers(-1, 2))
        chance = 1 / (1 + np.exp(-(np.log(quality / (1 - quality)) + hard + rng.normal(0, 0.05))))
        matched = hyp
        for k in range(4):
            out[r, :, 4 + k] = hyp - k
            matched = rng.binomial(np.maximum(np.minimum(matched, hyp - k), 0), chance)
            out[r, :, k] = matched
        out[r, :, 8], out[r, :, 9] = hyp, ref
    return out
