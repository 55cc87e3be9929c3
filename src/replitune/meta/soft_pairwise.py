"""Soft pairwise accuracy: do metric and humans agree on how sure one can be? (Thompson et al. 2024)

    SPA = 1 - mean over pairs i < j of |p_human(i, j) - p_metric(i, j)|

with p the one-sided p-value of "i is better than j" from a paired permutation test: the outputs of
i and j change places, segment by segment, with probability 1/2. Plain pairwise accuracy rounds
each p to 0 or 1 first, and so depends on pairs that nobody can tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.meta.perm_both import BLOCK, coin_flips
from replitune.meta.rows import join_notes
from replitune.meta.scores import Scores
from replitune.significance.counting import RELATIVE_TOLERANCE
from replitune.significance.draws import exact_columns


@dataclass(frozen=True)
class SoftPairwise:
    """How closely a metric's p-values follow those of humans; 1 is best."""

    value: float | None
    pairs: int
    note: str | None = None


def soft_pairwise_accuracy(p_human: NDArray[np.float64], p_metric: NDArray[np.float64]) -> SoftPairwise:
    """From p-values (S, S) of "row is better than column"; NaN where there is none."""
    if p_human.shape != p_metric.shape:
        raise ReplituneError("p-values of different systems", found=f"{p_human.shape} and {p_metric.shape}")
    upper = np.triu_indices(len(p_human), 1)
    gaps = np.abs(p_human[upper] - p_metric[upper])
    known = gaps[~np.isnan(gaps)]
    lost = len(gaps) - len(known)
    note = f"{lost} pairs without a p are left out" if lost else None
    if not len(known):
        return SoftPairwise(None, 0, join_notes("no pair of systems to compare", note))
    return SoftPairwise(float(1 - known.mean()), len(known), note)


def exchange_p(scores: Scores, *, rng: np.random.Generator, samples: int = 1000) -> NDArray[np.float64]:
    """(S, S) one-sided p of "row is better than column"; NaN on the diagonal and without data.

    All pairs see the same coins, one per segment, and so do all metrics that are given a
    generator in the same state. Segments where either of the two has no score are dropped for
    both. Replicas are pooled: a segment's outputs change places together.
    """
    segment = scores.segment
    S, N = segment.shape
    cells = np.stack([item.statistics.mean(axis=0) for item in scores.statistics])
    K = cells.shape[2]
    first, second = np.triu_indices(S, 1)
    present = scores.present
    keep = present[first] & present[second]
    x, y = ((cells[which] * keep[:, :, np.newaxis]).sum(axis=1) for which in (first, second))
    value_x, value_y = scores.corpus_scores(x), scores.corpus_scores(y)
    delta = value_x - value_y
    # means of standardised scores are near 0, but their sums are as inexact as their terms are large
    size = np.array(
        [np.abs(row[here]).max(initial=0.0) for row, here in zip(segment, present, strict=True)]
    )
    slack = RELATIVE_TOLERANCE * np.maximum(size[first], size[second])
    complete = bool(present.all())
    columns = cells if complete else (cells[second] - cells[first]) * keep[:, :, np.newaxis]
    columns = exact_columns(columns.transpose(1, 0, 2).reshape(N, -1), N)
    as_large, as_small = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
    starts = range(0, samples, BLOCK)
    for start, coins in zip(starts, coin_flips(N, samples, rng), strict=True):
        moved = (coins.astype(np.float64) @ columns).reshape(BLOCK, -1, K)[: samples - start]
        if complete:
            moved = moved[:, second] - moved[:, first]
        exchanged = scores.corpus_scores(x + moved) - scores.corpus_scores(y - moved)
        as_large += (exchanged >= delta - slack).sum(axis=0)
        as_small += (exchanged <= delta + slack).sum(axis=0)
    p = np.full((S, S), np.nan)
    known = ~np.isnan(delta)
    p[first[known], second[known]] = (as_large[known] + 1) / (samples + 1)
    p[second[known], first[known]] = (as_small[known] + 1) / (samples + 1)
    return p
