"""The 14 features of the default model: their order, their groups, vectors and weights files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.settings import GROUPS
from replitune.tuning.layout import Layout

NAMES: tuple[tuple[str, str, int], ...] = (
    ("LexicalReordering0", "lexro", 6),
    ("Distortion0", "distortion", 1),
    ("LM0", "lm", 1),
    ("WordPenalty0", "penalties", 1),
    ("PhrasePenalty0", "penalties", 1),
    ("TranslationModel0", "tm", 4),
)
"""(name in n-best lists and weights files, group in an experiment file, arity), in order."""

WIDTH = sum(arity for _, _, arity in NAMES)

# First column of each feature in a full vector of WIDTH values.
LEXRO, DISTORTION, LM, WORD_PENALTY, PHRASE_PENALTY, TM = 0, 6, 7, 8, 9, 10

UNKNOWN_WORD = -100.0
"""Added to the model score for each copied word, with a fixed weight of 1, as Moses does.

It is no feature: it is not tuned and not part of a hypothesis' printed score.
"""

SENSIBLE: Mapping[str, Sequence[float]] = {
    "LexicalReordering0": [0.1] * 6,
    "Distortion0": [0.15],
    "LM0": [0.5],
    "WordPenalty0": [-0.3],
    "PhrasePenalty0": [0.2],
    "TranslationModel0": [0.2] * 4,
}
"""Weights to start from."""


@dataclass(frozen=True)
class GroupedLayout(Layout):
    """Which of a model's features a system has; a weights vector has one value per column of
    these."""

    groups: tuple[str, ...]

    known: ClassVar[tuple[tuple[str, str, int], ...]]
    """(name, group, arity) of each feature that a model can have, in order."""
    start: ClassVar[Mapping[str, Sequence[float]]]
    """Weights to start from."""
    all_groups: ClassVar[tuple[str, ...]]

    @classmethod
    def group_of(cls, feature: str) -> str:
        return {name: group for name, group, _ in cls.known}[feature]

    @classmethod
    def from_groups(cls, groups: Sequence[str] | None = None) -> Self:
        """The features of some groups, or of all."""
        groups = cls.all_groups if groups is None else groups
        kept = [(name, arity) for name, group, arity in cls.known if group in groups]
        names, arities = zip(*kept, strict=True)
        return cls(names, arities, tuple(groups))

    @property
    def columns(self) -> NDArray[np.int64]:
        """(K,) the columns in use, out of a full vector."""
        kept = [group in self.groups for _, group, arity in self.known for _ in range(arity)]
        return np.flatnonzero(np.array(kept))

    def full(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,) weights -> those of all known features, zero for what is left out."""
        weights = np.asarray(weights, np.float64)
        if weights.shape != (self.dimension,) or not np.isfinite(weights).all():
            raise ReplituneError(
                "weights do not fit the features of the model",
                found=f"{weights.tolist()}",
                expected=f"{self.dimension} finite numbers, for {self}",
            )
        out = np.zeros(sum(arity for _, _, arity in self.known))
        out[self.columns] = weights
        return out

    def sensible(self) -> NDArray[np.float64]:
        """Weights to start from, as a vector (K,)."""
        return self.to_vector({name: self.start[name] for name in self.names})


@dataclass(frozen=True)
class PhraseLayout(GroupedLayout):
    """Which of the 14 features a system has."""

    known = NAMES
    start = SENSIBLE
    all_groups = GROUPS
