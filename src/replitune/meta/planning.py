"""Whom to judge next: which segments, how many, and the sheet for those who judge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STRATA = 5
EVENLY = 0.5
"""The share of judgements that goes to all segments alike; the rest goes by the size of the difference.
It bounds the weights: none is more than twice what it were if all segments had one probability."""


def choose(
    sizes: NDArray[np.float64], n: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places (n,) of chosen segments, and the probability (N,) with which each could be.

    sizes (N,): how far the outputs of a segment differ, by metrics. Segments are cut into strata of
    one number by size; within one, all have the same probability.
    """
    N = len(sizes)
    strata = np.array_split(np.argsort(sizes, kind="stable"), min(STRATA, max(1, n // 2)))
    count = np.array([len(stratum) for stratum in strata])
    mean = np.array([sizes[stratum].mean() for stratum in strata])
    share = count / N
    if mean.sum() > 0:
        share = EVENLY * share + (1 - EVENLY) * count * mean / (count * mean).sum()
    exact = np.minimum(n * share, count)
    while exact.sum() < n - 1e-9:  # what does not fit goes to the others
        room = exact < count
        exact = np.where(room, exact * (n - exact[~room].sum()) / exact[room].sum(), exact)
        exact = np.minimum(exact, count)
    whole = np.floor(exact + 1e-9).astype(np.int64)
    rest = np.argsort(whole - exact, kind="stable")
    whole[rest[: n - int(whole.sum())]] += 1
    probability = np.empty(N)
    chosen = []
    for stratum, k in zip(strata, whole.tolist(), strict=True):
        probability[stratum] = k / len(stratum)
        chosen.append(rng.permutation(stratum)[:k])
    return np.sort(np.concatenate(chosen)), probability
