"""Scoring outputs in memory, with rows of unchanged replicas taken over from a store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from replitune import __version__
from replitune.corpus.reader import read_testset
from replitune.corpus.testset import TestSet
from replitune.errors import ReplituneError
from replitune.metrics.base import full_signature
from replitune.metrics.external import External
from replitune.metrics.registry import get_metric
from replitune.registry import Entry
from replitune.replicas import Replica
from replitune.running.files import sha256_lines
from replitune.running.progress import Progress
from replitune.statistics.scoring import (
    Outputs,
    PreviousRows,
    SystemScores,
    references_sha256,
    score_from_file,
    score_system,
    scoring_identity,
)
from replitune.statistics.store import SegmentStatistics, StoreMetadata, read_metadata, read_systems
from replitune.statistics.systems import SystemStatistics


def load_testset(refs: Sequence[str], docs: str | None = None) -> TestSet:
    """References from files of any format, a prepared test set among them."""
    return read_testset(list(refs), documents=docs)


@dataclass(frozen=True)
class Scored:
    """A system's statistics and the hashes of the lines that they were made from."""

    system: SystemStatistics
    decode_sha256: dict[str, str]
    missing: dict[str, str] = field(default_factory=dict)
    """Replicas that could not be made, and why."""


class Scorer:
    """One metric on one test set; the references are prepared once."""

    def __init__(self, metric: Entry, testset: TestSet, name: str) -> None:
        """`name`: of the test set."""
        self.entry = metric
        self.metric = get_metric(metric)
        self.testset = testset
        self.name = name
        versions = {"version": __version__}
        self.signature = full_signature(self.metric, len(testset.references), versions)
        self.identity = scoring_identity(self.metric, testset.references, versions)

    @cached_property
    def prepared(self) -> Any:
        return self.metric.prepare(self.testset.references)

    def score(
        self,
        name: str,
        replicas: Sequence[Replica],
        outputs: Outputs,
        previous: str | Path | None = None,
    ) -> tuple[Scored, SystemScores]:
        """The statistics of one system, and what they cost."""
        if self.metric.needs_text:
            rows = self._previous(previous) if previous is not None else None
            scores = self._scored(name, outputs, rows)
        else:
            ids = [replica.id for replica in replicas]
            scores = score_from_file(self.metric, name, ids, self.testset.segments)
        system = SystemStatistics(
            name=name,
            replicas=tuple(replica.id for replica in replicas),
            groups=tuple(replica.group for replica in replicas),
            statistics=scores.statistics,
        )
        return Scored(system, dict(zip(system.replicas, outputs.sha256, strict=True))), scores

    def _scored(self, name: str, outputs: Outputs, rows: PreviousRows | None) -> SystemScores:
        """With a bar where somebody watches."""
        given: dict[str, Any] = {"previous": rows, "identity": self.identity}
        if not sys.stderr.isatty():
            return score_system(self.metric, outputs, self.prepared, **given)
        with Progress(f"{self.metric.id} {name}", 0, "outputs") as done:
            return score_system(self.metric, outputs, self.prepared, progress=done, **given)

    @property
    def published_word(self) -> str:
        """The metric without the folder that it read scores from: where texts lie changes no byte
        of the statistics, and the signature knows which scores they were."""
        if not isinstance(self.metric, External):
            return self.entry.word
        options = {**self.entry.options, "file": self.metric.file.name}
        return Entry(self.entry.name, options, self.entry.id).word

    def metadata(self, scored: Sequence[Scored]) -> StoreMetadata:
        return StoreMetadata(
            metric=self.published_word,
            id=self.metric.id,
            signature=self.signature,
            higher_is_better=self.metric.higher_is_better,
            testset=self.name,
            reference_sha256=references_sha256(self.testset.references),
            decode_sha256={item.system.name: item.decode_sha256 for item in scored},
            missing={item.system.name: item.missing for item in scored if item.missing},
            settings_sha256=sha256_lines([self.published_word, self.name]),
        )

    def statistics(self, scored: Sequence[Scored]) -> SegmentStatistics:
        """What a store of these systems says."""
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

    def _previous(self, path: str | Path) -> PreviousRows | None:
        """Rows of an earlier run, when it scored against the same references in the same way."""
        if not Path(path).exists():
            return None
        try:
            metadata = read_metadata(path)
            if metadata is None or metadata.signature != self.signature:
                return None
            if metadata.reference_sha256 != references_sha256(self.testset.references):
                return None
            systems = read_systems([path]).systems
        except ReplituneError:
            return None  # a damaged file is made again from the outputs
        return {
            (metadata.decode_sha256[name][replica], self.identity): system.statistics[r]
            for name, system in systems.items()
            for r, replica in enumerate(system.replicas)
            if replica in metadata.decode_sha256.get(name, {})
        }
