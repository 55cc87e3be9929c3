"""The 14 features of the default model: their order, their groups, vectors and weights files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest

NAMES: tuple[tuple[str, str, int], ...] = (
    ("LexicalReordering0", "lexro", 6),
    ("Distortion0", "distortion", 1),
    ("LM0", "lm", 1),
    ("WordPenalty0", "penalties", 1),
    ("PhrasePenalty0", "penalties", 1),
    ("TranslationModel0", "tm", 4),
)
"""(name in n-best lists and weights files, group in an experiment file, arity), in order."""

GROUPS = ("tm", "lm", "distortion", "penalties", "lexro")
WIDTH = sum(arity for _, _, arity in NAMES)

# First column of each feature in a full vector of WIDTH values.
LEXRO, DISTORTION, LM, WORD_PENALTY, PHRASE_PENALTY, TM = 0, 6, 7, 8, 9, 10

UNKNOWN_WORD = -100.0
"""Added to the model score for each copied word, with a fixed weight of 1, as Moses does.

It is no feature: it is not tuned and not part of a hypothesis' printed score.
"""

SENSIBLE = {
    "LexicalReordering0": [0.1] * 6,
    "Distortion0": [0.15],
    "LM0": [0.5],
    "WordPenalty0": [-0.3],
    "PhrasePenalty0": [0.2],
    "TranslationModel0": [0.2] * 4,
}
"""Weights to start from."""


@dataclass(frozen=True)
class Layout:
    """Which feature groups a system has; a weights vector has one value per column of these."""

    groups: tuple[str, ...] = GROUPS

    def __post_init__(self) -> None:
        for group in self.groups:
            if group not in GROUPS:
                close = nearest(group, GROUPS)
                raise ReplituneError(
                    "unknown feature group",
                    found=group,
                    expected="one of " + ", ".join(GROUPS),
                    fix=f"did you mean {close}?" if close else None,
                )
        if not self.groups or len(set(self.groups)) != len(self.groups):
            raise ReplituneError(
                "feature groups must be distinct, and at least one",
                found=", ".join(self.groups) or "none",
                expected="some of " + ", ".join(GROUPS),
            )

    @property
    def features(self) -> list[tuple[str, int]]:
        """(name, arity) of the features in use, in the order of columns."""
        return [(name, arity) for name, group, arity in NAMES if group in self.groups]

    @property
    def columns(self) -> NDArray[np.int64]:
        """(K,) the columns in use, out of a full vector of 14."""
        kept = [group in self.groups for _, group, arity in NAMES for _ in range(arity)]
        return np.flatnonzero(np.array(kept))

    @property
    def width(self) -> int:
        return sum(arity for _, arity in self.features)

    def full(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,) weights -> (14,), zero for what is left out."""
        weights = np.asarray(weights, np.float64)
        if weights.shape != (self.width,) or not np.isfinite(weights).all():
            raise ReplituneError(
                "weights do not fit the features of the model",
                found=f"{weights.tolist()}",
                expected=f"{self.width} finite numbers, for "
                + ", ".join(f"{name} ({arity})" for name, arity in self.features),
            )
        out = np.zeros(WIDTH)
        out[self.columns] = weights
        return out

    def vector(self, weights: Mapping[str, Sequence[float]]) -> NDArray[np.float64]:
        """The weights of a weights file as a vector (K,)."""
        wanted = dict(self.features)
        for name in weights:
            if name not in wanted:
                close = nearest(name, list(wanted))
                raise ReplituneError(
                    "weights for a feature that the model does not have",
                    found=name,
                    expected=", ".join(wanted),
                    fix=f"did you mean {close}?" if close else None,
                )
        values: list[float] = []
        for name, arity in wanted.items():
            row = weights.get(name, ())
            if len(row) != arity or not all(math.isfinite(value) for value in row):
                raise ReplituneError(
                    f"weights of {name}",
                    found=f"{list(row)}" if name in weights else "none",
                    expected=f"{arity} finite number{'s' if arity > 1 else ''}",
                )
            values.extend(float(value) for value in row)
        return np.array(values)

    def mapping(self, weights: NDArray[np.float64]) -> dict[str, list[float]]:
        """A vector (K,) as written to a weights file."""
        out: dict[str, list[float]] = {}
        at = 0
        for name, arity in self.features:
            out[name] = [float(value) for value in weights[at : at + arity]]
            at += arity
        return out

    def sensible(self) -> NDArray[np.float64]:
        """Weights to start from, as a vector (K,)."""
        return self.vector({name: SENSIBLE[name] for name, _ in self.features})
