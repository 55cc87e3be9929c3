"""The 14 features of the default model: their order, their groups, vectors and weights files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.settings import GROUPS
from replitune.tuning.weights import Layout


class Feature(NamedTuple):
    name: str
    """In n-best lists and weights files."""
    group: str
    """In an experiment file."""
    arity: int
    start: float
    """The weight to start from, for each value."""


FEATURES = (
    Feature("LexicalReordering0", "lexro", 6, 0.1),
    Feature("Distortion0", "distortion", 1, 0.15),
    Feature("LM0", "lm", 1, 0.5),
    Feature("WordPenalty0", "penalties", 1, -0.3),
    Feature("PhrasePenalty0", "penalties", 1, 0.2),
    Feature("TranslationModel0", "tm", 4, 0.2),
)
"""In the order of vectors."""

WIDTH = sum(feature.arity for feature in FEATURES)

# First column of each feature in a full vector of WIDTH values.
LEXRO, DISTORTION, LM, WORD_PENALTY, PHRASE_PENALTY, TM = 0, 6, 7, 8, 9, 10

UNKNOWN_WORD = -100.0
"""Added to the model score for each copied word, with a fixed weight of 1, as Moses does.

It is not a feature: it is not tuned and not part of a hypothesis' printed score.
"""


@dataclass(frozen=True)
class GroupedLayout(Layout):
    """Which of a model's features a system has; a weights vector has one value per column of
    these."""

    groups: tuple[str, ...]

    known: ClassVar[tuple[Feature, ...]]
    """All that a model can have, in order."""
    all_groups: ClassVar[tuple[str, ...]]

    @classmethod
    def group_of(cls, feature: str) -> str:
        return {known.name: known.group for known in cls.known}[feature]

    @classmethod
    def from_groups(cls, groups: Sequence[str] | None = None) -> Self:
        """The features of some groups, or of all."""
        groups = cls.all_groups if groups is None else groups
        kept = [known for known in cls.known if known.group in groups]
        return cls(tuple(f.name for f in kept), tuple(f.arity for f in kept), tuple(groups))

    @property
    def columns(self) -> NDArray[np.int64]:
        """(K,) the columns in use, out of a full vector."""
        kept = [known.group in self.groups for known in self.known for _ in range(known.arity)]
        return np.flatnonzero(np.array(kept))

    def full(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,) weights -> those of all known features, zero for the ones left out."""
        weights = np.asarray(weights, np.float64)
        if weights.shape != (self.dimension,) or not np.isfinite(weights).all():
            raise ReplituneError(
                "weights do not fit the features of the model",
                found=f"{weights.tolist()}",
                expected=f"{self.dimension} finite numbers, for {self}",
            )
        out = np.zeros(sum(known.arity for known in self.known))
        out[self.columns] = weights
        return out

    def sensible(self) -> NDArray[np.float64]:
        """Weights to start from, as a vector (K,)."""
        return np.array([known.start for known in self.known for _ in range(known.arity)])[self.columns]


@dataclass(frozen=True)
class PhraseLayout(GroupedLayout):
    """Which of the 14 features a system has."""

    known = FEATURES
    all_groups = GROUPS
