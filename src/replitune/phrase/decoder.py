"""Decoding lines of text: the best translation, n-best lists, forests.

Each sentence is searched alone, by one thread, so the output does not depend on the number of threads.
All kernels release the GIL.

A trained embedded system takes raw lines and gives raw lines. The decoder works on words split as in
training: source words are split before it, and pieces of target words are joined after it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.arrays import starts
from replitune.phrase.cube import search
from replitune.phrase.features import DISTORTION, LM, GroupedLayout
from replitune.phrase.graph import best_words, forest_of
from replitune.phrase.graph import nbest as nbest_of
from replitune.phrase.model import PhraseModel
from replitune.phrase.options import Batch, prepare
from replitune.phrase.search import MEMO, MEMO_BITS, Sentence, Terms
from replitune.phrase.segmentation import Splitters
from replitune.phrase.settings import SearchSettings
from replitune.running.files import atomic_open
from replitune.tuning.forest import Forest, Forests

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
        """The lists of all lines. lists: for each line (word_start, words, values of all known features,
        copied words), as `replitune.phrase.graph` gives them."""
        sizes = [len(copied) for _, _, _, copied in lists]
        values = [np.zeros((0, len(weights))), *(values[:, layout.columns] for _, _, values, _ in lists)]
        features = np.concatenate(values)
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


class LineDecoder(ABC):
    """A model with weights and settings: what the decoders of all embedded systems have in common."""

    Settings: ClassVar[type[Any]]

    def __init__(self, model: Any, weights: NDArray[np.float64], settings: Any = None) -> None:
        """`weights`: (K,) in the order of the model's layout; all zero is legal: then everything
        scores 0, and of equal hypotheses the first is kept."""
        self.model = model
        self.settings = settings or self.Settings()
        self.weights = np.array(weights, np.float64)
        self._full = model.layout.full(self.weights)
        self._automaton = model.lm.automaton

    @abstractmethod
    def prepare(self, lines: Any) -> Any:
        """The lines with their options or rules under the weights. Line i has the words start[i] :
        start[i + 1] of the batch; the words `copied` follow the table's in the vocabulary."""

    @abstractmethod
    def _search(self, batch: Any, i: int, keep: bool) -> tuple[Any, ...]:
        """The result of the search of line i; with `keep`, recombined hypotheses too."""

    @abstractmethod
    def _best(self, batch: Any, found: tuple[Any, ...]) -> NDArray[np.int32]:
        """The words of the best translation."""

    @abstractmethod
    def _list(self, batch: Any, found: tuple[Any, ...], words: int, size: int, distinct: bool) -> Any:
        """The n-best list of a line of `words` words, as `NBest.from_lists` takes it."""

    @abstractmethod
    def _forest(self, batch: Any, found: tuple[Any, ...], most: int) -> Forest:
        """The forest of a line, with the best `most` edges."""

    def decode(self, lines: Any, threads: int = 1) -> list[str]:
        """The best translation of each line; that of a blank line is blank."""
        batch = self.prepare(lines)
        vocabulary = self._vocabulary(batch)

        def best(found: tuple[Any, ...], words: int) -> str:
            return " ".join([vocabulary[word] for word in self._best(batch, found).tolist()])

        return self._each(batch, best, "", threads, keep=False)

    def nbest(self, lines: Any, size: int, *, distinct: bool = False, threads: int = 1) -> NBest:
        """The `size` best derivations of each line, or the best of each of `size` distinct
        translations. A blank line has one hypothesis, blank, with all features 0."""
        if size < 1:
            raise ReplituneError(
                "the size of n-best lists is too small", found=str(size), expected="1 or more"
            )
        batch = self.prepare(lines)
        blank = np.zeros(2, np.int64), _NO_WORDS, np.zeros((1, len(self._full))), np.zeros(1, int)

        def list_of(found: tuple[Any, ...], words: int) -> Any:
            return self._list(batch, found, words, size, distinct)

        lists = self._each(batch, list_of, blank, threads)
        return NBest.from_lists(lists, self.weights, self.model.layout, self._vocabulary(batch))

    def forests(self, lines: Any, density: float, threads: int = 1) -> tuple[Forests, list[str]]:
        """(The forests of the lines, with `density` edges per source word, those of the best
        derivations; the vocabulary of their words)."""
        batch = self.prepare(lines)
        none = np.zeros((0, len(self.weights)))
        blank = Forest(_NO_WORDS, _NO_WORDS, _NO_WORDS, np.zeros(1, np.int64), _NO_WORDS, none, 0)

        def forest(found: tuple[Any, ...], words: int) -> Forest:
            return self._forest(batch, found, math.ceil(density * words))

        return Forests.pack(self._each(batch, forest, blank, threads)), self._vocabulary(batch)

    def _vocabulary(self, batch: Any) -> list[str]:
        return [*self.model.table.target_vocab, *batch.copied]

    def _each(
        self,
        batch: Any,
        work: Callable[[tuple[Any, ...], int], Result],
        blank: Result,
        threads: int,
        *,
        keep: bool = True,
    ) -> list[Result]:
        """`work` for the search result and the number of words of each line; `blank` for blank
        lines."""

        def of_line(i: int) -> Result:
            words = int(batch.start[i + 1] - batch.start[i])
            return work(self._search(batch, i, keep), words) if words else blank

        if threads <= 1 or len(batch) <= 1:
            return [of_line(i) for i in range(len(batch))]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(of_line, range(len(batch))))


class Decoder(LineDecoder):
    """The decoder of phrase-based systems.

    >>> # Decoder(PhraseModel.load("models/baseline"), weights).decode(["ein mann ."])
    """

    Settings = SearchSettings

    def __init__(
        self, model: PhraseModel, weights: NDArray[np.float64], settings: SearchSettings | None = None
    ) -> None:
        super().__init__(model, weights, settings)
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
        return prepare(self.model, lines, self._full, self.settings.options)

    def _search(self, batch: Batch, i: int, keep: bool) -> tuple[Any, ...]:
        own = batch.memos
        if not hasattr(own, "memo"):
            own.memo = np.zeros(1 << MEMO_BITS, MEMO)
        spans = batch.spans[batch.start[i] : batch.start[i + 1]]
        sentence = Sentence(spans, batch.options, self._automaton, self._terms, own.memo, keep)
        rows, first, arcs = search(sentence, self.settings.stack, self.settings.pop_limit)
        return rows, arcs, first[-2]

    def _best(self, batch: Batch, found: tuple[Any, ...]) -> NDArray[np.int32]:
        rows, _, final = found
        words: NDArray[np.int32] = best_words(rows, final, batch.options.word_start, batch.target_words)
        return words

    def _list(self, batch: Batch, found: tuple[Any, ...], words: int, size: int, distinct: bool) -> Any:
        tables = batch.options, batch.target_words, batch.tables
        return nbest_of(*found, *tables, self._automaton, self._terms, size, distinct)

    def _forest(self, batch: Batch, found: tuple[Any, ...], most: int) -> Forest:
        tables = batch.options, batch.target_words, batch.tables
        nodes, head, one, start, symbols, features = forest_of(
            *found, *tables, self._automaton, self._terms.end, most
        )
        columns = self.model.layout.columns
        return Forest(head, one, np.full_like(one, -1), start, symbols, features[:, columns], int(nodes))


_NO_WORDS = np.zeros(0, np.int32)


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
