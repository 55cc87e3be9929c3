"""How well a metric correlates with humans, with bootstrap confidence intervals.

Levels: `system` (corpus scores of S systems), `segment` (all cells of systems and segments that
have a human score, together), and `average` (over the systems of each segment, averaged over
segments). `resample` says what is drawn with replacement: the systems, the segments, or both
independently (Deutsch et al. 2021, Boot-Systems, Boot-Inputs, Boot-Both). An interval from segments
alone, for example, is about these systems on new segments.

Williams' test asks whether one metric correlates better with humans than another. Both correlations
share the human scores, and the metrics correlate with each other, so the two are dependent (Williams
1959; Steiger 1980; Graham and Baldwin 2014). Index 1 is human, 2 and 3 are the metrics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from replitune.errors import ReplituneError
from replitune.meta.correlations import BLOCK, Averages, few_items, many_items
from replitune.meta.rows import join_notes
from replitune.meta.scores import Scores
from replitune.significance.counting import percentile_interval
from replitune.significance.draws import SegmentDraws
from replitune.significance.kernels.random import blocks


@dataclass(frozen=True)
class WilliamsResult:
    """H0: the two metrics correlate equally with humans in the population."""

    t: float | None = None
    df: int | None = None
    p: float | None = None
    note: str | None = None


def williams(r12: float | None, r13: float | None, r23: float | None, n: int) -> WilliamsResult:
    """Test whether r12 is larger than r13, measured on the same n items.

        t_{n-3} = (r12 - r13) sqrt((n - 1)(1 + r23))
                  / sqrt(2 K (n - 1)/(n - 3) + (r12 + r13)^2 (1 - r23)^3 / 4)
        K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23

    p is None for n <= 3, where a correlation is None, and where the metrics are the same up to
    scale.
    """
    for r in (r12, r13, r23):
        if r is not None and not abs(r) <= 1:
            raise ReplituneError("a correlation is not between -1 and 1", found=repr(r))
    if r12 is None or r13 is None or r23 is None:
        return WilliamsResult(note="a correlation is not defined")
    if n <= 3:
        return WilliamsResult(note=f"{n} items: Williams' test needs at least 4")
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if 1 - r23 < 1e-12:
        return WilliamsResult(note="the metrics are the same up to scale")
    if k < -1e-9:
        return WilliamsResult(note="no data can have these three correlations")
    square = 2 * max(k, 0.0) * (n - 1) / (n - 3) + (r12 + r13) ** 2 * (1 - r23) ** 3 / 4
    if square <= 1e-24:
        return WilliamsResult(note="zero variance of the difference between the correlations")
    t = (r12 - r13) * math.sqrt((n - 1) * max(1 + r23, 0.0)) / math.sqrt(square)
    return WilliamsResult(t, n - 3, float(stdtr(n - 3, -t)))


LEVELS = ("system", "segment", "average")

UNITS = {"system": "systems", "segment": "cells", "average": "segments"}

FEWEST = {"system": 3, "segment": 3, "average": 1}
"""With fewer items there is no coefficient; of two systems it would always be 1 or -1."""


OUTSIDE = (
    "the value is outside its interval: resamples contain fewer distinct systems, "
    "which lowers this coefficient"
)


@dataclass(frozen=True)
class Correlation:
    """A metric's correlation with humans. What cannot be computed is None, with a note."""

    value: float | None
    n: int
    """Systems, cells, or segments whose coefficient is in the average."""
    ci_low: float | None = None
    ci_high: float | None = None
    resampled: str | None = None
    samples: int | None = None
    note: str | None = None
    distribution: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """The bootstrap's values, without the resamples that have no coefficient."""


