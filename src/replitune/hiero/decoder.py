"""Decoding lines of text by a hierarchical model.

Each sentence is searched alone, by one thread, so the output does not depend on the number of threads.
All kernels release the GIL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.backends.interface import Derivation
from replitune.hiero.chart import Matched, match
from replitune.hiero.derivations import Spelling, derivation
from replitune.hiero.features import LM
from replitune.hiero.forest import forest_of
from replitune.hiero.kbest import nbest as nbest_of
from replitune.hiero.model import HieroModel
from replitune.hiero.rules import Weighted, weigh
from replitune.hiero.search import Terms, best_words, search
from replitune.hiero.settings import HieroSearchSettings
from replitune.phrase.arrays import frozen, stretches
from replitune.phrase.decoder import LineDecoder
from replitune.tuning.forest import Forest


class Decoder(LineDecoder):
    """The decoder of hierarchical systems.

    >>> # Decoder(HieroModel.load("models/baseline"), weights).decode(["ein mann ."])
    """

    Settings = HieroSearchSettings

    def __init__(
        self, model: HieroModel, weights: NDArray[np.float64], settings: HieroSearchSettings | None = None
    ) -> None:
        super().__init__(model, weights, settings)
        self._extends = frozen(model.extends)
        self._terms = Terms(model.lm.begin, model.lm.end, float(self._full[LM]))

    def match(self, lines: Sequence[str]) -> Matched:
        """The lines with the rules that apply to them, whatever the weights."""
        return match(self.model, lines, self.settings.max_span)

    def prepare(self, lines: Sequence[str] | Matched) -> Weighted:
        matched = lines if isinstance(lines, Matched) else self.match(lines)
        return weigh(self.model, matched, self._full, self.settings.options)

    def derivations(self, lines: Sequence[str] | Matched, threads: int = 1) -> list[Derivation]:
        """The derivation of each line's translation."""
        batch = self.prepare(lines)
        spelling = Spelling(self.model, batch)

        def best(found: tuple[Any, ...], words: int) -> Derivation:
            return derivation(found[0], spelling)

        return self._each(batch, best, [], threads, keep=False)

    def _search(self, batch: Weighted, i: int, keep: bool) -> tuple[Any, ...]:
        model = batch.rules, self._automaton, self._extends, self._terms
        limits = self.settings.pop_limit, self.settings.max_span
        rows, _, arcs = search(*batch.chart(i), *model, *limits, keep)
        return rows, arcs

    def _best(self, batch: Weighted, found: tuple[Any, ...]) -> NDArray[np.int32]:
        words: NDArray[np.int32] = best_words(found[0], batch.rules, batch.target)
        return words

    def _list(self, batch: Weighted, found: tuple[Any, ...], words: int, size: int, distinct: bool) -> Any:
        return nbest_of(*found, batch.tables, self._automaton, self._terms.begin, size, 2 * words, distinct)

    def _forest(self, batch: Weighted, found: tuple[Any, ...], most: int) -> Forest:
        nodes, head, one, two, chosen, features = forest_of(
            *found, batch.tables, self._automaton, self._extends, most
        )
        # The empty beginning has no symbols, and </s> is not a word.
        table = batch.rules.table
        begin = np.where(chosen < 0, 0, table["begin"][chosen])
        stop = np.where(chosen < 0, 0, table["end"][chosen] - (chosen == len(table) - 1))
        start, at = stretches(begin, stop - begin)
        columns = self.model.layout.columns
        return Forest(head, one, two, start, batch.target[at], features[:, columns], int(nodes))
