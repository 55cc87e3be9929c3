"""Trained embedded systems as the stages use them: raw lines in, raw lines out.

The decoder works on words split as in training: source words are split before it, and pieces of
target words are joined after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from replitune.phrase.decoder import Decoder, NBest
from replitune.phrase.features import GroupedLayout
from replitune.phrase.model import PhraseModel
from replitune.phrase.segmentation import Splitters
from replitune.tuning.forest import Forests


class TrainedSystem:
    """A model folder, the feature groups in use, and how to search."""

    Model: ClassVar[Any]
    Decoder: ClassVar[Any]

    def __init__(
        self,
        folder: str | Path,
        features: Sequence[str] | None = None,
        settings: Any = None,
        table: str | Path | None = None,
    ) -> None:
        """`settings` of the search; None for the defaults. `table`: the folder of a table for the text
        that is to be translated; None for the model's full one."""
        folder = Path(folder)
        self.model = self.Model.load(folder, None if features is None else tuple(features), table)
        self.settings = settings
        self._splitters = Splitters.load(folder)

    @property
    def layout(self) -> GroupedLayout:
        """Names and number of the weights."""
        layout: GroupedLayout = self.model.layout
        return layout

    def decoder(self, weights: NDArray[np.float64]) -> Any:
        """The decoder under some weights."""
        return self.Decoder(self.model, weights, self.settings)

    def split(self, lines: Sequence[str]) -> Any:
        """The lines as the decoder takes them."""
        return [self._splitters.split(line) for line in lines]

    def translate(self, lines: Sequence[str], weights: NDArray[np.float64], threads: int = 1) -> list[str]:
        """The best translation of each line."""
        return self.joined(self.decoder(weights).decode(self.split(lines), threads))

    def nbest(self, lines: Any, weights: NDArray[np.float64], size: int, threads: int = 1) -> NBest:
        """The best derivation of each of `size` distinct translations of each line; `joined` turns
        its words into text."""
        best: NBest = self.decoder(weights).nbest(self.split(lines), size, distinct=True, threads=threads)
        return best

    def forests(
        self, lines: Any, weights: NDArray[np.float64], density: float, threads: int = 1
    ) -> tuple[Forests, list[str]]:
        """(The best edges of the search graphs of all lines, for a tuner; the vocabulary of their
        words)."""
        forests: tuple[Forests, list[str]]
        forests = self.decoder(weights).forests(self.split(lines), density, threads)
        return forests

    def joined(self, texts: list[str]) -> list[str]:
        """Texts with the pieces of words joined."""
        if not self._splitters.joins:
            return texts
        return [self._splitters.join(text) for text in texts]


class PhraseSystem(TrainedSystem):
    """A phrase-based system."""

    Model = PhraseModel
    Decoder = Decoder
