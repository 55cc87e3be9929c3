"""From the outputs of a system's replicas to its segment statistics, by one metric on one test set.

A metric is computed once per distinct (segment, hypothesis) and its rows are copied; rows of
replicas that have not changed are taken over from the store.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune import __version__
from replitune.corpus.testset import TestSet
from replitune.errors import ReplituneError
from replitune.metrics.base import Metric, full_signature
from replitune.metrics.external import External
from replitune.metrics.registry import METRICS, get_metric
from replitune.registry import Entry
from replitune.replicas import Replica
from replitune.running.files import sha256_lines
from replitune.running.progress import say
from replitune.statistics.findings import Finding
from replitune.statistics.outputs import Outputs
from replitune.statistics.segments import SegmentStatistics, StoreMetadata
from replitune.statistics.systems import SystemStatistics

_BLOCK = 4096  # distinct pairs between two reports of progress


@dataclass(frozen=True)
class Scored:
    """A system's statistics, the hashes of the lines that they were made from, and what they
    cost."""

    system: SystemStatistics
    decode_sha256: dict[str, str]
    computed: int = 0
    """Distinct pairs that were scored."""
    taken_over: int = 0
    """Replicas whose rows were known."""
    unscored: int = 0
    """Segments without a score in the file of a metric that reads one; their count is 0."""
    missing: dict[str, str] = field(default_factory=dict)
    """Replicas that could not be made, and why."""
    texts: Sequence[Finding] = ()
    """What is wrong with the outputs."""


class Scorer:
    """One metric on one test set; the references are prepared once."""

    def __init__(self, metric: str | Mapping[str, Any] | Entry, testset: TestSet, name: str) -> None:
        self.entry = METRICS.entry(metric)
        self.metric = get_metric(self.entry)
        self.testset = testset
        self.name = name
        versions = {"version": __version__}
        self.signature = full_signature(self.metric, len(testset.references), versions)

    @cached_property
    def prepared(self) -> Any:
        return self.metric.prepare_texts(self.testset.references, self.testset.source)

    def score(
        self, name: str, replicas: Sequence[Replica], outputs: Outputs, previous: Sequence[str | Path] = ()
    ) -> Scored:
        """The statistics of one system; rows of replicas that the files `previous` have, scored in
        the same way, are taken over from there."""
        ids = tuple(replica.id for replica in replicas)
        known: dict[str, NDArray[Any]] = {}
        computed = unscored = 0
        if self.metric.needs_text:
            for path in previous:
                known |= self._known_rows(path)
            statistics, computed = self._score_outputs(name, outputs, known)
        elif isinstance(self.metric, External):
            segments = self.testset.segments
            statistics, unscored = self.metric.system_statistics(name, ids, segments)
        else:
            raise ReplituneError(
                f"metric {self.metric.name} has no scores to read",
                fix="name a file of segment scores, for example external:file=scores.tsv,id=comet",
            )
        return Scored(
            SystemStatistics(name, ids, tuple(replica.group for replica in replicas), statistics),
            dict(zip(ids, outputs.sha256, strict=True)),
            computed,
            sum(sha256 in known for sha256 in outputs.sha256),
            unscored,
        )

    def _score_outputs(
        self, name: str, outputs: Outputs, known: Mapping[str, NDArray[Any]]
    ) -> tuple[NDArray[Any], int]:
        """`score_outputs`, with a progress bar on a terminal."""
        if not sys.stderr.isatty():
            return score_outputs(self.metric, outputs, self.prepared, known)
        with say.bar(f"{self.metric.id} {name}", 0, "outputs") as bar:
            return score_outputs(self.metric, outputs, self.prepared, known, progress=bar)

    @property
    def published_word(self) -> str:
        """The metric without the folder of the scores that it read: the place of files must change no
        byte of the statistics, and the signature tells which scores they were."""
        if not isinstance(self.metric, External):
            return self.entry.word
        return replace(self.entry, options={**self.entry.options, "file": self.metric.file.name}).word

    def metadata(self, scored: Sequence[Scored]) -> StoreMetadata:
        return StoreMetadata(
            metric=self.published_word,
            id=self.metric.id,
            signature=self.signature,
            direction=self.metric.direction,
            testset=self.name,
            reference_sha256=references_sha256(self.testset.references),
            decode_sha256={item.system.name: item.decode_sha256 for item in scored},
            missing={item.system.name: item.missing for item in scored if item.missing},
            settings_sha256=sha256_lines([self.published_word, self.name]),
            texts=[one for item in scored for one in item.texts],
        )

    def statistics(self, scored: Sequence[Scored]) -> SegmentStatistics:
        """The statistics of these systems, as if read from a store."""
        documents = self.testset.documents
        return SegmentStatistics(
            testset=self.name,
            metric=self.metric,
            signature=self.signature,
            systems={item.system.name: item.system for item in scored},
            documents=self.testset.document_codes(),
            document_names=None if documents is None else tuple(dict.fromkeys(documents)),
            metadata={item.system.name: self.metadata([item]) for item in scored},
        )

    def _known_rows(self, path: str | Path) -> dict[str, NDArray[Any]]:
        """Statistics (N, K) by the SHA-256 of the lines, from an earlier run that scored against
        the same references in the same way."""
        if not Path(path).exists():
            return {}
        from replitune.statistics.store import read_metadata, read_systems

        try:
            metadata = read_metadata(path)
            if metadata is None or metadata.signature != self.signature:
                return {}
            if metadata.reference_sha256 != references_sha256(self.testset.references):
                return {}
            systems = read_systems([path]).systems
        except ReplituneError:
            return {}  # a damaged file is made again from the outputs
        return {
            metadata.decode_sha256[name][replica]: system.statistics[r]
            for name, system in systems.items()
            for r, replica in enumerate(system.replicas)
            if replica in metadata.decode_sha256.get(name, {})
        }


def references_sha256(refs: Sequence[Sequence[str]]) -> str:
    """SHA-256 of the one stream of references, or of the hashes of several in order."""
    hashes = [sha256_lines(stream) for stream in refs]
    return hashes[0] if len(hashes) == 1 else sha256_lines(hashes)


def score_outputs(
    metric: Metric,
    outputs: Outputs,
    prepared: Any,
    known: Mapping[str, NDArray[Any]] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[NDArray[Any], int]:
    """Segment statistics (n, N, K) of all replicas of a system, int32 where the metric counts,
    float64 otherwise; and the number of distinct pairs, each of which was scored once.

    `prepared` is from ``metric.prepare_texts``. `known` has the rows (N, K) of replicas by the SHA-256
    of their lines. `progress` is called with (pairs done, all pairs) from time to time.
    """
    shape = (outputs.n_segments, len(metric.statistic_names))
    dtype = np.int32 if metric.integer_statistics else np.float64
    statistics = np.empty((len(outputs), *shape), dtype=dtype)
    unknown = []
    for r, sha256 in enumerate(outputs.sha256):
        if known is not None and sha256 in known:
            statistics[r] = known[sha256]
        else:
            unknown.append(r)
    pairs = outputs.distinct(unknown)
    distinct = np.empty((len(pairs.hyps), shape[1]), dtype=dtype)
    block = _BLOCK if progress else max(len(pairs.hyps), 1)
    for start in range(0, len(pairs.hyps), block):
        chunk = slice(start, start + block)
        distinct[chunk] = metric.segment_statistics(pairs.hyps[chunk], pairs.segments[chunk], prepared)
        if progress:
            progress(min(start + block, len(pairs.hyps)), len(pairs.hyps))
    for r, inverse in zip(unknown, pairs.inverse, strict=True):
        np.take(distinct, inverse, axis=0, out=statistics[r], mode="clip")
    return statistics, len(pairs.hyps)
