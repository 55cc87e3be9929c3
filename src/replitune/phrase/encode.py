"""Text as integers: one vocabulary and one flat array of word ids per side of a corpus."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


def split_words(line: str) -> list[str]:
    """The words of a segment: what stands between ASCII white space.

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
                fix=f"write it in another way: {', '.join(reserved)} belong to the models",
            )
    names, numbers = list(found), np.frombuffer(words, np.int32)
    counts = np.bincount(numbers, minlength=len(names)).tolist()
    own = sorted(range(len(reserved), len(names)), key=lambda word: (-counts[word], names[word]))
    order = [*range(len(reserved)), *own]
    rank = np.empty(len(names), np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    return Encoded([names[word] for word in order], rank[numbers], starts(np.frombuffer(lengths, np.int32)))
