"""PERM-BOTH: does one metric correlate better with humans than another? (Deutsch et al. 2021)

Under H0 the two metrics are exchangeable: after standardising each, their scores may change
places, output by output (PERM-BOTH), for all outputs of a system together (PERM-SYS), or for all
of a segment (PERM-INPUT). The statistic is the difference of the two correlations with humans.
Output by output is right when a metric errs on each output by itself. A metric that over-rates
whole systems moves their scores together; at the level of systems PERM-BOTH then finds
differences between equal metrics, and PERM-SYS does not.

    p = (#{delta_b >= delta} + 1) / (R + 1)           one-sided: the first correlates better

Correlations are Pearson's, of systems or of all outputs, as in Williams' test. Corpus scores are means
of segment scores here, even for metrics that define them otherwise.

Soft pairwise accuracy rests on such p: do metric and humans agree on how sure one can be? (Thompson et
al. 2024)

    SPA = 1 - mean over pairs i < j of |p_human(i, j) - p_metric(i, j)|

with p the one-sided p-value of "i is better than j" from a paired permutation test: the outputs of
i and j change places, segment by segment, with probability 1/2. Plain pairwise accuracy rounds
each p to 0 or 1 first, and so depends on pairs that nobody can tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.meta.correlations import few_items
from replitune.meta.rows import join_notes
from replitune.meta.scores import Scores
from replitune.significance.counting import RELATIVE_TOLERANCE, p_value
from replitune.significance.draws import exact_columns

BLOCK = 256
"""Exchanges drawn and computed at once; always the same, for the same bytes."""

SLACK = 1e-10
"""Differences of correlations closer than this count as equal."""


@dataclass(frozen=True)
class PermBothResult:
    """H0: the two metrics correlate equally with humans."""

    delta: float | None
    """How much better the first metric correlates."""
    p: float | None
    samples: int
    exact: bool = False
    p_min: float | None = None
    note: str | None = None
    distribution: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """Values of delta under H0, without the exchanges that have no coefficient."""

    def swapped(self) -> PermBothResult:
        """The same exchanges, with the metrics in the other order."""
        if self.delta is None or self.distribution is None:
            return self
        delta, distribution = -self.delta, -self.distribution
        return replace(self, delta=delta, p=_p(delta, distribution, self.exact), distribution=distribution)


def perm_both(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    human: NDArray[np.float64],
    *,
    rng: np.random.Generator,
    level: str = "system",
    exchange: str = "both",
    samples: int = 1000,
) -> PermBothResult:
    """Test metric x against metric y; x, y, human are (S, N), higher is better, NaN for none.

    exchange : {"both", "systems", "segments"}
        What changes places: each output, or all outputs of a system or of a segment.
    """
    if not x.shape == y.shape == human.shape:
        raise ReplituneError("scores of different outputs", found=f"{x.shape}, {y.shape} and {human.shape}")
    cells = ~(np.isnan(x) | np.isnan(y))
    if level != "system":
        cells &= ~np.isnan(human)
    n = int(cells.sum())

    def nothing(note: str) -> PermBothResult:
        return PermBothResult(None, None, samples, note=note)

    if n < 2:
        return nothing(f"{n} outputs have all scores: too few")
    spread = [float(np.ptp(scores[cells])) for scores in (x, y)]
    largest = [float(np.abs(scores[cells]).max()) for scores in (x, y)]
    if any(s <= 1e-12 * m for s, m in zip(spread, largest, strict=True)):
        return nothing("a constant does not correlate")
    a, b = (np.where(cells, _standardised(scores, cells), 0.0) for scores in (x, y))
    if level == "system":
        statistic = _of_systems(a, b, human, cells)
    else:
        statistic = _of_cells(a[cells], b[cells], human[cells])
    nobody = np.zeros((1, n), dtype=bool)
    (value_x,), (value_y,) = statistic(nobody)
    if np.isnan(value_x) or np.isnan(value_y):
        return nothing("a constant, or fewer than three systems, cannot correlate")
    delta = float(value_x - value_y)
    unit = _units(cells, exchange)
    units = int(unit.max()) + 1
    exact = units < 40 and 2**units <= samples
    parts = []
    for bits in _every(units) if exact else coin_flips(units, samples, rng):
        first, second = statistic(bits if units == n else bits[:, unit])
        parts.append(first - second)
    deltas = np.concatenate(parts)[: None if exact else samples]
    defined = deltas[~np.isnan(deltas)]
    p = _p(delta, defined, exact)
    lost = len(deltas) - len(defined)
    smallest = 0.5 ** min(units, 1000)
    return PermBothResult(
        delta,
        p,
        len(deltas),
        exact,
        p_min=smallest if exact else max(smallest, 1 / (samples + 1)),
        note=f"{lost} of {len(deltas)} exchanges have no coefficient" if lost else None,
        distribution=defined,
    )


def _p(delta: float, distribution: NDArray[np.float64], exact: bool) -> float | None:
    return p_value(distribution, delta, SLACK, exact) if len(distribution) else None


def _standardised(scores: NDArray[np.float64], cells: NDArray[np.bool_]) -> NDArray[np.float64]:
    """z-scores over the cells: otherwise the metric with the larger scale would decide every mean."""
    known = scores[cells]
    largest = np.abs(known).max()
    known = known / largest
    return (scores / largest - known.mean()) / known.std()


def _units(cells: NDArray[np.bool_], exchange: str) -> NDArray[np.intp]:
    """For each cell, the number of the unit with which it changes places."""
    system, segment = np.nonzero(cells)
    if exchange == "both":
        return np.arange(len(system))
    return np.unique(system if exchange == "systems" else segment, return_inverse=True)[1]


def _every(n: int) -> Iterator[NDArray[np.bool_]]:
    """All 2^n exchanges of n units, in blocks."""
    for start in range(0, 2**n, BLOCK):
        numbers = np.arange(start, min(start + BLOCK, 2**n))
        yield (numbers[:, np.newaxis] >> np.arange(n)) & 1 == 1


def coin_flips(n: int, samples: int, rng: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    """Whole blocks (BLOCK, n) of fair coins, enough for all samples."""
    for _ in range(-(-samples // BLOCK)):
        coins = rng.integers(0, 256, (BLOCK, -(-n // 8)), dtype=np.uint8)
        yield np.unpackbits(coins, axis=1, count=n).view(np.bool_)


Statistic = Callable[[NDArray[np.bool_]], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Exchanges (B, cells) -> correlations (B,) of both metrics with humans."""


