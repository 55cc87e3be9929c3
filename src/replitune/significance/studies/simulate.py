"""Comparisons made up from known variance components: what tests are calibrated on.

Two systems, their replicas crossed with segments in documents. Two null hypotheses:

- *next*: the systems are equally good over new segments and new tuner runs, but each segment
  suits one of them better, so on the test set at hand one of them is ahead;
- *this*: they are equally good on this very test set; only tuner runs make a difference.

Under *this*, segments come in twins with opposite preferences, so that the expected sums of
both systems, and any metric's score, are equal on the test set. Models draw T trials at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

NULLS = ("next", "this")


@dataclass(frozen=True)
class Design:
    """Sizes, and standard deviations on the scale of a segment's score (or its logit)."""

    n_a: int
    n_b: int
    segments: int
    replica_a: float | NDArray[np.float64] = 0.0
    """Of a whole tuner run of A, or of each (n_a, 1); likewise B."""
    replica_b: float | NDArray[np.float64] = 0.0
    difference: float = 1.0
    """Of B's preference over A for a segment, sqrt(2) times a system's own."""
    segment: float = 1.0
    """Of what a segment does to both systems alike."""
    noise_a: float = 1.0
    """Of one replica of A on one segment, beyond its run and the segment; likewise B."""
    noise_b: float = 1.0
    document: float = 0.0
    """Of B's preference over A for a whole document."""
    null: str = "next"
    delta: float = 0.0
    """How much better B is: 0 for a null hypothesis."""


def _preferences(
    design: Design, trials: int, units: int, sd: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(T, units) preferences for B; twins of opposite sign under the null `this`."""
    if design.null == "this":
        half = rng.normal(0.0, sd, (trials, (units + 1) // 2))
        return np.stack([half, -half], axis=-1).reshape(trials, -1)[:, :units]
    return rng.normal(0.0, sd, (trials, units))


def mean_scores(
    design: Design,
    trials: int,
    rng: np.random.Generator,
    documents: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Segment scores A (T, n_a, N) and B (T, n_b, N) of a normal random-effects model."""
    N = design.segments
    both = rng.normal(0.0, design.segment, (trials, 1, N))
    prefer = _preferences(design, trials, N, design.difference, rng)
    if documents is not None and design.document > 0:
        G = int(documents.max()) + 1
        prefer = prefer + _preferences(design, trials, G, design.document, rng)[:, documents]
    out = []
    for n, run, noise, sign in (
        (design.n_a, design.replica_a, design.noise_a, -0.5),
        (design.n_b, design.replica_b, design.noise_b, 0.5),
    ):
        x = rng.standard_normal((trials, n, N))
        x *= noise
        x += both + sign * (prefer[:, None, :] + design.delta)
        x += rng.normal(0.0, run, (trials, n, 1))
        out.append(x)
    return out[0], out[1]


LOGITS = np.array([0.6, -0.35, -1.1, -1.7])
"""Of the n-gram precisions at quality 0: BLEU near 30."""

LENGTH_RUN, LENGTH_NOISE = 0.02, 1.3
"""Of hypothesis length: relative, of a whole tuner run; absolute, of one output."""


@njit(cache=True)
def _fill(z, lengths, quality, run, length_run, noise, rng, scale, length_noise):  # type: ignore[no-untyped-def]
    """z (n, N, 10) from reference lengths (N,), segment quality (N,), run effects (n,).

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
    hypothesis and reference length: at 1, where tuning puts it, is the corner of the brevity
    penalty.
    """
    N = design.segments
    a = np.empty((trials, design.n_a, N, 10), np.int32)
    b = np.empty((trials, design.n_b, N, 10), np.int32)
    scale = np.exp(-LOGITS)
    for t in range(trials):
        lengths = rng.integers(7, 28, N)
        both = rng.normal(0.0, design.segment, N)
        if design.null == "this":  # twins are alike but for their preference
            lengths[1::2] = lengths[: N - N % 2 : 2]
            both[1::2] = both[: N - N % 2 : 2]
        prefer = _preferences(design, 1, N, design.difference, rng)[0] + design.delta
        for z, run, noise, sign in (
            (a[t], design.replica_a, design.noise_a, -0.5),
            (b[t], design.replica_b, design.noise_b, 0.5),
        ):
            n = len(z)
            runs = rng.normal(0.0, run, (n, 1))[:, 0]
            longer = (length - 1.0) + rng.normal(0.0, LENGTH_RUN, n)
            _fill(
                z,
                lengths,
                both + sign * prefer,
                runs,
                longer,
                noise,
                rng,
                scale,
                LENGTH_NOISE,
            )
    return a, b
