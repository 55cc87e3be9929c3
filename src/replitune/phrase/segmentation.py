"""Splitting words before training and decoding: compounds by frequency, and BPE.

`CompoundSplitter` is for the source side; its splits are not undone. `BytePairs` is for either
side; `join` undoes it in the output. Both are learned from the training text and stored as
JSON with the model.
"""

from __future__ import annotations

import heapq
import json
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.phrase.encode import split_words
from replitune.running.files import atomic_open, read_text

JOINER = "@@"
SOURCE_FILE, TARGET_FILE = "source_segmentation.json", "target_segmentation.json"
END_OF_WORD = "</w>"


@dataclass(frozen=True)
class Splitter(ABC):
    """Splits words one by one, and remembers their parts."""

    _known: dict[str, list[str]] = field(
        default_factory=dict, init=False, repr=False, compare=False, kw_only=True
    )

    @abstractmethod
    def _parts(self, word: str) -> list[str]: ...

    @abstractmethod
    def _content(self) -> dict[str, object]:
        """As JSON can write it."""

    def split(self, word: str) -> list[str]:
        """The parts of a word, or it alone."""
        if word not in self._known:
            self._known[word] = self._parts(word)
        return self._known[word]

    def apply(self, words: Sequence[str]) -> list[str]:
        """A segment with its words split."""
        return [part for word in words for part in self.split(word)]

    def save(self, path: str | Path) -> None:
        with atomic_open(path) as handle:
            json.dump(self._content(), handle, ensure_ascii=False, separators=(",", ":"))
            handle.write("\n")


@dataclass(frozen=True)
class CompoundSplitter(Splitter):
    """Koehn and Knight (2003), section 3.2: the split whose parts have the highest geometric
    mean of training frequencies, the word itself being one of the candidates.

    A part is a training word of at least `min_length` letters seen at least `min_count` times;
    one of `fillers` may stand between two parts and is dropped. Words with other characters
    than letters are left alone. Among equally good splits, the one with fewer parts wins, then the one
    with the longer first part. Frequencies are of lower-cased words; parts are written in their most
    frequent case.
    """

    counts: dict[str, int]
    case: dict[str, str]
    min_length: int = 4
    min_count: int = 5
    fillers: tuple[str, ...] = ("", "s", "es")

    @staticmethod
    def learn(
        segments: Iterable[Sequence[str]],
        *,
        min_length: int = 4,
        min_count: int = 5,
        fillers: tuple[str, ...] = ("", "s", "es"),
    ) -> CompoundSplitter:
        """Count the words of the training text."""
        surface = Counter(word for segment in segments for word in segment if word.isalpha())
        counts: Counter[str] = Counter()
        case: dict[str, str] = {}
        for word in sorted(surface, key=lambda word: (-surface[word], word)):
            case.setdefault(word.lower(), word)
            counts[word.lower()] += surface[word]
        case = {lower: word for lower, word in case.items() if lower != word}
        return CompoundSplitter(dict(counts), case, min_length, min_count, fillers)

    def _parts(self, word: str) -> list[str]:
        parts = self._best(word.lower()) if word.isalpha() else []
        return [self.case.get(part, part) for part in parts] if len(parts) > 1 else [word]

    def _best(self, word: str) -> list[str]:
        """Exact search: the largest product of counts for each end position and number of parts."""
        length = len(word)
        # best[end][n]: (product of counts, lengths of the parts, the parts)
        best: list[dict[int, tuple[int, tuple[int, ...], list[str]]]] = [{} for _ in range(length + 1)]
        best[0][0] = (1, (), [])
        for end in range(self.min_length, length + 1):
            for filler in self.fillers if end < length else ("",):
                if not word.endswith(filler, 0, end):
                    continue
                for begin in range(0, end - len(filler) - self.min_length + 1):
                    if not best[begin]:
                        continue
                    part = word[begin : end - len(filler)]
                    count = self.counts.get(part, 0)
                    if count < self.min_count:
                        continue
                    for n, (product, lengths, parts) in best[begin].items():
                        candidate = (product * count, (*lengths, len(part)), [*parts, part])
                        if n + 1 not in best[end] or candidate[:2] > best[end][n + 1][:2]:
                            best[end][n + 1] = candidate
        answer, frequency, number = [word], self.counts.get(word, 0), 1
        for n, (product, _, parts) in sorted(best[length].items()):
            # geometric means compared without roots: a ** (1 / m) < b ** (1 / n)
            if n > 1 and frequency**n < product**number:
                answer, frequency, number = parts, product, n
        return answer

    def _content(self) -> dict[str, object]:
        return {
            "kind": "compounds",
            "min_length": self.min_length,
            "min_count": self.min_count,
            "fillers": self.fillers,
            "counts": self.counts,
            "case": self.case,
        }


