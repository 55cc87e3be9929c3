"""Every test that resamples, on T comparisons at once: for the calibration study only.

The library tests one comparison fast; the study tests a million small ones. Here the weights of a
resampling are drawn once per call and used for all T comparisons, so that the work is a matrix
product. `tests/significance/test_calibration_batch.py` compares each function with the library's.

Statistics are Z_a (T, n_a, U, K) and Z_b (T, n_b, U, K), for U units (segments or documents).
Functions return p (T,), NaN if the test gives none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Batch:
    """T comparisons of the same shape."""

    metric: Metric
    a: NDArray
    b: NDArray
    sizes: NDArray | None = None
    """(U,) segments per document, if units are documents."""
    tuners: int = 1
    """Number of tuners: consecutive groups of equally many replicas, the strata of `crossed`."""

    @cached_property
    def sums(self) -> tuple[NDArray, NDArray]:
        return self.a.sum(axis=2), self.b.sum(axis=2)

    @cached_property
    def scores(self) -> tuple[Array, Array]:
        """Scores (T, n_a) and (T, n_b) of the replicas."""
        return self.metric.score(self.sums[0]), self.metric.score(self.sums[1])

    @property
    def delta(self) -> Array:
        """(T,) differences of mean scores."""
        return self.scores[1].mean(axis=1) - self.scores[0].mean(axis=1)

    def pooled(self, sums_a: NDArray, sums_b: NDArray) -> Array:
        """The difference of pooled scores, from sums (..., K) over replicas and units."""
        n_a, n_b = self.a.shape[1], self.b.shape[1]
        return self.metric.score(sums_b / n_b) - self.metric.score(sums_a / n_a)

    @cached_property
    def medians(self) -> tuple[NDArray, NDArray]:
        """Statistics (T, U, K) of the median replica of A and of B."""
        out = []
        for z, scores in ((self.a, self.scores[0]), (self.b, self.scores[1])):
            place = np.argsort(scores, axis=1, kind="stable")[:, (scores.shape[1] - 1) // 2]
            out.append(z[np.arange(len(z)), place])
        return out[0], out[1]


def weigh(weights: Array, z: NDArray) -> Array:
    """(R, U) x (..., U, K) -> (R, ..., K)."""
    return np.tensordot(weights, z.astype(np.float64), axes=(1, z.ndim - 2))


def counted(count: Array, samples: int) -> Array:
    return (count + 1) / (samples + 1)


def slack(batch: Batch) -> Array:
    a, b = (np.abs(s.mean(axis=1)) for s in batch.scores)
    return 1e-10 * np.maximum(a, b)


# -- one replica each ---------------------------------------------------------------------


def riezler(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    a, b = batch.medians
    observed = batch.metric.score(b.sum(axis=1)) - batch.metric.score(a.sum(axis=1))
    flip = rng.integers(0, 2, (samples, a.shape[1])).astype(np.float64)
    moved = weigh(flip, b - a)
    drawn = batch.metric.score(b.sum(axis=1) - moved) - batch.metric.score(a.sum(axis=1) + moved)
    return counted((np.abs(drawn) >= np.abs(observed) - slack(batch)).sum(axis=0), samples)


def _paired_bootstrap(batch: Batch, rng: np.random.Generator, samples: int) -> tuple[Array, Array]:
    """delta (T,) of the median replicas, and its bootstrap draws (R, T)."""
    a, b = batch.medians
    U = a.shape[1]
    counts = rng.multinomial(U, np.full(U, 1 / U), samples).astype(np.float64)
    observed = batch.metric.score(b.sum(axis=1)) - batch.metric.score(a.sum(axis=1))
    return observed, batch.metric.score(weigh(counts, b)) - batch.metric.score(weigh(counts, a))


def koehn(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    _, drawn = _paired_bootstrap(batch, rng, samples)
    p_b = counted((drawn <= 0).sum(axis=0), samples)
    p_a = counted((drawn >= 0).sum(axis=0), samples)
    return np.minimum(1.0, 2 * np.minimum(p_a, p_b))


def _shifted(observed: Array, drawn: Array, margin: Array) -> Array:
    far = np.abs(drawn - drawn.mean(axis=0)) >= np.abs(observed) - margin
    return counted(far.sum(axis=0), len(drawn))


def graham(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    return _shifted(*_paired_bootstrap(batch, rng, samples), slack(batch))


# -- segments, all replicas ---------------------------------------------------------------


def clark(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    """Deal the n_A + n_B outputs of each unit anew: a random n_A of them to X."""
    n_a, n_b, U = batch.a.shape[1], batch.b.shape[1], batch.a.shape[2]
    keys = rng.random((samples, n_a + n_b, U), dtype=np.float32)
    cut = np.partition(keys, n_a - 1, axis=1)[:, n_a - 1]
    to_x = (keys <= cut[:, None, :]).astype(np.float64).reshape(samples, -1)
    both = np.concatenate([batch.a, batch.b], axis=1)
    flat = both.reshape(len(both), -1, both.shape[-1])
    sums_x = weigh(to_x, flat)
    total = flat.sum(axis=1)
    observed = batch.pooled(batch.sums[0].sum(axis=1), batch.sums[1].sum(axis=1))
    drawn = batch.pooled(sums_x, total - sums_x)
    return counted((np.abs(drawn) >= np.abs(observed) - slack(batch)).sum(axis=0), samples)


def _pool_counts(rng: np.random.Generator, size: int, samples: int) -> Array:
    drawn = rng.integers(0, size, (samples, size)) + np.arange(samples)[:, None] * size
    return np.bincount(drawn.ravel(), minlength=samples * size).reshape(samples, size) * 1.0


def clark_bootstrap(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    drawn = []
    for z in (batch.a, batch.b):
        flat = z.reshape(len(z), -1, z.shape[-1])
        drawn.append(weigh(_pool_counts(rng, flat.shape[1], samples), flat))
    observed = batch.pooled(batch.sums[0].sum(axis=1), batch.sums[1].sum(axis=1))
    return _shifted(observed, batch.pooled(*drawn), slack(batch))


# -- whole test sets ----------------------------------------------------------------------


def fu_ar(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    a, b = batch.scores
    n = a.shape[1]
    if n != b.shape[1]:
        return np.full(len(a), np.nan)
    exact = 2**n <= samples
    flips = np.array(list(product((1, -1), repeat=n))) if exact else None
    signs = flips if flips is not None else rng.choice((1, -1), (samples, n))
    drawn = signs @ (b - a).T / n
    count = (np.abs(drawn) >= np.abs(batch.delta) - slack(batch)).sum(axis=0)
    return count / len(signs) if exact else counted(count, samples)


def fu_bootstrap(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    drawn = []
    for scores in batch.scores:
        n = scores.shape[1]
        counts = rng.multinomial(n, np.full(n, 1 / n), samples)
        drawn.append(counts @ scores.T / n)
    return _shifted(batch.delta, drawn[1] - drawn[0], slack(batch))


def replica_permutation(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    """Permute the replicas; with Welch's t if the numbers of replicas differ."""
    a, b = batch.scores
    n_a, n_b = a.shape[1], b.shape[1]
    both = np.concatenate([a, b], axis=1)
    exact = comb(n_a + n_b, n_a) <= samples
    if exact:
        in_a = np.zeros((comb(n_a + n_b, n_a), n_a + n_b))
        for row, chosen in zip(in_a, combinations(range(n_a + n_b), n_a), strict=True):
            row[list(chosen)] = 1
    else:
        keys = rng.random((samples, n_a + n_b))
        in_a = (keys <= np.partition(keys, n_a - 1, axis=1)[:, [n_a - 1]]) * 1.0
    both = both - both.mean(axis=1, keepdims=True)

    def statistic(to_a: Array) -> Array:
        mean_a, mean_b = to_a @ both.T / n_a, (1 - to_a) @ both.T / n_b
        if n_a == n_b:
            return np.abs(mean_b - mean_a)
        var_a = (to_a @ (both**2).T - n_a * mean_a**2) / (n_a - 1)
        var_b = ((1 - to_a) @ (both**2).T - n_b * mean_b**2) / (n_b - 1)
        return np.abs(mean_b - mean_a) / np.sqrt(var_a / n_a + var_b / n_b)

    observed = statistic(np.r_[np.ones(n_a), np.zeros(n_b)][None])[0]
    count = (statistic(in_a) >= observed * (1 - 1e-10)).sum(axis=0)
    return count / len(in_a) if exact else counted(count, samples)


# -- segments and replicas ----------------------------------------------------------------


def multi_bootstrap(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    U = batch.a.shape[2]
    units = rng.multinomial(U, np.full(U, 1 / U), samples).astype(np.float64)
    means = []
    for z in (batch.a, batch.b):
        n = z.shape[1]
        runs = rng.multinomial(n, np.full(n, 1 / n), samples)
        scores = batch.metric.score(weigh(units, z))  # (R, T, n)
        means.append(np.einsum("rtn,rn->rt", scores, runs) / n)
    drawn = means[1] - means[0]
    far = np.abs(drawn - batch.delta) >= np.abs(batch.delta) - slack(batch)
    return counted(far.sum(axis=0), samples)


RESAMPLING: dict[str, Callable[[Batch, np.random.Generator, int], Array]] = {
    "riezler": riezler,
    "koehn": koehn,
    "graham": graham,
    "clark": clark,
    "clark-bootstrap": clark_bootstrap,
    "fu-ar": fu_ar,
    "fu-bootstrap": fu_bootstrap,
    "replica-permutation": replica_permutation,
    "multi-bootstrap": multi_bootstrap,
}
