"""One tuning run of a phrase-based system: the decoder as the outer loop sees it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.phrase.system import PhraseSystem
from replitune.tuning.hypothesis_statistics import KnownStatistics
from replitune.tuning.lattice import Lattice, Lattices
from replitune.tuning.loop import Decoded


class DevDecoder:
    """Decodes the dev set under given weights; statistics of each distinct hypothesis are
    computed once in a run, because n-best lists of neighbouring iterations are much alike."""

    def __init__(
        self,
        system: PhraseSystem,
        source: Sequence[str],
        references: Sequence[Sequence[str]],
        metric: Metric,
        size: int,
        threads: int = 1,
        density: float | None = None,
    ) -> None:
        """`size` distinct translations of each segment; with `density`, search graphs with so
        many arcs per source word and of each only the best path, whatever `size` is."""
        self.density = density
        self.system, self.source = system, source
        self.size, self.threads = size, threads
        self._vocabulary: list[str] = []
        self._metric = metric
        self._references = metric.prepare(references)
        self._statistics = KnownStatistics(self._of_words)

    def __call__(self, weights: NDArray[np.float64], iteration: int) -> Decoded:
        """n-best lists of the dev set; a row of statistics for each hypothesis."""
        if self.density is not None:
            return self._decode_lattices(weights)
        found = self.system.nbest(self.source, weights, self.size, self.threads)
        self._vocabulary = found.vocabulary
        statistics = self._statistics(found.segment, found.word_start, found.words)
        return Decoded(found.segment, found.features, statistics)

    def _decode_lattices(self, weights: NDArray[np.float64]) -> Decoded:
        graphs = self.system.graphs(self.source, weights, self.threads, self.density)
        self._vocabulary = graphs[0].vocabulary
        lattices = Lattices.pack(
            [
                Lattice(g.arc_from, g.arc_to, g.word_start, g.words, g.features, g.nodes - 1)
                for g in graphs
            ]
        )
        best = lattices.envelope(weights, np.zeros(len(weights)))
        statistics = self._statistics(best.segments, best.word_start, best.words)
        return Decoded(best.segments, best.features, statistics, lattices, self._statistics)

    def _of_words(
        self, segments: NDArray[Any], word_start: NDArray[np.int64], words: NDArray[np.int32]
    ) -> NDArray[Any]:
        # The decoder numbers the words of the same source alike under any weights.
        spelt = [self._vocabulary[word] for word in words.tolist()]
        texts = [" ".join(spelt[i:j]) for i, j in pairwise(word_start.tolist())]
        texts = self.system.joined(texts)
        return self._metric.segment_statistics(texts, segments, self._references)
