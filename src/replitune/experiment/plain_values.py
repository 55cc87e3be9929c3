"""An experiment file as plain values: where each stands, and what no value may be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from replitune.errors import ReplituneError

Path_ = tuple[str | int, ...]

LARGEST = 200_000
"""Keys and values of an experiment file, aliases written out."""


class Source:
    """An experiment file with the line of each key, for messages."""

    def __init__(self, file: str | Path | None = None, lines: dict[Path_, int] | None = None):
        self.file = file
        self.lines = lines or {}

    def error(
        self, path: Sequence[str | int], message: str, **fields: str | None
    ) -> ReplituneError:
        line = None
        for end in range(len(path), 0, -1):
            line = self.lines.get(tuple(path[:end]))
            if line is not None:
                break
        return ReplituneError(message, file=self.file, line=line, **fields)


def require_small(node: Any, file: str | Path) -> None:
    """Refuse a file whose aliases make it endless, or far larger than it is written."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        known = sizes.get(id(node))
        if known is not None:
            return known
        sizes[id(node)] = LARGEST + 1  # what an alias to something that it stands in finds
        if isinstance(node, yaml.MappingNode):
            total = 1 + sum(size(key) + size(value) for key, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            total = 1 + sum(map(size, node.value))
        else:
            total = 1
        sizes[id(node)] = total
        return total

    if size(node) > LARGEST:
        raise ReplituneError(
            "too large for an experiment file",
            file=file,
            expected=f"at most {LARGEST:,} values, aliases written out",
            fix="an alias (`*name`) that stands inside of what it names, or aliases of aliases?",
        )


def require_plain(value: Any, path: Path_, source: Source) -> None:
    """Text, finite numbers, yes and no, lists and mappings; keys are text."""
    found = expected = None
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise source.error(
                    (*path, str(key)), "a key that is not text", found=repr(key)[:80],
                    fix="write it in quotes",
                )  # fmt: skip
            require_plain(item, (*path, key), source)
            require_plain(key, (*path, key), source)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            require_plain(item, (*path, index), source)
    elif isinstance(value, str):
        if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
            found, expected = ascii(value), "text without NUL and half surrogate pairs"
    elif isinstance(value, float):
        if not math.isfinite(value):
            found, expected = str(value), "a finite number"
    elif isinstance(value, int):
        if abs(value) >= 2**63:
            found, expected = "a number of more than 63 bits", "a smaller one"
    elif value is not None:
        found, expected = str(value), "text, a number, true or false; dates in quotes"
    if expected is not None:
        where = ".".join(map(str, path)) or "the experiment"
        raise source.error(
            path, f"{where} is not allowed".encode("ascii", "backslashreplace").decode(),
            found=str(found)[:80], expected=expected,
        )  # fmt: skip
