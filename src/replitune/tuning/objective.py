"""What a tuner maximises: a corpus metric of the chosen hypotheses' summed statistics."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.metrics.bleu import Bleu
from replitune.tuning.pool import Pool


class Objective:
    """A metric turned so that larger is better."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.sign = float(metric.sign)
        # Without zero counts, BLEU is the same formula under every smoothing except add-k.
        self.bleu_order = 0
        if isinstance(metric, Bleu) and metric.smooth_method != "add-k":
            self.bleu_order = metric.max_ngram_order

    def utility(self, sums: NDArray) -> NDArray[np.float64]:
        """(...) values to maximise of sums (..., K), in the metric's units."""
        return self.sign * self.metric.score(sums)

    def utilities(self, sums: NDArray) -> NDArray[np.float64]:
        """(P,) the same as `utility` up to rounding, fast where there is a kernel for the metric."""
        if self.bleu_order and len(sums):
            out = np.empty(len(sums))
            if _bleu(sums, self.bleu_order, out):
                return out
        return self.utility(sums)

    def sums(self, pool: Pool, weights: NDArray[np.float64]) -> NDArray:
        """(K,) summed statistics of the model's choice in each segment."""
        chosen = pool.statistics[pool.best(weights)]
        return chosen.sum(axis=0, dtype=np.int64 if chosen.dtype.kind == "i" else np.float64)

    def score(self, pool: Pool, weights: NDArray[np.float64]) -> float:
        """Corpus score of the model's choices, in the metric's own direction."""
        return float(self.metric.score(self.sums(pool, weights)))

    def require_choice(self, pool: Pool) -> None:
        """Refuse a pool in which a segment has no hypothesis, and one whose hypotheses do not
        differ in their statistics."""
        counts = np.diff(pool.offsets)
        if not len(counts) or not counts.all():
            raise ReplituneError(
                "segments without hypotheses",
                found=f"{int((counts == 0).sum())} of {len(counts)} segments are empty",
                expected="at least one hypothesis for every segment",
            )
        first = np.repeat(pool.offsets[:-1], counts)
        if (pool.statistics == pool.statistics[first]).all():
            raise ReplituneError(
                "the objective is constant: within every segment all hypotheses have the same "
                f"{self.metric.name} statistics",
                found=f"{len(pool)} distinct hypotheses of {pool.n_segments} segments",
                fix="longer n-best lists, and check that references and lists belong together",
            )


@njit(cache=True, nogil=True)
def _bleu(sums, order, out):
    """BLEU of sums (P, 2 order + 2) into out (P,); False as soon as a count is not positive."""
    for i in range(len(sums)):
        product = 1.0
        for n in range(order):
            if sums[i, n] <= 0 or sums[i, order + n] <= 0:
                return False
            product *= sums[i, n] / sums[i, order + n]
        if sums[i, 2 * order] <= 0:
            return False
        penalty = min(0.0, 1.0 - sums[i, 2 * order + 1] / sums[i, 2 * order])
        out[i] = 100.0 * np.exp(np.log(product) / order + penalty)
    return True
