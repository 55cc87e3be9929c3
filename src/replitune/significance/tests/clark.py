"""Stratified approximate randomisation over replicas (Clark et al. 2011, section 4).

Under the null hypothesis every output of a segment, of whichever system and replica, could have
come from either system. So the n_A + n_B outputs of each segment are dealt anew, and p is the
share of deals with abs(delta_r) >= abs(delta).

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

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.notes import note
from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import Scope, TestResult
from replitune.significance.counting import Contrast, not_paired, one_each, oriented
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.kernels.random import resample_keys


@dataclass(frozen=True)
class Clark(SignificanceTest):
    """All replicas of A against all of B, with the same exchanges under all metrics.

    With `unit` document, there is one deal for all segments of a document.
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
