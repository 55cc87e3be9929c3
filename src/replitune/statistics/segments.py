"""The segment statistics of all systems of one (test set, metric), in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from msgspec import to_builtins
from numpy.typing import NDArray

from replitune.metrics.base import Direction, Metric
from replitune.statistics.findings import Finding
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True)
class StoreMetadata:
    """The metadata of one file of the store."""

    metric: str
    """The metric as :func:`get_metric` takes it: ``ter:id=ter-norm,normalized=true``."""
    id: str
    signature: str
    direction: Direction
    testset: str
    reference_sha256: str
    decode_sha256: dict[str, dict[str, str]]
    """By system and replica, of the lines that were scored."""
    settings_sha256: str = ""
    """Hash of the settings of the score stage, paths not included."""
    missing: dict[str, dict[str, str]] = field(default_factory=dict)
    """Why replicas of the experiment are missing, by system and replica; usually empty."""
    texts: list[Finding] = field(default_factory=list)
    """What is wrong with the texts that were scored; usually empty."""

    def as_json(self) -> str:
        optional = ("missing", "texts")
        content = {key: value for key, value in to_builtins(self).items() if key not in optional or value}
        return json.dumps(content, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class SegmentStatistics:
    """All systems of one (test set, metric)."""

    testset: str
    metric: Metric
    signature: str
    systems: Mapping[str, SystemStatistics]
    """By name. Those of a large store are only in memory while they are used (see `lazy`)."""
    documents: NDArray[np.int32]
    """(N,) document number of each segment."""
    document_names: tuple[str, ...] | None
    """(G,), or None when each segment is its own document."""
    metadata: dict[str, StoreMetadata] = field(default_factory=dict)
    numbers: NDArray[np.int64] | None = None
    """(N,) number of each segment, as on disk; None: 0 to N - 1."""

    @property
    def segments(self) -> int:
        return len(self.documents)

    @property
    def n_documents(self) -> int:
        return int(self.documents.max(initial=-1)) + 1
