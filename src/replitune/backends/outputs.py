"""`backend: outputs`: translations that are on disk, a file for each replica.

A file is text, one segment a line; or WMT XML or SGM, TSV, or JSON lines, which may hold many
systems: then `file.xml#SYSTEM` names one of them, `file.tsv#COLUMN` a column by name or number, and
`file.jsonl#PART` a system or one of several samples.
"""

from __future__ import annotations

import glob
import itertools
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from replitune.backends.interface import Complain, Given
from replitune.backends.settings import MOST_REPLICAS, SystemSettings, Text
from replitune.errors import ReplituneError
from replitune.registry import Name
from replitune.replicas import Replica
from replitune.running.failures import read_failure
from replitune.running.resources import Resources
from replitune.settings import about, did_you_mean

if TYPE_CHECKING:
    from replitune.corpus.settings import Column

MANY = re.compile(r"(?P<file>.*\.(?P<kind>xml|sgml?|tsv|jsonl)(?:\.gz)?)(?:#(?P<part>.*))?", re.I | re.S)
"""Files that may hold several outputs, and which one is meant."""


Files = Text | Annotated[list[Text], about(min_length=1)]
Groups = Annotated[dict[Name, Files], about(min_length=1)]


class OutputSettings(SystemSettings):
    """Translations that are already on disk; each file is one replica."""

    files: Annotated[
        dict[Name, Files | Groups],
        about(
            "For each test set (and `dev`, if you have it) the files, one per replica: a pattern, "
            "a list, or a mapping from tuner to these. `*` and `?` look on the disk, `{1..20}` and "
            "`{a,b}` do not; files are numbered in natural order. Of WMT XML or SGM with several "
            "systems, `file.xml#SYSTEM` is one of them; of TSV, `file.tsv#COLUMN` (name, or number "
            "from 1) is a column; of JSON lines, `file.jsonl#PART` is a system, or a sample."
        ),
    ] = msgspec.field(default_factory=dict)
    like: Annotated[
        dict[Name, Text],
        about(
            "For test sets that were read from another WMT file than the outputs: that file, whose "
            "order of segments the outputs are put into."
        ),
    ] = msgspec.field(default_factory=dict)
    without: Annotated[
        tuple[Name, ...],
        about(
            "Test sets that it has no translations of, where it is not compared: an experiment may "
            "have several language pairs. Needs `pairs: all`."
        ),
    ] = ()

    def __post_init__(self) -> None:
        for key in ("replicas", "resources"):
            if getattr(self, key) not in (None, Resources()):
                raise ReplituneError(
                    f"a system of outputs has no `{key}`", expected="its files are its replicas"
                )


class OutputFiles(Given):
    """Patterns, lists of files, or {group: these}, by test set."""

    name = "outputs"
    Settings = OutputSettings
    settings: OutputSettings

    @property
    def testsets(self) -> list[str]:
        return list(self.settings.files)

    def testset_settings(self, testset: str) -> Mapping[str, Any]:
        like = self.settings.like
        return {
            "files": {testset: self.settings.files[testset]},
            "like": {testset: like[testset]} if testset in like else {},
        }

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        """Files for test sets that exist, and for all of them."""
        here = ("systems", self.system)
        tests = list(experiment["corpus"]["tests"])
        if not self.testsets:
            complain(here, f"key `files` is missing in {'.'.join(here)}")
            return
        named: list[tuple[str, str | int, str]] = [("files", t, t) for t in self.testsets]
        named += [("like", t, t) for t in self.settings.like]
        named += [("without", number, t) for number, t in enumerate(self.settings.without)]
        for key, place, testset in named:
            if testset not in (*tests, "dev"):
                complain(
                    (*here, key, place),
                    f"unknown test set {testset!r} in system {self.system}",
                    expected=", ".join([*tests, "dev"]),
                    fix=did_you_mean(testset, [*tests, "dev"]),
                )
        for testset in tests:
            if testset not in (*self.testsets, *self.settings.without):
                complain(
                    (*here, "files"),
                    f"system {self.system} has no files for test set {testset}",
                    fix="name them, name the test set under `without`, or remove it",
                )
            if testset in self.testsets and testset in self.settings.without:
                complain(
                    (*here, "without"),
                    f"system {self.system} has files for test set {testset}, and is said to be without",
                )

    def files(self, testset: str, corpora: Path) -> dict[Replica, Path]:
        return {replica: file for replica, (file, _) in self._named(testset, corpora).items()}

    def _named(self, testset: str, corpora: Path) -> dict[Replica, tuple[Path, str | None]]:
        """The file of each replica, and which of its outputs."""
        what = f"system {self.system}, test set {testset}"
        found = output_files(what, self.settings.files[testset], corpora)
        return {replica: split_path(path) for replica, path in found.items()}

    def collect(self, testset: str, corpora: Path, segments: int) -> dict[Replica, list[str]]:
        like = self.settings.like.get(testset)
        outputs = {}
        for replica, (path, part) in self._named(testset, corpora).items():
            lines = read_output(path, part, None if like is None else corpora / like)
            # the record of a replica that could not be made is passed on; scoring knows it
            if len(lines) != segments and read_failure(path) is None:
                raise ReplituneError(
                    f"line counts differ: output of system {self.system} on {testset}",
                    file=path,
                    found=f"{len(lines)} lines in {path}",
                    expected=f"{segments} lines, one per segment of test set {testset}",
                    fix="give the output on the whole test set, one line per segment",
                )
            outputs[replica] = lines
        return outputs


