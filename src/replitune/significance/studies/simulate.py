"""Comparisons made up from known variance components: what tests are calibrated on.

Two systems, their replicas crossed with segments in documents. Two null hypotheses:

- *next*: the systems are equally good over new segments and new runs, but each segment
  suits one of them better, so on the test set at hand one of them is ahead;
- *this*: they are equally good on this very test set; only tuner runs make a difference.

Under *this*, segments come in twins with opposite preferences, so that the expected sums of
both systems, and any metric's score, are equal on the test set. T trials are drawn at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Design:
    """Sizes, and standard deviations on the scale of a segment's score (for BLEU, of its logit)."""

    n_a: int
    n_b: int
    segments: int
    replica_a: float | NDArray[np.float64] = 0.0
    """Of a whole tuner run of A, or of each (n_a, 1); likewise B."""
    replica_b: float | NDArray[np.float64] = 0.0
    difference: float = 1.0
    """Of a segment's preference for B over A, sqrt(2) times a system's own."""
    segment: float = 1.0
    """Of the effect of a segment that both systems share."""
    noise_a: float = 1.0
    """Of one replica of A on one segment, beyond its run and the segment; likewise B."""
    noise_b: float = 1.0
    document: float = 0.0
    """Of a whole document's preference for B over A."""
    null: str = "next"
    delta: float = 0.0
    """How much better B is: 0 for a null hypothesis."""


def preferences(
    design: Design, trials: int, units: int, sd: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(T, units) preferences for B; twins of opposite sign under the null `this`."""
    if design.null == "this":
        half = rng.normal(0.0, sd, (trials, (units + 1) // 2))
        return np.stack([half, -half], axis=-1).reshape(trials, -1)[:, :units]
    return rng.normal(0.0, sd, (trials, units))


def mean_scores(
    design: Design, trials: int, rng: np.random.Generator, documents: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Segment scores A (T, n_a, N) and B (T, n_b, N) of a normal random-effects model."""
    N = design.segments
    both = rng.normal(0.0, design.segment, (trials, 1, N))
    prefer = preferences(design, trials, N, design.difference, rng)
    if documents is not None and design.document > 0:
        G = int(documents.max()) + 1
        prefer = prefer + preferences(design, trials, G, design.document, rng)[:, documents]
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
