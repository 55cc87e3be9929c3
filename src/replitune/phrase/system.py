"""A trained phrase-based system as the stages use it: raw lines in, raw lines out.

Around the decoder stand the segmenters that the model was trained with: source words are split
as in training, and pieces of target words are joined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.phrase.decoder import Decoder, NBest
from replitune.phrase.features import GroupedLayout
from replitune.phrase.graph import SearchGraph
from replitune.phrase.model import PhraseModel
from replitune.phrase.segmentation import Splitters
from replitune.phrase.settings import SearchSettings
from replitune.tuning.lattice import Lattice, Lattices


class PhraseSystem:
    """A model folder, the feature groups in use, and how to search."""

    Graphs = Lattices

    def __init__(
        self,
        folder: str | Path,
        features: Sequence[str] | None = None,
        settings: SearchSettings | None = None,
    ) -> None:
        folder = Path(folder)
        self.model = PhraseModel.load(folder, None if features is None else tuple(features))
        self.settings = settings or SearchSettings()
        self._splitters = Splitters.load(folder)

    @property
    def layout(self) -> GroupedLayout:
        """Names and number of the weights."""
        return self.model.layout

    def translate(self, lines: Sequence[str], weights: NDArray[np.float64], threads: int = 1) -> list[str]:
        """The best translation of each line."""
        decoder = Decoder(self.model, weights, self.settings)
        return self.joined(decoder.decode(self._split(lines), threads))

    def nbest(
        self, lines: Sequence[str], weights: NDArray[np.float64], size: int, threads: int = 1
    ) -> NBest:
        """The best derivation of each of `size` distinct translations of each line; `joined` makes
        text of its words."""
        decoder = Decoder(self.model, weights, self.settings)
        return decoder.nbest(self._split(lines), size, distinct=True, threads=threads)

    def graphs(
        self,
        lines: Sequence[str],
        weights: NDArray[np.float64],
        threads: int = 1,
        density: float | None = None,
    ) -> list[SearchGraph]:
        """The search graph of each line, or the best arcs of it; `joined` makes text of a path's
        words."""
        decoder = Decoder(self.model, weights, self.settings)
        return decoder.graphs(self._split(lines), threads, density)

    def search_graphs(
        self, lines: Sequence[str], weights: NDArray[np.float64], density: float, threads: int = 1
    ) -> tuple[Lattices, list[str]]:
        """The best arcs of the search graphs of all lines, for a tuner; the vocabulary of their
        words."""
        graphs = self.graphs(lines, weights, threads, density)
        lattices = [
            Lattice(g.arc_from, g.arc_to, g.word_start, g.words, g.features, g.nodes - 1) for g in graphs
        ]
        return Lattices.pack(lattices), graphs[0].vocabulary

    def joined(self, texts: list[str]) -> list[str]:
        """Texts with the pieces of words joined."""
        if not self._splitters.joins:
            return texts
        return [self._splitters.join(text) for text in texts]

    def _split(self, lines: Sequence[str]) -> list[str]:
        return [self._splitters.split(line) for line in lines]