@dataclass(frozen=True)
class BytePairs(Splitter):
    """Byte-pair encoding of words (Sennrich, Haddow and Birch 2016).

    The most frequent pair is merged first, of equally frequent ones the one that sorts last, so that
    the results are those of subword-nmt. All pieces of a word but the last end in `JOINER`.
    """

    merges: list[tuple[str, str]]
    _rank: dict[tuple[str, str], int] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._rank.update((pair, rank) for rank, pair in enumerate(self.merges))

    @staticmethod
    def learn(segments: Iterable[Sequence[str]], merges: int, min_count: int = 2) -> BytePairs:
        """Learn at most `merges` merges; pairs seen less than `min_count` times are left."""
        counts = Counter(word for segment in segments for word in segment)
        words = sorted(counts)
        pieces = [[*word[:-1], word[-1] + END_OF_WORD] for word in words]
        frequency = [counts[word] for word in words]
        pairs: Counter[tuple[str, str]] = Counter()
        where: dict[tuple[str, str], set[int]] = defaultdict(set)
        for number, piece in enumerate(pieces):
            for pair in pairwise(piece):
                pairs[pair] += frequency[number]
                where[pair].add(number)
        heap = [_Candidate(count, pair) for pair, count in pairs.items()]
        heapq.heapify(heap)
        learned: list[tuple[str, str]] = []
        while heap and len(learned) < merges:
            top = heapq.heappop(heap)
            count = pairs.get(top.pair, 0)
            if count != top.count:
                if 0 < count < top.count:
                    heapq.heappush(heap, _Candidate(count, top.pair))
                continue
            if count < min_count:
                break
            learned.append(top.pair)
            grown: set[tuple[str, str]] = set()
            for number in sorted(where.pop(top.pair)):
                old, new = pieces[number], _merge(pieces[number], top.pair)
                if len(new) == len(old):
                    continue
                for pair in pairwise(old):
                    pairs[pair] -= frequency[number]
                for pair in pairwise(new):
                    pairs[pair] += frequency[number]
                    where[pair].add(number)
                    grown.add(pair)
                pieces[number] = new
            pairs.pop(top.pair, None)
            for pair in grown:
                heapq.heappush(heap, _Candidate(pairs[pair], pair))
        return BytePairs(learned)

    def _parts(self, word: str) -> list[str]:
        """All but the last end in `JOINER`."""
        pieces = [*word[:-1], word[-1] + END_OF_WORD]
        while len(pieces) > 1:
            ranks = [(self._rank[pair], pair) for pair in pairwise(pieces) if pair in self._rank]
            if not ranks:
                break
            pieces = _merge(pieces, min(ranks)[1])
        pieces[-1] = pieces[-1].removesuffix(END_OF_WORD)
        return [piece + JOINER for piece in pieces[:-1]] + pieces[-1:]

    @staticmethod
    def join(words: Sequence[str]) -> list[str]:
        """Join pieces to words; a joiner at the very end is dropped."""
        text = " ".join(words) + " "
        return split_words(text.replace(JOINER + " ", ""))

    def _content(self) -> dict[str, object]:
        return {"kind": "bpe", "merges": self.merges}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Orders a heap: the most frequent pair first, then the one that sorts last."""

    count: int
    pair: tuple[str, str]

    def __lt__(self, other: _Candidate) -> bool:
        return (self.count, self.pair) > (other.count, other.pair)


def _merge(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """Join every occurrence of `pair`, from left to right."""
    left, right = pair
    merged: list[str] = []
    at = 0
    while at < len(pieces):
        if at + 1 < len(pieces) and pieces[at] == left and pieces[at + 1] == right:
            merged.append(left + right)
            at += 2
        else:
            merged.append(pieces[at])
            at += 1
    return merged


def load_segmentation(path: str | Path) -> CompoundSplitter | BytePairs:
    """Read what `save` of either class wrote."""
    content = json.loads(read_text(path))
    kind = content.pop("kind", None)
    if kind == "bpe":
        return BytePairs([(left, right) for left, right in content["merges"]])
    if kind == "compounds":
        return CompoundSplitter(**{**content, "fillers": tuple(content["fillers"])})
    raise ReplituneError("unknown segmentation", file=path, found=str(kind), expected="compounds, bpe")


@dataclass(frozen=True)
class Splitters:
    """What a model does to its input before decoding, and to its output afterwards.

    source, target: how the two sides of the training text were split, None for not at all
    """

    source: CompoundSplitter | BytePairs | None = None
    target: BytePairs | None = None

    @classmethod
    def load(cls, folder: str | Path) -> Splitters:
        """The splitters stored in a model folder, if any."""
        source, target = Path(folder) / SOURCE_FILE, Path(folder) / TARGET_FILE
        pieces = load_segmentation(target) if target.exists() else None
        if isinstance(pieces, CompoundSplitter):
            raise ReplituneError("only BPE can be undone in the output", file=target, found="compounds")
        return cls(load_segmentation(source) if source.exists() else None, pieces)

    def save(self, folder: str | Path) -> None:
        """Write those that exist into a model folder."""
        for splitter, name in ((self.source, SOURCE_FILE), (self.target, TARGET_FILE)):
            if splitter is not None:
                splitter.save(Path(folder) / name)

    @property
    def joins(self) -> bool:
        """Whether output can hold pieces: translated ones, or unknown ones that were copied."""
        return self.target is not None or isinstance(self.source, BytePairs)

    def split(self, line: str) -> str:
        """A line of input as the decoder needs it."""
        return line if self.source is None else " ".join(self.source.apply(split_words(line)))

    def join(self, line: str) -> str:
        """A line of output as people read it."""
        return " ".join(BytePairs.join(split_words(line))) if self.joins else line
