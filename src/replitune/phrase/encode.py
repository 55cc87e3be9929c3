"""Text as integers: one vocabulary and one flat array of word ids per side of a corpus."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.arrays import starts

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
RESERVED = (UNKNOWN, BEGIN, END)


@dataclass(frozen=True)
class Encoded:
    """`n` segments of words.

    vocab: id = position; reserved words, then the most frequent first (ties in code point order)
    words: (N,) int32, the ids of all segments one after the other
    start: (n + 1,) int64, segment i is `words[start[i]:start[i + 1]]`
    """

    vocab: list[str]
    words: NDArray[np.int32]
    start: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start) - 1

    def __iter__(self) -> Iterator[list[str]]:
        """The words of each segment."""
        for begin, end in pairwise(self.start.tolist()):
            yield [self.vocab[word] for word in self.words[begin:end].tolist()]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.start)

    def only(self, kept: NDArray[np.bool_], reserved: int = 0) -> Encoded:
        """The segments `kept`, with a vocabulary of their own."""
        words = self.words[np.repeat(kept, self.lengths)]
        return _numbered(self.vocab, words, self.lengths[kept], reserved)


def split_words(line: str) -> list[str]:
    """The words of a segment, separated by ASCII white space.

    Other white space (no-break spaces, U+2028, ...) is part of a word, as in Moses and KenLM.
    """
    return [word.decode() for word in line.encode().split()]


def encode(segments: Iterable[Sequence[str]], reserved: Sequence[str] = ()) -> Encoded:
    """Segments (lists of words, one after the other) as an `Encoded` with a vocabulary of their own."""
    found: defaultdict[str, int] = defaultdict()
    found.default_factory = found.__len__  # the next number, for a word that is new
    for word in reserved:
        found[word]
    words, lengths = array("i"), array("i")
    for line, segment in enumerate(segments, 1):
        begin = len(words)
        words.extend(map(found.__getitem__, segment))
        lengths.append(len(segment))
        if reserved and segment and min(words[begin:]) < len(reserved):
            word = next(word for word in segment if word in reserved)
            raise ReplituneError(
                "the text contains a reserved word",
                line=line,
                found=f"{word} in line {line}",
                fix=f"write it in another way: {', '.join(reserved)} are reserved",
            )
    return _numbered(list(found), np.frombuffer(words, np.int32), np.array(lengths), len(reserved))


def _numbered(names: list[str], numbers: NDArray[np.int32], lengths: NDArray, reserved: int) -> Encoded:
    """Segments of words that are already numbered, renumbered in the vocabulary's order; the first
    `reserved` words keep their numbers."""
    counts = np.bincount(numbers, minlength=len(names)).tolist()
    there = (word for word in range(reserved, len(names)) if counts[word])
    order = [*range(reserved), *sorted(there, key=lambda word: (-counts[word], names[word]))]
    rank = np.empty(len(names), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return Encoded([names[word] for word in order], rank[numbers], starts(lengths))


def encode_known(segments: Sequence[Sequence[str]], vocab: list[str]) -> Encoded:
    """Segments in the ids of a given vocabulary, -1 for words that are not in it."""
    ids = {word: position for position, word in enumerate(vocab)}
    words = [ids.get(word, -1) for segment in segments for word in segment]
    return Encoded(vocab, np.array(words, np.int32), starts([len(segment) for segment in segments]))
