"""`crossed`: is B better, for new segments and for new tuner runs at once?

H0: over new segments (or documents) and new tuner runs the expected scores are equal. The
variance of delta is that of replicas crossed with segments (`components`); its parts have
few and unequal degrees of freedom, so the critical value is Cochran and Cox's (1950), the
mean of the parts' t quantiles weighted by the parts. No resampling: O(n N).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit

from replitune.errors import ReplituneError
from replitune.significance.base import Comparison, TestResult, join_notes
from replitune.significance.components import (
    FEW_DOCUMENTS,
    SMALLEST_DOCUMENTS,
    Component,
    effective_documents,
    kink_notes,
    linearise,
    matched,
    strata_of,
    variance_components,
)

TOLERANCE = 1e-10
"""Of the larger score: a difference or standard error below this is 0."""

TINIEST = 1e-300
"""p is never 0: where the t distribution underflows, it is this."""


def critical_value(parts: Sequence[Component], q: float) -> float:
    """The q upper-tail value of |delta| / se: sum_k w_k t_{1-q, nu_k}, w_k the part's share."""
    total = sum(part.value for part in parts)
    return float(sum(part.value / total * -stdtrit(part.df, q) for part in parts))


def tail(parts: Sequence[Component], t: float) -> float:
    """The q with critical_value(parts, q) = t, for t >= 0: half a two-sided p."""
    parts = [part for part in parts if part.value > 0]
    if len({part.df for part in parts}) == 1:
        return max(float(stdtr(parts[0].df, -t)), TINIEST)
    # Between the tails of the lightest and the heaviest t there is exactly one root.
    tails = [float(stdtr(part.df, -t)) for part in parts]
    low, high = max(min(tails), TINIEST), max(max(tails), TINIEST)

    def gap(log_q: float) -> float:
        return critical_value(parts, float(np.exp(log_q))) - t

    a, b = float(np.log(low)), float(np.log(high))
    if a == b or gap(a) <= 0:
        return low
    if gap(b) >= 0:
        return high
    return max(float(np.exp(brentq(gap, a, b, xtol=1e-13, rtol=1e-14))), TINIEST)


def effective_df(parts: Sequence[Component], alpha: float) -> float:
    """The degrees of freedom whose two-sided t quantile at alpha is the critical value."""
    parts = [part for part in parts if part.value > 0]
    nus = [part.df for part in parts]
    if min(nus) == max(nus):
        return nus[0]
    goal = critical_value(parts, alpha / 2)

    def gap(nu: float) -> float:
        return -float(stdtrit(nu, alpha / 2)) - goal

    if gap(min(nus)) <= 0 or gap(max(nus)) >= 0:
        return min(nus) if gap(min(nus)) <= 0 else max(nus)
    return float(brentq(gap, min(nus), max(nus), xtol=1e-9))


def _iv(
    comparison: Comparison, alternative: str, unit: str, by: str, alpha: float
) -> NDArray[np.int32] | None:
    """Check everything first; the documents when they are the unit."""
    for name, value, known in (
        ("alternative", alternative, ("two-sided", "greater", "less")),
        ("unit", unit, ("segment", "document")),
        ("strata", by, ("groups", "none")),
    ):
        if value not in known:
            raise ReplituneError(f"{name} must be one of {', '.join(known)}", found=repr(value))
    if not 0 < alpha < 1:
        raise ReplituneError("alpha must lie between 0 and 1", found=repr(alpha))
    for system in (comparison.a, comparison.b):
        if system.n == 0 or system.segments == 0:
            raise ReplituneError(
                f"system {system.name} has nothing to compare",
                found=f"{system.n} replicas, {system.segments} segments",
            )
        if system.statistics.dtype.kind == "f" and not np.isfinite(system.statistics).all():
            raise ReplituneError(
                f"statistics of system {system.name} are not finite",
                found="NaN or infinity",
                fix="score the outputs again; a missing external score is score 0, count 0",
            )
    for system, scores in (
        (comparison.a, comparison.scores_a),
        (comparison.b, comparison.scores_b),
    ):
        if not np.isfinite(scores).all():
            raise ReplituneError(
                f"{comparison.metric.id} has no finite score for system {system.name}"
            )
    return comparison.documents if unit == "document" else None


