"""Words as integers, so that compiled kernels can compare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.length import check_references

BATCH = 8192
"""Hypotheses tokenised at a time: keeps the word lists of a long file small."""


@dataclass(frozen=True)
class TokenizedReferences:
    """N segments with R references each, as ids of the words that occur in references.

    A hypothesis word that no reference has gets the id -1: it equals no reference word, and
    which one it is never matters, as no match goes across it.
    """

    vocabulary: dict[str, int]
    tokens: NDArray[np.int32]
    """All reference words; reference r of segment s is ``tokens[starts[k]:starts[k + 1]]``
    with k = s * R + r."""
    starts: NDArray[np.int64]
    """(N * R + 1,)"""
    nrefs: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Words of each reference (N, R)."""
        return np.diff(self.starts).reshape(-1, self.nrefs)


def tokenized_references(
    references: Sequence[Sequence[str]], words_of: Iterable[list[str]]
) -> TokenizedReferences:
    """Ids of R reference streams; `words_of` yields the words segment by segment, reference
    by reference (see :func:`by_segment`)."""
    vocabulary: dict[str, int] = {}
    ids: list[int] = []
    starts = [0]
    for words in words_of:
        ids.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
        starts.append(len(ids))
    return TokenizedReferences(
        vocabulary,
        np.array(ids, dtype=np.int32),
        np.array(starts, dtype=np.int64),
        len(references),
    )


def by_segment(references: Sequence[Sequence[str]]) -> Iterator[str]:
    """Reference lines, segment by segment: R lines of segment 0, then of segment 1, ..."""
    check_references(references)
    for lines in zip(*references, strict=True):
        yield from lines


def encode(
    words_of: Sequence[list[str]], vocabulary: dict[str, int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Ids of all words in one array, and where each of the J segments starts (J + 1,)."""
    starts = np.zeros(len(words_of) + 1, dtype=np.int64)
    np.cumsum([len(words) for words in words_of], out=starts[1:])
    identity = vocabulary.get
    ids = np.fromiter(
        (identity(word, -1) for words in words_of for word in words), np.int32, count=starts[-1]
    )
    return ids, starts
