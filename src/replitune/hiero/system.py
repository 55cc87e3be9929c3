"""A trained hierarchical system as the stages use it: raw lines in, raw lines out.

Around the decoder stand the segmenters that the model was trained with.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.backends.interface import Derivation
from replitune.hiero.chart import Matched, match
from replitune.hiero.decoder import Decoder
from replitune.hiero.model import HieroModel
from replitune.hiero.settings import HieroSearchSettings
from replitune.phrase.decoder import NBest
from replitune.phrase.features import GroupedLayout
from replitune.phrase.segmentation import Splitters
from replitune.tuning.forest import Forests


class HieroSystem:
    """A model folder, the feature groups in use, and how to search."""

    Graphs = Forests

    def __init__(
        self,
        folder: str | Path,
        features: Sequence[str] | None = None,
        settings: HieroSearchSettings | None = None,
    ) -> None:
        folder = Path(folder)
        self.model = HieroModel.load(folder, None if features is None else tuple(features))
        self.settings = settings or HieroSearchSettings()
        self._splitters = Splitters.load(folder)

    @property
    def layout(self) -> GroupedLayout:
        """Names and number of the weights."""
        return self.model.layout

    def match(self, lines: Sequence[str]) -> Matched:
        """The lines with the rules that apply to them, to be translated under several weights."""
        split = [self._splitters.split(line) for line in lines]
        return match(self.model, split, self.settings.max_span)

    def translate(self, lines: Sequence[str], weights: NDArray[np.float64], threads: int = 1) -> list[str]:
        """The best translation of each line."""
        return self.joined(self.decoder(weights).decode(self.match(lines), threads))

    def derivations(
        self, lines: Sequence[str], weights: NDArray[np.float64], threads: int = 1
    ) -> list[Derivation]:
        """How each line's best translation is made."""
        return self.decoder(weights).derivations(self.match(lines), threads)

    def nbest(
        self, lines: Sequence[str] | Matched, weights: NDArray[np.float64], size: int, threads: int = 1
    ) -> NBest:
        """The best derivation of each of `size` distinct translations of each line; `joined` makes
        text of its words."""
        return self.decoder(weights).nbest(self._matched(lines), size, distinct=True, threads=threads)

    def search_graphs(
        self, lines: Sequence[str] | Matched, weights: NDArray[np.float64], density: float, threads: int = 1
    ) -> tuple[Forests, list[str]]:
        """The best edges of the forests of all lines, for a tuner; the vocabulary of their
        words."""
        return self.decoder(weights).forests(self._matched(lines), density, threads)

    def _matched(self, lines: Sequence[str] | Matched) -> Matched:
        return lines if isinstance(lines, Matched) else self.match(lines)

    def decoder(self, weights: NDArray[np.float64]) -> Decoder:
        """The decoder under some weights."""
        return Decoder(self.model, weights, self.settings)

    def joined(self, texts: list[str]) -> list[str]:
        """Texts with the pieces of words joined."""
        if not self._splitters.joins:
            return texts
        return [self._splitters.join(text) for text in texts]
