"""Every value of a program's file replaced by one of another type: refused, or read."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fuzz import seeds
from replitune.errors import ReplituneError
from replitune.readers.registry import read_file
from replitune.readers.settings import ColumnNames

FILES = {
    name: getattr(seeds, name)
    for name in (
        "LM_EVAL",
        "EVERY_EVAL_EVER",
        "PROMPTFOO",
        "WMT_SCORES",
        "WMT_JUDGED",
        "INSPECT_LOG",
        "GENERATIONS",
        "ARRAY",
        "COMET",
        "HELM",
        "DEEPEVAL",
        "TERMINAL_BENCH",
    )
}
OTHERS: tuple[Any, ...] = (None, 3, -0.5, "x", [], {}, [None], {"a": 1}, True)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, item in items:
        yield from places(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other
    return value


@pytest.mark.parametrize("name", FILES)
def test_another_type_is_refused_or_read(tmp_path: Path, name: str):
    content = json.loads(FILES[name])
    path = tmp_path / "s.json"
    read = 0
    for place in places(content):
        for other in OTHERS:
            line = json.dumps(replaced(content, place, other))
            # the first line tells of which kind a file is
            path.write_bytes(FILES[name].rstrip(b"\n") + b"\n" + line.encode() + b"\n")
            for text in (line, path.read_text()):
                path.write_text(text)
                with contextlib.suppress(ReplituneError):
                    read += bool(read_file(path, ColumnNames()).rows)
    assert read
