"""Bootstraps of two systems: of one output of each, of all outputs, of runs, of both."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import product
from replitune.notes import note
from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.counting import (
    expected_shift,
    few_replicas_note,
    folded_iv,
    identical,
    one_each,
    zero_variance,
)
from replitune.significance.draws import one_replica_deltas
from replitune.significance.interface import Context, SignificanceTest
from replitune.statistics.systems import SystemStatistics


class Koehn(SignificanceTest):
    """Paired bootstrap resampling, one replica of each system (Koehn 2004; Neubig, Algorithm 5).

    Bootstrap test sets are drawn, the same for both systems, and the systems are compared on each.
    The fraction of test sets that B wins shows how sure it is that B is better.

        p_B = (#{delta_b <= 0} + 1) / (R + 1)      p_A = (#{delta_b >= 0} + 1) / (R + 1)

    p is p_B for "B better", and min(1, 2 min(p_A, p_B)) two-sided. Ties count against both. `details`
    has the fractions of test sets that B won, lost and tied.
    """

    name = "koehn"
    cited = "the paired bootstrap (Koehn, 2004)"

    alternative: iv.Alternative = "two-sided"
    replica: iv.ReplicaId = "median"
    replica_a: iv.ReplicaOfA = None
    replica_b: iv.ReplicaOfB = None
    unit: iv.Unit = "segment"

    def run(self, context: Context) -> TestResult:
        comparison, samples = context.comparison, context.samples
        chosen = iv.select_replicas(comparison, self.replica, self.replica_a, self.replica_b)
        contrast = context.contrast(self, self.unit, replicas=chosen)
        deltas = one_replica_deltas(comparison, chosen, context.draws.segments, self.unit, samples)
        gains = comparison.metric.sign * deltas
        won = int(np.count_nonzero(gains > contrast.slack))
        lost = int(np.count_nonzero(gains < -contrast.slack))
        tied = samples - won - lost
        p_b, p_a = (lost + tied + 1) / (samples + 1), (won + tied + 1) / (samples + 1)
        p: float | None = {"greater": p_b, "less": p_a}.get(self.alternative, min(1.0, 2 * min(p_a, p_b)))
        unvaried, interval = None, _percentiles(deltas, context.alpha, self.alternative)
        if abs(contrast.delta) > contrast.slack and zero_variance(deltas, contrast.slack):
            p, unvaried, interval = None, note("zero-variance"), {}
        return contrast.row(
            p,
            unvaried,
            one_each(comparison),
            samples=samples,
            distribution=deltas,
            p_min=min(1.0, (2 if self.alternative == "two-sided" else 1) / (samples + 1)),
            details={"won": won / samples, "lost": lost / samples, "tied": tied / samples},
            **interval,
        )


def _percentiles(deltas: NDArray[np.float64], alpha: float, alternative: str) -> dict[str, Any]:
    """The percentile interval of the drawn values that p counts: it excludes 0 exactly when p is at
    most alpha (ties aside)."""
    tail = alpha / 2 if alternative == "two-sided" else alpha
    k = int(tail * (len(deltas) + 1) * (1 + 1e-12))
    if k < 1:
        return {}
    ordered = np.partition(deltas, (k - 1, len(deltas) - k))
    return {"ci_low": float(ordered[k - 1]), "ci_high": float(ordered[-k]), "ci_level": 1 - 2 * tail}


class Graham(SignificanceTest):
    """Bootstrap shifted to the null hypothesis, one replica of each (Graham et al. 2014, Fig. 2).

    Bootstrap test sets are drawn, the same for both systems. Their differences delta_b scatter around
    their mean tau, which is close to the observed difference; subtracting tau gives the distribution
    under the null hypothesis of no difference:

        two-sided   c = #{abs(delta_b - tau) >= abs(delta)}      p = (c + 1) / (R + 1)
        one-sided   c = #{delta_b - tau >= delta}
    """

    name = "graham"
    cited = "the shifted paired bootstrap (Graham et al., 2014)"

    alternative: iv.Alternative = "two-sided"
    replica: iv.ReplicaId = "median"
    replica_a: iv.ReplicaOfA = None
    replica_b: iv.ReplicaOfB = None
    unit: iv.Unit = "segment"
    compat: iv.Folded = None

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        folded_iv(self.compat, self.alternative)
        r, s = iv.select_replicas(comparison, self.replica, self.replica_a, self.replica_b)
        contrast = context.contrast(self, self.unit, replicas=(r, s))
        segments, samples = context.draws.segments, context.samples
        deltas = one_replica_deltas(comparison, (r, s), segments, self.unit, samples)
        same = bool(np.array_equal(comparison.a.statistics[r], comparison.b.statistics[s]))
        shift = expected_shift(comparison, deltas, contrast.delta, self.unit)
        return contrast.shift_row(
            deltas, shift, self.compat, same, one_each(comparison), alpha=context.alpha
        )


class ClarkBootstrap(SignificanceTest):
    """Bootstrap of the segment x replica pool ("Clark, Bootstrap" in Fu et al. 2016, Table 8).

    N n_A outputs are drawn with replacement from all outputs of A, N n_B from those of B,
    independently of each other; the differences are shifted to the null hypothesis as in `graham`.

    Drawing outputs from all segments and replicas together treats the N n outputs as independent. It
    ignores that the systems were tested on the same segments, and that outputs of one run, or of one
    segment, are correlated.
    """

    name = "clark-bootstrap"
    cited = "the bootstrap over the segment and replica pool (Clark et al., 2011)"

    alternative: iv.Alternative = "two-sided"
    aggregation: Annotated[
        Literal["mean", "pooled"],
        about("Score of all drawn statistics together, or mean score of n outputs of N draws each."),
    ] = "pooled"
    unit: iv.Unit = "segment"
    strata: iv.Strata = "groups"
    compat: iv.Folded = None

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        folded_iv(self.compat, self.alternative)
        iv.strata_of(comparison.a, comparison.b, self.strata)
        sides = [
            context.draws.pools(system.name).scores(
                comparison.metric,
                system,
                comparison.documents,
                aggregation=self.aggregation,
                strata=self.strata,
                unit=self.unit,
                samples=context.samples,
            )
            for system in (comparison.a, comparison.b)
        ]
        contrast = context.contrast(self, self.unit, self.aggregation, scope="outputs")
        deltas = sides[1] - sides[0]
        shift = expected_shift(comparison, deltas, contrast.delta, self.unit)
        return contrast.shift_row(
            deltas, shift, self.compat, identical(comparison), one_each(comparison), alpha=context.alpha
        )


NO_VARIANCE = note("one-replica", runs="one run", what="it has no variance to draw from")


class FuBootstrap(SignificanceTest):
    """Bootstrap of whole test sets (Fu et al. 2016, Table 3).

    M of X's replica scores and M of Y's are drawn with replacement, independently; the differences
    of their means are shifted to the null hypothesis as in `graham`.

    A bootstrap of n scores has (n - 1)/n of the variance it should have. The measured level at a nominal
    .05 is about .30, .19, .12, .08 at n = 2, 3, 5, 10.
    """

    name = "fu-bootstrap"
    cited = "the bootstrap of whole-test-set scores (Fu et al., 2016)"

    alternative: iv.Alternative = "two-sided"
    strata: iv.Strata = "groups"
    compat: iv.Folded = None

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        folded_iv(self.compat, self.alternative)
        a, b = comparison.a, comparison.b
        iv.strata_of(a, b, self.strata)
        contrast = context.contrast(self, "replica", scope="runs")
        if min(a.n, b.n) == 1:
            return contrast.row(None, NO_VARIANCE)
        mean_a, mean_b = (
            product(replica_counts(system, self.strata, context.samples, context.rng), scores) / system.n
            for system, scores in ((a, comparison.scores_a), (b, comparison.scores_b))
        )
        return contrast.shift_row(
            mean_b - mean_a,
            (contrast.delta, 0.0),
            self.compat,
            identical(comparison),
            few_replicas_note(a.n, b.n),
            alpha=context.alpha,
        )


def replica_counts(
    system: SystemStatistics, strata: str, samples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(samples, n) how often each replica is drawn: n draws, n_h of them from group h."""
    counts = np.zeros((samples, system.n))
    for members in iv.own_strata(system, strata):
        drawn = members[rng.integers(0, len(members), size=(samples, len(members)))]
        for column in drawn.T:
            counts[np.arange(samples), column] += 1
    return counts


class MultiBootstrap(SignificanceTest):
    """Crossed bootstrap of segments and replicas (Sellam et al. 2022; pigeonhole bootstrap, Owen 2007).

    Segments are drawn with replacement, the same for A and B; replicas of A and of B are drawn with
    replacement, independently (jointly where replicas share their seeds). Each drawn replica is
    scored on the drawn segments:

        c = #{abs(delta_b - delta) >= abs(delta)}      p = (c + 1) / (R + 1)

    A small p generalises to new segments and new runs at once. The test is conservative where segments and
    replicas interact (the interaction is counted up to three times), and liberal for few replicas.
    """

    name = "multi-bootstrap"
    cited = "the multi-bootstrap over segments and replicas (Sellam et al., 2022)"

    alternative: iv.Alternative = "two-sided"
    aggregation: iv.Aggregation = "mean"
    unit: iv.Unit = "segment"
    strata: iv.Strata = "groups"
    paired: iv.Paired = False

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        a, b, samples, rng = comparison.a, comparison.b, context.samples, context.rng
        iv.strata_of(a, b, self.strata)
        segments = context.draws.segments
        drawn_a = replica_counts(a, self.strata, samples, rng)
        drawn_b = (
            drawn_a[:, iv.matched(b, a)] if self.paired else replica_counts(b, self.strata, samples, rng)
        )

        def scores(system: SystemStatistics, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
            """drawn (samples, n) -> (samples,)."""
            metric, documents = comparison.metric, comparison.documents
            if self.aggregation == "mean":
                each = segments.scores(metric, system, documents, unit=self.unit, samples=samples)
                return (each * drawn).sum(axis=1) / system.n
            pooled = np.empty(samples)
            for rows, sums in segments.sums(iv.in_units(system.statistics, documents, self.unit), samples):
                together = (sums * drawn[rows][:, :, np.newaxis]).sum(axis=1)
                pooled[rows] = iv.pooled_score(metric, together, system.n)
            return pooled

        deltas = scores(b, drawn_b) - scores(a, drawn_a)
        contrast = context.contrast(self, self.unit, self.aggregation, scope="both")
        p: float | None = contrast.p(deltas - contrast.delta)
        unvaried = None
        if zero_variance(deltas, contrast.slack) and abs(contrast.delta) > contrast.slack:
            p, unvaried = None, note("zero-variance")
        return contrast.bootstrap_row(
            deltas,
            contrast.delta,
            p,
            unvaried,
            few_replicas_note(a.n, b.n),
            alpha=context.alpha,
            pairing="id" if self.paired else None,
        )
