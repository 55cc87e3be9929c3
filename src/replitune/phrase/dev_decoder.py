"""One tuning run of a phrase-based system: the decoder as the outer loop sees it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.phrase.system import PhraseSystem
from replitune.tuning.hypothesis_statistics import Statistics
from replitune.tuning.lattice import Lattice, Lattices
from replitune.tuning.loop import Decoded


class DevDecoder:
    """Decodes the dev set under given weights; statistics of each distinct (segment, text) are
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
        self._of = Statistics(metric, references)

    def __call__(self, weights: NDArray[np.float64], iteration: int) -> Decoded:
        """n-best lists of the dev set; a row of statistics for each hypothesis."""
        if self.density is not None:
            return self._decode_lattices(weights)
        found, texts = self.system.nbest(self.source, weights, self.size, self.threads)
        return Decoded(found.segment, found.features, self._of(texts, found.segment))

    def _decode_lattices(self, weights: NDArray[np.float64]) -> Decoded:
        graphs = self.system.graphs(self.source, weights, self.threads, self.density)
        vocabulary = graphs[0].vocabulary
        lattices = Lattices.pack(
            [
                Lattice(g.arc_from, g.arc_to, g.word_start, g.words, g.features, g.nodes - 1)
                for g in graphs
            ]
        )

        def statistics(
            segments: NDArray[np.int64], word_start: NDArray[np.int64], words: NDArray[np.int32]
        ) -> NDArray[Any]:
            spelt = [vocabulary[word] for word in words.tolist()]
            texts = [" ".join(spelt[i:j]) for i, j in pairwise(word_start.tolist())]
            return self._of(self.system.joined(texts), segments)

        best = lattices.envelope(weights, np.zeros(len(weights)))
        return Decoded(
            best.segments, best.features, statistics(best.segments, best.word_start, best.words),
            lattices, statistics,
        )  # fmt: skip
