"""A trained hierarchical system as the stages use it: raw lines in, raw lines out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replitune.backends.interface import Derivation
from replitune.hiero.chart import Matched, match
from replitune.hiero.decoder import Decoder
from replitune.hiero.model import HieroModel
from replitune.hiero.settings import HieroSearchSettings
from replitune.phrase.system import TrainedSystem


class HieroSystem(TrainedSystem):
    """A hierarchical system."""

    Model = HieroModel
    Decoder = Decoder

    def match(self, lines: Sequence[str]) -> Matched:
        """The lines with the rules that apply to them, to be translated under several weights."""
        settings = self.settings or HieroSearchSettings()
        return match(self.model, super().split(lines), settings.max_span)

    def split(self, lines: Sequence[str] | Matched) -> Matched:
        return lines if isinstance(lines, Matched) else self.match(lines)

    def derivations(
        self, lines: Sequence[str], weights: NDArray[np.float64], threads: int = 1
    ) -> list[Derivation]:
        """The derivation of each line's best translation."""
        derivations: list[Derivation] = self.decoder(weights).derivations(self.match(lines), threads)
        return derivations
