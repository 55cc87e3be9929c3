"""Decoding lines of text: the best translation, n-best lists, search graphs.

Each sentence is searched alone, by one thread, so the output does not depend on their number.
All kernels release the GIL.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.arrays import starts
from replitune.phrase.cube import search
from replitune.phrase.features import DISTORTION, LM, GroupedLayout
from replitune.phrase.graph import SearchGraph, graph_of
from replitune.phrase.kbest import best_words
from replitune.phrase.kbest import nbest as nbest_of
from replitune.phrase.model import PhraseModel
from replitune.phrase.options import Batch, prepare
from replitune.phrase.search import MEMO, MEMO_BITS, Sentence, Terms
from replitune.phrase.settings import SearchSettings
from replitune.running.files import atomic_open

Result = TypeVar("Result")


@dataclass(frozen=True)
class NBest:
    """n-best lists of N lines as arrays; H hypotheses, in the order of lines, best first.

    segment: (H,) int32 line of each hypothesis
    features: (H, K) float64, columns as in the model's layout
    score: (H,) float64 = features @ weights; the constant for copied words is not in it
    copied: (H,) int32 number of copied words
    word_start: (H + 1,); words: int32 ids into `vocabulary`
    """

    segment: NDArray[np.int32]
    features: NDArray[np.float64]
    score: NDArray[np.float64]
    copied: NDArray[np.int32]
    word_start: NDArray[np.int64]
    words: NDArray[np.int32]
    vocabulary: list[str]
    layout: GroupedLayout

    @classmethod
    def from_lists(
        cls,
        lists: Sequence[tuple[NDArray[Any], ...]],
        weights: NDArray[np.float64],
        layout: GroupedLayout,
        vocabulary: list[str],
    ) -> NBest:
        """The lists of all lines: of each (word_start, words, values of all known features, copied
        words), as `replitune.phrase.kbest` gives them."""
        sizes = [len(copied) for _, _, _, copied in lists]
        width = sum(arity for _, _, arity in layout.known)
        features = np.concatenate([np.zeros((0, width)), *(values for _, _, values, _ in lists)])
        features = features[:, layout.columns]
        score = np.zeros(len(features))
        for column, weight in enumerate(weights):  # not @: BLAS may depend on the batch
            score += features[:, column] * weight
        lengths = [_NO_WORDS, *(np.diff(start) for start, _, _, _ in lists)]
        return cls(
            segment=np.repeat(np.arange(len(lists), dtype=np.int32), sizes),
            features=features,
            score=score,
            copied=np.concatenate([_NO_WORDS, *(copied for _, _, _, copied in lists)]).astype(np.int32),
            word_start=starts(np.concatenate(lengths)),
            words=np.concatenate([_NO_WORDS, *(words for _, words, _, _ in lists)]),
            vocabulary=vocabulary,
            layout=layout,
        )

    def texts(self) -> list[str]:
        """The hypotheses as lines."""
        words = [self.vocabulary[word] for word in self.words.tolist()]
        return [" ".join(words[a:b]) for a, b in pairwise(self.word_start.tolist())]

    def lines(self) -> Iterator[str]:
        """Moses' format: `id ||| text ||| Name= v v ... ||| score`; numbers read back exactly."""
        for segment, text, row, score in zip(
            self.segment.tolist(), self.texts(), self.features.tolist(), self.score.tolist(), strict=True
        ):
            if "|||" in text.split(" "):
                raise ReplituneError(
                    "a translation has the word |||, which separates the fields of an n-best list",
                    line=segment + 1,
                    fix="write | as &#124; in the source text",
                )
            fields = [
                f"{name}= " + " ".join(map(repr, row[where])) for name, where in self.layout.slices.items()
            ]
            yield f"{segment} ||| {text} ||| {' '.join(fields)} ||| {score!r}"

    def write(self, path: str | Path) -> None:
        with atomic_open(path) as handle:
            handle.writelines(line + "\n" for line in self.lines())


