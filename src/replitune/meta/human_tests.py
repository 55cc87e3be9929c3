"""Which of two systems do people prefer? Tests of human scores, two-sided.

- ``rank-sum``: Wilcoxon's test of all scores of one system against all scores of the other (Graham
  2016). Right where people judged different segments of the two systems, as crowds do; where they
  judged the same segments, the difficulty of these hides the difference.
- ``signed-rank``: Wilcoxon's test of the differences on the segments where both were judged. It
  compares ranks, so it may prefer a different system than the mean does.
- ``permutation``: the two scores of a segment change places with probability 1/2, and the statistic is
  the difference of means: `riezler` on people's scores, on the segments where both were judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.meta.rows import MetaRun
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
