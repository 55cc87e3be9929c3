"""Statistics of hypotheses, each distinct (segment, text) computed once in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.tuning.interface import WordStatistics
from replitune.tuning.pool import mix


class Statistics:
    """Keeps the rows of all hypotheses, because successive n-best lists are much alike."""

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


class KnownStatistics:
    """As `Statistics`, for hypotheses given as word ids: only new ones are written out as text.

    They are told apart by a 64-bit hash of segment and words, by the finaliser of splitmix64 for each
    word: about one run of thirty million with a million hypotheses each has two that share a hash.
    """

    def __init__(self, statistics: WordStatistics) -> None:
        self._statistics = statistics
        self._keys = np.empty(0, np.uint64)  # sorted
        self._numbers = np.empty(0, np.int64)
        self._table: NDArray[Any] | None = None

    def __call__(
        self, segments: NDArray[Any], word_start: NDArray[np.int64], words: NDArray[np.int32]
    ) -> NDArray[Any]:
        """(M, K) statistics of hypotheses with the words words[word_start[i]:word_start[i + 1]]."""
        rows, table = self.rows(segments, word_start, words)
        return table[rows]

    def rows(
        self, segments: NDArray[Any], word_start: NDArray[np.int64], words: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """(M,) rows of the hypotheses in a table of statistics; the table."""
        keys, new = self._new(segments, word_start, words)
        if len(new):
            lengths = np.diff(word_start)[new]
            starts = np.concatenate([[0], np.cumsum(lengths)])
            at = np.arange(starts[-1]) + np.repeat(word_start[new] - starts[:-1], lengths)
            self._add(keys[new], self._statistics(segments[new], starts, words[at]))
        assert self._table is not None
        return self._find(keys), self._table

    def learn(
        self,
        segments: NDArray[Any],
        word_start: NDArray[np.int64],
        words: NDArray[np.int32],
        statistics: NDArray[Any],
    ) -> None:
        """Add hypotheses whose statistics (M, K) are known from elsewhere."""
        keys, new = self._new(segments, word_start, words)
        self._add(keys[new], statistics[new])

    def _new(
        self, segments: NDArray[Any], word_start: NDArray[np.int64], words: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """(M,) keys; the places of unknown keys, the first of each, in order."""
        keys = _word_keys(segments.astype(np.int64), word_start, words)
        new = np.flatnonzero(self._find(keys) < 0)
        _, first = np.unique(keys[new], return_index=True)
        return keys, new[np.sort(first)]

    def _find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Row of each key, or -1."""
        if not len(self._keys):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._numbers[at], -1)

    def _add(self, keys: NDArray[np.uint64], rows: NDArray[Any]) -> None:
        numbers = len(self._numbers) + np.arange(len(keys))
        self._table = rows if self._table is None else np.concatenate([self._table, rows])
        every = np.concatenate([self._keys, keys])
        order = np.argsort(every)
        self._keys = every[order]
        self._numbers = np.concatenate([self._numbers, numbers])[order]


@njit(cache=True)
def _word_keys(segments, word_start, words):
    """(M,) hashes of segments and words."""
    out = np.empty(len(segments), np.uint64)
    for i in range(len(out)):
        key = mix(np.uint64(segments[i]) + np.uint64(0x9E3779B97F4A7C15))
        for j in range(word_start[i], word_start[i + 1]):
            key = mix(key ^ np.uint64(words[j]))
        out[i] = key
    return out
