"""Approximate randomisation: outputs of a segment change places between the systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.notes import note
from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import Scope, TestResult
from replitune.significance.counting import Contrast, not_paired, one_each, oriented, smallest_p
from replitune.significance.critical import TINIEST
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.kernels.random import resample_keys

if TYPE_CHECKING:
    from replitune.significance.exchange import Sides


class Riezler(SignificanceTest):
    """Approximate randomisation, one replica of each system (Riezler and Maxwell 2005, Fig. 1).

    For each resample, the outputs of A and B for each segment change places with probability 1/2;
    p is the share of resamples with abs(delta_r) >= abs(delta). With `exact`, p is over all exchanges,
    for metrics that count something (Zmigrod, Vieira and Cotterell 2022).

    A small p generalises to new segments translated by these two runs. Another pair of replicas can
    give the opposite result: `replica="every"` shows how much pairs differ, and `details` then has the
    distribution of p. With `unit` document, documents change places as a whole.
    """

    name = "riezler"
    cited = "approximate randomisation over segments (Riezler and Maxwell, 2005)"

    alternative: iv.Alternative = "two-sided"
    replica: Annotated[
        str,
        about(
            "The run with the median score (`median`), with this id, or each pair of runs in "
            "turn (`every`): then p is min(1, 2 median p), valid however the pairs depend on each "
            "other (Rueger 1978)."
        ),
    ] = "median"
    replica_a: iv.ReplicaOfA = None
    replica_b: iv.ReplicaOfB = None
    unit: iv.Unit = "segment"
    exact: Annotated[
        bool,
        about(
            "p over all exchanges (Zmigrod et al. 2022), not over a sample of them: for metrics "
            "whose outputs differ in one integer for each segment, such as TER or scores of 0 "
            "and 1."
        ),
    ] = False

    def run(self, context: Context) -> TestResult:
        return self.run_together([context])[0]

    def run_together(self, contexts: Sequence[Context]) -> list[TestResult]:
        from replitune.significance.exchange import Sides

        rng, samples = contexts[0].rng, contexts[0].samples
        keys = None if self.exact else resample_keys(rng, samples)
        if self.replica == "every":
            return [self._every_pair(context, keys) for context in contexts]
        contrasts, sides = [], []
        for context in contexts:
            c = context.comparison
            r, s = iv.select_replicas(c, self.replica, self.replica_a, self.replica_b)
            contrasts.append(context.contrast(self, self.unit, replicas=(r, s)))
            a = iv.in_units(c.a.statistics[[r]], c.documents, self.unit)
            b = iv.in_units(c.b.statistics[[s]], c.documents, self.unit)
            sides.append(Sides(c.metric, a, b))
        return _rows(contrasts, sides, keys)

    def _every_pair(self, context: Context, keys: NDArray[np.uint64] | None) -> TestResult:
        """All n_A n_B pairs of replicas, with the same exchanges; there is no one null distribution."""
        from replitune.significance.exchange import Sides

        comparison = context.comparison
        metric, a, b = comparison.metric, comparison.a, comparison.b
        units_a = iv.in_units(a.statistics, comparison.documents, self.unit)
        units_b = iv.in_units(b.statistics, comparison.documents, self.unit)
        p = np.empty((a.n, b.n))
        middle = None
        medians = iv.select_replicas(comparison, "median")
        for r in range(a.n):
            for first in range(0, b.n, 4):  # pairs of a block share the random words
                block = range(first, min(first + 4, b.n))
                sides = [Sides(metric, units_a[[r]], units_b[[s]]) for s in block]
                contrasts = [context.contrast(self, self.unit, replicas=(r, s)) for s in block]
                for s, one in zip(block, _rows(contrasts, sides, keys), strict=True):
                    p[r, s] = one.p
                    if (r, s) == medians:
                        middle = one
        assert middle is not None
        low, median, high = np.percentile(p, [2.5, 50, 97.5])
        return context.contrast(self, self.unit).row(
            min(1.0, 2 * float(median)),
            note("every-pair", pairs=p.size, median=median, low=low, high=high),
            p_min=None if middle.p_min is None else min(1.0, 2 * middle.p_min),
            exact=middle.exact,
            samples=middle.samples,
            pairing="index",
            details={"p_median": float(median), "p_low": float(low), "p_high": float(high)},
            p_values=p,
        )


def _rows(
    contrasts: Sequence[Contrast], sides: Sequence[Sides], keys: NDArray[np.uint64] | None
) -> list[TestResult]:
    """The rows, with the same exchanges for all; without keys, over all exchanges of each."""
    from replitune.significance.exchange import paired_exchange

    if keys is None:
        return [_exact(contrast, side) for contrast, side in zip(contrasts, sides, strict=True)]
    exchanges = paired_exchange(sides, keys=keys, aggregation="mean")
    return [
        contrast.exchange_row(exchanged, len(keys), one_each(contrast.comparison), pairing="index")
        for contrast, exchanged in zip(contrasts, exchanges, strict=True)
    ]


def _exact(contrast: Contrast, side: Sides) -> TestResult:
    from replitune.significance.exchange import exact_exchange

    deltas, probability, m = exact_exchange(side)
    statistics, observed = (
        oriented(values, contrast.alternative, contrast.comparison.metric)
        for values in (deltas, contrast.delta)
    )
    p = float(probability[statistics >= observed - contrast.slack].sum())
    mirrored = contrast.alternative == "two-sided"
    return contrast.row(
        min(1.0, max(p, TINIEST)),
        one_each(contrast.comparison),
        p_min=max(smallest_p(0, True, m * math.log(2), mirrored), TINIEST),
        exact=True,
        pairing="index",
    )


class Clark(SignificanceTest):
    """Stratified approximate randomisation over replicas (Clark et al. 2011, section 4).

    Under the null hypothesis every output of a segment, of whichever system and replica, could have
    come from either system. So the n_A + n_B outputs of each segment (or document) are dealt anew, and p
    is the share of deals with abs(delta_r) >= abs(delta).

    The deal must be a *partition*. multeval indexes X with a permutation of the runs and Y with its
    inverse, so that with three or more runs some outputs are used twice and others never.

    A small p means that the outputs of A and of B are not alike *in every segment*, which is less than
    it seems. Dealing n outputs of A and n of B within a segment keeps only 1/(2n - 1) of a segment's
    preference for one of the systems, so two systems that suit different segments but are equally good
    over all text are told apart: with no run effect at all, in .14 to .20 of comparisons at .05 with
    n = 3, and in .37 to .48 with n = 10. And if replicas of one system differ from each other as a
    whole, as runs do, the test takes the difference between these runs for one between the systems.
    For new segments and these runs, use `crossed` with `scope: segments`; this test generalises to new
    segments only with one output of each system.
    """

    name = "clark"
    cited = "stratified approximate randomisation over all replicas (Clark et al., 2011)"

    alternative: iv.Alternative = "two-sided"
    aggregation: Annotated[
        Literal["mean", "pooled"],
        about(
            "Score of the statistics pooled over runs (as multeval), or mean of run "
            "scores; then outputs are permuted into labelled run slots."
        ),
    ] = "pooled"
    pairing: Annotated[
        Literal["free", "index"],
        about(
            "Deal all outputs of a segment, or exchange only those of runs that belong "
            "together: by id where both systems have the same ids, else in stored order."
        ),
    ] = "free"
    unit: iv.Unit = "segment"
    strata: iv.Strata = "groups"
    compat: Annotated[
        Literal["multeval"] | None,
        about("Exchange and count as multeval does (pooled, equal n); not a valid test."),
    ] = None

    def run(self, context: Context) -> TestResult:
        return self.run_together([context])[0]

    def run_together(self, contexts: Sequence[Context]) -> list[TestResult]:
        from replitune.significance.exchange import Sides, free_exchange, paired_exchange

        if self.compat is not None:
            iv.one_of("aggregation", self.aggregation, ("pooled",))
        first, samples = contexts[0], contexts[0].samples
        a, b = first.comparison.a, first.comparison.b
        scope: Scope = "segments" if a.n == b.n == 1 else "outputs"
        contrasts = [c.contrast(self, self.unit, self.aggregation, scope=scope) for c in contexts]
        if (self.pairing == "index" or self.compat) and a.n != b.n:
            return [c.row(None, not_paired(a, b, "`pairing: free`"), pairing="index") for c in contrasts]
        keys = resample_keys(first.rng, samples)
        if self.compat:
            return [_as_multeval(contrast, keys) for contrast in contrasts]
        # Two outputs can be dealt in two ways only, so that both pairings are the same test.
        paired = self.pairing == "index" or a.n == b.n == 1
        in_a, in_b, how = np.arange(a.n), np.arange(b.n), None
        if paired:
            in_a, in_b, how = iv.pair_replicas(a, b, self.strata)
        sides = [
            Sides(
                c.metric,
                iv.in_units(c.a.statistics, c.documents, self.unit)[in_a],
                iv.in_units(c.b.statistics, c.documents, self.unit)[in_b],
            )
            for c in (context.comparison for context in contexts)
        ]
        if paired:
            exchanges = paired_exchange(sides, keys=keys, aggregation=self.aggregation)
        else:
            members = iv.strata_of(a, b, self.strata)
            exchanges = free_exchange(sides, members, keys=keys, aggregation=self.aggregation)
        by_order = note("paired", how="in stored order") if how == "stored order" and a.n > 1 else None
        return [
            contrast.exchange_row(
                exchanged, first.samples, one_each(contrast.comparison), by_order, pairing=self.pairing
            )
            for contrast, exchanged in zip(contrasts, exchanges, strict=True)
        ]


def _as_multeval(contrast: Contrast, keys: NDArray[np.uint64]) -> TestResult:
    from replitune.significance.tests.clark_multeval import multeval_deltas

    comparison = contrast.comparison
    deltas = multeval_deltas(
        comparison.metric,
        iv.in_units(comparison.a.statistics, comparison.documents, contrast.unit),
        iv.in_units(comparison.b.statistics, comparison.documents, contrast.unit),
        keys,
    )
    observed, drawn = (
        oriented(values, contrast.alternative, comparison.metric) for values in (contrast.delta, deltas)
    )
    p = (int(np.count_nonzero(drawn > observed)) + 1) / (len(keys) + 1)
    not_valid = note("not-valid", compat="multeval", whose="multeval's", test="permutation test")
    return contrast.row(p, not_valid, p_min=1 / (len(keys) + 1), samples=len(keys), distribution=deltas)
