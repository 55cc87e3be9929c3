"""From the outputs of a system's replicas to its segment statistics.

Replicas of one system often produce the same translation of a segment, so a metric is
computed once per distinct (segment, hypothesis) and its rows are copied. What is kept in
memory is each distinct line once and a number per replica and segment, whatever the number of
replicas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric, full_signature
from replitune.metrics.external import External
from replitune.running.files import read_lines, sha256_lines

_BLOCK = 4096  # distinct pairs between two reports of progress


class _Numbering(dict[str, int]):
    """Numbers strings in order of first appearance."""

    def __missing__(self, line: str) -> int:
        self[line] = number = len(self)
        return number


class Outputs(Sequence[list[str]]):
    """The outputs of one system's replicas on one test set: a sequence of replicas, each a
    list of N lines, of which every distinct line is kept once."""

    def __init__(self, n_segments: int) -> None:
        self.n_segments = n_segments
        self.sha256: list[str] = []
        """SHA-256 of each replica's lines."""
        self._numbering = _Numbering()
        self._known: list[str] = []
        self._numbers: list[NDArray[np.int32]] = []

    @classmethod
    def of(cls, replicas: Sequence[Sequence[str]]) -> Outputs:
        """The outputs of replicas that are in memory, one at least."""
        outputs = cls(len(replicas[0]))
        for lines in replicas:
            outputs.add(lines)
        return outputs

    def add(self, lines: Sequence[str]) -> None:
        """The output of one more replica: N lines."""
        if len(lines) != self.n_segments:
            raise ReplituneError(
                f"replica {len(self) + 1} has another number of lines than the references",
                found=f"{len(lines)} lines",
                expected=f"{self.n_segments} lines",
            )
        self.sha256.append(sha256_lines(lines))
        self._numbers.append(
            np.fromiter(map(self._numbering.__getitem__, lines), dtype=np.int32, count=len(lines))
        )

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, replica: int) -> list[str]: ...
    @overload
    def __getitem__(self, replica: slice) -> list[list[str]]: ...
    def __getitem__(self, replica: int | slice) -> list[str] | list[list[str]]:
        if isinstance(replica, slice):
            return [self[r] for r in range(*replica.indices(len(self)))]
        numbers = self._numbers[replica].tolist()
        return list(map(self._distinct_lines().__getitem__, numbers))

    def line(self, replica: int, segment: int) -> str:
        """One output, without making a list of all."""
        return self._distinct_lines()[self._numbers[replica][segment]]

    def empty(self) -> NDArray[np.bool_]:
        """(n, N): which outputs are empty lines."""
        return np.stack(self._numbers) == self._numbering.get("", -1)

    def _distinct_lines(self) -> list[str]:
        if len(self._known) < len(self._numbering):
            self._known = list(self._numbering)
        return self._known

    def distinct(self, replicas: Sequence[int] | None = None) -> DistinctPairs:
        """The distinct (segment, hypothesis) pairs of some replicas, or of all."""
        chosen = range(len(self)) if replicas is None else replicas
        numbers = np.array([self._numbers[r] for r in chosen], dtype=np.int64)
        numbers = numbers.reshape(len(chosen), self.n_segments)
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
    """(n, N): the pair of each replica's segment."""

    @property
    def share(self) -> float:
        """Distinct pairs over all pairs; 1 when no two replicas agree anywhere."""
        return len(self.hyps) / self.inverse.size if self.inverse.size else 1.0


def read_outputs(
    paths: Iterable[str | Path], n_segments: int, reference: str | Path | None = None
) -> Outputs:
    """Read one file per replica, N lines each; `reference` is named when counts differ."""
    outputs = Outputs(n_segments)
    for path in paths:
        lines = read_lines(path)
        check_line_count(path, lines, n_segments, reference)
        outputs.add(lines)
    return outputs


def check_line_count(
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


@dataclass(frozen=True)
class SystemScores:
    """The statistics of one system's replicas, and what they cost."""

    statistics: NDArray[Any]
    """(n, N, K), int32 where the metric counts, float64 otherwise."""
    computed: int
    """Distinct pairs that were scored."""
    taken_over: int
    """Replicas whose rows were known."""
    missing: int = 0
    """Segments without a score in the file of a metric that reads one; their count is 0."""


PreviousRows = Mapping[tuple[str, str], NDArray[Any]]
"""(SHA-256 of a replica's lines, identity of the scoring) -> statistics (N, K)."""


def scoring_identity(
    metric: Metric, refs: Sequence[Sequence[str]], versions: Mapping[str, str]
) -> str:
    """Everything but the hypotheses that decides statistics: the full signature and the
    references. Rows made under the same identity may be taken over."""
    return f"{full_signature(metric, len(refs), versions)}|refs:{references_sha256(refs)}"


def references_sha256(refs: Sequence[Sequence[str]]) -> str:
    """SHA-256 of the one stream of references, or of the hashes of several in order."""
    hashes = [sha256_lines(stream) for stream in refs]
    return hashes[0] if len(hashes) == 1 else sha256_lines(hashes)


def score_system(
    metric: Metric,
    outputs: Outputs,
    prepared: Any,
    *,
    previous: PreviousRows | None = None,
    identity: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> SystemScores:
    """Segment statistics of all replicas of a system, each distinct pair scored once.

    `prepared` is ``metric.prepare(refs)``, made once per test set. Replicas whose lines are
    in `previous` under the same `identity` (:func:`scoring_identity`) are not scored again.
    `progress` is told (pairs done, pairs in all) from time to time.
    """
    shape = (outputs.n_segments, len(metric.statistic_names))
    dtype = np.int32 if metric.integer_statistics else np.float64
    statistics = np.empty((len(outputs), *shape), dtype=dtype)
    missing = []
    for r, sha256 in enumerate(outputs.sha256):
        rows = None if previous is None else previous.get((sha256, identity))
        if rows is None:
            missing.append(r)
        else:
            statistics[r] = rows
    pairs = outputs.distinct(missing)
    distinct = np.empty((len(pairs.hyps), shape[1]), dtype=dtype)
    block = _BLOCK if progress else max(len(pairs.hyps), 1)
    for start in range(0, len(pairs.hyps), block):
        part = slice(start, start + block)
        distinct[part] = metric.segment_statistics(pairs.hyps[part], pairs.segments[part], prepared)
        if progress:
            progress(min(start + block, len(pairs.hyps)), len(pairs.hyps))
    for r, inverse in zip(missing, pairs.inverse, strict=True):
        np.take(distinct, inverse, axis=0, out=statistics[r], mode="clip")
    return SystemScores(statistics, len(pairs.hyps), len(outputs) - len(missing))


def score_from_file(
    metric: Metric, system: str, replicas: Sequence[str], n_segments: int
) -> SystemScores:
    """Segment statistics of a metric that reads scores and not text (``needs_text`` false)."""
    if not isinstance(metric, External):
        raise ReplituneError(
            f"metric {metric.name} has no scores to read",
            fix="name a file of segment scores, for example external:file=scores.tsv,id=comet",
        )
    statistics, missing = metric.system_statistics(system, replicas, n_segments)
    return SystemScores(statistics, computed=0, taken_over=0, missing=missing)
