"""The features of a linear model: names, and how many values each name has.

Moses prints one name for several values (``TranslationModel0= v v v v``); a weight vector is
their concatenation in the order of the first n-best line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest


@dataclass(frozen=True)
class Layout:
    """Feature names with their arities, in the order of the feature vector."""

    names: tuple[str, ...]
    arities: tuple[int, ...]

    @cached_property
    def dimension(self) -> int:
        """F, the length of a feature vector."""
        return sum(self.arities)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where the values of each name are in a feature vector."""
        out, start = {}, 0
        for name, arity in zip(self.names, self.arities, strict=True):
            out[name] = slice(start, start + arity)
            start += arity
        return out

    def to_vector(
        self, weights: Mapping[str, Sequence[float]], *, file: str | None = None
    ) -> NDArray[np.float64]:
        """(F,) of named weights; every name must be given, none may be unknown."""
        for name in weights:
            if name not in self.slices:
                close = nearest(name, self.names)
                raise ReplituneError(
                    f"weights for a feature that the n-best lists do not have: {name}",
                    file=file,
                    expected=f"the features {self}",
                    fix=f"did you mean {close}?" if close else "use weights of the same decoder",
                )
        out = np.empty(self.dimension)
        for name, arity in zip(self.names, self.arities, strict=True):
            values = weights.get(name)
            if values is None:
                raise ReplituneError(
                    f"no weight for feature {name}",
                    file=file,
                    found=", ".join(weights) or "no weights",
                    expected=f"the features {self}",
                )
            if len(values) != arity:
                raise ReplituneError(
                    f"wrong number of weights for feature {name}",
                    file=file,
                    found=f"{len(values)} weights",
                    expected=f"{arity}",
                )
            out[self.slices[name]] = values
        if not np.isfinite(out).all():
            raise ReplituneError("weights that are not finite numbers", file=file)
        return out

    def to_weights(self, vector: NDArray[np.float64]) -> dict[str, list[float]]:
        """Named weights of a vector (F,)."""
        return {name: [float(w) for w in vector[where]] for name, where in self.slices.items()}

    def mask(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """(F,) true at the values of the given names, and of single values ``NAME[2]``."""
        out = np.zeros(self.dimension, dtype=bool)
        for word in names:
            name, bracket, rest = word.partition("[")
            where = self.slices.get(name)
            if where is None:
                close = nearest(name, self.names)
                raise ReplituneError(
                    f"unknown feature {name}" + (f", did you mean {close}?" if close else ""),
                    expected=f"one of {self}",
                )
            if not bracket:
                out[where] = True
                continue
            index = rest.removesuffix("]")
            if not (rest.endswith("]") and index.isdecimal()):
                raise ReplituneError("not a feature value", found=word, expected=f"{name}[0]")
            if int(index) >= where.stop - where.start:
                raise ReplituneError(
                    f"feature {name} has no value {index}", expected=f"0 to {where.stop - where.start - 1}"
                )
            out[where.start + int(index)] = True
        return out

    def __str__(self) -> str:
        return ", ".join(
            name if arity == 1 else f"{name} ({arity})"
            for name, arity in zip(self.names, self.arities, strict=True)
        )
