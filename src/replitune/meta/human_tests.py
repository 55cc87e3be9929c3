"""Which of two systems do people prefer? Tests of human scores, two-sided; and agreement with metrics.

- ``rank-sum``: Wilcoxon's test of all scores of one system against all scores of the other (Graham
  2016). Right where people judged different segments of the two systems, as crowds do; where they
  judged the same segments, the difficulty of these hides the difference.
- ``signed-rank``: Wilcoxon's test of the differences on the segments where both were judged. It
  compares ranks, so it may prefer a different system than the mean does.
- ``permutation``: the two scores of a segment change places with probability 1/2, and the statistic is
  the difference of means: `riezler` on people's scores, on the segments where both were judged.

Do a metric and its test find the differences that humans find (Graham et al. 2014; Graham 2016)? Each
pair of systems has an outcome by the metric and one by humans: A better, B better, or no significant
difference. They agree when the outcomes are equal. That of humans is from one of these tests on segment
scores of adequacy, of fluency, or of both, where fluency decides the pairs that adequacy leaves open.
The share of pairs in agreement has a Clopper-Pearson interval; as pairs share systems, this interval is
too narrow, as it is in the literature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.meta.rows import MetaRun, join_notes
from replitune.meta.scores import Scores
from replitune.significance.multiple import verdict
from replitune.significance.run import TestSetScores, run_tests


@dataclass(frozen=True)
class HumanTest:
    """A test of a pair of systems; two-sided."""

    statistic: float | None
    """rank-sum: pairs (a, b) in which b is larger, ties counting half; signed-rank: the sum of the
    ranks of the segments on which b is larger."""
    direction: int
    """1 when b is better, -1 when a is, 0 for neither."""
    p: float | None
    n: int
    """Judged outputs, or segments of which both outputs were judged."""
    note: str | None = None

    def outcome(self, alpha: float) -> int:
        """1: B better; -1: A better; 0: no significant difference."""
        return self.direction if self.p is not None and self.p <= alpha else 0


def rank_sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> HumanTest:
    """Wilcoxon's rank-sum (Mann-Whitney) test of scores a (n_a,) and b (n_b,).

    Exact without ties where one sample has at most 8 scores, otherwise normal, corrected for ties
    and continuity. If all scores are equal, p = 1.
    """
    from scipy.stats import mannwhitneyu

    n_a, n_b = len(a), len(b)
    if n_a == 0 or n_b == 0:
        return HumanTest(None, 0, None, n_a + n_b, "nobody judged one of the systems")
    everything = np.concatenate([a, b])
    if everything.min() == everything.max():
        return HumanTest(n_a * n_b / 2, 0, 1.0, n_a + n_b, "all scores are equal")
    test = mannwhitneyu(b, a, alternative="two-sided", method="auto")
    u = float(test.statistic)
    return HumanTest(u, int(np.sign(u - n_a * n_b / 2)), float(test.pvalue), n_a + n_b)


def signed_rank(a: NDArray[np.float64], b: NDArray[np.float64]) -> HumanTest:
    """Wilcoxon's signed-rank test of scores a, b (N,) of the same segments.

    Segments without a difference are left out. Exact where there are few and no ties, otherwise
    normal, corrected for ties and continuity.
    """
    from scipy.stats import rankdata, wilcoxon

    d = b - a
    n, d = len(d), d[d != 0]
    if n == 0:
        return HumanTest(None, 0, None, 0, NO_PAIR)
    if not len(d):
        return HumanTest(0.0, 0, 1.0, n, "all scores are equal")
    ranks = rankdata(np.abs(d))
    larger, smaller = float(ranks[d > 0].sum()), float(ranks[d < 0].sum())
    p = float(wilcoxon(d, correction=True).pvalue)
    return HumanTest(larger, int(np.sign(larger - smaller)), p, n)


NO_PAIR = "no segment of which both outputs were judged"


def all_pairs(name: str, human: Scores, run: MetaRun) -> list[HumanTest]:
    """All pairs of systems, in order, by the test of this name."""
    pairs = list(combinations(range(len(human.systems)), 2))
    if name == "permutation":
        return _permutation(human, run)
    if name == "rank-sum":
        cells = [row[~np.isnan(row)] for row in human.segment]
        return [rank_sum(cells[i], cells[j]) for i, j in pairs]
    both = [human.present[i] & human.present[j] for i, j in pairs]
    return [
        signed_rank(human.segment[i, known], human.segment[j, known])
        for (i, j), known in zip(pairs, both, strict=True)
    ]


def _permutation(human: Scores, run: MetaRun) -> list[HumanTest]:
    for i, j in combinations(range(len(human.systems)), 2):
        if not (human.present[i] & human.present[j]).any():
            raise ReplituneError(
                f"no permutation test of people's scores: {NO_PAIR}",
                found=f"{human.systems[i]} and {human.systems[j]}",
                fix="set human_tests to rank-sum",
            )
    results = run_tests(
        [
            TestSetScores(
                {human.name: (human.metric, {item.name: item for item in human.statistics})},
                np.arange(human.segment.shape[1], dtype=np.int32),
            )
        ],
        testset=run.testset,
        seed=run.seed,
        methods=("riezler",),
        samples=run.settings.samples,
        correction="none",
        threads=run.threads,
    )[human.name]
    both = (
        int((human.present[i] & human.present[j]).sum())
        for i, j in combinations(range(len(human.systems)), 2)
    )
    return [
        HumanTest(None, verdict(result, 1.0, True) or 0, result.p, n)
        for result, n in zip(results, both, strict=True)
    ]


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
