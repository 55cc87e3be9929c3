"""Decoding lines of text: the best translation, n-best lists, forests.

Each sentence is searched alone, by one thread, so the output does not depend on their number.
All kernels release the GIL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from replitune.backends.interface import Derivation
from replitune.errors import ReplituneError
from replitune.hiero.chart import Matched, match
from replitune.hiero.derivations import Spelling, derivation
from replitune.hiero.features import LM, WIDTH
from replitune.hiero.forest import forest_of
from replitune.hiero.kbest import nbest as nbest_of
from replitune.hiero.model import HieroModel
from replitune.hiero.rules import Weighted, weigh
from replitune.hiero.search import Terms, best_words, search
from replitune.hiero.settings import HieroSearchSettings
from replitune.phrase.arrays import frozen, starts
from replitune.phrase.decoder import NBest
from replitune.tuning.forest import Forest, Forests

Result = TypeVar("Result")


class Decoder:
    """A model with weights and settings.

    >>> # Decoder(HieroModel.load("models/baseline"), weights).decode(["ein mann ."])
    """

    def __init__(
        self, model: HieroModel, weights: NDArray[np.float64], settings: HieroSearchSettings | None = None
    ) -> None:
        """`weights`: (K,) in the order of the model's layout; all zero is legal: then everything
        scores 0, and of equal hypotheses the first is kept."""
        self.model = model
        self.settings = settings or HieroSearchSettings()
        self.weights = np.array(weights, np.float64)
        self._full = model.layout.full(self.weights)
        self._automaton, self._extends = model.lm.automaton, frozen(model.extends)
        self._terms = Terms(model.lm.begin, model.lm.end, float(self._full[LM]))

    def match(self, lines: Sequence[str]) -> Matched:
        """The lines with the rules that apply to them, under any weights."""
        return match(self.model, lines, self.settings.max_span)

    def decode(self, lines: Sequence[str] | Matched, threads: int = 1) -> list[str]:
        """The best translation of each line; that of a blank line is blank."""
        matched, weighted = self._prepare(lines)
        vocabulary = self._vocabulary(matched)

        def best(i: int) -> str:
            if matched.start[i] == matched.start[i + 1]:
                return ""
            rows, _, _ = self._search(matched, weighted, i, keep=False)
            words = best_words(rows, weighted.rules, weighted.target)
            return " ".join([vocabulary[word] for word in words.tolist()])

        return self._map(best, len(matched), threads)

    def derivations(self, lines: Sequence[str] | Matched, threads: int = 1) -> list[Derivation]:
        """The derivation of each line's translation."""
        matched, weighted = self._prepare(lines)
        spelling = Spelling(self.model, matched, weighted)

        def best(i: int) -> Derivation:
            if matched.start[i] == matched.start[i + 1]:
                return []
            rows, _, _ = self._search(matched, weighted, i, keep=False)
            return derivation(rows, spelling)

        return self._map(best, len(matched), threads)

    def nbest(
        self, lines: Sequence[str] | Matched, size: int, *, distinct: bool = False, threads: int = 1
    ) -> NBest:
        """The `size` best derivations of each line, or the best of each of `size` distinct
        translations. A blank line has one hypothesis, blank, with all features 0."""
        if size < 1:
            raise ReplituneError("size of n-best lists", found=str(size), expected="1 or more")
        matched, weighted = self._prepare(lines)
        tables = weighted.rules, weighted.scores, weighted.target, weighted.unknown

        def list_of(i: int) -> Any:
            words = matched.start[i + 1] - matched.start[i]
            if words == 0:
                return np.zeros(2, np.int64), _NO_WORDS, np.zeros((1, WIDTH)), np.zeros(1, int)
            rows, _, arcs = self._search(matched, weighted, i, keep=True)
            return nbest_of(
                rows, arcs, tables, self._automaton, self._terms.begin, size, 2 * words, distinct
            )

        lists = self._map(list_of, len(matched), threads)
        return NBest.from_lists(lists, self.weights, self.model.layout, self._vocabulary(matched))

    def forests(
        self, lines: Sequence[str] | Matched, density: float, threads: int = 1
    ) -> tuple[Forests, list[str]]:
        """The forests of the lines, with `density` edges per source word, those of the best
        derivations; the vocabulary of their words."""
        matched, weighted = self._prepare(lines)
        tables = weighted.rules, weighted.scores, weighted.target, weighted.unknown
        columns = self.model.layout.columns
        table, end = weighted.rules.table, len(weighted.rules.table) - 1

        def forest_of_line(i: int) -> Forest:
            words = int(matched.start[i + 1] - matched.start[i])
            if words == 0:
                none = np.zeros((0, len(columns)))
                return Forest(_NO_WORDS, _NO_WORDS, _NO_WORDS, np.zeros(1, int), _NO_WORDS, none, 0)
            rows, _, arcs = self._search(matched, weighted, i, keep=True)
            nodes, head, one, two, chosen, features = forest_of(
                rows, arcs, tables, self._automaton, self._extends, math.ceil(density * words)
            )
            # The beginning has no symbols, and </s> is no word.
            begin = np.where(chosen < 0, 0, table["begin"][chosen])
            stop = np.where(chosen < 0, 0, table["end"][chosen] - (chosen == end))
            start = starts(stop - begin)
            at = np.arange(start[-1]) + np.repeat(begin - start[:-1], stop - begin)
            return Forest(head, one, two, start, weighted.target[at], features[:, columns], int(nodes))

        return Forests.pack(self._map(forest_of_line, len(matched), threads)), self._vocabulary(matched)

    def _prepare(self, lines: Sequence[str] | Matched) -> tuple[Matched, Weighted]:
        matched = lines if isinstance(lines, Matched) else self.match(lines)
        return matched, weigh(self.model, matched, self._full, self.settings.options)

    def _vocabulary(self, matched: Matched) -> list[str]:
        return [*self.model.table.target_vocab, *matched.copied]

    def _search(self, matched: Matched, weighted: Weighted, i: int, keep: bool) -> Any:
        return search(
            *matched.chart(i),
            weighted.rules,
            self._automaton,
            self._extends,
            self._terms,
            self.settings.pop_limit,
            self.settings.max_span,
            keep,
        )

    def _map(self, work: Callable[[int], Result], count: int, threads: int) -> list[Result]:
        if threads <= 1 or count <= 1:
            return [work(i) for i in range(count)]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, range(count)))


_NO_WORDS = np.zeros(0, np.int32)
