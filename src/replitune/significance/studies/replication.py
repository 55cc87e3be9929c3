"""What could a paper with fewer tuner runs have reported? (Clark et al. 2011; Fu et al. 2016)

From a pool of replicas, small experiments are drawn again and again, and tested as their authors
would have: the spread of p (Clark, Table 2) and of delta (Clark, Fig. 2), the single-run papers
that luck could have written (Clark, Table 2, top), and the difference at which p reaches .05 (Fu,
Fig. 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.notes import Note, note, note_text
from replitune.significance.base import Comparison
from replitune.significance.studies.calibrate import Test, p_values, take


@dataclass(frozen=True)
class Threshold:
    """The absolute difference at which a decreasing fit of p crosses alpha (Fu et al., Fig. 5)."""

    method: str
    n: int
    pairs: int
    alpha: float
    crossing: float | None
    low: float | None
    high: float | None
    """95% bootstrap interval over pairs; None where resampled fits do not cross."""
    delta: NDArray[np.float64] = field(repr=False, compare=False)
    """(pairs,) sorted abs(delta), and p and the fitted p at each."""
    p: NDArray[np.float64] = field(repr=False, compare=False)
    fitted: NDArray[np.float64] = field(repr=False, compare=False)
    notes: tuple[Note, ...] = ()

    @property
    def note(self) -> str | None:
        return note_text(self.notes)


@dataclass(frozen=True)
class ReplicationRow:
    """One row of `studies/replication/<testset>/<metric>.parquet`: a single-run paper, or all
    small experiments of one size. What does not apply is None."""

    a: str
    b: str
    method: str
    n: int
    """Replicas of each system in an experiment; the pools have `pool_a` and `pool_b`."""
    pool_a: int
    pool_b: int
    alpha: float
    delta: float
    """Of the two runs, or the mean over the small experiments."""
    case: str | None = None
    """Which single runs; None for small experiments."""
    replica_a: str | None = None
    replica_b: str | None = None
    score_a: float | None = None
    score_b: float | None = None
    p: float | None = None
    repeats: int | None = None
    without_p: int | None = None
    p_low: float | None = None
    """2.5, 50 and 97.5 percentiles of p; None when the test had no p in any of them."""
    p_median: float | None = None
    p_high: float | None = None
    significant: float | None = None
    """Share of small experiments with p <= alpha and B ahead, and (`opposite`) with A ahead."""
    opposite: float | None = None
    deltas: list[float] | None = None
    """The difference that each small experiment observed."""


def replicate(
    comparison: Comparison,
    sizes: Sequence[int],
    tests: Mapping[str, Test],
    *,
    rng: Callable[[int], np.random.Generator],
    repeats: int = 250,
    alpha: float = 0.05,
) -> list[ReplicationRow]:
    """Clark et al. (2011), Table 2 and Fig. 2, of one pair.

    Sizes beyond the smaller pool are left out. `rng` makes the generator of a size (0: of single
    runs), so that no size changes the numbers of another.
    """
    rows = single_runs(comparison, tests, rng=rng(0), alpha=alpha)
    for n in sorted({n for n in sizes if n <= min(comparison.a.n, comparison.b.n)}):
        rows += draw_replicas(comparison, n, tests, rng=rng(n), repeats=repeats, alpha=alpha)
    return rows


def _row(comparison: Comparison, **columns: Any) -> ReplicationRow:
    a, b = comparison.a, comparison.b
    return ReplicationRow(a=a.name, b=b.name, pool_a=a.n, pool_b=b.n, **columns)


def _drawn(comparison: Comparison, of_a: NDArray[np.intp], of_b: NDArray[np.intp]) -> Comparison:
    """Only these replicas of each system."""
    a, b = take(comparison.a, of_a, comparison.a.name), take(comparison.b, of_b, comparison.b.name)
    return replace(comparison, a=a, b=b)


def draw_replicas(
    comparison: Comparison,
    n: int,
    tests: Mapping[str, Test],
    *,
    rng: np.random.Generator,
    repeats: int = 250,
    alpha: float = 0.05,
) -> list[ReplicationRow]:
    """Draw n replicas with replacement from A's pool and from B's, independently, and test them.

    Whole outputs are drawn, regardless of tuners.
    """
    a, b, metric = comparison.a, comparison.b, comparison.metric
    chosen = [(rng.integers(0, a.n, n), rng.integers(0, b.n, n)) for _ in range(repeats)]
    deltas = np.array(
        [comparison.scores_b[of_b].mean() - comparison.scores_a[of_a].mean() for of_a, of_b in chosen]
    )
    small = (_drawn(comparison, of_a, of_b) for of_a, of_b in chosen)
    ahead = metric.sign * deltas > 0
    rows = []
    for method, values in p_values(small, tests, rng).items():
        p = np.array([np.nan if value is None else value for value in values])
        have = p[~np.isnan(p)]
        low, median, high = map(float, np.percentile(have, [2.5, 50, 97.5])) if len(have) else (None,) * 3
        small_p = np.nan_to_num(p, nan=1.0) <= alpha
        rows.append(
            _row(
                comparison,
                method=method,
                n=n,
                alpha=alpha,
                delta=float(deltas.mean()),
                repeats=repeats,
                without_p=repeats - len(have),
                p_low=low,
                p_median=median,
                p_high=high,
                significant=float((small_p & ahead).mean()),
                opposite=float((small_p & ~ahead).mean()),
                deltas=deltas.tolist(),
            )
        )
    return rows


def single_runs(
    comparison: Comparison, tests: Mapping[str, Test], *, rng: np.random.Generator, alpha: float = 0.05
) -> list[ReplicationRow]:
    """A's worst run with B's best, A's best with B's worst, and median with median."""
    a, b, metric = comparison.a, comparison.b, comparison.metric
    sign = metric.sign
    order_a, order_b = (
        sorted(range(s.n), key=lambda r: (sign * scores[r], s.replicas[r]))
        for s, scores in ((a, comparison.scores_a), (b, comparison.scores_b))
    )
    cases = (
        ("A's worst, B's best", order_a[0], order_b[-1]),
        ("A's best, B's worst", order_a[-1], order_b[0]),
        ("median, median", order_a[(a.n - 1) // 2], order_b[(b.n - 1) // 2]),
    )
    pairs = [_drawn(comparison, np.array([r]), np.array([s])) for _, r, s in cases]
    rows = []
    for method, values in p_values(pairs, tests, rng).items():
        for (case, r, s), p in zip(cases, values, strict=True):
            score_a, score_b = float(comparison.scores_a[r]), float(comparison.scores_b[s])
            rows.append(
                _row(
                    comparison,
                    method=method,
                    n=1,
                    alpha=alpha,
                    delta=score_b - score_a,
                    case=case,
                    replica_a=a.replicas[r],
                    replica_b=b.replicas[s],
                    score_a=score_a,
                    score_b=score_b,
                    p=p,
                )
            )
    return rows


def crossing(
    delta: NDArray[np.float64], p: NDArray[np.float64], alpha: float
) -> tuple[float | None, NDArray[np.float64]]:
    """Where the decreasing least-squares fit of p (m,) on sorted delta (m,) reaches alpha.

    Linear between the last difference above alpha and the first not above; None when the fit
    stays on one side.
    """
    from scipy.optimize import isotonic_regression

    fitted = np.asarray(isotonic_regression(p, increasing=False).x)
    below = np.flatnonzero(fitted <= alpha)
    if len(below) == 0 or below[0] == 0:
        return None, fitted
    k = int(below[0])
    share = (fitted[k - 1] - alpha) / (fitted[k - 1] - fitted[k])
    return float(delta[k - 1] + share * (delta[k] - delta[k - 1])), fitted


def threshold(
    delta: NDArray[np.float64],
    p: NDArray[np.float64],
    *,
    method: str,
    n: int,
    alpha: float = 0.05,
    samples: int = 1000,
    rng: np.random.Generator,
) -> Threshold:
    """Fit p of m pairs on abs(delta): valid for this test set and number of replicas only."""
    delta, p = np.abs(np.asarray(delta, float)), np.asarray(p, float)
    if len(delta) != len(p) or len(p) < 2 or not np.isfinite(p).all():
        raise ReplituneError(
            "a threshold needs two pairs or more, each with a difference and a p",
            found=f"{len(delta)} differences, {int(np.isfinite(p).sum())} p",
        )
    order = np.argsort(delta, kind="stable")
    delta, p = delta[order], p[order]
    at, fitted = crossing(delta, p, alpha)
    notes = [note("scope", n=n)]
    if at is None:
        side = "every" if fitted[0] <= alpha else "no"
        notes.append(note("no-crossing", alpha=alpha, side=side))
    drawn = []
    for _ in range(samples):
        rows = np.sort(rng.integers(0, len(p), len(p)))
        again, fit = crossing(delta[rows], p[rows], alpha)
        if again is None:  # below all pairs, or above
            again = -np.inf if fit[0] <= alpha else np.inf
        drawn.append(again)
    low, high = (
        float(x) if np.isfinite(x) else None for x in np.quantile(drawn, [0.025, 0.975], method="nearest")
    )
    if at is not None and (low is None or high is None):
        notes.append(note("open"))
    return Threshold(
        method=method,
        n=n,
        pairs=len(p),
        alpha=alpha,
        crossing=at,
        low=low if at is not None else None,
        high=high if at is not None else None,
        delta=delta,
        p=p,
        fitted=fitted,
        notes=tuple(notes),
    )
