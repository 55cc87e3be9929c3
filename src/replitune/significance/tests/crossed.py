"""`crossed`: is B better, for new segments and for new runs at once?

H0: over new segments (or documents) and new runs the expected scores are equal. With scope
`runs`: on this test set, over new runs. With scope `segments`: over new segments, from these
runs; or, of replicas that are independent samples for each segment and not runs, over new
segments and new samples. The variance of delta is that of replicas crossed with segments
(`components`); its parts have few and unequal degrees of freedom, hence the critical value of
`critical`. No resampling: O(n N).

From the same components come the answers beside p: whether A and B are the same within a margin,
how often the next run of B would beat the next run of A, and what each single run does to p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, Note, TestResult, some
from replitune.significance.components import (
    FEW_DOCUMENTS,
    SMALLEST_DOCUMENTS,
    Analyses,
    Components,
    Side,
    SystemParts,
    components,
    effective_documents,
    has_documents,
    ignored_documents,
    leave_one_out,
    pools_groups,
    run_effect,
    sides_of,
    unit_of,
    weighted,
)
from replitune.significance.counting import speaks_of, tolerance
from replitune.significance.critical import (
    Parts,
    Scope,
    critical_value,
    effective_df,
    layers,
    net_parts,
    tail,
    tails,
)
from replitune.significance.margins import margin_iv, within_margin
from replitune.significance.moderation import FEWEST_SYSTEMS, Prior
from replitune.significance.next_run import (
    better_on_new_set,
    share_interval,
    share_won,
    wilson_share,
)
from replitune.significance.simultaneous import Estimate

RUN_EFFECT = 0.01
"""p of the F test below which samples are said to have a run effect."""
FEWEST_FOR_FLAG = 5
UNSTABLE = 4 * 1.4826
"""A run further than this many MADs from the median of its group is flagged: four standard
deviations of a normal distribution. Of normal runs one group in six has one at n = 5, one in
twelve at 10, one in twenty at 20 (docs/evidence.md)."""

Design = Literal["runs", "samples"]
UnitOrAuto = Annotated[
    Literal["auto", "segment", "document"],
    about(
        "What is new in a new test set: segments, or documents. `auto`: documents where there are "
        "20 effective ones."
    ),
]


@iv.significance_test
def crossed(
    comparison: Comparison,
    *,
    alternative: iv.Alternative = "two-sided",
    scope: Annotated[
        Scope,
        about(
            "Of what a small p speaks: new segments and new runs (`both`), this test set and new "
            "runs (`runs`), or new segments and these runs (`segments`)."
        ),
    ] = "both",
    unit: UnitOrAuto = "auto",
    strata: iv.Strata = "groups",
    paired: iv.Paired = False,
    variance: Annotated[
        Literal["own", "moderated"],
        about(
            "The variance of each system's own runs, or one drawn towards that of all systems "
            "(empirical Bayes; from 5 systems on). It assumes that runs of all systems are about "
            "equally noisy."
        ),
    ] = "own",
    alpha: float = 0.05,
    design: Design = "runs",
    margins: Mapping[str, float] | None = None,
    analyses: Analyses | None = None,
) -> TestResult:
    """Test equal expected scores.

    The interval is at 1 - `alpha` (one-sided: 1 - 2 `alpha`), with the critical value that also
    makes p; `df` is the number of degrees of freedom whose t quantile equals that critical value.

    design: replicas are runs, or samples that are independent for each segment. margins: by metric
    id, what counts as the same. analyses: what is shared with the tests of other pairs.
    """
    return crossed_suite(
        [comparison],
        (1.0,),
        alternative=alternative,
        scope=scope,
        unit=unit,
        strata=strata,
        paired=paired,
        variance=variance,
        alpha=alpha,
        design=design,
        margins=margins,
        analyses=analyses,
    )


def crossed_suite(
    comparisons: Sequence[Comparison],
    weights: Sequence[float],
    *,
    alternative: str = "two-sided",
    scope: Scope = "both",
    unit: str = "auto",
    strata: str = "groups",
    paired: bool = False,
    variance: str = "own",
    alpha: float = 0.05,
    design: str = "runs",
    margins: Mapping[str, float] | None = None,
    analyses: Analyses | None = None,
) -> TestResult:
    """The same pair on all test sets of a suite: delta is the weighted sum of theirs."""
    first = comparisons[0]
    metric = first.metric
    for system in (s for c in comparisons for s in (c.a, c.b)):
        if not np.isfinite(metric.score(system.sums)).all():
            raise ReplituneError(f"{metric.id} has no finite score for system {system.name}")
    shared = Analyses() if analyses is None else analyses
    units = [unit_of(c, unit, scope) for c in comparisons]
    documents = [
        c.documents if of == "document" else None for c, of in zip(comparisons, units, strict=True)
    ]
    a, b = (
        _on_all([shared.of(metric, s, d) for s, d in zip(of, documents, strict=True)], weights)
        for of in ([c.a for c in comparisons], [c.b for c in comparisons])
    )
    if design == "samples" and scope == "both":
        scope = "segments"
    notes: list[Note | None] = []
    prior = None
    if variance == "moderated":
        prior = shared.prior(metric)
        notes.append(_moderation(prior))
    pair = Pair(
        a, b, sides_of(a, b, strata, paired), scope, alternative, paired, metric.higher_is_better,
        prior,
    )  # fmt: skip
    if pools_groups(a, b, strata):
        notes.append(Note("pooled-groups", "a group with one replica: all groups pooled"))
    G_eff = min(
        (effective_documents(d) for d in documents if d is not None and scope != "runs"),
        default=np.inf,
    )
    notes += pair.notes(G_eff, units[0], design)
    level = alpha if alternative == "two-sided" else 2 * alpha
    p = se = df = low = high = None
    details: dict[str, float] = {}
    if pair.estimable:
        se = float(np.sqrt(pair.parts.variance)) if pair.varies else 0.0
        if G_eff >= SMALLEST_DOCUMENTS:
            p = pair.p
            if pair.varies:
                df = pair.df(alpha)
                low, high = pair.estimate.interval(level)
        if scope != "runs":
            notes += [
                ignored_documents(c.documents, pair.segment_differences(k), pair.parts, alpha)
                for k, (c, of) in enumerate(zip(comparisons, units, strict=True))
                if of == "segment" and has_documents(c.documents)
            ]
        margin = (margins or {}).get(metric.id)
        if margin is not None and p is not None:
            margin_iv(margin, first)
            if pair.varies:
                details |= within_margin(pair, margin, metric.higher_is_better)
            if pair.varies and margin <= pair.reach(2 * alpha):
                text = f"the margin {margin:g} is less than this design could show"
                notes.append(Note("margin-out-of-reach", text))
        if p is not None:
            details |= pair.leave_one_out(notes)
    if design == "runs":
        details |= pair.next_run(1 - alpha)
    word = "document" if all(of == "document" for of in units) else "segment"
    of_unit = {"both": f"replica+{word}", "runs": "replica", "segments": word}[scope]
    return TestResult(
        method="crossed",
        a=a.name,
        b=b.name,
        score_a=float(a.scores.mean()),
        score_b=float(b.scores.mean()),
        delta=pair.delta,
        p=p,
        alternative=alternative,
        unit=of_unit,
        aggregation="mean",
        n_a=a.n,
        n_b=b.n,
        segments=sum(c.segments for c in comparisons),
        documents=sum(c.n_documents for c in comparisons),
        generalises_to=speaks_of(of_unit, (*a.replicas, *b.replicas), design),
        se=se,
        df=df,
        ci_low=low,
        ci_high=high,
        ci_level=None if low is None else 1 - level,
        pairing="id" if paired else None,
        notes=some(*dict.fromkeys(notes)),
        details=details,
        analysis=pair.estimate if pair.estimable and pair.varies else None,
    )


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems, and what their components say of the difference."""

    a: SystemParts
    b: SystemParts
    sides: tuple[Side, ...]
    scope: Scope
    alternative: str
    paired: bool
    higher_is_better: bool = True
    prior: Prior | None = None

    @property
    def delta(self) -> float:
        return float(self.b.scores.mean() - self.a.scores.mean())

    @property
    def slack(self) -> float:
        """How far scores may differ and be equal; also for the standard error."""
        return tolerance(float(self.a.scores.mean()), float(self.b.scores.mean()))

    @property
    def lonely(self) -> list[str]:
        """Systems with one replica, whose runs say nothing of their noise."""
        return [s.name for s in (self.a, self.b) if s.n == 1]

    @property
    def one_unit(self) -> bool:
        return any(block.units.stop - block.units.start < 2 for block in self.a.blocks)

    @property
    def estimable(self) -> bool:
        if self.scope == "segments":
            return not self.one_unit
        return not self.lonely and (self.scope == "runs" or not self.one_unit)

    @cached_property
    def components(self) -> Components | None:
        """None of a single replica."""
        if self.lonely:
            return None
        return components(self.sides, self.a.blocks, self.prior)

    @cached_property
    def parts(self) -> Parts:
        if self.components is not None:
            return self.components.parts(self.scope)
        d = self.b.mean - self.a.mean  # these runs are all that the scope asks for
        seg = np.array([float(d[block.units] @ d[block.units]) for block in self.a.blocks])
        nu = np.array([block.nu for block in self.a.blocks])
        return net_parts(np.zeros(0), np.zeros(0), seg, nu, np.zeros_like(seg), self.scope)

    @cached_property
    def varies(self) -> bool:
        return bool(np.sqrt(self.parts.variance) > self.slack)

    @cached_property
    def layers(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return layers(self.parts.values, self.parts.nus)

    @property
    def estimate(self) -> Estimate:
        side = {"two-sided": 0.0, "greater": self.sign, "less": -self.sign}[self.alternative]
        return Estimate(
            self.a.name,
            self.b.name,
            self.delta,
            self.se,
            self.layers,
            self.scope,
            side,
            (self.a.mean, self.b.mean),
            self.a.blocks,
            None if self.paired else self.components,
        )

    @property
    def se(self) -> float:
        return float(np.sqrt(self.parts.variance))

    def df(self, alpha: float) -> float:
        return effective_df(*self.layers, alpha)

    def reach(self, level: float) -> float:
        """Half the width of the interval with confidence 1 - level."""
        return critical_value(*self.layers, level / 2) * self.se

    def p_beyond(self, bound: float, sign: float) -> float:
        """One-sided p of H0: the true difference is no more (sign -1: no less) than `bound`."""
        gap = sign * (self.delta - bound)
        q = tail(*self.layers, abs(gap) / self.se)
        return q if gap > 0 else 1 - q

    @property
    def p(self) -> float | None:
        """None when nothing varies and yet the scores differ."""
        if abs(self.delta) <= self.slack:
            return 1.0
        if not self.varies:
            return None
        q = tail(*self.layers, abs(self.delta) / self.se)
        if self.alternative == "two-sided":
            return min(1.0, 2 * q)
        return q if self.ahead else 1 - q

    @property
    def sign(self) -> float:
        """1 when more is better, -1 when less is."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def ahead(self) -> bool:
        """The difference is on the side of a one-sided alternative."""
        return (self.sign * self.delta > 0) == (self.alternative == "greater")

    def segment_differences(self, testset: int) -> NDArray[np.float64]:
        block = self.a.blocks[testset].units
        found: NDArray[np.float64] = self.b.mean[block] - self.a.mean[block]
        return found

    def notes(self, G_eff: float, unit: str, design: str) -> list[Note | None]:
        """What a reader must know of the design and of single runs."""
        notes: list[Note | None] = []
        if self.scope != "segments" and self.lonely:
            text = f"one replica of {' and of '.join(self.lonely)}: noise of runs unknown, no p"
            notes.append(Note("one-replica", text))
        if self.scope != "runs" and self.one_unit:
            notes.append(Note("one-unit", f"one {unit}: no p"))
        if not self.estimable:
            return notes
        for system in (self.a, self.b):
            notes += system.notes
        if not (self.a.smooth and self.b.smooth) and self.scope != "runs":
            notes.append(Note("no-gradient", "no gradient: jackknife pseudo-values"))
        if self.scope != "segments" and any(
            len(members) == 2 for side in self.sides for members in side.strata
        ):
            of = "" if min(self.a.n, self.b.n) == 2 else " in a group"
            text = f"two replicas{of}: level approximate (.05 can be .06 to .08)"
            notes.append(Note("two-replicas", text))
        if G_eff < FEW_DOCUMENTS:
            what = "no p" if G_eff < SMALLEST_DOCUMENTS else "level approximate"
            text = f"only {G_eff:.1f} effective documents: {what}"
            notes.append(Note("few-documents", text))
        if not self.varies:
            notes.append(Note("zero-variance", "zero variance"))
        notes += self.unstable_runs()
        if design == "samples":
            notes += self.run_effects()
        return notes

    def unstable_runs(self) -> list[Note]:
        found = []
        for system in (self.a, self.b):
            for members in iv.own_strata(system, "groups"):
                x = system.scores[members]
                if len(x) < FEWEST_FOR_FLAG:
                    continue
                off = np.abs(x - np.median(x))
                mad = float(np.median(off))
                far = members[off > max(UNSTABLE * mad, self.slack)] if mad > 0 else members[:0]
                for r in far:
                    robust_sd = abs(system.scores[r] - np.median(x)) / (1.4826 * mad)
                    text = (
                        f"{system.name}: run {system.replicas[r]} is {robust_sd:.1f} robust "
                        "standard deviations from its group; a system whose bad runs were not "
                        "drawn looks better than it is"
                    )
                    found.append(Note("unstable-run", text, system.name))
        return found

    def run_effects(self) -> list[Note]:
        """Samples that differ from each other as wholes, as runs do."""
        found = []
        for side, system in zip(self.sides, (self.a, self.b), strict=False):
            if len(side.scores) < 2:
                continue
            p = run_effect(side, self.a.blocks)
            if p < RUN_EFFECT:
                of = "the pairs" if self.paired else system.name
                text = (
                    f"{of}: samples differ as wholes (F test p = {max(p, 1e-4):.2g}), as runs do: "
                    "`design: runs` fits them"
                )
                found.append(Note("run-effect", text, "" if self.paired else system.name))
        return found

    def leave_one_out(self, notes: list[Note | None]) -> dict[str, float]:
        """Range of p when each run is left out in turn."""
        if self.components is None or not self.varies or self.scope == "segments":
            return {}
        rest = leave_one_out(self.sides, self.a.blocks, self.components, self.prior)
        if rest is None:
            return {}
        parts = rest.parts(self.scope)
        se = np.sqrt(parts.variance)
        known = se > self.slack
        if not known.all():
            return {}
        weight, nu = layers(parts.values, parts.nus)
        q = tails(weight, nu, np.abs(rest.delta) / se)
        if self.alternative == "two-sided":
            p = np.minimum(1.0, 2 * q)
        else:
            ahead = (self.sign * rest.delta > 0) == (self.alternative == "greater")
            p = np.where(ahead, q, 1 - q)
        return {"p_without_one_low": float(p.min()), "p_without_one_high": float(p.max())}

    def next_run(self, confidence: float) -> dict[str, float]:
        """P(the next run of B beats the next run of A), here and on a new test set."""
        sign, slack = self.sign, self.slack
        if self.paired:
            gain = sign * self.sides[0].scores
            share = float(((gain > slack).sum() + 0.5 * (np.abs(gain) <= slack).sum()) / len(gain))
            low, high = wilson_share(share, len(gain), confidence)
        else:
            share = share_won(sign * self.a.scores, sign * self.b.scores, slack)
            low, high = share_interval(share, self.a.n, self.b.n, confidence)
        found = {"superior": share, "superior_low": low, "superior_high": high}
        if self.components is not None and not self.one_unit:
            parts = self.components.parts("both")
            n = [float(len(self.sides[s].scores)) for s in self.components.sides]
            n += [1.0] * len(self.a.blocks)
            found["superior_new"] = better_on_new_set(
                sign * self.delta, parts.values, parts.nus, np.array(n)
            )
        return found


def _on_all(parts: list[SystemParts], weights: Sequence[float]) -> SystemParts:
    return parts[0] if len(parts) == 1 and weights[0] == 1 else weighted(parts, weights)


def _moderation(prior: Prior | None) -> Note:
    if prior is None:
        text = f"run variances not moderated: fewer than {FEWEST_SYSTEMS} systems with two runs"
        return Note("not-moderated", text)
    if prior.outlying:
        text = "run variances not moderated: one system's runs are much more or less noisy"
        return Note("not-moderated", text)
    text = (
        f"run variances moderated over {prior.systems} systems: assumes that their runs are about "
        "equally noisy"
    )
    return Note("moderated", text)
