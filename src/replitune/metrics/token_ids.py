"""Words as integers, so that compiled kernels can compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.length import check_references

BATCH = 8192
"""Hypotheses tokenised at a time: keeps the word lists of a long file small."""

UNKNOWN = -1
"""The id of all words that no reference has. Such a word is part of no match, so which one it is
does not matter."""


@dataclass(frozen=True)
class TokenizedReferences:
    """N segments with R references each, as ids of their words."""

    vocabulary: dict[str, int]
    """Ids of the words that occur in references, by first appearance."""
    tokens: NDArray[np.int32]
    """All reference words; reference r of segment s is ``tokens[starts[k]:starts[k + 1]]``
    with k = s * R + r."""
    starts: NDArray[np.int64]
    """(N * R + 1,)"""
    nrefs: int

    @property
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
        """The references as arguments of kernels."""
        return self.tokens, self.starts, self.nrefs

    @property
    def mean_lengths(self) -> NDArray[np.float64]:
        """Mean number of words of each segment's references (N,)."""
        means: NDArray[np.float64] = self.lengths.sum(axis=1) / self.nrefs
        return means

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of words of each reference (N, R)."""
        return np.diff(self.starts).reshape(-1, self.nrefs)


def by_segment(references: Sequence[Sequence[str]]) -> Iterator[str]:
    """Reference lines, segment by segment: R lines of segment 0, then of segment 1, ..."""
    check_references(references)
    for lines in zip(*references, strict=True):
        yield from lines


def segment_numbers(segments: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """`segments` for a kernel; checks what kernels do not, that all are in 0 .. count - 1."""
    segments = np.ascontiguousarray(segments, dtype=np.int64)
    if segments.size and not (segments.min() >= 0 and segments.max() < count):
        raise IndexError(f"segment outside 0 .. {count - 1}")
    return segments


Words = Callable[[Sequence[str]], list[list[str]]]
"""Splits lines into words."""


def tokenize_references(words: Words, refs: Sequence[Sequence[str]]) -> TokenizedReferences:
    """R streams of N references, split into words as a metric does."""
    lines = list(by_segment(refs))
    lists = [own for k in range(0, len(lines), BATCH) for own in words(lines[k : k + BATCH])]
    vocabulary = {word: id for id, word in enumerate(dict.fromkeys(chain.from_iterable(lists)))}
    return TokenizedReferences(vocabulary, *encode(lists, vocabulary), len(refs))


def batches(
    words: Words, hyps: Sequence[str], segments: NDArray[np.int64], references: TokenizedReferences
) -> Iterator[tuple[slice, NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]]:
    """For each batch of hypotheses: its slice, the ids of the words and where each hypothesis
    starts (see `encode`), and the segments."""
    segments = segment_numbers(segments, len(references.lengths))
    for start in range(0, len(hyps), BATCH):
        batch = slice(start, start + BATCH)
        yield batch, *encode(words(hyps[batch]), references.vocabulary), segments[batch]


def encode(
    lists: Sequence[list[str]], vocabulary: dict[str, int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Ids of all words in one array, and where each of the J lines starts (J + 1,)."""
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, lists), np.int64, count=len(lists)), out=starts[1:])
    ids = map(vocabulary.get, chain.from_iterable(lists), repeat(UNKNOWN))
    return np.fromiter(ids, np.int32, count=int(starts[-1])), starts
