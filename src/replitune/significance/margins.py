"""The same, within a margin: equivalence and non-inferiority (Schuirmann 1987)."""

from __future__ import annotations

from typing import Protocol

from replitune.errors import ReplituneError
from replitune.significance.base import Comparison


class Estimate(Protocol):
    """A difference that can be held against any bound."""

    def p_beyond(self, bound: float, sign: float) -> float:
        """One-sided p of H0: the true difference is no more (sign -1: no less) than `bound`."""
        ...


def margin_iv(margin: float, comparison: Comparison) -> None:
    """A margin must be in the units of the metric, which shows where scores are never negative."""
    largest = float(max(comparison.scores_a.max(), comparison.scores_b.max()))
    if margin < largest or min(s.statistics.min() for s in (comparison.a, comparison.b)) < 0:
        return
    raise ReplituneError(
        f"the margin of {comparison.metric.id} is larger than every score",
        found=f"margin {margin:g}, scores up to {largest:.4g}",
        expected="a difference in the units of the metric",
        fix=f"did you mean {margin / 100:g}?" if margin / 100 < largest else None,
    )


def within_margin(pair: Estimate, margin: float, higher_is_better: bool) -> dict[str, float]:
    """p of equivalence, the larger of two one-sided ones, and of non-inferiority of each system.

    p_no_worse_b: H0 is that B is worse than A by the margin or more.
    """
    above = pair.p_beyond(-margin, 1.0)
    below = pair.p_beyond(margin, -1.0)
    no_worse = (below, above) if higher_is_better else (above, below)
    return {
        "margin": margin,
        "p_same": max(above, below),
        "p_no_worse_a": no_worse[0],
        "p_no_worse_b": no_worse[1],
    }
