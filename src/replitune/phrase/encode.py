"""Text as integers: one vocabulary and one flat array of word ids per side of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

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


def encode(segments: Sequence[Sequence[str]], reserved: Sequence[str] = ()) -> Encoded:
    """Segments (lists of words) as an `Encoded` with a vocabulary of their own."""
    counts = Counter(chain.from_iterable(segments))
    for word in reserved:
        if word in counts:
            line = next(i for i, segment in enumerate(segments, 1) if word in segment)
            raise ReplituneError(
                "the text contains a reserved word",
                line=line,
                found=f"{word} in line {line}",
                fix=f"write it in another way: {', '.join(reserved)} belong to the models",
            )
    vocab = [*reserved, *sorted(counts, key=lambda word: (-counts[word], word))]
    ids = {word: position for position, word in enumerate(vocab)}
    start = starts([len(segment) for segment in segments])
    words = np.fromiter(map(ids.__getitem__, chain.from_iterable(segments)), np.int32, count=int(start[-1]))
    return Encoded(vocab, words, start)


def encode_known(segments: Sequence[Sequence[str]], vocab: list[str]) -> Encoded:
    """Segments in the ids of a vocabulary that is given; -1 for words that it does not have."""
    ids = {word: position for position, word in enumerate(vocab)}
    words = [ids.get(word, -1) for segment in segments for word in segment]
    return Encoded(vocab, np.array(words, np.int32), starts([len(segment) for segment in segments]))
