"""Decoding lines of text by a hierarchical system: translations, and the derivation of each, for people
to read: which rule covers which words.

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
from replitune.hiero.forest import forest_of
from replitune.hiero.kbest import nbest as nbest_of
from replitune.hiero.model import GAP, LM, HieroModel
from replitune.hiero.rules import Weighted, weigh
from replitune.hiero.search import Terms, best_words, search
from replitune.hiero.settings import HieroSearchSettings
from replitune.phrase.arrays import frozen, stretches
from replitune.phrase.decoder import LineDecoder, TrainedSystem
from replitune.tuning.forest import Forest


class Spelling:
    """The rules of a batch of sentences as text."""

    def __init__(self, model: HieroModel, batch: Weighted) -> None:
        self._grammar, self._batch = model.table, batch
        self._vocabulary = [*model.table.target_vocab, *batch.copied]
        self._nodes = np.repeat(batch.nodes, batch.rules.counts[: len(batch.nodes)])

    def source_side(self, rule: int) -> tuple[str, list[bool]]:
        """The text, and for each symbol whether it is a gap."""
        if rule >= len(self._nodes):
            return self._batch.copied[rule - len(self._nodes)], [False]
        node = int(self._nodes[rule])
        gaps = [symbol == GAP for symbol in self._grammar.source_symbols(node)]
        return " ".join(self._grammar.source_side(node)), gaps

    def target_side(self, rule: int) -> str:
        row = self._batch.rules.table[rule]
        symbols = self._batch.target[row["begin"] : row["end"]].tolist()
        return " ".join(f"X{-s}" if s < 0 else self._vocabulary[s] for s in symbols)


def derivation(rows: NDArray[np.void], spelling: Spelling) -> Derivation:
    """The stretches that the best derivation of the last row is made of, from left to right."""
    stretches = []
    row = rows[rows["one"][-1]]
    while row["rule"] >= 0:  # the glue rule, up to the beginning
        stretches.append(int(row["two"]))
        row = rows[row["one"]]
    parts: Derivation = []
    for stretch in reversed(stretches):
        parts.append(_part(rows, spelling, stretch, parts[-1][1] if parts else 0))
    return parts


def _part(rows: NDArray[np.void], spelling: Spelling, number: int, begin: int) -> list[Any]:
    row = rows[number]
    rule = int(row["rule"])
    source, gaps = spelling.source_side(rule)
    waiting = [int(row["two"]), int(row["one"])]
    inside: Derivation = []
    end = begin
    for is_gap in gaps:
        if is_gap:
            inside.append(_part(rows, spelling, waiting.pop(), end))
        end = inside[-1][1] if is_gap else end + 1
    return [begin, end, source, spelling.target_side(rule), inside]


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
