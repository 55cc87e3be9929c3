"""Statistics of hypotheses, each distinct (segment, text) computed once in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.tuning.interface import Hypotheses, WordStatistics

if TYPE_CHECKING:
    from replitune.tuning.lattice import Envelope


class Statistics:
    """n-best lists of neighbouring iterations are much alike, so rows are kept."""

    def __init__(self, metric: Metric, references: Sequence[Sequence[str]]) -> None:
        self.metric = metric
        self._prepared = metric.prepare(references)
        self._known: dict[tuple[int, str], int] = {}
        kind = np.int32 if metric.integer_statistics else np.float64
        self._rows: NDArray[Any] = np.empty((0, len(metric.statistic_names)), kind)

    def __call__(self, texts: Sequence[str], segments: NDArray[Any]) -> NDArray[Any]:
        """(M, K) statistics of texts against the references of their segments."""
        known = self._known
        first_new = len(known)
        which = np.empty(len(texts), np.int64)
        for i, key in enumerate(zip(segments.tolist(), texts, strict=True)):
            which[i] = known.setdefault(key, len(known))
        new = list(known)[first_new:]
        if new:
            rows = self.metric.segment_statistics(
                [text for _, text in new], np.array([s for s, _ in new]), self._prepared
            )
            self._rows = np.concatenate([self._rows, rows])
        return self._rows[which]


class LatticeHypotheses:
    """What the envelopes of lattices hold; a hypothesis' statistics are computed once."""

    def __init__(self, statistics: WordStatistics) -> None:
        self._statistics = statistics
        self._rows: dict[tuple[int, bytes], int] = {}
        self._table: NDArray | None = None

    def of(self, envelope: Envelope) -> Hypotheses:
        """An envelope's hypotheses as a pool takes them."""
        rows, table = self.rows(envelope)
        return Hypotheses(envelope.segments, envelope.features, table[rows])

    def rows(self, envelope: Envelope) -> tuple[NDArray[np.int64], NDArray]:
        """(L,) rows of an envelope's hypotheses in a table of statistics; the table."""
        segments = envelope.segments.tolist()
        raw = envelope.words.tobytes()
        bounds = (envelope.word_start * envelope.words.itemsize).tolist()
        keys = [(s, raw[i:j]) for s, i, j in zip(segments, bounds[:-1], bounds[1:], strict=True)]
        known = len(self._rows)
        rows = np.array([self._rows.setdefault(key, len(self._rows)) for key in keys])
        new = list(self._rows)[known:] if len(self._rows) > known else []
        if new:
            lengths = [len(words) // envelope.words.itemsize for _, words in new]
            found = self._statistics(
                np.array([s for s, _ in new], dtype=np.int64),
                np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
                np.frombuffer(b"".join(words for _, words in new), envelope.words.dtype),
            )
            kind = np.int64 if found.dtype.kind in "iu" else np.float64
            before = [] if self._table is None else [self._table]
            self._table = np.concatenate([part.astype(kind) for part in (*before, found)])
        assert self._table is not None
        return rows, self._table
