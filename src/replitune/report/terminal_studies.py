"""Rows of the studies as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from replitune.report.specification import Column, Table
from replitune.results.numbers import p_value, score, signed
from replitune.significance.studies.calibrate import CalibrationRow
from replitune.significance.studies.replication import ReplicationRow


def rejections(rows: Sequence[CalibrationRow]) -> Table:
    """Share of trials in which each test found a difference where there is none."""
    return Table(
        columns=(
            Column("study", "study", left=True, width=11),
            Column("null", "null", left=True, width=14),
            Column("pool", "pool", show=lambda pool: pool[:16], left=True, width=16),
            Column("n", "n_a", width=3),
            Column("test", "method", left=True, width=20),
            Column("alpha", "alpha", show=lambda alpha: f"{alpha:g}", width=5),
            Column("rate", "rate", show=lambda rate: score(rate, 3), width=6),
            Column("95% CI", None, _rate_interval, left=True, gap=2),
        ),
        rows=[(row,) for row in rows],
    )


def _rate_interval(row: CalibrationRow) -> str:
    return f"[{row.low:.3f}, {row.high:.3f}]{' by construction' if row.exact else ''}"


def small_experiments(rows: Sequence[ReplicationRow], decimals: int) -> Table:
    """What single runs and fewer replicas of one pair would have shown; without headings."""
    return Table(
        columns=(
            Column("", None, lambda r: r.case or f"n = {r.n}, {r.repeats} draws", left=True, width=24),
            Column("", "method", left=True, width=20),
            Column("", "delta", show=lambda d: f"delta {signed(d, decimals)}"),
            Column("", None, _p, left=True, gap=2),
        ),
        rows=[(row,) for row in rows],
    )


def _p(row: ReplicationRow) -> str:
    if row.case is not None:
        return f"p = {p_value(row.p)}"
    return f"p = {p_value(row.p_low)} to {p_value(row.p_high)}"
