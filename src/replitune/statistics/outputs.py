"""The outputs of a system's replicas, and their distinct (segment, hypothesis) pairs.

Replicas of one system often produce the same translation of a segment. So each distinct line is
kept in memory only once, with a number per replica and segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import require_line_text
from replitune.errors import ReplituneError
from replitune.running.files import read_lines, sha256_lines


class _Numbering(dict[str, int]):
    """Numbers strings in order of first appearance."""

    def __missing__(self, line: str) -> int:
        self[line] = number = len(self)
        return number


class Outputs:
    """The outputs of one system's replicas on one test set: a list of N lines for each replica, with
    every distinct line kept once."""

    def __init__(self, n_segments: int) -> None:
        self.n_segments = n_segments
        self.sha256: list[str] = []
        """SHA-256 of each replica's lines."""
        self._numbering = _Numbering()
        self._known: list[str] = []
        self._numbers: list[NDArray[np.int32]] = []

    def add(self, lines: Sequence[str]) -> None:
        """The output of one more replica: N lines."""
        if len(lines) != self.n_segments:
            raise ReplituneError(
                f"run {len(self) + 1} has another number of lines than the references",
                found=f"{len(lines)} lines",
                expected=f"{self.n_segments} lines",
            )
        self.sha256.append(sha256_lines(lines))
        self._numbers.append(
            np.fromiter(map(self._numbering.__getitem__, lines), dtype=np.int32, count=len(lines))
        )

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, replica: int) -> list[str]:
        numbers = self._numbers[replica].tolist()
        return list(map(self._distinct_lines().__getitem__, numbers))

    def line(self, replica: int, segment: int) -> str:
        """One output, without making a list of the replica's."""
        return self._distinct_lines()[self._numbers[replica][segment]]

    def empty(self) -> NDArray[np.bool_]:
        """(n, N): which outputs are empty lines."""
        return np.stack(self._numbers) == self._numbering.get("", -1)

    def _distinct_lines(self) -> list[str]:
        if len(self._known) < len(self._numbering):
            self._known = list(self._numbering)
        return self._known

    def every(self) -> DistinctPairs:
        """The distinct (segment, hypothesis) pairs of all replicas."""
        return self.distinct(range(len(self)))

    def distinct(self, replicas: Sequence[int]) -> DistinctPairs:
        """The distinct (segment, hypothesis) pairs of some replicas."""
        numbers = np.array([self._numbers[r] for r in replicas], dtype=np.int64)
        numbers = numbers.reshape(len(replicas), self.n_segments)
        segments = np.arange(self.n_segments, dtype=np.int64)
        base = max(len(self._numbering), 1)
        codes, inverse = np.unique(segments * base + numbers, return_inverse=True)
        return DistinctPairs(
            segments=codes // base,
            hyps=list(map(self._distinct_lines().__getitem__, (codes % base).tolist())),
            inverse=inverse.reshape(numbers.shape),
        )


@dataclass(frozen=True)
class DistinctPairs:
    """D distinct (segment, hypothesis) pairs, ordered by segment."""

    segments: NDArray[np.int64]
    """(D,)"""
    hyps: list[str]
    """D hypotheses."""
    inverse: NDArray[np.int64]
    """(n, N): which pair each replica has for each segment."""


Lines = str | Path | Sequence[str]
"""A text: the path of a file, or its lines."""


def read_outputs(
    runs: Iterable[Lines], n_segments: int, reference: str | Path | None = None, *, system: str = "a system"
) -> Outputs:
    """Outputs from one text of N lines for each replica; `reference` is named if counts differ."""
    outputs = Outputs(n_segments)
    for number, run in enumerate(runs, start=1):
        name, lines = lines_of(run, f"run {number} of {system}")
        _check_line_count(name, lines, n_segments, reference)
        outputs.add(lines)
    return outputs


def lines_of(text: Lines, otherwise: str) -> tuple[str | Path, list[str]]:
    """The name of a text in messages, and its lines. `otherwise`: the name if it is not a file."""
    if isinstance(text, str | Path):
        return text, read_lines(text)
    lines = list(text)
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise ReplituneError(
                "a segment that is not text",
                file=otherwise,
                line=number,
                found=repr(line),
                expected="a list of lines, or the path of a file",
            )
    require_line_text(otherwise, lines)
    return otherwise, lines


def _check_line_count(
    path: str | Path, lines: Sequence[str], n_segments: int, reference: str | Path | None
) -> None:
    """Refuse a file whose number of lines is not that of the references."""
    if len(lines) == n_segments:
        return
    blank = 0
    while blank < len(lines) and not lines[-1 - blank].strip():
        blank += 1
    if blank and len(lines) - blank <= n_segments < len(lines):
        fix = f"its last {blank} lines are blank: remove {len(lines) - n_segments} of them"
    elif len(lines) < n_segments:
        fix = "decode the whole test set, one line a segment, an empty line for no output"
    else:
        fix = "check that both belong to the same test set, one segment a line"
    raise ReplituneError(
        "the numbers of lines of an output and its reference differ",
        file=path,
        found=f"{len(lines)} lines",
        expected=f"{n_segments} lines" + (f", as in {reference}" if reference else ""),
        fix=fix,
    )
