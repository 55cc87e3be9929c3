"""`crossed`: is B better, for new segments and for new tuner runs at once?

H0: over new segments (or documents) and new tuner runs the expected scores are equal. The
variance of delta is that of replicas crossed with segments (`components`); its parts have
few and unequal degrees of freedom, hence the critical value of `critical`. No resampling:
O(n N).
"""

from __future__ import annotations

import numpy as np

from replitune.errors import ReplituneError
from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, Note, TestResult
from replitune.significance.components import (
    FEW_DOCUMENTS,
    SMALLEST_DOCUMENTS,
    effective_documents,
    kink_notes,
    linearise,
    strata_numbers,
    variance_components,
)
from replitune.significance.counting import Contrast
from replitune.significance.critical import critical_value, effective_df, layers, tail


@iv.significance_test
def crossed(
    comparison: Comparison,
    *,
    alternative: iv.Alternative = "two-sided",
    unit: iv.Unit = "segment",
    strata: iv.Strata = "groups",
    paired: iv.Paired = False,
    alpha: float = 0.05,
) -> TestResult:
    """Test equal expected scores over new segments (or documents) and new tuner runs.

    The interval is at 1 - `alpha`, with the critical value that also makes p; `df` is the number
    of degrees of freedom whose t quantile equals that critical value.
    """
    a, b, metric = comparison.a, comparison.b, comparison.metric
    for system, scores in ((a, comparison.scores_a), (b, comparison.scores_b)):
        if not np.isfinite(scores).all():
            raise ReplituneError(f"{metric.id} has no finite score for system {system.name}")
    contrast = Contrast("crossed", comparison, alternative, f"replica+{unit}")
    documents = comparison.documents if unit == "document" else None
    delta = contrast.delta
    pair = iv.matched(a, b) if paired else None
    zero = contrast.slack  # also of the standard error

    p: float | None = None
    se = df = low = high = None
    strata_a, strata_b, pooled = strata_numbers(comparison, strata)
    notes = [pooled]
    units = comparison.n_documents if documents is not None else comparison.segments
    lonely = [s.name for s in (a, b) if s.n == 1]
    if lonely:
        text = f"one replica of {' and of '.join(lonely)}: tuner noise unknown, no p"
        notes.append(Note("one-replica", text))
    if units == 1:
        notes.append(Note("one-unit", f"one {unit}: no p"))
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
            notes += kink_notes(comparison, documents)
        else:
            notes.append(Note("no-gradient", "no gradient: jackknife pseudo-values"))
        if min(part.df for part in parts.replicas) == 1:
            of = "" if min(a.n, b.n) == 2 else " in a group"
            notes.append(Note("two-replicas", f"two replicas{of}: level approximate"))
        G_eff = effective_documents(documents) if documents is not None else np.inf
        if G_eff < FEW_DOCUMENTS:
            what = "no p" if G_eff < SMALLEST_DOCUMENTS else "level approximate"
            text = f"only {G_eff:.1f} effective documents: {what}"
            notes.append(Note("few-documents", text))
        if se <= zero:
            se = 0.0
            notes.append(Note("zero-variance", "zero variance"))
        elif G_eff >= SMALLEST_DOCUMENTS:
            weight, nu = layers(*parts.arrays)
            df = effective_df(weight, nu, alpha)
            reach = critical_value(weight, nu, alpha / 2) * se
            low, high = delta - reach, delta + reach
            better = delta if metric.higher_is_better else -delta
            q = tail(weight, nu, abs(delta) / se)
            if alternative == "two-sided":
                p = min(1.0, 2 * q)
            else:
                p = q if (better > 0) == (alternative == "greater") else 1 - q
        if abs(delta) <= zero and G_eff >= SMALLEST_DOCUMENTS:
            p = 1.0
    pairing = "id" if paired else None
    return contrast.row(p, *notes, se=se, df=df, ci_low=low, ci_high=high, pairing=pairing)
