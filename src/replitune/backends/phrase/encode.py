"""Text as integers: one vocabulary and one flat array of word ids per side of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
RESERVED = (UNKNOWN, BEGIN, END)


@dataclass(frozen=True)
class Encoded:
    """`n` segments of words.

    vocab: id = position, the most frequent first (ties in code point order) after reserved ones
    words: (N,) int32, the ids of all segments one after the other
    start: (n + 1,) int64, segment i is `words[start[i]:start[i + 1]]`
    """

    vocab: list[str]
    words: NDArray[np.int32]
    start: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start) - 1


def vocabulary(segments: Iterable[Sequence[str]], reserved: Sequence[str] = ()) -> list[str]:
    """The distinct words, the most frequent first, behind the reserved ones."""
    counts = Counter(chain.from_iterable(segments))
    for word in reserved:
        counts.pop(word, None)
    return [*reserved, *sorted(counts, key=lambda word: (-counts[word], word))]


def encode(segments: Sequence[Sequence[str]], reserved: Sequence[str] = ()) -> Encoded:
    """Segments (lists of words) as an `Encoded` with a vocabulary of their own."""
    vocab = vocabulary(segments, reserved)
    ids = {word: position for position, word in enumerate(vocab)}
    start = np.zeros(len(segments) + 1, np.int64)
    np.cumsum([len(segment) for segment in segments], out=start[1:])
    words = np.fromiter(
        map(ids.__getitem__, chain.from_iterable(segments)), np.int32, count=int(start[-1])
    )
    return Encoded(vocab, words, start)
