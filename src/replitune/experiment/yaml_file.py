"""Reads an experiment file as plain values, with the line of each, and finds values not allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from replitune.errors import ReplituneError
from replitune.running.files import read_text
from replitune.settings import NOT_OF_ITS_KIND, Mistake, Path_, Reading, joined

LARGEST = 200_000
"""The most keys and values of an experiment file, with aliases expanded."""
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
NUMBER = re.compile(
    r"[-+]?(0|[1-9]\d*|0x[\da-fA-F]+|(\.\d+|\d+\.\d*)([eE][-+]?\d+)?|\.(inf|Inf|INF))|\.(nan|NaN|NAN)",
    re.ASCII,
)
"""A number that YAML 1.1, which Snakemake reads, and YAML 1.2 read alike: not ``1:30``, which is 90 in
1.1, nor ``010`` or ``1_000``."""


class ExperimentError(ReplituneError):
    """All mistakes in a file."""

    def __init__(self, errors: Sequence[ReplituneError]) -> None:
        self.errors = list(errors)
        first = self.errors[0]
        super().__init__(
            first.message,
            file=first.file,
            line=first.line,
            found=first.found,
            expected=first.expected,
            fix=first.fix,
        )

    def render(self) -> str:
        texts = [error.render() for error in self.errors]
        count = [f"{len(texts)} mistakes"] if len(texts) > 1 else []
        return "\n".join([*texts, *count])


class Source:
    """An experiment file with the line of each key, for messages."""

    def __init__(self, file: str | Path | None = None, lines: dict[Path_, int] | None = None):
        self.file = file
        self.lines = lines or {}

    def line(self, path: Path_) -> int | None:
        """The line of a place, or of the innermost known place around it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def inside(self, place: Path_) -> Source:
        """The source of the value at a place; () is the whole file."""
        depth = len(place)
        lines = {path[depth:]: n for path, n in self.lines.items() if path[:depth] == place}
        return Source(self.file, lines)

    def stop(self, mistakes: Sequence[Mistake]) -> None:
        """Raise the mistakes, if there are any, in the order of the file."""
        if not mistakes:
            return
        placed = [(self.line(mistake.path), mistake) for mistake in mistakes]
        placed.sort(key=lambda item: item[0] or 0)
        raise ExperimentError([mistake.error(self.file, line) for line, mistake in placed])


def read_yaml(file: str | Path) -> tuple[dict[str, Any], Source]:
    """The mapping in a YAML file, and the lines of its keys. A key given twice is an error."""
    text = read_text(file)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        _require_small(node, file)
        data = yaml.safe_load(text)
    except RecursionError:
        raise ReplituneError("YAML nested too deeply", file=file) from None
    except NOT_OF_ITS_KIND as error:
        raise ReplituneError("not valid YAML", file=file, found=str(error)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ReplituneError(
            "not valid YAML",
            file=file,
            line=mark.line + 1 if mark else None,
            found=str(getattr(error, "problem", error)),
        ) from None
    if not isinstance(data, dict):
        raise ReplituneError(
            "an experiment file is a mapping",
            file=file,
            found=type(data).__name__,
            expected="key: value lines, such as `experiment: NAME`",
        )
    source = Source(file)
    mistakes: list[Mistake] = []
    for path, line, value, duplicate in _places(node, ()):
        source.lines[path] = line
        if duplicate:
            mistakes.append(Mistake(path, f"key `{path[-1]}` is given twice", fix="remove one of them"))
        elif value.tag in NUMBERS and value.style is None and not NUMBER.fullmatch(value.value):
            mistakes.append(
                Mistake(
                    path,
                    f"{joined(path)}: versions of YAML read this number differently",
                    found=value.value,
                    expected="a plain number, such as 90 or 0.5",
                    fix="write it plainly, or in quotes if it is text",
                )
            )
    source.stop(mistakes)
    return data, source


def find_source(files: Sequence[str | Path], settings: Mapping[str, Any]) -> Source:
    """The source of settings that were merged from these files, where later files win. It is a whole
    file, or a part of a file that holds several experiments."""
    read = [read_yaml(file) for file in reversed(files)]
    for data, source in read:
        place = _place(data, settings.get("experiment"))
        if place is not None:
            return source.inside(place)
    # the name is missing, or was given on the command line
    for data, source in read:
        if data.keys() <= settings.keys():
            return source
    return Source()


def _place(data: Mapping[str, Any], experiment: Any) -> Path_ | None:
    """The place of the experiment with this name; None if it is not here."""
    if "experiment" in data and data["experiment"] == experiment:
        return ()
    for key, value in data.items():
        if isinstance(value, Mapping):
            inner = _place(value, experiment)
            if inner is not None:
                return (key, *inner)
    return None


def _places(node: Any, path: Path_) -> Iterator[tuple[Path_, int, Any, bool]]:
    """Each place with its line, its value, and whether its key was there before."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            here = (*path, key.value)
            yield here, key.start_mark.line + 1, value, key.value in seen and key.value != "<<"
            seen.add(key.value)
            yield from _places(value, here)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            here = (*path, index)
            yield here, value.start_mark.line + 1, value, False
            yield from _places(value, here)


def _require_small(node: Any, file: str | Path) -> None:
    """Refuse a file whose aliases make it endless, or far larger than its text."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        known = sizes.get(id(node))
        if known is not None:
            return known
        sizes[id(node)] = LARGEST + 1  # what an alias inside the value that it names will find
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
            fix="is there an alias (`*name`) inside the value that it names, or aliases of aliases?",
        )


def require_plain(reading: Reading, value: Any, path: Path_ = ()) -> None:
    """Note values that are not text, finite numbers, true, false, null, lists or mappings, and keys
    that are not text."""
    shown = expected = None
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                require_plain(reading, key, (*path, key))
                require_plain(reading, item, (*path, key))
            else:
                reading.wrong(
                    (*path, str(key)),
                    "a key that is not text",
                    found=repr(key)[:80],
                    fix="write it in quotes",
                )
    elif isinstance(value, list):
        for index, item in enumerate(value):
            require_plain(reading, item, (*path, index))
    elif isinstance(value, str):
        if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
            shown, expected = ascii(value), "text without NUL or half surrogate pairs"
    elif isinstance(value, float):
        if not math.isfinite(value):
            shown, expected = str(value), "a finite number"
    elif isinstance(value, int):
        if abs(value) >= 2**63:
            shown, expected = "a number of more than 63 bits", "a smaller one"
    elif value is not None:
        shown, expected = str(value), "text, a number, true or false; dates in quotes"
    if expected is not None:
        name = joined(path, "the experiment").encode("ascii", "backslashreplace").decode()
        reading.wrong(path, f"{name} is not allowed", found=str(shown)[:80], expected=expected)
