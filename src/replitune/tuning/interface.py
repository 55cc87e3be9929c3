"""What every tuner takes and returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from replitune.tuning.forest import Forests
    from replitune.tuning.objective import Objective
    from replitune.tuning.pool import Pool
    from replitune.tuning.weights import Layout

Vector = NDArray[np.float64]
"""(F,) weights."""

WordStatistics = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]], NDArray[Any]]
"""Statistics (n, K) of n hypotheses: segments (n,), word_start (n+1,), words."""


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
    """New weights from one pool."""

    weights: NDArray[np.float64]
    """(F,)"""
    score: float
    """Corpus score of the model's choices from the pool, in the metric's own direction."""
    history: tuple[dict[str, Any], ...] = field(default=(), compare=False)
    """One record per start (MERT), epoch (MIRA) or fit (PRO)."""
    added: Hypotheses | None = field(default=None, compare=False, repr=False)
    """Hypotheses from lattices that the pool should keep."""


class Tuner(ABC):
    """An algorithm with its settings: MERT, batch MIRA, PRO.

    A subclass is a frozen dataclass whose settings are declared fields
    (`replitune.settings.about`), and says what it needs of the decoder. Its module is light: the
    Snakefile reads the settings from it.
    """

    name: ClassVar[str]
    """Its name in an experiment file, on the command line and in ids of replicas."""
    needs_lattices: ClassVar[bool] = False
    """Whether it tunes on search graphs, by `tune_lattices`; n-best lists are enough otherwise."""
    density: float | None = None
    """Arcs per source word of the search graphs that it asks for."""
    decodings: int | None = None
    """Largest number of decodings, where the loop allows more."""
    on_files: ClassVar[Mapping[str, Any]] = {}
    """Defaults that differ when it tunes on n-best files, which no later decoding adds to."""

    def for_features(self, layout: Layout) -> Self:
        """The tuner for a decoder's features, which its settings may name."""
        return self

    @abstractmethod
    def tune(
        self, pool: Pool, objective: Objective, start: Vector, rng: np.random.Generator, threads: int = 1
    ) -> TuningResult:
        """New weights (F,) for a pool, beginning at `start` (F,).

        All randomness comes from `rng`; the result does not depend on `threads`.
        """

    def tune_lattices(
        self,
        lattices: Forests,
        statistics: WordStatistics,
        pool: Pool,
        objective: Objective,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """New weights for a pool and the search graphs of this decoding."""
        raise NotImplementedError


def l1_normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights with absolute values that sum to 1; all-zero weights stay as they are."""
    total = np.abs(weights).sum()
    return weights / total if total > 0 else weights.copy()


def together(parts: Sequence[Hypotheses]) -> Hypotheses:
    """All hypotheses in one."""
    return Hypotheses(
        np.concatenate([part.segments for part in parts]),
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.statistics for part in parts]),
    )
