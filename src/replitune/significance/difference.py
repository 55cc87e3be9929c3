"""A difference of two systems: its error, its critical values, and whether it is within a margin
(equivalence and non-inferiority, Schuirmann 1987)."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from replitune.errors import ReplituneError
from replitune.significance.base import Comparison
from replitune.significance.counting import ScoredPair
from replitune.significance.critical import Layers, Parts, layers

if TYPE_CHECKING:
    from replitune.significance.noise_ratio import Bounded


class Difference(ScoredPair):
    """B - A, with the parts of its variance."""

    @property
    @abstractmethod
    def parts(self) -> Parts: ...

    @cached_property
    def se(self) -> float:
        return float(np.sqrt(self.parts.variance))

    @property
    def varies(self) -> bool:
        return self.se > self.slack

    @cached_property
    def critical(self) -> Layers | Bounded:
        """Critical values of delta / se."""
        return Layers(*layers(self.parts.values, self.parts.nus))

    def reach(self, level: float) -> float:
        """Half the width of the interval with confidence 1 - level."""
        return float(self.critical.value(level / 2)) * self.se

    def p_beyond(self, bound: float, sign: float) -> float:
        """One-sided p of H0: the true difference is no more (sign -1: no less) than `bound`."""
        gap = sign * (self.delta - bound)
        q = self.critical.tail(abs(gap) / self.se)
        return q if gap > 0 else 1 - q

    def within(self, margin: float, sign: float) -> dict[str, float]:
        """p of equivalence, the larger of two one-sided ones, and of non-inferiority of each system.

        p_no_worse_b: H0 is that B is worse than A by the margin or more.
        """
        above = self.p_beyond(-margin, 1.0)
        below = self.p_beyond(margin, -1.0)
        no_worse = (below, above) if sign > 0 else (above, below)
        return {
            "margin": margin,
            "p_same": max(above, below),
            "p_no_worse_a": no_worse[0],
            "p_no_worse_b": no_worse[1],
        }

    def interval(self, alpha: float, alternative: str) -> dict[str, float]:
        """The columns of the interval, from the critical values that also give p."""
        confidence = 1 - alpha if alternative == "two-sided" else 1 - 2 * alpha
        reach = self.reach(1 - confidence)
        return {
            "df": self.critical.effective_df(alpha),
            "ci_low": self.delta - reach,
            "ci_high": self.delta + reach,
            "ci_level": confidence,
        }


def margin_iv(margin: float, comparison: Comparison) -> None:
    """Refuse a margin in other units than the metric's: one above all scores, if none is negative."""
    largest = float(max(comparison.scores_a.max(), comparison.scores_b.max()))
    if margin < largest or min(s.statistics.min() for s in (comparison.a, comparison.b)) < 0:
        return
    raise ReplituneError(
        f"the margin of {comparison.metric.id} is larger than every score",
        found=f"margin {margin:g}, scores up to {largest:.4g}",
        expected="a difference in the units of the metric",
        fix=f"did you mean {margin / 100:g}?" if margin / 100 < largest else None,
    )
