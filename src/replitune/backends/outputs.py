"""`backend: outputs`: translations that are on disk, a file for each replica."""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replitune.backends.interface import Complain, Given
from replitune.errors import ReplituneError, nearest
from replitune.replicas import Replica


class OutputFiles(Given):
    """Patterns, lists of files, or {group: these}, by test set."""

    name = "outputs"

    @property
    def testsets(self) -> list[str]:
        return list(self.settings["files"])

    def testset_settings(self, testset: str) -> Mapping[str, Any]:
        return {"files": {testset: self.settings["files"][testset]}}

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        """Files for test sets that exist, and for all of them."""
        where = ("systems", self.system, "files")
        tests = list(experiment["corpus"]["tests"])
        for testset in self.testsets:
            if testset not in (*tests, "dev"):
                close = nearest(testset, [*tests, "dev"])
                raise complain(
                    (*where, testset),
                    f"unknown test set {testset!r} in system {self.system}",
                    expected=", ".join([*tests, "dev"]),
                    fix=f"did you mean {close!r}?" if close else None,
                )
        for testset in tests:
            if testset not in self.testsets:
                raise complain(
                    where,
                    f"system {self.system} has no files for test set {testset}",
                    fix="name them, or remove the test set",
                )

    def files(self, testset: str, corpora: Path) -> dict[Replica, Path]:
        what = f"system {self.system}, test set {testset}"
        return output_files(what, self.settings["files"][testset], corpora)

    def collect(self, testset: str, corpora: Path, segments: int) -> dict[Replica, list[str]]:
        from replitune.files import read_lines

        outputs = {}
        for replica, path in self.files(testset, corpora).items():
            lines = read_lines(path)
            if len(lines) != segments:
                raise ReplituneError(
                    f"line counts differ: output of system {self.system} on {testset}",
                    file=path,
                    found=f"{len(lines)} lines in {path}",
                    expected=f"{segments} lines, one per segment of test set {testset}",
                    fix="give the output on the whole test set, one line per segment",
                )
            outputs[replica] = lines
        return outputs


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
        for number, path in enumerate(paths, 1):
            files[Replica(f"{prefix}-{number:03d}")] = path
    return files


def expand(pattern: str, base: Path) -> list[Path]:
    """Files of a pattern: `{1..20}` and `{a,b}` in the order written, `* ? [` from the disk
    in natural order (run2 before run10)."""
    paths: list[Path] = []
    for word in _braces(pattern):
        if any(character in word for character in "*?["):
            found = glob.glob(str(base / word), recursive=True)
            paths += [Path(name) for name in sorted(found, key=natural)]
        else:
            paths.append(base / word)
    return paths


def _braces(pattern: str) -> list[str]:
    pieces: list[list[str]] = []
    for part in re.split(r"(\{[^{}]*\})", pattern):
        inner = part[1:-1] if part.startswith("{") and part.endswith("}") else None
        numbers = re.fullmatch(r"(\d+)\.\.(\d+)", inner) if inner else None
        if numbers:
            low, high = int(numbers[1]), int(numbers[2])
            width = len(numbers[1]) if numbers[1].startswith("0") else 0
            pieces.append([str(number).zfill(width) for number in range(low, high + 1)])
        elif inner is not None and "," in inner:
            pieces.append(inner.split(","))
        else:
            pieces.append([part])
    return ["".join(choice) for choice in itertools.product(*pieces)]


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key under which run2 stands before run10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdigit() else (1, part) for part in parts]
