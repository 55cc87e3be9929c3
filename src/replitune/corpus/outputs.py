"""Files of translations: those that a pattern matches, and the lines of one.

A file is text, one segment a line; or WMT XML or SGM, TSV, or JSON lines, which may hold many
systems: then `file.xml#SYSTEM` names one of them, `file.tsv#COLUMN` a column by name or number, and
`file.jsonl#PART` a system or one of several samples.
"""

from __future__ import annotations

import glob
import itertools
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from replitune.errors import ReplituneError
from replitune.readers.names import natural, split_part
from replitune.replicas import MOST_REPLICAS

if TYPE_CHECKING:
    from replitune.corpus.settings import Column


def read_output(path: Path, part: str | None = None, like: Path | None = None) -> list[str]:
    """The segments of one output: in a WMT file the system `part`, in the order of the file
    `like` (or of its own source); in a TSV file the column `part`; in JSON lines the system or
    sample `part`; otherwise the lines."""
    from replitune.corpus.reader import read_wmt_system, recognise
    from replitune.corpus.testset import require_line_text
    from replitune.running.files import read_lines

    kind = recognise(path)
    if kind == "tsv":
        return _column(path, part)
    if kind == "jsonl":
        return _json_output(path, part, like)
    if kind == "text":
        return read_lines(path)
    lines = read_wmt_system(path, part, like=like)
    require_line_text(path, lines)
    return lines


def _json_output(path: Path, part: str | None, like: Path | None) -> list[str]:
    from replitune.corpus.documents_jsonl import read_json_outputs
    from replitune.corpus.reader import read_testset

    documents = None if like is None else read_testset(like).documents
    runs = read_json_outputs(path if part is None else f"{path}#{part}", documents)
    if len(runs) > 1:
        raise ReplituneError(f"{len(runs)} samples in one file", file=path, fix=f"name one: {path.name}#1")
    return runs[0]


def _column(path: Path, part: str | None) -> list[str]:
    from replitune.corpus.settings import Columns
    from replitune.corpus.tsv import read_tsv
    from replitune.running.files import read_lines

    if part is None:
        lines = read_lines(path)
        if any("\t" in line for line in lines):
            raise ReplituneError(
                "which column?",
                file=path,
                found=f"{lines[0].count(chr(9)) + 1} columns",
                fix=f"name it, or give its number: {path.name}#NAME",
            )
        return lines
    column: Column = int(part) if part.isdecimal() else part
    return read_tsv(path, "reference", Columns(references=column)).references[0]


def expand(pattern: str, base: Path) -> list[Path]:
    """The files of a pattern: `{1..20}` and `{a,b}` in the order written, matches of `* ? [` on
    the disk in natural order (run2 before run10)."""
    paths: list[Path] = []
    for word in _braces(pattern):
        if any(character in word for character in "*?["):
            file, part = split_part(word)
            matching = sorted(glob.glob(str(base / file), recursive=True), key=natural)
            paths += [Path(name if part is None else f"{name}#{part}") for name in matching]
        else:
            paths.append(base / word)
    return paths


def _braces(pattern: str) -> list[str]:
    pieces: list[list[str]] = []
    for part in re.split(r"(\{[^{}]*\})", pattern):
        inner = part[1:-1] if part.startswith("{") and part.endswith("}") else None
        numbers = re.fullmatch(r"([0-9]{1,9})\.\.([0-9]{1,9})", inner) if inner else None
        if numbers:
            low, high = int(numbers[1]), int(numbers[2])
            require_countable(pattern, high - low + 1)
            width = len(numbers[1]) if numbers[1].startswith("0") else 0
            pieces.append([str(number).zfill(width) for number in range(low, high + 1)])
        elif inner is not None and "," in inner:
            pieces.append(inner.split(","))
        else:
            pieces.append([part])
    require_countable(pattern, math.prod(map(len, pieces)))
    return ["".join(choice) for choice in itertools.product(*pieces)]


def require_countable(what: str, number: int) -> None:
    """Refuse more outputs than the three digits of a replica's name can number."""
    if number > MOST_REPLICAS:
        raise ReplituneError(
            f"too many outputs: {what}", found=f"{number} files", expected=f"at most {MOST_REPLICAS}"
        )
