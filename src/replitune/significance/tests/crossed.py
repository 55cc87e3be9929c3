"""`crossed`: is B better, for new segments and for new runs at once?

H0: over new segments (or documents) and new runs the expected scores are equal. With scope
`runs`: on this test set, over new runs. With scope `segments`: over new segments, from these
runs; or, if replicas are not runs but independent samples for each segment, over new segments
and new samples. The variance of delta is that of replicas crossed with segments (`components`);
its parts have few and unequal degrees of freedom, hence the critical value of `critical`. No
resampling: O(n N).

The same components give more than p: whether A and B are the same within a margin, how often the
next run of B would beat the next run of A, and how each single run changes p.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from replitune.errors import ReplituneError
from replitune.notes import Note, note, without_none
from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import TestResult
from replitune.significance.components import Side, pools_groups, sides_of
from replitune.significance.counting import kind_of_runs
from replitune.significance.critical import Drawn
from replitune.significance.crossed_pair import CrossedPair, better_on
from replitune.significance.difference import margin_iv
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.noise_ratio import Bound
from replitune.significance.system_parts import (
    FEWEST_UNITS,
    SystemParts,
    effective_units,
    has_documents,
    ignored_documents,
    samples_as_runs,
    this_text_note,
    unit_of,
    weighted,
)

UnitOrAuto = Annotated[
    Literal["auto", "segment", "document"],
    about("What is new in a new test set: segments, or documents. `auto`: documents where they are known."),
]


class Crossed(SignificanceTest):
    """Test that expected scores are equal; on a suite, delta is the weighted sum over its test sets.

    A test set of fewer than 6 segments, or effective documents, says nothing about new text: scope `both`
    is then `runs`, and scope `segments` has no p.

    The interval is at 1 - `alpha` (one-sided: 1 - 2 `alpha`), with the critical value that also
    gives p; `df` is the number of degrees of freedom whose t quantile equals that critical value.
    """

    name = "crossed"
    cited = (
        "two-way random effects of replicas crossed with segments (Owen, 2007; Sellam et al., "
        "2022), with critical values after Cochran and Cox (1950)"
    )
    on_suite = True
    takes_design = True

    alternative: iv.Alternative = "two-sided"
    scope: Annotated[
        Drawn,
        about(
            "What a small p generalises to: new segments and new runs (`both`), this test set and "
            "new runs (`runs`), or new segments and these runs (`segments`)."
        ),
    ] = "both"
    unit: UnitOrAuto = "auto"
    strata: iv.Strata = "groups"
    paired: iv.Paired = False
    noise_ratio: Annotated[
        float | None,
        about(
            "Assume that no system's runs vary more than this many times as much as another's "
            "(standard deviation). Each system's variance of runs is then estimated with the help of "
            "all others: more power with few runs. Decide before looking at results.",
            ge=1,
        ),
    ] = None

    def run(self, context: Context) -> TestResult:
        comparisons, shared, scope = context.comparisons, context.analyses, self.scope
        metric = comparisons[0].metric
        for system in (s for c in comparisons for s in (c.a, c.b)):
            if not np.isfinite(metric.score(system.sums)).all():
                raise ReplituneError(f"{metric.id} has no finite score for system {system.name}")
        units = [unit_of(c, self.unit, scope) for c in comparisons]
        size, smallest = min((effective_units(c, of), of) for c, of in zip(comparisons, units, strict=True))
        notes: list[Note | None] = []
        if scope == "both" and size < FEWEST_UNITS:
            scope = "runs"
            notes.append(this_text_note(size, smallest))
        elif (context.design, scope) == ("samples", "both"):
            scope = "segments"
        documents = [
            c.documents if of == "document" else None for c, of in zip(comparisons, units, strict=True)
        ]
        parts_a = [shared.parts(metric, c.a, d) for c, d in zip(comparisons, documents, strict=True)]
        parts_b = [shared.parts(metric, c.b, d) for c, d in zip(comparisons, documents, strict=True)]

        if context.design == "nested":
            parts_a, parts_b = ([samples_as_runs(one) for one in parts] for parts in (parts_a, parts_b))

        def pair_of(a: SystemParts, b: SystemParts, bound: Bound | None = None) -> CrossedPair:
            return CrossedPair(
                a,
                b,
                sides_of(a, b, self.strata, self.paired),
                scope,
                self.alternative,
                self.paired,
                metric.sign,
                bound,
            )

        a, b = weighted(parts_a, context.weights), weighted(parts_b, context.weights)
        bound = None
        if self.noise_ratio is not None:
            noise_ratio_iv(sides_of(a, b, self.strata, self.paired), scope, context.design)
            bound = shared.bound(metric, self.noise_ratio, [a.scores, b.scores])
        pair = pair_of(a, b, None if bound is None or bound.contradicted else bound)
        if bound is not None:
            notes.append(bound.note())
        if pools_groups(a, b, self.strata):
            notes.append(note("pooled-groups", why=": one has a single run"))
        notes += pair.notes(size, smallest, context.design)
        p = None
        interval: dict[str, float] = {}
        details: dict[str, float] = {}
        if pair.estimable and scope != "runs":
            notes += [
                ignored_documents(c.documents, differences, context.alpha)
                for c, of, differences in zip(comparisons, units, pair.differences, strict=True)
                if of == "segment" and has_documents(c.documents)
            ]
        for side, samples in (("a", a.samples), ("b", b.samples)):
            if samples:
                details |= {f"samples_low_{side}": min(samples), f"samples_high_{side}": max(samples)}
        if pair.estimable and pair.contributing[1] and (scope == "runs" or size >= FEWEST_UNITS):
            p = pair.p
            details |= pair.single_runs()
            if pair.varies:
                interval = pair.interval(context.alpha, self.alternative)
                details |= pair.with_more(1 - interval["ci_level"])
            margin = context.margin
            if margin is not None:
                margin_iv(margin, comparisons[0])
            if margin is not None and pair.varies:
                details |= pair.within(margin, metric.sign)
                if margin <= pair.reach(2 * context.alpha):
                    notes.append(note("margin-out-of-reach", margin=margin))
            if len(comparisons) > 1:
                alone = [pair_of(a, b) for a, b in zip(parts_a, parts_b, strict=True)]
                details |= better_on(alone, context.alpha)
        word = "document" if all(of == "document" for of in units) else "segment"
        return pair.row_of(
            comparisons,
            method=self.name,
            aggregation="mean",
            p=p,
            alternative=self.alternative,
            unit="replica" if scope == "runs" else word,
            n_a=a.n,
            n_b=b.n,
            scope="samples" if context.design == "samples" and scope == "segments" else scope,
            run_kind=kind_of_runs((*a.replicas, *b.replicas), context.design),
            se=(pair.se if pair.varies else 0.0) if pair.estimable else None,
            **interval,
            pairing="id" if self.paired else None,
            notes=without_none(*dict.fromkeys(notes)),
            details=details,
            variances=pair.variances(word, context.alpha),
            analysis=pair.estimate if pair.estimable and pair.varies else None,
            next_run=pair.next_run if context.design != "samples" else None,
            uncertainty=pair.uncertainty if pair.estimable and not pair.lonely else None,
        )


def noise_ratio_iv(sides: Sequence[Side], scope: str, design: str) -> None:
    """Refuse a bound that is not on the noise of runs of two systems, all of one kind."""
    misfit = None
    if scope == "segments":
        misfit = "a test of these runs, or of samples"
    elif len(sides) == 1:
        misfit = "`paired`"
    elif design == "nested":
        misfit = "`design: nested`"
    elif len(sides[0].strata) > 1:
        misfit = f"runs of {len(sides[0].strata)} tuners (`strata: none` takes them as one kind)"
    if misfit is not None:
        raise ReplituneError(
            "`noise_ratio` does not fit this test",
            found=misfit,
            expected="a test of new runs of one kind, not paired",
            fix="leave `noise_ratio` out",
        )