@dataclass(frozen=True)
class MetaDraws:
    """Bootstrap draws of systems and of segments, the same for all metrics."""

    systems: SegmentDraws
    segments: SegmentDraws
    _known: dict[tuple[int, int], tuple[Scores, NDArray[np.float64]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def from_rng(cls, rng: np.random.Generator) -> MetaDraws:
        return cls(SegmentDraws.from_rng(rng), SegmentDraws.from_rng(rng))

    def system_scores(self, scores: Scores, samples: int) -> NDArray[np.float64]:
        """(samples, S) corpus scores on the drawn segments, computed once."""
        key = (id(scores), samples)
        if key not in self._known:
            self._known[key] = (scores, scores.resampled(self.segments, samples))
        return self._known[key][1]


def correlate(
    metric: Scores,
    human: Scores,
    *,
    level: str = "system",
    coefficient: str = "pearson",
    resample: str = "both",
    draws: MetaDraws | None = None,
    samples: int = 1000,
) -> Correlation:
    """Correlation of a metric with humans; with `draws`, also its 95% percentile interval."""
    value, n = value_of(metric, human, level, coefficient)
    note = _missing(metric, human, level)
    observed = Correlation(value, n, note=note)
    if value is None:
        reason = f"{n} {UNITS[level]}: too few" if n < FEWEST[level] else "a constant does not correlate"
        return replace(observed, note=join_notes(reason, note))
    if draws is None:
        return observed
    drawn = _resampled(metric, human, level, coefficient, draws, resample, samples)
    defined = drawn[~np.isnan(drawn)]
    undefined = samples - len(defined)
    low = high = None
    if 2 * len(defined) > samples:
        low, high = percentile_interval(defined)
    return replace(
        observed,
        ci_low=low,
        ci_high=high,
        resampled=resample,
        samples=samples,
        note=join_notes(
            f"{undefined} of {samples} resamples have no coefficient" if undefined else None,
            "no interval: most resamples have no coefficient" if low is None else None,
            OUTSIDE if low is not None and high is not None and not low <= value <= high else None,
            note,
        ),
        distribution=defined,
    )


def value_of(metric: Scores, human: Scores, level: str, coefficient: str) -> tuple[float | None, int]:
    """The coefficient, and the number of systems, cells or segments it is from."""
    if level == "system":
        known = ~(np.isnan(metric.system) | np.isnan(human.system))
        n = int(known.sum())
        if n < FEWEST[level]:
            return None, n
        return _float(few_items(metric.system[known], human.system[known], coefficient)), n
    present = metric.present & human.present
    if level == "segment":
        n = int(present.sum())
        if n < FEWEST[level]:
            return None, n
        values = many_items(metric.segment[present], human.segment[present], coefficient)
        return _float(values[0]), n
    averages = Averages(metric.segment, human.segment, present, coefficient)
    values, used = averages(np.ones((1, len(present))), np.ones((1, present.shape[1])))
    return _float(values[0]), int(used[0])


def _float(value: NDArray[np.float64] | float) -> float | None:
    return None if np.isnan(value) else float(value)


def _resampled(
    metric: Scores,
    human: Scores,
    level: str,
    coefficient: str,
    draws: MetaDraws,
    resample: str,
    samples: int,
) -> NDArray[np.float64]:
    """(samples,) coefficients; NaN where a resample has none."""
    S, N = metric.segment.shape
    present = metric.present & human.present
    averages = Averages(metric.segment, human.segment, present, coefficient)
    values = np.empty(samples)
    for rows in blocks(samples, BLOCK):
        B = rows.stop - rows.start
        systems = np.ones((B, S), dtype=np.int32)
        segments = np.ones((B, N), dtype=np.int32)
        if resample != "segments":
            systems = draws.systems.counts(S, rows)
        if resample != "systems" and level != "system":
            segments = draws.segments.counts(N, rows)
        if level == "system":
            x, z = (
                scores.system[np.newaxis]
                if resample == "systems"
                else draws.system_scores(scores, samples)[rows]
                for scores in (metric, human)
            )
            values[rows] = _system_values(x, z, coefficient, systems)
        elif level == "segment":
            weights = (systems[:, :, np.newaxis] * segments[:, np.newaxis, :])[:, present]
            values[rows] = many_items(metric.segment[present], human.segment[present], coefficient, weights)
        else:
            values[rows], _ = averages(systems, segments)
    return values


def _system_values(
    x: NDArray[np.float64], z: NDArray[np.float64], coefficient: str, weights: NDArray
) -> NDArray[np.float64]:
    """(B,) coefficients of corpus scores (B, S); NaN where a drawn system has no score."""
    unknown = np.isnan(x) | np.isnan(z)
    values = few_items(np.nan_to_num(x), np.nan_to_num(z), coefficient, weights)
    values = np.broadcast_to(values, (len(weights),)).copy()
    values[(unknown & (weights > 0)).any(axis=1)] = np.nan
    return values


def _missing(metric: Scores, human: Scores, level: str) -> str | None:
    """A note on cells that humans judged and the metric did not score."""
    lost = int((human.present & ~metric.present).sum())
    if not lost or level == "system":
        return None
    return f"{lost} judged outputs have no score of {metric.name} and are left out"
