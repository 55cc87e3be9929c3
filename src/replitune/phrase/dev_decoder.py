"""One tuning run of an embedded system: the decoder as the outer loop sees it."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.running.files import atomic_open, bytes_of
from replitune.tuning.forest import Forests
from replitune.tuning.hypothesis_statistics import KnownStatistics
from replitune.tuning.loop import Decoded

if TYPE_CHECKING:
    from replitune.phrase.decoder import TrainedSystem


Arrays = Mapping[str, NDArray]
SIZE = hashlib.sha256().digest_size


class FirstDecoding:
    """The first decoding of a tuning run, under the start weights: the same for all replicas of a
    system, so the first one to do it saves it for the others.

    The file holds arrays that are valid for the start weights (F,) and for what `mark` identifies:
    model, dev set, settings. A damaged file, or one made for something else, is ignored and
    replaced."""

    def __init__(self, path: Path, start: NDArray[np.float64], mark: str) -> None:
        self.path, self.start, self.mark = path, start, mark

    def load(self, weights: NDArray[np.float64]) -> Arrays | None:
        """The saved arrays, if they are for these weights."""
        if not np.array_equal(weights, self.start):
            return None
        try:
            data = bytes_of(self.path)
        except OSError:
            return None
        if data[:SIZE] != self._digest(data[SIZE:]):
            return None
        with np.load(io.BytesIO(data[SIZE:]), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    def save(self, weights: NDArray[np.float64], arrays: Arrays) -> None:
        if not np.array_equal(weights, self.start):
            return
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        data = buffer.getvalue()
        # When two replicas save at once, one may remove the other's temporary file: no harm.
        with contextlib.suppress(FileNotFoundError), atomic_open(self.path, "wb") as handle:
            handle.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        return hashlib.sha256(self.mark.encode() + data).digest()


class DevDecoder:
    """Decodes the dev set under given weights. The statistics of each distinct hypothesis are
    computed once in a run, because n-best lists of neighbouring iterations are much alike."""

    def __init__(
        self,
        system: TrainedSystem,
        source: Any,
        references: Sequence[Sequence[str]],
        metric: Metric,
        size: int,
        threads: int = 1,
        density: float | None = None,
        first: FirstDecoding | None = None,
    ) -> None:
        """`size` distinct translations of each segment; with `density`, search graphs with that many
        arcs per source word and only the best path of each, whatever `size` is. `source`: the lines
        of the dev set, as `system` takes them. `first`: the decoding that replicas share."""
        self.density = density
        self._first = first
        self.system, self.source = system, source
        self.size, self.threads = size, threads
        self._vocabulary: list[str] = []
        self._metric = metric
        self._references = metric.prepare(references)
        self._statistics = KnownStatistics(self._word_statistics)

    def __call__(self, weights: NDArray[np.float64], iteration: int) -> Decoded:
        """n-best lists of the dev set; a row of statistics for each hypothesis."""
        first = self._first if iteration == 0 else None
        kept = None if first is None else first.load(weights)
        if kept is not None:
            arrays = self._known(kept)
        else:
            arrays = self._lists(weights) if self.density is None else self._graphs(weights)
            if first is not None:
                words = "\n".join(self._vocabulary).encode()
                first.save(weights, {**arrays, "vocabulary": np.frombuffer(words, np.uint8)})
        if self.density is None:
            return Decoded(arrays["segments"], arrays["features"], arrays["statistics"])
        graphs = Forests(**arrays)
        best = graphs.envelope(weights, np.zeros(len(weights)))
        statistics = self._statistics(best.segments, best.word_start, best.words)
        return Decoded(best.segments, best.features, statistics, graphs, self._statistics)

    def _known(self, kept: Arrays) -> Arrays:
        """The arrays that another run saved, taken over by this one."""
        arrays = dict(kept)
        self._vocabulary = bytes(arrays.pop("vocabulary")).decode().split("\n")
        if self.density is None:
            self._statistics.learn(
                arrays["segments"], arrays["word_start"], arrays["words"], arrays["statistics"]
            )
        return arrays

    def _lists(self, weights: NDArray[np.float64]) -> Arrays:
        nbest = self.system.nbest(self.source, weights, self.size, self.threads)
        self._vocabulary = nbest.vocabulary
        return {
            "segments": nbest.segment,
            "word_start": nbest.word_start,
            "words": nbest.words,
            "features": nbest.features,
            "statistics": self._statistics(nbest.segment, nbest.word_start, nbest.words),
        }

    def _graphs(self, weights: NDArray[np.float64]) -> Arrays:
        assert self.density is not None
        graphs, self._vocabulary = self.system.forests(self.source, weights, self.density, self.threads)
        return vars(graphs)

    def _word_statistics(
        self, segments: NDArray[Any], word_start: NDArray[np.int64], words: NDArray[np.int32]
    ) -> NDArray[Any]:
        # The decoder numbers the words of the same source alike under any weights.
        spelt = [self._vocabulary[word] for word in words.tolist()]
        texts = [" ".join(spelt[i:j]) for i, j in pairwise(word_start.tolist())]
        texts = self.system.joined(texts)
        return self._metric.segment_statistics(texts, segments, self._references)
