"""Do a metric and its test find the differences that humans find? (Graham et al. 2014; Graham 2016)

Each pair of systems has an outcome by the metric and one by humans: A better, B better, or no
significant difference. They agree when the outcomes are equal. That of humans is from a test of
human_tests.py on segment scores of adequacy, of fluency, or of both, where fluency decides the pairs
that adequacy leaves open. The share of pairs in agreement has a Clopper-Pearson interval; as pairs
share systems, this interval is too narrow, as it is in the literature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replitune.errors import ReplituneError
from replitune.meta.human_tests import HumanTest
from replitune.meta.rows import join_notes


def combined_outcome(adequacy: HumanTest, fluency: HumanTest, alpha: float) -> int | None:
    """Adequacy where it finds a difference, otherwise fluency (Graham et al. 2014).

    None where neither was judged.
    """
    if adequacy.p is None and fluency.p is None:
        return None
    return adequacy.outcome(alpha) or fluency.outcome(alpha)


@dataclass(frozen=True)
class Agreement:
    """On how many pairs of systems a metric's test and humans agree."""

    agree: int
    pairs: int
    share: float | None
    ci_low: float | None
    ci_high: float | None
    note: str | None = None


def agreement(human: Sequence[int | None], metric: Sequence[int | None]) -> Agreement:
    """Compare outcomes pair by pair: 1, -1, 0, or None where a test had no p."""
    if len(human) != len(metric):
        raise ReplituneError("outcomes of different pairs", found=f"{len(human)} and {len(metric)} pairs")
    known = [(h, m) for h, m in zip(human, metric, strict=True) if h is not None and m is not None]
    lost = len(human) - len(known)
    note = f"{lost} pairs without a p are left out" if lost else None
    agree = sum(h == m for h, m in known)
    if not known:
        return Agreement(0, 0, None, None, None, join_notes("no pair of systems", note))
    low, high = clopper_pearson(agree, len(known))
    return Agreement(agree, len(known), agree / len(known), low, high, note)


def clopper_pearson(count: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of a share (Clopper and Pearson 1934): 53 of 66 is [.687, .891]."""
    from scipy.special import betaincinv

    if n < 1 or not 0 <= count <= n:
        raise ReplituneError("a share needs 0 <= count <= n", found=f"{count} of {n}")
    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1 - tail))
    return low, high
