"""Words that outputs have right: which n-grams of the references the runs of each system have, and
how well words of each frequency are translated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.statistics.outputs import DistinctPairs

ORDERS = 3
"""n-grams of 1 to 3 words."""
KEPT, MOST = 400, 4000
"""n-grams of each order that are kept: those on which the means of systems differ most; and the most
means of each order, of all systems together."""
BLOCK = 1 << 16
"""Outputs whose n-grams are counted at a time: bounds the memory."""
FEWEST = 5
"""An n-gram that the references have less often says nothing."""
SHOWN = 12
"""Most n-grams of a pair that are shown, in each direction."""
CLASSES = (1, 2, 5, 10, 100, 1000)
"""Frequencies at which a class begins; the class before these is of words that do not occur."""


def words_of(line: str) -> list[str]:
    """The words of a line; in a script without spaces, its characters."""
    words = line.split()
    if len(words) < 3 and len(line) > 12:
        return [character for character in line if not character.isspace()]
    return words


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation over runs, (...), of numbers that every run has."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    n: int

    @classmethod
    def over_runs(cls, values: NDArray[Any]) -> Moments:
        """Those of values (n, ...)."""
        n = len(values)
        sd = values.std(axis=0, ddof=1) if n > 1 else np.zeros(values.shape[1:])
        return cls(values.mean(axis=0), sd, n)


def half_width(a: Moments, b: Moments, alpha: float) -> NDArray[np.float64] | None:
    """(...) half the width of Welch's interval of the difference of means over runs; None if a
    system has one run."""
    if min(a.n, b.n) < 2:
        return None
    from scipy.special import stdtrit

    of_a, of_b = a.sd**2 / a.n, b.sd**2 / b.n
    variance = of_a + of_b
    share = np.divide(of_a, variance, out=np.full_like(variance, 0.5), where=variance > 0)
    df = 1 / (share**2 / (a.n - 1) + (1 - share) ** 2 / (b.n - 1))
    half: NDArray[np.float64] = np.sqrt(variance) * stdtrit(df, 1 - alpha / 2)
    return half


@dataclass(frozen=True)
class Words:
    """What the references have, and how much of it each system has in the mean over its runs."""

    grams: Sequence[str]
    """The n-grams on which systems differ most."""
    expected: Sequence[int]
    """How often the references have each."""
    right: Mapping[str, Moments]
    """By system: (grams,) how often a run has it where a reference has it, too."""
    classes: Sequence[str]
    """Names of the classes of words by frequency."""
    sizes: Sequence[int]
    """Words of the references in each class."""
    recall: Mapping[str, Moments]
    """By system: (classes,) share of the words of the references that a run has, in percent."""
    counted_in: str
    """The text in which the frequencies of words were counted."""

    def most_changed(
        self, a: str, b: str, half: NDArray[np.float64] | None
    ) -> tuple[Sequence[int], Sequence[int]]:
        """The n-grams that the runs of B have right more often than those of A, and less often, the
        largest differences first; before all others those whose interval, of this `half` width,
        excludes 0."""
        delta = self.right[b].mean - self.right[a].mean
        unsure = np.zeros(len(delta), bool) if half is None else np.abs(delta) <= half
        order = np.lexsort((-np.abs(delta), unsure))
        order = order[np.asarray(self.expected)[order] >= FEWEST]
        gained, lost = order[delta[order] > 0], order[delta[order] < 0]
        return gained[:SHOWN].tolist(), lost[:SHOWN].tolist()


def compare_words(
    references: Sequence[Sequence[str]],
    runs: Mapping[str, DistinctPairs],
    train: Iterable[str] | None = None,
) -> Words:
    """`references`: R streams of N. `train`: the target side of the training text, in which words
    are counted; without it, they are counted in the references."""
    wanted = _Wanted(references)
    frequency, counted_in = _frequencies(wanted.vocabulary, references, train)
    known, classes = np.unique(np.searchsorted(CLASSES, frequency, "right"), return_inverse=True)
    sizes = np.bincount(classes, wanted.totals[0])
    share = np.zeros((len(frequency), len(known)))
    share[np.arange(len(frequency)), classes] = 100 / sizes[classes]
    grams: list[str] = []
    expected: list[int] = []
    right: dict[str, list[NDArray[Any]]] = {name: [] for name in runs}
    recall: dict[str, Moments] = {}
    keep = min(KEPT, MOST // max(len(runs), 1))
    of_orders = {name: [*wanted.right(pairs)] for name, pairs in runs.items()}
    for n, total in enumerate(wanted.totals):
        counts = {name: each[n] for name, each in of_orders.items()}
        if n == 0:
            recall = {name: Moments.over_runs(each @ share) for name, each in counts.items()}
        spread = np.ptp([each.mean(axis=0) for each in counts.values()], axis=0)
        top = np.argsort(-spread, kind="stable")[:keep]
        top = np.sort(top[spread[top] > 0])
        grams += [wanted.spelt(int(gram), n) for gram in top]
        expected += total[top].astype(int).tolist()
        for name, each in counts.items():
            right[name].append(each[:, top].toarray())
    return Words(
        grams=grams,
        expected=expected,
        right={name: Moments.over_runs(np.hstack(each)) for name, each in right.items()},
        classes=[_class_name(int(k)) for k in known],
        sizes=[int(size) for size in sizes],
        recall=recall,
        counted_in=counted_in,
    )


class _Wanted:
    """The n-grams of the references, numbered for each n."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        self.vocabulary: dict[str, int] = {}
        for stream in references:
            for text in stream:
                for word in words_of(text):
                    self.vocabulary.setdefault(word, len(self.vocabulary))
        self.spelling = list(self.vocabulary)
        self.tables = [np.arange(len(self.vocabulary))]
        """Sorted keys; of a longer n-gram: number of all but its last word x words + last word."""
        self.expected: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        """Sorted keys segment x n-grams + n-gram, and counts: the most in any of the references."""
        self.totals: list[NDArray[Any]] = []
        """How often the references have each."""
        segments = len(references[0])
        texts = [text for stream in references for text in stream]
        for n, (line, gram, count) in enumerate(self._counts(texts)):
            size = len(self.tables[n])
            keys, place = np.unique(line % segments * size + gram, return_inverse=True)
            most = np.zeros(len(keys), np.int64)
            np.maximum.at(most, place, count)
            self.expected.append((keys, most))
            self.totals.append(np.bincount(keys % max(size, 1), most, minlength=size))

    def right(self, pairs: DistinctPairs) -> Iterator[Any]:
        """For each n, (runs, n-grams), sparse: how often a run has one where a reference has it."""
        from scipy.sparse import csr_array

        (runs, segments), outputs = pairs.inverse.shape, len(pairs.hyps)
        places = pairs.inverse.ravel(), np.arange(runs + 1) * segments
        has = csr_array((np.ones(runs * segments, np.int32), *places), (runs, outputs))
        found: list[list[tuple[NDArray[Any], ...]]] = [[] for _ in range(ORDERS)]
        for begin in range(0, max(outputs, 1), BLOCK):
            for n, (item, gram, count) in enumerate(self._counts(pairs.hyps[begin : begin + BLOCK])):
                keys, most = self.expected[n]
                item += begin
                at = _place(keys, pairs.segments[item] * len(self.tables[n]) + gram)
                there = at >= 0
                fit = np.minimum(count[there], most[at[there]])
                found[n].append(tuple(a.astype(np.int32) for a in (fit, item[there], gram[there])))
        matched = []
        for table, parts in zip(self.tables, found, strict=True):
            fit, item, gram = map(np.concatenate, zip(*parts, strict=True))
            parts.clear()
            matched.append(csr_array((fit, (item, gram)), (outputs, max(len(table), 1))))
        yield from (
            (has @ m).tocsc()[:, : len(table)] for m, table in zip(matched, self.tables, strict=True)
        )

    def spelt(self, gram: int, n: int) -> str:
        """The words of an n-gram of n + 1 words."""
        words = []
        for table in reversed(self.tables[1 : n + 1]):
            gram, last = divmod(int(table[gram]), len(self.spelling))
            words.append(self.spelling[last])
        return " ".join([self.spelling[gram], *reversed(words)])

    def _counts(self, texts: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], ...]]:
        """For each n: line, number and count of the n-grams of the references in each text. The
        first texts must be the references themselves: they make the tables."""
        number, size = self.vocabulary.get, len(self.vocabulary)
        split = [[number(word, -1) for word in words_of(text)] for text in texts]
        words = np.array([word for numbers in split for word in numbers], np.int64)
        line = np.repeat(np.arange(len(texts)), [len(numbers) for numbers in split])
        grams = words
        for n in range(ORDERS):
            if n:
                last = words[n:]
                grams = grams[: len(last)]
                whole = (grams >= 0) & (last >= 0) & (line[: len(last)] == line[n:])
                keys = np.where(whole, grams * size + last, -1)
                if n == len(self.tables):
                    self.tables.append(np.unique(keys[whole]))
                grams = np.where(whole, _place(self.tables[n], keys), -1)
            known = grams >= 0
            many = max(len(self.tables[n]), 1)
            numbers, count = np.unique(line[: len(grams)][known] * many + grams[known], return_counts=True)
            yield (*np.divmod(numbers, many), count)


def _place(table: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where keys are in a sorted table; -1 where they are not."""
    if not len(table):
        return np.full(len(keys), -1)
    at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[at] == keys, at, -1)


def _frequencies(
    vocabulary: Mapping[str, int], references: Sequence[Sequence[str]], train: Iterable[str] | None
) -> tuple[NDArray[np.int64], str]:
    """(words,) how often each occurs, and where."""
    counts: Counter[str] = Counter()
    for line in chain.from_iterable(references) if train is None else train:
        counts.update(words_of(line))
    known = np.array([counts[word] for word in vocabulary], np.int64)
    return known, "the references" if train is None else "the training text"


def _class_name(number: int) -> str:
    if number == 0:
        return "not there"
    low, high = CLASSES[number - 1], (*CLASSES, None)[number]
    if high is None:
        return f"{low:,} and more"
    return str(low) if high == low + 1 else f"{low:,} to {high - 1:,}"