def _of_systems(
    a: NDArray[np.float64], b: NDArray[np.float64], human: NDArray[np.float64], cells: NDArray[np.bool_]
) -> Statistic:
    """An exchange moves a system's mean by the differences of the exchanged cells."""
    judged = ~np.isnan(human)
    known = cells.any(axis=1) & judged.any(axis=1)
    z = np.where(judged, human, 0.0).sum(axis=1)[known] / judged.sum(axis=1)[known]
    counts = cells.sum(axis=1)
    gain, system = (b - a)[cells], np.nonzero(cells)[0]
    exact = exact_columns(gain, len(gain))
    starts = np.r_[0, np.cumsum(counts)]

    def statistic(bits: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if known.sum() < 3:
            nan = np.full(len(bits), np.nan)
            return nan, nan
        moved = np.zeros((len(bits), len(cells)))
        for s in np.unique(system):
            part = slice(starts[s], starts[s + 1])
            moved[:, s] = bits[:, part].astype(np.float64) @ exact[part]
        size = counts[known]
        x = (a.sum(axis=1) + moved)[:, known] / size
        y = (b.sum(axis=1) - moved)[:, known] / size
        return few_items(x, z, "pearson"), few_items(y, z, "pearson")

    return statistic


def _of_cells(a: NDArray[np.float64], b: NDArray[np.float64], human: NDArray[np.float64]) -> Statistic:
    """r from three sums over the exchanged cells; scores are standardised, so there is no cancellation."""
    n = len(a)
    z = human / max(float(np.abs(human).max()), 1e-300)
    z = z - z.mean()
    zz = float((z * z).sum())
    if zz <= n * 1e-28:
        zz = 0.0
    moves = exact_columns(np.stack([b - a, b * b - a * a, (b - a) * z], axis=1), n)

    def r(sums: NDArray[np.float64], square: NDArray[np.float64], cross: NDArray[np.float64]):  # type: ignore[no-untyped-def]
        variance = (square - sums * sums / n) * zz
        defined = variance > 1e-20 * n * zz
        return np.divide(
            cross, np.sqrt(np.where(defined, variance, 1.0)), out=np.full(len(cross), np.nan), where=defined
        )

    def statistic(bits: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        sums, square, cross = (bits.astype(np.float64) @ moves).T
        return (
            r(a.sum() + sums, (a * a).sum() + square, (a * z).sum() + cross),
            r(b.sum() - sums, (b * b).sum() - square, (b * z).sum() - cross),
        )

    return statistic


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