class Decoder:
    """A model with weights and settings.

    >>> # Decoder(PhraseModel.load("models/baseline"), weights).decode(["ein mann ."])
    """

    def __init__(
        self, model: PhraseModel, weights: NDArray[np.float64], settings: SearchSettings | None = None
    ) -> None:
        """`weights`: (K,) in the order of the model's layout; all zero is legal: then everything
        scores 0, and of equal hypotheses the first is kept."""
        self.model = model
        self.settings = settings or SearchSettings()
        self.weights = np.array(weights, np.float64)
        self._full = model.layout.full(self.weights)
        self._automaton = model.lm.automaton
        self._terms = Terms(
            begin=model.lm.begin,
            end=model.lm.end,
            lm=float(self._full[LM]),
            distortion=float(self._full[DISTORTION]),
            lexro="lexro" in model.layout.groups,
            limit=self.settings.distortion_limit,
            beam=-math.log(self.settings.beam) if self.settings.beam > 0 else math.inf,
        )

    def prepare(self, lines: Sequence[str]) -> Batch:
        """Options of the lines under the weights."""
        return prepare(self.model, lines, self._full, self.settings.options)

    def decode(self, lines: Sequence[str], threads: int = 1) -> list[str]:
        """The best translation of each line; that of a blank line is blank."""
        batch = self.prepare(lines)
        vocabulary = self._vocabulary(batch)
        start, target = batch.options.word_start, batch.target_words

        def best(i: int, memo: NDArray[np.void]) -> str:
            if batch.start[i] == batch.start[i + 1]:
                return ""
            rows, first, _ = self._search(batch, i, memo, keep=False)
            words = best_words(rows, first[-2], start, target)
            return " ".join([vocabulary[word] for word in words.tolist()])

        return self._map(best, len(batch), threads)

    def nbest(self, lines: Sequence[str], size: int, *, distinct: bool = False, threads: int = 1) -> NBest:
        """The `size` best derivations of each line, or the best of each of `size` distinct
        translations. A blank line has one hypothesis, blank, with all features 0."""
        if size < 1:
            raise ReplituneError("size of n-best lists", found=str(size), expected="1 or more")
        batch = self.prepare(lines)

        def list_of(i: int, memo: NDArray[np.void]) -> Any:
            if batch.start[i] == batch.start[i + 1]:
                return np.zeros(2, np.int64), _NO_WORDS, np.zeros((1, 14)), np.zeros(1, int)
            rows, first, arcs = self._search(batch, i, memo, keep=True)
            graph = rows, arcs, first[-2], batch.options, batch.target_words, batch.tables
            return nbest_of(*graph, self._automaton, self._terms, size, distinct)

        lists = self._map(list_of, len(batch), threads)
        return NBest.from_lists(lists, self.weights, self.model.layout, self._vocabulary(batch))

    def graphs(
        self, lines: Sequence[str], threads: int = 1, density: float | None = None
    ) -> list[SearchGraph]:
        """The search graph of each line; with `density`, of it so many arcs per source word, those
        on the best paths."""
        batch = self.prepare(lines)
        vocabulary = self._vocabulary(batch)
        columns = self.model.layout.columns
        word_start, target = batch.options.word_start, batch.target_words

        def graph_of_line(i: int, memo: NDArray[np.void]) -> SearchGraph:
            if batch.start[i] == batch.start[i + 1]:
                none = np.zeros(0, np.int32)
                features = np.zeros((0, len(columns)))
                start = np.zeros(1, np.int64)
                return SearchGraph(1, none, none, start, none, features, none, vocabulary)
            rows, first, arcs = self._search(batch, i, memo, keep=True)
            length = int(batch.start[i + 1] - batch.start[i])
            nodes, arc_from, arc_to, chosen, features, copied = graph_of(
                rows,
                arcs,
                first[-2],
                batch.options,
                batch.tables,
                self._automaton,
                self._terms.end,
                -1 if density is None else math.ceil(density * length),
            )
            begin, end = word_start[chosen], word_start[chosen + 1]
            arc_start = starts(end - begin)
            at = np.arange(arc_start[-1]) + np.repeat(begin - arc_start[:-1], end - begin)
            return SearchGraph(
                nodes=int(nodes),
                arc_from=arc_from,
                arc_to=arc_to,
                word_start=arc_start,
                words=target[at],
                features=features[:, columns],
                copied=copied,
                vocabulary=vocabulary,
            )

        return self._map(graph_of_line, len(batch), threads)

    def _vocabulary(self, batch: Batch) -> list[str]:
        return [*self.model.table.target_vocab, *batch.copied]

    def _search(self, batch: Batch, i: int, memo: NDArray[np.void], keep: bool) -> Any:
        spans = batch.spans[batch.start[i] : batch.start[i + 1]]
        sentence = Sentence(spans, batch.options, self._automaton, self._terms, memo, keep)
        return search(sentence, self.settings.stack, self.settings.pop_limit)

    def _map(
        self, work: Callable[[int, NDArray[np.void]], Result], count: int, threads: int
    ) -> list[Result]:
        """`work` on each sentence, with a memo of the thread's own."""
        own = threading.local()

        def with_memo(i: int) -> Result:
            if not hasattr(own, "memo"):
                own.memo = np.zeros(1 << MEMO_BITS, MEMO)
            return work(i, own.memo)

        if threads <= 1 or count <= 1:
            return [with_memo(i) for i in range(count)]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(with_memo, range(count)))


_NO_WORDS = np.zeros(0, np.int32)
