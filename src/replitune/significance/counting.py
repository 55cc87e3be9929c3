"""From a distribution of differences to a p-value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.significance.base import Comparison, Note, TestResult

RELATIVE_TOLERANCE = 1e-10
"""Scores that differ by less are equal: the same sums added up in another order."""

ONE_REPLICA_NOTE = Note("one-replica", "one replica each: says nothing about other tuner runs")


def tolerance(score_a: float, score_b: float) -> float:
    return RELATIVE_TOLERANCE * max(abs(score_a), abs(score_b))


def oriented(deltas: NDArray | float, alternative: str, metric: Metric) -> NDArray:
    """What is large when the alternative holds: abs(delta), or the gain of B (of A)."""
    if alternative == "two-sided":
        return np.abs(deltas)
    better = 1.0 if metric.higher_is_better else -1.0
    return np.asarray(deltas) * (better if alternative == "greater" else -better)


def p_value(
    statistics: NDArray[np.float64], observed: float, slack: float, exact: bool = False
) -> float:
    """Share of statistics as large as the observed one: c/C exactly, (c + 1)/(R + 1) sampled.

    Ties count (`>=`): a rearrangement that gives the observed value is one of those that the
    observed value cannot be told from. With `>` identical systems would get p near 0.
    """
    count = int(np.count_nonzero(statistics >= observed - slack))
    return count / len(statistics) if exact else (count + 1) / (len(statistics) + 1)


def smallest_p(samples: int, exact: bool, log_arrangements: float, mirrored: bool) -> float:
    """The smallest p an exchange test could have returned.

    Of exp(log_arrangements) equally likely arrangements the observed one always counts, and when
    `mirrored` (two-sided, and A and B can change places altogether) its mirror image too.
    """
    share = 2 if mirrored else 1
    if log_arrangements < math.log(2**40):
        design = min(1.0, share / round(math.exp(log_arrangements)))
    else:
        design = share * math.exp(-log_arrangements)
    return design if exact else max(1.0 / (samples + 1), design)


def percentile_interval(
    deltas: NDArray[np.float64], confidence: float = 0.95
) -> tuple[float, float]:
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(deltas, [tail, 100 - tail])
    return float(low), float(high)


def zero_variance(deltas: NDArray[np.float64], slack: float) -> bool:
    return float(np.ptp(deltas)) <= slack


COMPATS = (None, "folded")

FOLDED_NOTE = Note(
    "not-valid",
    "`compat: folded` reproduces published numbers and is not a valid test: "
    "a nominal .05 is really .11",
)

ZERO_VARIANCE_NOTE = Note("zero-variance", "zero variance: every resample has the same difference")


def shifted_p(
    deltas: NDArray[np.float64],
    delta: float,
    slack: float,
    alternative: str,
    metric: Metric,
    compat: str | None,
    identical: bool,
) -> tuple[float | None, Note | None]:
    """p of a bootstrap that is shifted to the null hypothesis (Graham et al. 2014), and a note.

    With tau the mean of the signed delta_b: c = #{delta_b - tau >= delta} one-sided, and
    #{abs(delta_b - tau) >= abs(delta)} two-sided.

    "folded" counts abs(delta_b) - mean abs(delta_b) > abs(delta), as Fu et al. 2016 (Tables 1
    and 3) and sacrebleu do. That is one tail of a folded distribution: p cannot exceed about .42.
    """
    if abs(delta) <= slack and (identical or zero_variance(deltas, slack)):
        return 1.0, None
    if zero_variance(deltas, slack):
        return None, ZERO_VARIANCE_NOTE
    if compat == "folded":
        size = np.abs(deltas)
        count = int(np.count_nonzero(size - size.mean() > abs(delta)))
        return (count + 1) / (len(deltas) + 1), FOLDED_NOTE
    statistics = oriented(deltas - deltas.mean(), alternative, metric)
    return p_value(statistics, float(oriented(delta, alternative, metric)), slack), None


def compat_iv(compat: str | None, alternative: str) -> None:
    if compat not in COMPATS:
        raise ReplituneError("`compat` must be 'folded' or not given", found=repr(compat))
    if compat == "folded" and alternative != "two-sided":
        raise ReplituneError(
            "`compat` folded has no direction: it counts absolute differences",
            found=f"`alternative` {alternative!r}",
            fix="leave `alternative` out, or `compat`",
        )


def identical(comparison: Comparison) -> bool:
    """Both systems have the same statistics throughout."""
    a, b = comparison.a.statistics, comparison.b.statistics
    return a.shape == b.shape and bool(np.array_equal(a, b))


def few_replicas(n_a: int, n_b: int) -> Note | None:
    """A note for tests that draw replicas with replacement."""
    n = min(n_a, n_b)
    if n == 1:
        return Note("one-replica", "one replica: differences between tuner runs are not seen")
    if n < 10:
        text = f"{n} replicas: bootstrapping so few is liberal (about .19 for .05 at n = 3)"
        return Note("few-replicas", text)
    return None


def result(comparison: Comparison, score_a: float, score_b: float, **columns: Any) -> TestResult:
    """A row with what every test says of its two systems filled in."""
    return TestResult(
        a=comparison.a.name,
        b=comparison.b.name,
        score_a=score_a,
        score_b=score_b,
        delta=score_b - score_a,
        n_a=comparison.a.n,
        n_b=comparison.b.n,
        segments=comparison.segments,
        documents=comparison.n_documents,
        **columns,
    )
