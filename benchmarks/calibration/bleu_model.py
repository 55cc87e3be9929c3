"""Synthetic BLEU statistics with known variance components: like `simulate`, but for a nonlinear
metric."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.significance.studies.simulate import Design, preferences

LOGITS = np.array([0.6, -0.35, -1.1, -1.7])
"""Logits of the n-gram precisions at quality 0, which give a BLEU near 30."""

LENGTH_RUN, LENGTH_NOISE = 0.02, 1.3
"""Standard deviations of hypothesis length: relative, for a whole run; absolute, for one output."""


@njit(cache=True)
def _fill(z, lengths, quality, run, length_run, noise, rng, scale, length_noise):  # type: ignore[no-untyped-def]
    """Fill z (n, N, 10) from reference lengths (N,), segment quality (N,) and run effects (n,).

    scale (4,) is exp(-LOGITS). Matches are expected counts, rounded up or down at random.
    """
    n, N = z.shape[0], z.shape[1]
    for r in range(n):
        for i in range(N):
            u = quality[i] + run[r] + noise * rng.standard_normal()
            length = lengths[i] * (1.0 + length_run[r]) + length_noise * rng.standard_normal()
            hyp = max(4, int(length + 0.5))
            e = np.exp(-u)
            for k in range(4):
                total = hyp - k
                z[r, i, 4 + k] = total
                z[r, i, k] = int(total / (1.0 + scale[k] * e) + rng.random())
            z[r, i, 8] = hyp
            z[r, i, 9] = lengths[i]


def bleu_counts(
    design: Design, trials: int, rng: np.random.Generator, length: float = 1.0
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """BLEU statistics (match_1..4, total_1..4, hyp_len, ref_len) of A (T, n_a, N, 10) and B.

    Standard deviations are on the logit of n-gram precision. `length` is the expected ratio of
    hypothesis to reference length. At 1, where tuning puts it, the brevity penalty has its kink.
    """
    N = design.segments
    a = np.empty((trials, design.n_a, N, 10), np.int32)
    b = np.empty((trials, design.n_b, N, 10), np.int32)
    scale = np.exp(-LOGITS)
    for t in range(trials):
        lengths = rng.integers(7, 28, N)
        both = rng.normal(0.0, design.segment, N)
        if design.null == "this":  # twins differ only in their preference
            lengths[1::2] = lengths[: N - N % 2 : 2]
            both[1::2] = both[: N - N % 2 : 2]
        prefer = preferences(design, 1, N, design.difference, rng)[0] + design.delta
        for z, run, noise, sign in (
            (a[t], design.replica_a, design.noise_a, -0.5),
            (b[t], design.replica_b, design.noise_b, 0.5),
        ):
            n = len(z)
            runs = rng.normal(0.0, run, (n, 1))[:, 0]
            longer = (length - 1.0) + rng.normal(0.0, LENGTH_RUN, n)
            _fill(z, lengths, both + sign * prefer, runs, longer, noise, rng, scale, LENGTH_NOISE)
    return a, b
