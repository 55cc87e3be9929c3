"""What every tuner takes and returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool


@dataclass(frozen=True)
class Hypotheses:
    """Hypotheses as decoders give them."""

    segments: NDArray[np.integer]
    """(M,)"""
    features: NDArray[np.floating]
    """(M, F)"""
    statistics: NDArray
    """(M, K)"""


@dataclass(frozen=True)
class TuningResult:
    """Weights found on one pool."""

    weights: NDArray[np.float64]
    """(F,)"""
    score: float
    """Corpus score of the model's choices from the pool, in the metric's own direction."""
    history: tuple[dict[str, Any], ...] = field(default=(), compare=False)
    """One record per start (MERT), epoch (MIRA) or fit (PRO)."""
    added: Hypotheses | None = field(default=None, compare=False, repr=False)
    """What the tuner found in lattices and the pool should keep."""


class Tuner(Protocol):
    """An algorithm with its settings: MERT, batch MIRA, PRO."""

    @property
    def name(self) -> str:
        """Name on the command line and in an experiment file."""
        ...

    def tune(
        self,
        pool: Pool,
        objective: Objective,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """New weights (F,) for a pool, beginning at `start` (F,).

        All randomness comes from `rng`; the result does not depend on `threads`.
        """
        ...


def l1_normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights with absolute values that sum to 1; all-zero weights stay."""
    total = np.abs(weights).sum()
    return weights / total if total > 0 else weights.copy()
