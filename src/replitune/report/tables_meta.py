"""Tables of metrics and people (Graham 2016): agreement, correlation, comparison of metrics."""

from __future__ import annotations

from replitune.report.numbers import MISSING, interval, p_value, score
from replitune.report.studies import Studies
from replitune.report.table import Table

COMPARISONS = {"williams": "Williams", "perm-systems": "PERM-SYS", "perm-both": "PERM-BOTH"}
LEVELS = {"system": "systems", "segment": "judged outputs", "average": "within segments"}


def agreement_table(studies: Studies) -> Table:
    """How often a metric's test and people say the same of a pair, by level."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for testset, rows in studies.meta.items():
        for row in (r for r in rows if r.study == "agreement"):
            share = MISSING if row.value is None else f"{100 * row.value:.1f}"
            low, high = (None if v is None else 100 * v for v in (row.ci_low, row.ci_high))
            metric = studies.names.get(row.metric or "", row.metric or MISSING)
            text.append(
                (testset, row.criterion or MISSING, metric, row.method, f"{row.alpha:g}", share,
                 interval(low, high, 1), str(row.n))
            )  # fmt: skip
            values.append(
                (testset, row.criterion, row.metric, row.method, row.alpha, row.value, row.ci_low,
                 row.ci_high, row.n, row.note)
            )  # fmt: skip
    return Table(
        name="agreement",
        title="Agreement of tests with people",
        caption="Share (%) of pairs of systems of which a metric's test and people (Wilcoxon's "
        "rank-sum test) say the same at the level alpha: A better, B better, or no significant "
        "difference; with an exact binomial (Clopper-Pearson) 95% interval, after Graham (2016). "
        "Pairs share systems, so the true interval is wider.",
        header=("test set", "judged", "metric", "test", "alpha", "agree", "CI", "pairs"),
        text=tuple(text),
        columns=("testset", "criterion", "metric", "method", "alpha", "agreement", "ci_low",
                 "ci_high", "pairs", "note"),
        values=tuple(values),
        left=4,
        filters=5,
    )  # fmt: skip


def correlations_table(studies: Studies) -> Table:
    """Correlation of each metric with people."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for testset, rows in studies.meta.items():
        for row in (r for r in rows if r.study in ("correlation", "soft-pairwise")):
            metric = studies.names.get(row.metric or "", row.metric or MISSING)
            level = LEVELS.get(row.level or "", row.level or "systems")
            text.append(
                (testset, row.criterion or MISSING, metric, level, row.method, score(row.value, 3),
                 interval(row.ci_low, row.ci_high, 3), MISSING if row.n is None else str(row.n))
            )  # fmt: skip
            values.append(
                (testset, row.criterion, row.metric, row.level, row.method, row.value, row.ci_low,
                 row.ci_high, row.n, row.resampled, row.samples, row.note)
            )  # fmt: skip
    return Table(
        name="correlations",
        title="Correlation of metrics with people",
        caption="Correlation of each metric with human scores, higher is better for all, with 95% "
        "bootstrap intervals: over systems, over all judged outputs together, and over the systems "
        "of each segment; and soft pairwise accuracy. n: systems, outputs, or segments.",
        header=("test set", "judged", "metric", "over", "measure", "value", "CI", "n"),
        text=tuple(text),
        columns=("testset", "criterion", "metric", "level", "measure", "value", "ci_low",
                 "ci_high", "n", "resampled", "samples", "note"),
        values=tuple(values),
        left=5,
        filters=5,
    )  # fmt: skip


def metrics_table(studies: Studies) -> Table:
    """Which metric correlates better with people."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for testset, rows in studies.meta.items():
        for row in (r for r in rows if r.study == "comparison"):
            one, other = (studies.names.get(m or "", m or "") for m in (row.metric, row.other))
            text.append(
                (testset, row.criterion or MISSING, f"{one} > {other}",
                 LEVELS.get(row.level or "", row.level or ""),
                 COMPARISONS.get(row.method, row.method), score(row.value, 3),
                 score(row.statistic), p_value(row.p), MISSING if row.n is None else str(row.n))
            )  # fmt: skip
            values.append(
                (testset, row.criterion, row.metric, row.other, row.level, row.method, row.value,
                 row.statistic, row.p, row.p_min, row.n, row.note)
            )  # fmt: skip
    return Table(
        name="metrics",
        title="Which metric agrees better with people",
        caption="One-sided p that the first metric's Pearson correlation with people is larger "
        "than the second's: Williams' test, and exchanges of the scores of whole systems "
        "(PERM-SYS) or of single outputs (PERM-BOTH, too eager over systems). Uncorrected.",
        header=("test set", "judged", "metrics", "over", "test", "difference", "t", "p", "n"),
        text=tuple(text),
        columns=("testset", "criterion", "metric", "other", "level", "method", "difference",
                 "statistic", "p", "p_min", "n", "note"),
        values=tuple(values),
        left=5,
        filters=5,
    )  # fmt: skip