def crossed(
    comparison: Comparison,
    *,
    alternative: str = "two-sided",
    unit: str = "segment",
    strata: str = "groups",
    paired: bool = False,
    alpha: float = 0.05,
) -> TestResult:
    """Test equal expected scores over new segments (or documents) and new tuner runs.

    `unit`: "segment" or "document". `strata`: "groups" takes tuners as strata, "none" pools
    them. `paired`: replica k of A and replica k of B (by id) share a seed. `alternative`:
    "greater" asks whether B is better, whichever direction is better. The interval is at
    1 - `alpha`, with the critical value that also makes p; `df` is the number of degrees of
    freedom whose t quantile equals that critical value.
    """
    documents = _iv(comparison, alternative, unit, strata, alpha)
    a, b, metric = comparison.a, comparison.b, comparison.metric
    score_a, score_b = float(comparison.scores_a.mean()), float(comparison.scores_b.mean())
    delta = score_b - score_a
    pair = matched(a, b) if paired else None
    zero = TOLERANCE * max(abs(score_a), abs(score_b))

    p: float | None = None
    se = df = low = high = None
    strata_a, strata_b, pooled = strata_of(comparison, strata)
    notes: list[str | None] = [pooled]
    units = comparison.n_documents if documents is not None else comparison.segments
    lonely = [s.name for s in (a, b) if s.n == 1]
    if lonely:
        notes.append(f"one replica of {' and of '.join(lonely)}: tuner noise unknown, no p")
    if units == 1:
        notes.append(f"one {unit}: no p")
    if not lonely and units > 1:
        La, smooth_a = linearise(metric, a.statistics, a.sums)
        Lb, smooth_b = linearise(metric, b.statistics, b.sums)
        parts = variance_components(
            comparison,
            La,
            Lb,
            documents=documents,
            strata_a=strata_a,
            strata_b=strata_b,
            paired=pair,
        )
        se = float(np.sqrt(parts.variance))
        if smooth_a and smooth_b:
            kinks = kink_notes(comparison, documents)
            notes += [f"{kink}; compare with multi-bootstrap" for kink in kinks]
        else:
            notes.append("no gradient: jackknife pseudo-values")
        if min(a.n, b.n) == 2:
            notes.append("two replicas: level approximate")
        G_eff = effective_documents(documents) if documents is not None else np.inf
        if G_eff < SMALLEST_DOCUMENTS:
            notes.append(f"only {G_eff:.1f} effective documents: no p")
        elif G_eff < FEW_DOCUMENTS:
            notes.append(f"only {G_eff:.1f} effective documents: level approximate")
        if se <= zero:
            se = 0.0
            notes.append("zero variance")
        elif G_eff >= SMALLEST_DOCUMENTS:
            df = effective_df(parts.parts, alpha)
            reach = critical_value(parts.parts, alpha / 2) * se
            low, high = delta - reach, delta + reach
            better = delta if metric.higher_is_better else -delta
            q = tail(parts.parts, abs(delta) / se)
            if alternative == "two-sided":
                p = min(1.0, 2 * q)
            else:
                p = q if (better > 0) == (alternative == "greater") else 1 - q
        if abs(delta) <= zero and G_eff >= SMALLEST_DOCUMENTS:
            p = 1.0
    return TestResult(
        method="crossed",
        a=a.name,
        b=b.name,
        score_a=score_a,
        score_b=score_b,
        delta=delta,
        p=p,
        alternative=alternative,
        unit=f"replica+{unit}",
        aggregation="mean",
        n_a=a.n,
        n_b=b.n,
        segments=comparison.segments,
        documents=comparison.n_documents,
        generalises_to=f"new {unit}s and new tuner runs",
        se=se,
        df=df,
        ci_low=low,
        ci_high=high,
        pairing="id" if paired else None,
        note=join_notes(*notes),
    )
