"""Weights on disk: ``weights.json``, or lines of a Moses ini file when the name ends in .ini."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from replitune import __version__
from replitune.errors import ReplituneError
from replitune.running.failures import refuse_failure
from replitune.running.files import atomic_open, read_lines, read_text


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
