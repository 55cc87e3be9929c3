"""From a distribution of differences to a p-value, and to the row of a test."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric, Metric
from replitune.notes import Note, note, without_none
from replitune.replicas import Replica
from replitune.significance.arguments import aggregate_scores, in_units
from replitune.significance.base import Comparison, RunKind, Scope, TestResult, Unit
from replitune.statistics.systems import SystemStatistics
from replitune.tuners import TUNERS

RELATIVE_TOLERANCE = 1e-13
"""Scores that differ by less count as equal: they may be the same sum, added up in another order."""


def tolerance(score_a: float, score_b: float) -> float:
    return RELATIVE_TOLERANCE * max(abs(score_a), abs(score_b))


def oriented(deltas: NDArray | float, alternative: str, metric: Metric) -> NDArray:
    """Values that are large when the alternative holds: abs(delta), or the gain of B (of A)."""
    if alternative == "two-sided":
        return np.abs(deltas)
    return np.asarray(deltas) * (metric.sign if alternative == "greater" else -metric.sign)


def p_value(statistics: NDArray[np.float64], observed: float, slack: float, exact: bool = False) -> float:
    """Share of statistics at least as large as the observed one: c/C if exact, else (c + 1)/(R + 1).

    Ties count (`>=`): a rearrangement that gives the observed value is as extreme as what was
    observed. With `>`, identical systems would get a p near 0.
    """
    count = int(np.count_nonzero(statistics >= observed - slack))
    return count / len(statistics) if exact else (count + 1) / (len(statistics) + 1)


def smallest_p(samples: int, exact: bool, log_arrangements: float, mirrored: bool) -> float:
    """The smallest p an exchange test could have returned.

    Of exp(log_arrangements) equally likely arrangements the observed one always counts, and if
    `mirrored` (two-sided, and A and B can be exchanged as a whole) its mirror image too.
    """
    share = 2 if mirrored else 1
    if log_arrangements < math.log(2**40):
        design = min(1.0, share / round(math.exp(log_arrangements)))
    else:
        design = share * math.exp(-log_arrangements)
    return design if exact else max(1.0 / (samples + 1), design)


def percentile_interval(deltas: NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float]:
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(deltas, [tail, 100 - tail])
    return float(low), float(high)


def zero_variance(deltas: NDArray[np.float64], slack: float) -> bool:
    return float(np.ptp(deltas)) <= slack


def expected_shift(
    comparison: Comparison, deltas: NDArray[np.float64], delta: float, unit: str
) -> tuple[float, float]:
    """tau, the mean of a bootstrap over segments or documents, and its standard error.

    If the score is a mean of units of equal count, tau is delta; otherwise the mean of the drawn deltas.
    """
    if isinstance(comparison.metric, MeanMetric):
        systems = (comparison.a, comparison.b)
        counts = [in_units(s.statistics[..., -1:], comparison.documents, unit) for s in systems]
        if all((x == counts[0].flat[0]).all() for x in counts):
            return delta, 0.0
    return float(deltas.mean()), float(deltas.std() / np.sqrt(len(deltas)))


def shifted_p(
    deltas: NDArray[np.float64],
    delta: float,
    tau: float,
    slack: float,
    alternative: str,
    metric: Metric,
    compat: str | None,
    identical: bool,
) -> tuple[float | None, Note | None]:
    """p of a bootstrap that is shifted to the null hypothesis (Graham et al. 2014), and a note.

    With tau the mean of the signed delta_b: c = #{delta_b - tau >= delta} one-sided, and
    #{abs(delta_b - tau) >= abs(delta)} two-sided. Values up to `slack` below delta are ties.

    "folded" counts abs(delta_b) - mean abs(delta_b) > abs(delta), as Fu et al. 2016 (Tables 1
    and 3) and sacrebleu do. That is one tail of a folded distribution: p cannot exceed about .42.
    """
    if abs(delta) <= slack and (identical or zero_variance(deltas, slack)):
        return 1.0, None
    if zero_variance(deltas, slack):
        return None, note("zero-variance")
    if compat == "folded":
        of = "valid test: a nominal .05 is really .11"
        not_valid = note("not-valid", compat="folded", whose="published", test=of)
        size = np.abs(deltas)
        count = int(np.count_nonzero(size - size.mean() > abs(delta)))
        return (count + 1) / (len(deltas) + 1), not_valid
    statistics = oriented(deltas - tau, alternative, metric)
    return p_value(statistics, float(oriented(delta, alternative, metric)), slack), None


def folded_iv(compat: str | None, alternative: str) -> None:
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


LEVEL_OF_FEW = {2: ".30", 3: ".19", 5: ".12"}
"""The actual level of `fu-bootstrap` at a nominal .05, by number of replicas (docs/evidence.md)."""


def few_replicas_note(n_a: int, n_b: int) -> Note | None:
    """A note for tests that draw replicas with replacement."""
    n = min(n_a, n_b)
    if n == 1:
        return note("one-replica", runs="one run", what="differences between runs cannot be estimated")
    if n < 10:
        at, level = max(known for known in LEVEL_OF_FEW.items() if known[0] <= n)
        return note("few-replicas", n=n, level=level, at=at)
    return None


def one_each(comparison: Comparison) -> Note | None:
    if comparison.a.n > 1 or comparison.b.n > 1:
        return None
    return note("one-replica", runs="one run each", what="says nothing about other runs")


def not_paired(a: SystemStatistics, b: SystemStatistics, instead: str) -> Note:
    return note("not-paired", n_a=a.n, a=a.name, n_b=b.n, b=b.name, instead=instead)


@dataclass(frozen=True)
class Exchanged:
    """Differences of rearranged systems under one metric."""

    deltas: NDArray[np.float64]
    """(C,) all arrangements when `exact`, else (samples,)."""
    exact: bool
    log_arrangements: float
    """Logarithm of the number of arrangements that can give different values."""


class ScoredPair(ABC):
    """Two systems, and how far B is from A."""

    @property
    @abstractmethod
    def scores(self) -> tuple[float, float]:
        """Of A and of B."""

    @property
    def delta(self) -> float:
        return self.scores[1] - self.scores[0]

    def row_of(self, comparisons: Sequence[Comparison], **columns: Any) -> TestResult:
        """A row with what all rows say; comparisons: on the test sets of a suite, or one."""
        first = comparisons[0]
        return TestResult(
            a=first.a.name,
            b=first.b.name,
            score_a=self.scores[0],
            score_b=self.scores[1],
            delta=self.delta,
            segments=sum(c.segments for c in comparisons),
            documents=sum(c.n_documents for c in comparisons),
            **columns,
        )

    @property
    def slack(self) -> float:
        """Scores that differ by no more are equal; standard errors up to this are 0."""
        return tolerance(*self.scores)


@dataclass(frozen=True)
class Contrast(ScoredPair):
    """The difference that a test examines, and the row that reports it."""

    method: str
    comparison: Comparison
    alternative: str
    unit: Unit
    """What is exchanged or drawn: segment, document, or replica."""
    aggregation: str = "mean"
    replicas: tuple[int, int] | None = None
    """Positions of the replicas of A and of B, for tests that compare one of each."""
    scope: Scope = "segments"
    """What a small p generalises to."""
    design: str = "runs"

    @cached_property
    def scores(self) -> tuple[float, float]:
        if self.replicas is None:
            return aggregate_scores(self.comparison, self.aggregation)
        r, s = self.replicas
        return float(self.comparison.scores_a[r]), float(self.comparison.scores_b[s])

    def p(self, statistics: NDArray[np.float64], exact: bool = False) -> float:
        """Share of differences under the null hypothesis that are at least as large as the observed one."""
        metric = self.comparison.metric
        observed = float(oriented(self.delta, self.alternative, metric))
        return p_value(oriented(statistics, self.alternative, metric), observed, self.slack, exact)

    def row(self, p: float | None, *notes: Note | None, **columns: Any) -> TestResult:
        """The row with this p, and with what every row says about its two systems."""
        a, b = self.comparison.a, self.comparison.b
        if self.replicas is not None:
            r, s = self.replicas
            columns = {"replica_a": a.replicas[r], "replica_b": b.replicas[s], **columns}
        return self.row_of(
            [self.comparison],
            method=self.method,
            p=p,
            alternative=self.alternative,
            unit=self.unit,
            aggregation=self.aggregation,
            n_a=a.n,
            n_b=b.n,
            scope=self.scope,
            run_kind=kind_of_runs((*a.replicas, *b.replicas), self.design),
            notes=without_none(*notes),
            **columns,
        )

    def exchange_row(
        self,
        exchanged: Exchanged,
        samples: int,
        *notes: Note | None,
        p: float | None = None,
        **columns: Any,
    ) -> TestResult:
        """The row of a test that rearranges what it compares."""
        same_size = self.replicas is not None or self.comparison.a.n == self.comparison.b.n
        mirrored = self.alternative == "two-sided" and same_size
        exact, deltas = exchanged.exact, exchanged.deltas
        return self.row(
            self.p(deltas, exact) if p is None else p,
            *notes,
            p_min=smallest_p(samples, exact, exchanged.log_arrangements, mirrored),
            exact=exact,
            samples=len(deltas),
            distribution=deltas,
            **columns,
        )

    def bootstrap_row(
        self,
        deltas: NDArray[np.float64],
        centre: float,
        p: float | None,
        *notes: Note | None,
        alpha: float,
        slack: float = 0.0,
        **columns: Any,
    ) -> TestResult:
        """The row of a bootstrap whose p comes from the differences (samples,) minus `centre`, with the
        interval that agrees with p."""
        columns = {"p_min": 1 / (len(deltas) + 1), **columns}
        if not zero_variance(deltas, self.slack):
            columns |= self.interval(deltas - centre, alpha, slack)
        return self.row(p, *notes, samples=len(deltas), distribution=deltas, **columns)

    def interval(self, null: NDArray[np.float64], alpha: float, slack: float) -> dict[str, float]:
        """The true differences that are not rejected at alpha when `null` (samples,) is shifted to
        them; values within `slack` of a tie are ties.

        With k = floor(alpha (R + 1)), the counted p is at most alpha exactly when delta lies beyond
        the k-th largest of the null, so the interval excludes 0 exactly then.
        """
        k = int(alpha * (len(null) + 1) * (1 + 1e-12))
        if k < 1:
            return {}
        if self.alternative == "two-sided":
            reach = float(np.partition(np.abs(null), len(null) - k)[len(null) - k]) + slack
            limits = (self.delta - reach, self.delta + reach)
        else:
            ordered = np.partition(null, (k - 1, len(null) - k))
            limits = (self.delta - float(ordered[-k]) - slack, self.delta - float(ordered[k - 1]) + slack)
        level = 1 - alpha if self.alternative == "two-sided" else 1 - 2 * alpha
        return {"ci_low": limits[0], "ci_high": limits[1], "ci_level": level}

    def shift_row(
        self,
        deltas: NDArray[np.float64],
        shift: tuple[float, float],
        compat: str | None,
        identical: bool,
        *notes: Note | None,
        alpha: float,
    ) -> TestResult:
        """The row of a bootstrap that is shifted to the null hypothesis; shift: tau and its error."""
        tau, error = shift
        p, note = shifted_p(
            deltas,
            self.delta,
            tau,
            max(self.slack, error),
            self.alternative,
            self.comparison.metric,
            compat,
            identical,
        )
        return self.bootstrap_row(deltas, tau, p, note, *notes, alpha=alpha, slack=error)


def kind_of_runs(replicas: Iterable[str], design: str = "runs") -> RunKind:
    """What these replicas are, by their names."""
    prefixes = {Replica(id).prefix for id in replicas}
    if design == "samples":
        return "sample"
    if prefixes in ({"seed"}, {"prompt"}):
        return "prompt" if "prompt" in prefixes else "training run"
    return "tuning run" if prefixes <= set(TUNERS.names) else "run"
