"""What a test is given and what it returns.

A system's statistics are an array (replicas, segments, K); a comparison is two systems on
the same segments under one metric; a result is one frozen row with its null or bootstrap
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.notes import Note, note_text
from replitune.statistics.systems import SystemStatistics

if TYPE_CHECKING:
    from replitune.significance.crossed_pair import Uncertainty
    from replitune.significance.next_run import NextRun
    from replitune.significance.simultaneous import Estimate
    from replitune.significance.variances import VarianceRow


Scope = Literal["both", "runs", "samples", "segments", "outputs"]
"""What a small p generalises to: new segments (or documents) and new runs; new runs on this test set; new
segments with samples of their own; new segments, from these runs; nothing but these outputs. New samples
on this test set are `runs` of the kind `sample`."""

Unit = Literal["segment", "document", "replica"]

RunKind = Literal["run", "tuning run", "training run", "prompt", "sample"]
"""What a replica is called."""


@dataclass(frozen=True)
class Comparison:
    """Systems A and B on the same segments under one metric."""

    metric: Metric
    a: SystemStatistics
    b: SystemStatistics
    documents: NDArray[np.int32]
    """(N,) document number of each segment, 0 .. G-1 in order of first appearance; without
    document information, one per segment."""

    def __post_init__(self) -> None:
        a, b = self.a.statistics, self.b.statistics
        if a.shape[1:] != b.shape[1:] or len(self.documents) != a.shape[1]:
            raise ReplituneError(
                f"systems {self.a.name} and {self.b.name} were not scored on the same segments",
                found=f"{a.shape[1]} and {b.shape[1]} segments",
                expected="the same segments, references and statistics for both",
            )

    @property
    def segments(self) -> int:
        return self.a.segments

    @property
    def n_documents(self) -> int:
        return int(self.documents.max(initial=-1)) + 1

    @cached_property
    def scores_a(self) -> NDArray[np.float64]:
        """(n_a,) corpus score of each replica."""
        return self.metric.score(self.a.sums)

    @cached_property
    def scores_b(self) -> NDArray[np.float64]:
        return self.metric.score(self.b.sums)

    def swapped(self) -> Comparison:
        return replace(self, a=self.b, b=self.a)


DETAILS = {
    "won": "share of the drawn test sets on which B is better",
    "lost": "share on which A is better",
    "tied": "share on which they are equal",
    "superior": "P(the next run of B beats the next run of A) on this test set",
    "superior_low": "its lower limit (90% interval)",
    "superior_high": "its upper limit",
    "superior_new": "the same on a new test set of this size",
    "superior_new_low": "its lower limit (90% interval)",
    "superior_new_high": "its upper limit",
    "superior_systems": "number of systems whose scores were used to tell how large true differences are",
    "p_without_one_low": "smallest p when one run is left out",
    "p_without_one_high": "largest p when one run is left out",
    "p_odd_run": "smallest p of a run far from its group, if runs are normal",
    "reach_twice_runs": "half the width of the interval with twice the runs",
    "reach_twice_units": "the same with twice the segments (documents)",
    "margin": "what counts as the same, in units of the metric",
    "p_same": "p of equivalence: H0 is a difference of the margin or more",
    "p_same_adjusted": "the same, corrected for all pairs",
    "p_adjusted_error": "standard error of simulation of p_adjusted (max-t)",
    "p_no_worse_a": "p of non-inferiority: H0 is that A is worse than B by the margin or more",
    "p_no_worse_b": "the same of B",
    "p_median": "median p over all pairs of runs",
    "p_low": "its 2.5th percentile",
    "p_high": "its 97.5th percentile",
    "sd_runs": "standard deviation of runs, by the mixed model",
    "sd_segments": "the same of segments",
    "sd_noise": "the same of the rest",
    "chi2": "likelihood ratio of the mixed model without run effects",
    "p_chi2": "its p",
    "samples_low_a": "fewest samples of a run of A, where runs are made of samples (`design: nested`)",
    "samples_high_a": "most samples of a run of A",
    "samples_low_b": "fewest samples of a run of B",
    "samples_high_b": "most samples of a run of B",
    "better_on": "test sets of a suite on which B is better (partial conjunction)",
    "worse_on": "test sets of a suite on which A is better",
}
"""Columns that only some tests fill, with their meaning."""

OF_PEOPLE = {
    "judged": "segments on which people judged both systems",
    "worth": "how many times as many judgements would be as precise without metrics",
    "delta_alone": "the difference by the judgements alone",
    "se_alone": "its standard error",
}
"""Columns of the test of judgements alone; other files do not have them."""


@dataclass(frozen=True)
class TestResult:
    """What one test says about a pair. What does not apply is None, never NaN."""

    __test__ = False  # not a test case for pytest

    method: str
    a: str
    b: str
    score_a: float
    score_b: float
    delta: float
    """score_b - score_a under `aggregation`, in metric units."""
    p: float | None
    alternative: str
    """"two-sided", or "greater"/"less": B better/worse, respecting the metric's direction."""
    unit: Unit
    """What of a test set is exchanged or drawn; `replica` where whole test sets are."""
    aggregation: str
    """mean (of replica scores) or pooled (statistics)."""
    n_a: int
    n_b: int
    segments: int
    documents: int
    scope: Scope
    """What a small p generalises to."""
    run_kind: RunKind = "run"
    se: float | None = None
    df: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_level: float | None = None
    """Confidence of this interval by itself: for simultaneous intervals higher than their joint
    confidence, for one-sided tests 1 - 2 alpha."""
    p_min: float | None = None
    """The smallest p this test could have returned."""
    exact: bool = False
    """All rearrangements were enumerated."""
    pairing: str | None = None
    replica_a: str | None = None
    replica_b: str | None = None
    samples: int | None = None
    seed: int | None = None
    p_adjusted: float | None = None
    correction: str | None = None
    """How p was adjusted: max-t, holm, bh, none."""
    notes: tuple[Note, ...] = ()
    details: dict[str, float] = field(default_factory=dict, repr=False)
    """Values that only some methods report: those in `DETAILS` and `OF_PEOPLE`, and a test's own."""
    p_values: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """(n_a, n_b) p of each pair of replicas, where each pair was tested by itself."""
    distribution: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """Null (exchange tests) or bootstrap distribution of the signed delta, (samples,)."""
    variances: tuple[VarianceRow, ...] = field(default=(), repr=False)
    """Where the uncertainty of the difference comes from, if the test knows."""
    analysis: Estimate | None = field(default=None, repr=False, compare=False)
    """What this test knows about the pair beyond its row, for inference on many pairs at once."""
    next_run: NextRun | None = field(default=None, repr=False, compare=False)
    """What predicts whether the next run of B beats that of A; evaluated for all pairs together."""
    uncertainty: Uncertainty | None = field(default=None, repr=False, compare=False)
    """The parts of Var(delta), for looks that estimate what more runs would change."""

    @property
    def note(self) -> str | None:
        return note_text(self.notes)

    def swapped(self) -> TestResult:
        """The same result with A and B exchanged."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            score_a=self.score_b,
            score_b=self.score_a,
            delta=-self.delta,
            alternative=OTHER_SIDE[self.alternative],
            n_a=self.n_b,
            n_b=self.n_a,
            ci_low=_negated(self.ci_high),
            ci_high=_negated(self.ci_low),
            replica_a=self.replica_b,
            replica_b=self.replica_a,
            details=_swapped_details(self.details),
            variances=_swapped_variances(self.variances),
            uncertainty=self.uncertainty and self.uncertainty.swapped(),
            p_values=None if self.p_values is None else self.p_values.T,
            distribution=None if self.distribution is None else -self.distribution,
        )


OTHER_SIDE = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
"""Alternatives of (A, B) and what they are of (B, A)."""
MIRRORED = {
    "superior": "superior",
    "superior_low": "superior_high",
    "superior_new": "superior_new",
    "superior_new_low": "superior_new_high",
}
"""Probabilities that B wins; when A and B are exchanged, 1 - x under the mirrored name."""


def _swapped_details(details: dict[str, float]) -> dict[str, float]:
    """B's wins are A's losses; the names of A's and B's values are exchanged."""
    other = {"won": "lost", "lost": "won", "better_on": "worse_on", "worse_on": "better_on"}
    for name in details:
        if name.endswith(("_a", "_b")):
            other[name] = name[:-1] + ("b" if name.endswith("_a") else "a")
    shares = {**MIRRORED, **{to: name for name, to in MIRRORED.items()}}
    return {
        shares.get(name, other.get(name, name)): 1 - value if name in shares else value
        for name, value in details.items()
    }


def _swapped_variances(rows: tuple[VarianceRow, ...]) -> tuple[VarianceRow, ...]:
    """The rows, with those of A and B for the same source exchanged."""
    swapped = list(rows)
    for i, (row, after) in enumerate(pairwise(rows)):
        if row.source == after.source:
            swapped[i], swapped[i + 1] = after, row
    return tuple(swapped)


def _negated(x: float | None) -> float | None:
    return None if x is None else -x
