"""`human`: which of two systems do people prefer, by few judgements and the metrics of all segments?

The difference of people's scores on the segments for which outputs of both systems were judged, with
the difference by each metric on all segments as a control variate (`controlled`). The judged segments,
or whole documents, must have been chosen at random or with known probabilities.

If both systems have several runs, delta is the mean over runs as far as metrics show it: judgements
are corrected by how, according to the metrics, the judged runs differ from the others. If several runs
of both were judged, their noise is estimated from the judgements, and p generalises to new runs, too.
If one was, the noise is what metrics predict, and p generalises to new segments only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot, product
from replitune.errors import ReplituneError
from replitune.notes import Note, note, without_none
from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, TestResult
from replitune.significance.controlled import Floats, Judgements, Sample, Sharpened, sharpen
from replitune.significance.counting import kind_of_runs
from replitune.significance.critical import Parts, net_parts
from replitune.significance.difference import Difference
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.system_parts import (
    FEW_UNITS,
    FEWEST_UNITS,
    contributing_df,
    contributing_note,
    document_sums,
    few_contributing,
    unit_of,
)
from replitune.significance.tests.crossed import UnitOrAuto

FEW_JUDGED, FEWEST_JUDGED = 50.0, 10.0
"""If fewer segments were judged than this: a note, and no p."""
ODD = 0.01
"""p below which raters, or judged and other segments, are said to differ."""


@dataclass(frozen=True, eq=False)
class JudgedSide:
    """One system: which runs were judged on which segments, and the metrics of all runs."""

    metric: Judgements
    name: str
    sums: Floats
    """(J, N) judgements times their weights."""
    weights: Floats
    """(J, N) 0 where nobody judged."""

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = self.weights > 0
        return known

    @property
    def any(self) -> NDArray[np.bool_]:
        """(N,) whether some run was judged on each segment."""
        return np.asarray(self.known.any(axis=0))

    @cached_property
    def runs(self) -> Floats:
        """(R, N, M)"""
        return self.metric.controls[self.name].scores

    @cached_property
    def mean(self) -> Floats:
        """(N, M) metrics, mean over runs."""
        means: Floats = self.runs.mean(axis=0)
        return means

    @property
    def rows(self) -> NDArray[np.intp] | None:
        """(J,) position of each judged run among all; None if that is not known."""
        return self.metric.controls[self.name].judged

    @cached_property
    def each(self) -> Floats:
        """(J, N) judgements; 0 where nobody judged."""
        return np.divide(self.sums, self.weights, out=np.zeros(self.sums.shape), where=self.known)

    def people(self, at: NDArray[np.intp]) -> Floats:
        """(n,) mean judgement on each of these segments, over the runs judged there."""
        means: Floats = self.each.take(at, axis=1).sum(axis=0) / self.known[:, at].sum(axis=0)
        return means

    def judged(self, at: NDArray[np.intp]) -> Floats:
        """(n, M) metrics of the same outputs."""
        if self.rows is None:
            return self.mean[at]
        known = self.known[:, at]
        means: Floats = (self.runs[self.rows][:, at] * known[..., np.newaxis]).sum(axis=0)
        return means / known.sum(axis=0)[:, np.newaxis]

    def noise(self, sample: Sample, slope: Floats) -> tuple[float, float, float]:
        """V_rep, its degrees of freedom, and the part of it that is noise on single segments."""
        R, J = len(self.runs), len(self.known)
        centre = self.mean.mean(axis=0)
        by_run = product(self.runs.mean(axis=1) - centre, slope) / R
        inner, n = 0.0, R
        if self.rows is not None and J > 1:
            n = J
            share = np.zeros(self.known.shape)
            share[:, sample.at] = sample.weights / self.known[:, sample.at].sum(axis=0)
            share = np.where(self.known, share, 0.0)
            each = self.each - product(self.runs[self.rows] - centre, slope)
            total = (share * each).sum()
            by_run[self.rows] += (share * (each - total)).sum(axis=1)
            weight = share.sum(axis=1, keepdims=True)
            own = (share * each).sum(axis=1, keepdims=True) / np.where(weight > 0, weight, 1.0)
            cells = document_sums(share * (each - own), sample.units)
            inner = J / (J - 1) * float((cells**2).sum())
        return n / (n - 1) * dot(by_run, by_run), n - 1.0, inner


@dataclass(frozen=True, eq=False)
class HumanPair(Difference):
    """Two systems: what was judged, the estimate, and its error."""

    a: JudgedSide
    b: JudgedSide
    sample: Sample
    word: str
    """The unit: segment, document."""
    both: bool
    """Whether the noise of runs is counted, as far as it is known."""

    @property
    def speaks_of_runs(self) -> bool:
        """Whether people judged several runs of both, so that their noise is known."""
        judged = [side.rows for side in (self.a, self.b)]
        return self.both and all(rows is not None and len(rows) > 1 for rows in judged)

    @cached_property
    def alone(self) -> Sharpened:
        return sharpen(self.sample, np.zeros_like(self.sample.z))

    @cached_property
    def helped(self) -> Sharpened:
        return sharpen(self.sample, self.sample.slopes())

    @property
    def delta(self) -> float:
        return self.helped.mean

    @cached_property
    def scores(self) -> tuple[float, float]:
        """Mean judgements on the segments on which both were judged, sharpened as their difference is."""
        weights, at, slopes = self.sample.weights, self.sample.at, self.sample.slopes()
        a, b = (
            dot(
                weights, side.people(at) - ((side.judged(at) - side.mean.mean(axis=0)) * slopes).sum(axis=1)
            )
            for side in (self.a, self.b)
        )
        return a, b

    @cached_property
    def parts(self) -> Parts:
        seg = np.array([self.helped.variance])
        nu_seg = np.array([max(contributing_df(self.helped.added, self.helped.nu), 1.0)])
        if not self.both:
            return net_parts(np.zeros(0), np.zeros(0), seg, nu_seg, np.zeros(1), "segments")
        noise = [side.noise(self.sample, self.helped.slope) for side in (self.a, self.b)]
        rep, nu_rep, inner = np.array(noise).T
        return net_parts(rep, nu_rep, seg, nu_seg, inner.sum(keepdims=True), "both")

    @cached_property
    def contributing(self) -> tuple[float, bool]:
        """How many units make up the difference, and whether they are enough for a p."""
        return few_contributing(self.helped.added)

    @property
    def enough(self) -> bool:
        """Whether there are enough judgements for a p."""
        fewest = FEWEST_UNITS if self.word == "document" else FEWEST_JUDGED
        return self.helped.nu + 1 >= fewest and self.contributing[1]


def pair_of(comparison: Comparison, scope: str = "both", unit: str = "auto") -> HumanPair:
    metric = comparison.metric
    if not isinstance(metric, Judgements):
        raise ReplituneError(
            f"test human needs people's judgements, but {metric.id} is a metric",
            fix="give the judgements by `--human FILE --with METRIC ...`, or under `tests: human:`, and "
            "name a test of metrics, too",
        )
    a, b = (
        JudgedSide(metric, s.name, s.statistics[..., 0], s.statistics[..., 1])
        for s in (comparison.a, comparison.b)
    )
    at = np.flatnonzero(a.any & b.any)
    if not len(at):
        raise ReplituneError(
            f"no segment of which people judged the outputs of both {a.name} and {b.name}",
            fix="judge both on the same segments, or leave the pair out with --pairs",
        )
    weights = a.weights[:, at].max(axis=0)
    word = unit_of(comparison, unit, "both")
    sample = Sample(
        b.people(at) - a.people(at),
        b.judged(at) - a.judged(at),
        weights / weights.sum(),
        at,
        b.mean - a.mean,
        comparison.documents if word == "document" else np.arange(comparison.segments, dtype=np.int32),
    )
    several = min(len(a.runs), len(b.runs)) > 1
    return HumanPair(a, b, sample, word, scope == "both" and several)


class Human(SignificanceTest):
    """Test equal expected judgements."""

    name = "human"
    cited = (
        "the test of people's judgements with metrics as control variates of replitune (PPI++; "
        "Angelopoulos, Duchi and Zrnic, 2023)"
    )

    alternative: iv.Alternative = "two-sided"
    scope: Annotated[
        Literal["both", "segments"],
        about(
            "What a small p generalises to: new segments and new runs (`both`), where people judged "
            "several of both systems, or new segments and these runs (`segments`)."
        ),
    ] = "both"
    unit: UnitOrAuto = "auto"

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        pair = pair_of(comparison, self.scope, self.unit)
        a, b, alone = pair.a, pair.b, pair.alone
        p = None
        interval: dict[str, float] = {}
        details = {
            "judged": float(len(pair.sample.at)),
            "worth": alone.variance / pair.helped.variance if pair.helped.variance > 0 else 1.0,
            "delta_alone": alone.mean,
            "se_alone": float(np.sqrt(alone.variance)),
        }
        if abs(pair.delta) <= pair.slack and not pair.varies:
            p = 1.0
        elif pair.enough and pair.varies:
            ahead = 1.0 if self.alternative == "greater" else -1.0
            p = pair.p_beyond(0.0, np.sign(pair.delta) if self.alternative == "two-sided" else ahead)
            p = min(1.0, 2 * p) if self.alternative == "two-sided" else p
            interval = pair.interval(context.alpha, self.alternative)
            if context.margin is not None:
                details |= pair.within(context.margin, comparison.metric.sign)
        replicas = [a.metric.controls[side.name].replicas for side in (a, b)]
        return pair.row_of(
            [comparison],
            method=self.name,
            aggregation="mean",
            p=p,
            alternative=self.alternative,
            unit=pair.word,
            n_a=len(a.runs),
            n_b=len(b.runs),
            scope="both" if pair.speaks_of_runs else "segments",
            run_kind=kind_of_runs((*replicas[0], *replicas[1])),
            se=pair.se if pair.varies else 0.0,
            **interval,
            notes=without_none(*_notes(pair, details["worth"])),
            details=details,
        )


def _notes(pair: HumanPair, worth: float) -> list[Note | None]:
    """What a reader must know about the metrics, the judged segments, the runs and the raters."""
    metric, sample, word = pair.a.metric, pair.sample, pair.word
    n, N, size = len(sample.at), len(sample.x), pair.helped.nu + 1
    slopes = ", ".join(f"{name} {s:+.3g}" for name, s in zip(metric.names, pair.helped.slope, strict=True))
    notes: list[Note | None] = [note("control-variates", n=n, segments=N, worth=worth, slopes=slopes)]
    if word == "segment" and size < FEW_JUDGED:
        how = "no p" if size < FEWEST_JUDGED else "p is approximate"
        notes.append(note("few-judged", number=size, what=how))
    if word == "document" and size < FEW_UNITS:
        how = "no p" if size < FEWEST_UNITS else "p is approximate"
        notes.append(note("few-documents", units=f"{size:.1f} effective judged documents", what=how))
    notes.append(contributing_note(*pair.contributing, word))
    only = int((pair.a.any ^ pair.b.any).sum())
    if only:
        notes.append(note("judged-one-only", n=only))
    if n < N and not metric.weighted:
        odd = _differs(sample)
        notes.append(note("selection-unknown" if odd is None else "selection-differs", unit=word, p=odd))
    for side in (pair.a, pair.b):
        if len(side.runs) > 1 and (side.rows is None or len(side.rows) == 1):
            what = "an unknown run" if side.rows is None else "one run"
            notes.append(note("one-judged-run", systems=[side.name], what=what))
    if not pair.speaks_of_runs:
        notes.append(note("these-runs"))
    return [*notes, *_rater_notes(metric, pair.a.name, pair.b.name)]


def _differs(sample: Sample) -> float | None:
    """p of the largest difference by a metric between judged and other segments, times the number of
    metrics; None unless it is small."""
    from scipy.special import ndtr

    rest = np.ones(len(sample.x), bool)
    rest[sample.at] = False
    off = sample.x - sample.x.mean(axis=0)
    spread = (off**2).sum(axis=0) / max(len(off) - 1, 1) * (1 / sample.size + 1 / rest.sum())
    gap = np.abs(sample.x[sample.at].mean(axis=0) - sample.x[rest].mean(axis=0))
    z = np.divide(gap, np.sqrt(spread), out=np.zeros_like(gap), where=spread > 0)
    p = 2 * float(ndtr(-z.max())) * len(z)
    return p if p < ODD else None


def _rater_notes(metric: Judgements, a: str, b: str) -> list[Note]:
    """Notes on raters who disagree about the difference, and on systems with different raters."""
    from scipy.special import fdtrc

    first, second = metric.raters.get(a, {}), metric.raters.get(b, {})
    names = [name for name in first if name in second]
    if len({*first, *second}) < 2:
        return []
    each = [second[name] - first[name] for name in names]
    each = [d[~np.isnan(d)] for d in each]
    each = [d for d in each if len(d) > 1]
    notes = []
    paired = sum(map(len, each))
    given = sum(int((~np.isnan(scores)).sum()) for scores in first.values())
    if 2 * paired < given:
        notes.append(note("other-raters", systems=[a, b]))
    if len(each) > 1:
        mean = float(np.concatenate(each).mean())
        between = sum(len(d) * (float(d.mean()) - mean) ** 2 for d in each) / (len(each) - 1)
        within = sum(float(((d - d.mean()) ** 2).sum()) for d in each) / (paired - len(each))
        p = float(fdtrc(len(each) - 1, paired - len(each), between / within)) if within > 0 else 1.0
        if p < ODD:
            notes.append(note("rater-effects", systems=[b, a], p=max(p, 1e-4)))
    return notes
