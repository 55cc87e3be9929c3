"""The weights of a linear model: its features, with how many values each name has, and files of weights,
``weights.json`` or, when the name ends in .ini, lines of a Moses ini file.

Moses prints one name for several values (``TranslationModel0= v v v v``); a weight vector is
their concatenation in the order of the first n-best line.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune import __version__
from replitune.errors import ReplituneError, nearest
from replitune.running.failures import refuse_failure
from replitune.running.files import atomic_open, read_lines, read_text


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


@dataclass(frozen=True)
class WeightsFile:
    """Named weights and where they come from; what is not known is None."""

    weights: Mapping[str, list[float]]
    dev_score: float | None = None
    metric: str | None = None
    algorithm: str | None = None
    seed: int | None = None
    iteration: int | None = None


def read_weights(path: str | Path) -> dict[str, list[float]]:
    """The named weights of a JSON or ini file."""
    refuse_failure(path)
    weights = _read_ini(path) if _is_ini(path) else _read_json(path)
    if not weights:
        raise ReplituneError("no weights", file=path)
    return weights


def write_weights(path: str | Path, content: WeightsFile) -> None:
    """Write JSON, or ini lines when the name ends in ``.ini``."""
    with atomic_open(path) as handle:
        if _is_ini(path):
            for name, values in content.weights.items():
                handle.write(f"{name}= {' '.join(map(repr, values))}\n")
        else:
            record = {**vars(content), "version": __version__}
            handle.write(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _is_ini(path: str | Path) -> bool:
    return Path(path).suffix == ".ini"


def _read_json(path: str | Path) -> dict[str, list[float]]:
    text = read_text(path)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReplituneError(
            "not JSON", file=path, found=str(error), expected='{"weights": {"LM0": [0.5], ...}}'
        ) from None
    weights = record.get("weights") if isinstance(record, dict) else None
    if not isinstance(weights, dict):
        raise ReplituneError(
            "no weights in this file", file=path, expected='{"weights": {"LM0": [0.5], ...}}'
        )
    out = {}
    for name, values in weights.items():
        numbers = values if isinstance(values, list) else [values]
        if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
            raise ReplituneError(f"weights of {name} are not numbers", file=path, found=json.dumps(values))
        out[name] = [_finite(x, name, path) for x in numbers]
    return out


def _read_ini(path: str | Path) -> dict[str, list[float]]:
    """``Name= v v ...`` lines; of a whole moses.ini, those of its [weight] section."""
    lines = read_lines(path)
    sections = any(line.strip().startswith("[") for line in lines)
    here = not sections
    out: dict[str, list[float]] = {}
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        if line.startswith("["):
            here = line == "[weight]"
        if not here or not line or line.startswith(("[", "#")):
            continue
        name, equals, rest = line.partition("=")
        name = name.strip()
        try:
            values = [float(word) for word in rest.split()]
        except ValueError:
            values = []
        if not equals or not name or not values:
            raise ReplituneError(
                "not a line of weights", file=path, line=number, found=line, expected="Name= v v ..."
            )
        if name in out:
            raise ReplituneError(f"weights of {name} twice", file=path, line=number)
        out[name] = [_finite(value, name, path, number) for value in values]
    return out


def _finite(value: float, name: str, path: str | Path, line: int | None = None) -> float:
    """`value` as a float; an error if it is not a finite one."""
    number = float(value) if abs(value) <= sys.float_info.max else math.nan
    if not math.isfinite(number):
        raise ReplituneError(
            f"a weight of {name} is not a finite number", file=path, line=line, found=str(value)[:80]
        )
    return number