def split_path(path: Path) -> tuple[Path, str | None]:
    """`file.xml#SYSTEM` in two; a file that is there under the whole name is that file."""
    match = MANY.fullmatch(str(path))
    if match is None or match["part"] is None or path.exists():
        return path, None
    return Path(match["file"]), match["part"]


def read_output(path: Path, part: str | None = None, like: Path | None = None) -> list[str]:
    """The segments of one output: of a WMT file the system `part`, in the order of the file
    `like` (or of its own source); of a TSV file the column `part`; otherwise the lines."""
    from replitune.corpus.testset import require_line_text
    from replitune.corpus.wmt import read_wmt_system
    from replitune.running.files import read_lines

    match = MANY.fullmatch(str(path))
    kind = match["kind"].lower() if match else "text"
    if kind == "tsv":
        return _column(path, part)
    if kind == "jsonl":
        return _of_json(path, part, like)
    if kind == "text":
        return read_lines(path)
    lines = read_wmt_system(path, part, like=like)
    require_line_text(path, lines)
    return lines


def _of_json(path: Path, part: str | None, like: Path | None) -> list[str]:
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


def output_files(what: str, given: Any, base: Path) -> dict[Replica, Path]:
    """Files of an `outputs` system on one test set: a pattern, a list, or {group: these}."""
    groups = given if isinstance(given, Mapping) else {"run": given}
    files: dict[Replica, Path] = {}
    for prefix, patterns in groups.items():
        listed = [patterns] if isinstance(patterns, str) else patterns
        paths = [path for pattern in listed for path in expand(pattern, base)]
        if not paths:
            raise ReplituneError(
                f"no file for {what}",
                found=f"no match for {', '.join(listed)}",
                fix=f"check the pattern; it starts at {base.resolve()}",
            )
        require_countable(what, len(paths))
        for number, path in enumerate(paths, 1):
            files[Replica(f"{prefix}-{number:03d}")] = path
    return files


def expand(pattern: str, base: Path) -> list[Path]:
    """Files of a pattern: `{1..20}` and `{a,b}` in the order written, `* ? [` from the disk
    in natural order (run2 before run10)."""
    paths: list[Path] = []
    for word in _braces(pattern):
        if any(character in word for character in "*?["):
            match = MANY.fullmatch(word)
            part = "" if match is None or match["part"] is None else f"#{match['part']}"
            found = glob.glob(str(base / word.removesuffix(part)), recursive=True)
            paths += [Path(name + part) for name in sorted(found, key=natural)]
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
    """Replicas have three digits."""
    if number > MOST_REPLICAS:
        raise ReplituneError(f"too many outputs: {what}", found=f"{number} files", expected="at most 999")


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key under which run2 stands before run10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]
