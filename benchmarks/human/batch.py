"""`significance.controlled` for many samples at once, with equal weights, segments as units, and the first
n of N judged. Its result for the first sample is always compared with the library's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replitune.significance.controlled import FOLDS, RIDGE, Sample, sharpen
from replitune.significance.system_parts import contributing_df, few_contributing


@dataclass(frozen=True)
class Batch:
    """Results for B samples; each array is (B,)."""

    mean: np.ndarray
    variance: np.ndarray
    nu: np.ndarray
    silent: np.ndarray
    """Whether there is no p, because a handful of segments make the difference."""

    @property
    def p(self) -> np.ndarray:
        from scipy.special import stdtr

        return np.where(self.silent, 1.0, 2 * stdtr(self.nu, -np.abs(self.mean) / np.sqrt(self.variance)))


def batched(y: np.ndarray, x: np.ndarray) -> tuple[Batch, Batch]:
    """Results from judgements y (B, n) alone, and with metrics x (B, N, M)."""
    slopes = slopes_of(y, x)
    alone, helped = (_sharpened(y, x, b) for b in (np.zeros_like(slopes), slopes))
    for batch, b in ((alone, 0.0), (helped, None)):
        _check(y[0], x[0], batch, b)
    return alone, helped


def slopes_of(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(B, n, M) slopes of the metrics for each judged segment, from the other folds."""
    B, n = y.shape
    M = x.shape[2]
    z = x[:, :n] - x.mean(axis=1, keepdims=True)
    scale = z.std(axis=1)
    scale[scale == 0] = 1.0
    z = z / scale[:, np.newaxis]
    columns = np.concatenate(
        [np.ones((B, n, 1)), (y - y.mean(axis=1, keepdims=True))[..., np.newaxis], z], 2
    )
    K = min(FOLDS, n)
    parts = np.stack(
        [np.einsum("bnu,bnv->buv", own, own) / n for own in (columns[:, k::K] for k in range(K))], axis=1
    )
    rest = parts.sum(axis=1, keepdims=True) - parts
    means = rest[..., :1, :] / rest[..., :1, :1]
    spread = rest / rest[..., :1, :1] - means * np.swapaxes(means, -1, -2)
    right = spread[..., 2:, 1]
    b = np.linalg.solve(spread[..., 2:, 2:] + RIDGE * np.eye(M), right[..., np.newaxis])[..., 0]
    explained = (b * right).sum(axis=-1)
    left = np.maximum(spread[..., 1, 1] - explained, 0.0)
    known = n * (1 - 1 / K) - M - 1
    with np.errstate(divide="ignore"):
        helps = np.where(explained > 0, np.maximum(0.0, 1 - M * left / known / explained), 0.0)
    by_fold = b * helps[..., np.newaxis] / scale[:, np.newaxis]
    return by_fold[:, np.arange(n) % K]


def _sharpened(y: np.ndarray, x: np.ndarray, slopes: np.ndarray) -> Batch:
    n, N = y.shape[1], x.shape[1]
    off = x - x.mean(axis=1, keepdims=True)
    corrected = y - (off[:, :n] * slopes).sum(axis=2)
    mean = corrected.mean(axis=1)
    added = np.einsum("bnm,bm->bn", off, slopes.mean(axis=1)) / N
    added[:, :n] += (corrected - mean[:, np.newaxis]) / n
    for part in (slice(0, n), slice(n, N)):
        added[:, part] -= added[:, part].mean(axis=1, keepdims=True) if part.start < N else 0.0
    squares = (added**2).sum(axis=1)
    nu = np.maximum(contributing_df(added, n - 1.0), 1.0)
    silent = np.array([not few_contributing(one)[1] for one in added])
    return Batch(mean, squares * n / (n - 1), nu, silent)


def _check(y: np.ndarray, x: np.ndarray, batch: Batch, slope: float | None) -> None:
    n, N = len(y), len(x)
    one = Sample(y, x[:n], np.full(n, 1 / n), np.arange(n), x, np.arange(N, dtype=np.int32))
    own = sharpen(one, one.slopes() if slope is None else np.zeros_like(one.z))
    nu = max(contributing_df(own.added, own.nu), 1.0)
    theirs = [batch.mean[0], batch.variance[0], batch.nu[0]]
    np.testing.assert_allclose([own.mean, own.variance, nu], theirs, rtol=1e-8, atol=1e-12)
