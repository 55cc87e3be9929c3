"""The mean of people's judgements of some segments, sharpened by metrics of all: control variates.

    theta = sum_J a_i (y_i - (z_i - mean x) b)

where y are the judgements of the segments J, z the metrics of the judged outputs, x the metrics of all N
segments, and a the weights, which sum to 1: equal, or inverse to known probabilities of selection. With
equal weights and one metric this is PPI++ (Angelopoulos, Duchi and Zrnic 2023) with lambda = b (1 - n/N),
and the least-squares b gives the lambda with the smallest variance. The b that corrects a segment is
fitted without the segment's fold, and shrunk by its F statistic, to 0 where the metrics do not help. The
variance is that of what each segment adds, summed over each document where documents are the units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot, product, solve
from replitune.metrics.base import MeanMetric
from replitune.significance.system_parts import document_sums, kish

FOLDS = 10
RIDGE = 1e-9
"""Added to the variance of standardised metrics, so that two equal metrics share their slope."""

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Controls:
    """The metric scores of one system."""

    replicas: tuple[str, ...]
    scores: Floats
    """(R, N, M) for every run, segment and metric."""
    judged: NDArray[np.intp] | None
    """(J,) which of the runs were judged; None if that is not known."""


class Judgements(MeanMetric):
    """People's mean score: (score times weight, weight) of each judged output, (0, 0) of the others;
    with the metrics that sharpen it."""

    statistic_names = ("score", "weight")

    def __init__(
        self,
        id: str,
        names: tuple[str, ...],
        controls: Mapping[str, Controls],
        raters: Mapping[str, Mapping[str, Floats]],
        weighted: bool,
    ) -> None:
        """names: of the M metrics; controls: by system; raters: by system and rater, the scores
        (N,), NaN where there is none; weighted: the weights come from known probabilities."""
        super().__init__(id)
        self.names, self.controls, self.raters, self.weighted = names, controls, raters, weighted

    def missing(self, statistics: Floats) -> None:
        """Segments that nobody judged are not missing: metrics know them."""

    def signature(self) -> str:
        return f"aggregation:mean|with:{','.join(self.names)}"


@dataclass(frozen=True, eq=False)
class Sample:
    """The judgements, with the metrics of what was judged and of all segments."""

    y: Floats
    """(n,)"""
    z: Floats
    """(n, M)"""
    weights: Floats
    """(n,), summing to 1."""
    at: Whole
    """(n,) positions of the judged segments among all."""
    x: Floats
    """(N, M)"""
    units: NDArray[np.int32]
    """(N,) number of the segment, or of its document."""

    @property
    def size(self) -> float:
        return kish(self.units[self.at], self.weights)

    def folds(self) -> Whole:
        """(n,) fold of each judged segment: units are assigned to folds in turn."""
        rank = np.unique(self.units[self.at], return_inverse=True)[1]
        folds: Whole = (rank % min(FOLDS, int(rank.max()) + 1)).astype(np.int64)
        return folds

    def slopes(self) -> Floats:
        """(n, M) slopes for each judged segment, fitted on the other folds."""
        n, M = self.z.shape
        off = (self.z - (self.z.T * self.weights).sum(axis=1)).T
        scale = np.sqrt((off**2 * self.weights).sum(axis=1))
        scale[scale == 0] = 1.0
        y = self.y - dot(self.weights, self.y)
        z = (self.z - self.x.mean(axis=0)) / scale
        columns = np.concatenate([np.ones((1, n)), y[np.newaxis], z.T])
        fold = self.folds()
        # (K, 2 + M, 2 + M) sums of products over each fold
        order = np.argsort(fold, kind="stable")
        starts = np.flatnonzero(np.diff(fold[order], prepend=-1))
        products = columns[:, order] * (columns * self.weights)[:, np.newaxis, order]
        parts = np.add.reduceat(products, starts, axis=-1).transpose(2, 0, 1)
        rest = parts.sum(axis=0) - parts
        total = np.maximum(rest[:, :1, :1], np.finfo(float).tiny)  # `rest` is 0 if there is one fold
        means = rest[:, :1] / total
        spread = rest / total - means * means.transpose(0, 2, 1)
        b = solve(spread[:, 2:, 2:] + RIDGE * np.eye(M), spread[:, 2:, 1])
        explained = (b * spread[:, 2:, 1]).sum(axis=1)
        left = np.maximum(spread[:, 1, 1] - explained, 0.0)
        known = self.size * (1 - 1 / len(parts)) - M - 1
        helps = np.zeros(len(parts))
        if known > 0:
            some = explained > 0
            helps[some] = np.maximum(0.0, 1 - M * left[some] / known / explained[some])
        by_fold: Floats = b * helps[:, np.newaxis] / scale
        return by_fold[fold]


@dataclass(frozen=True, eq=False)
class Sharpened:
    """The estimate, and what each segment adds to its error."""

    mean: float
    slope: Floats
    """(M,) the mean of the slopes."""
    added: Floats
    """(U,) what each unit adds to the error."""
    nu: float

    @property
    def variance(self) -> float:
        return dot(self.added, self.added) * (self.nu + 1) / self.nu if self.nu > 0 else 0.0


def sharpen(sample: Sample, slopes: Floats) -> Sharpened:
    """The estimate with these slopes (n, M) of the judged segments; all 0: from the judgements alone."""
    a, at, N = sample.weights, sample.at, len(sample.x)
    centre = sample.x.mean(axis=0)
    corrected = sample.y - ((sample.z - centre) * slopes).sum(axis=1)
    mean = dot(a, corrected)
    slope = (slopes.T * a).sum(axis=1)
    added = product(sample.x - centre, slope) / N
    added[at] += a * (corrected - mean)
    if a.min() == a.max():  # the judged and the others: samples of known size, centred apart
        judged = np.zeros(N, bool)
        judged[at] = True
        for part in (judged, ~judged):
            added[part] -= added[part].mean() if part.any() else 0.0
    return Sharpened(mean, slope, document_sums(added, sample.units), sample.size - 1)
