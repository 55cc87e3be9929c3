"""Distinct phrase pairs and their counts: all of a linked text, or those that a source text can use.

The text is read in blocks of segments: once to count, then once for every part of the phrase pairs. A part
has the pairs whose source phrase begins with one of a range of words, as many as are sorted at a time.
Parts come in the order of the table, and the result does not depend on where a block or a part ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replitune.phrase.encode import Encoded
from replitune.phrase.extract import extract
from replitune.phrase.reordering import orientations
from replitune.phrase.symmetrise import Linked, Links

BLOCK = 10_000
"""Segments from which phrase pairs are extracted at a time."""
MOST = 1 << 24
"""Occurrences of phrase pairs that are sorted at a time."""


class Stretches(NamedTuple):
    """Numbers for all stretches of up to `longest` words inside a segment: shorter ones come first, those
    of one length in the order of their words' ids.

    rank: (longest, N) int32, rank[n] is that of the stretch of n + 1 words that begins at each word, among
        all distinct ones of its length; -1 where it would leave the segment
    base: (longest + 1,) int64, the number of the first stretch of each length, then how many there are
    """

    rank: NDArray[np.int32]
    base: NDArray[np.int64]

    @classmethod
    def of(cls, side: Encoded, longest: int) -> Stretches:
        total = len(side.words)
        left = np.repeat(side.start[1:], np.diff(side.start)) - np.arange(total)
        rank = np.full((longest, total), -1, np.int32)
        base = np.zeros(longest + 1, np.int64)
        lower = np.zeros(total, np.int64)
        for n in range(1, longest + 1):
            positions = np.flatnonzero(left >= n)
            keys = lower[positions] * (len(side.vocab) + 1) + side.words[positions + n - 1]
            distinct, inverse = np.unique(keys, return_inverse=True)
            rank[n - 1, positions] = inverse
            lower = rank[n - 1].astype(np.int64)
            base[n] = base[n - 1] + len(distinct)
        return cls(rank, base)

    def numbers(self, at: NDArray[np.int64], length: NDArray[np.int8]) -> NDArray[np.int64]:
        """The numbers of the stretches of these lengths that begin at these words."""
        return self.base[length - 1] + self.rank[length - 1, at]


class Block(NamedTuple):
    """The occurrences of phrase pairs in some segments. at: where each side begins in the text; number:
    its number among all stretches; links: as in `Occurrences`; orientation: 3 times that towards the
    previous phrase, plus that towards the next one."""

    source_at: NDArray[np.int64]
    target_at: NDArray[np.int64]
    source_number: NDArray[np.int64]
    target_number: NDArray[np.int64]
    links: NDArray[np.uint64]
    orientation: NDArray[np.int8]


@dataclass(frozen=True)
class PhrasePairs:
    """P distinct phrase pairs of S source phrases, sorted by both sides' numbers.

    source_at, target_at: (S,), (P,) where an occurrence begins in the text
    source_length, target_length: (S,), (P,) words
    options: (S,) phrase pairs of each source phrase
    target_number: (P,) the number of the target phrase among all stretches
    count, source_count, target_count: (P,), (S,), (P,) occurrences of the pair, and of each of its
        phrases in all pairs
    links: (P,) uint64 the most frequent links inside it, as in `Occurrences`; the smallest mask when
        several are equally frequent
    backward, forward: (P, 3) occurrences by orientation towards the previous and the next phrase
    """

    source_at: NDArray[np.int64]
    source_length: NDArray[np.int64]
    options: NDArray[np.int64]
    target_at: NDArray[np.int64]
    target_length: NDArray[np.int64]
    target_number: NDArray[np.int64]
    count: NDArray[np.int64]
    source_count: NDArray[np.int64]
    target_count: NDArray[np.int32]
    links: NDArray[np.uint64]
    backward: NDArray[np.int64]
    forward: NDArray[np.int64]


class LinkedPhrases:
    """The phrase pairs of a linked text. extracted: their number, with repetitions."""

    def __init__(self, linked: Linked, longest: int, known: Encoded | None = None) -> None:
        """With up to `longest` words on either side; `known`: only pairs whose source side is in this
        text, which is in source ids, with -1 for unknown words."""
        self._linked, self._longest = linked, longest
        self._target = Stretches.of(linked.target, longest)
        self._wanted: NDArray[np.bool_] | None = None
        if known is None:
            self._source = Stretches.of(linked.source, longest)
        else:
            self._source, self._wanted = _with_known(linked.source, known, longest)
        self._target_count = np.zeros(self._target.base[-1], np.int32)
        self._begins = np.zeros(len(linked.source.vocab), np.int64)
        self.extracted = 0
        for block in self._blocks(oriented=False):
            self.extracted += len(block.links)
            np.add.at(self._target_count, block.target_number, 1)
            first = linked.source.words[block.source_at[self._kept(block)]]
            self._begins += np.bincount(first, minlength=len(self._begins))

    def parts(self) -> Iterator[PhrasePairs]:
        """The distinct phrase pairs, by ranges of the id of their first source word."""
        begin = size = 0
        for word, more in enumerate(self._begins.tolist()):
            if size and size + more > MOST:
                yield self._part(begin, word, size)
                begin, size = word, 0
            size += more
        if size:
            yield self._part(begin, len(self._begins), size)

    def _kept(self, block: Block) -> NDArray[np.bool_]:
        """Which occurrences are wanted."""
        if self._wanted is None:
            return np.ones(len(block.links), bool)
        return self._wanted[block.source_number]

    def _blocks(self, oriented: bool) -> Iterator[Block]:
        """All occurrences; with their orientation only if `oriented`."""
        linked = self._linked
        for begin in range(0, len(linked.source), BLOCK):
            segments = slice(begin, min(begin + BLOCK, len(linked.source)))
            source, target = _segments(linked.source, segments), _segments(linked.target, segments)
            start = linked.links.start[segments.start : segments.stop + 1]
            of_block = slice(start[0], start[-1])
            links = Links(start - start[0], linked.links.source[of_block], linked.links.target[of_block])
            found = extract(source, target, links, self._longest)
            segment = np.repeat(np.arange(begin, segments.stop), np.diff(found.start))
            source_at = linked.source.start[segment] + found.source_begin
            target_at = linked.target.start[segment] + found.target_begin
            orientation = np.zeros(0, np.int8)
            if oriented:
                backward, forward = orientations(source, target, links, found)
                orientation = 3 * backward + forward
            yield Block(
                source_at,
                target_at,
                self._source.numbers(source_at, found.source_length),
                self._target.numbers(target_at, found.target_length),
                found.links,
                orientation,
            )

    def _part(self, begin: int, end: int, size: int) -> PhrasePairs:
        """The phrase pairs of the `size` wanted occurrences with first source word in begin .. end - 1."""
        key, links = np.empty(size, np.int64), np.empty(size, np.uint64)
        at, orientation = np.empty((2, size), np.int32), np.empty(size, np.int8)
        targets = len(self._target_count)
        used = 0
        for block in self._blocks(oriented=True):
            first = self._linked.source.words[block.source_at]
            rows = np.flatnonzero(self._kept(block) & (first >= begin) & (first < end))
            filled = slice(used, used + len(rows))
            key[filled] = block.source_number[rows] * targets + block.target_number[rows]
            links[filled], orientation[filled] = block.links[rows], block.orientation[rows]
            at[0, filled], at[1, filled] = block.source_at[rows], block.target_at[rows]
            used = filled.stop
        order = np.lexsort((links, key))
        key = key[order]
        links = links[order]
        new_pair = np.ones(size, bool)
        new_pair[1:] = key[1:] != key[:-1]
        new_run = new_pair.copy()
        new_run[1:] |= links[1:] != links[:-1]
        pair = np.cumsum(new_pair) - 1
        pair_start = np.flatnonzero(new_pair)
        count = np.diff(pair_start, append=size)
        source_number, target_number = np.divmod(key[pair_start], targets)

        # runs of equal links within a pair: the longest run wins, the first one among equals
        run_start = np.flatnonzero(new_run)
        run_pair, run_length = pair[run_start], np.diff(run_start, append=size)
        most = np.maximum.reduceat(run_length, np.flatnonzero(new_pair[run_start]))
        winners = np.flatnonzero(run_length == most[run_pair])
        winners = winners[np.diff(run_pair[winners], prepend=-1) > 0]

        pair *= 3
        backward, forward = (
            np.bincount(pair + way, minlength=3 * len(count)).reshape(-1, 3)
            for way in np.divmod(orientation[order], np.int8(3))
        )
        new_source = np.flatnonzero(np.diff(source_number, prepend=-1))
        example = order[pair_start]
        return PhrasePairs(
            source_at=at[0, example[new_source]].astype(np.int64),
            source_length=np.searchsorted(self._source.base, source_number[new_source], side="right"),
            options=np.diff(new_source, append=len(count)),
            target_at=at[1, example].astype(np.int64),
            target_length=np.searchsorted(self._target.base, target_number, side="right"),
            target_number=target_number,
            count=count,
            source_count=np.add.reduceat(count, new_source),
            target_count=self._target_count[target_number],
            links=links[run_start[winners]],
            backward=backward,
            forward=forward,
        )


def _segments(side: Encoded, segments: slice) -> Encoded:
    """Some consecutive segments."""
    start = side.start[segments.start : segments.stop + 1]
    return Encoded(side.vocab, side.words[start[0] : start[-1]], start - start[0])


def _with_known(source: Encoded, known: Encoded, longest: int) -> tuple[Stretches, NDArray[np.bool_]]:
    """The stretches of the source side, and which of the numbers `known` has, too."""
    words = np.where(known.words < 0, len(source.vocab), known.words).astype(np.int32)
    both = Encoded(
        source.vocab,
        np.concatenate([source.words, words]),
        np.concatenate([source.start, source.start[-1] + known.start[1:]]),
    )
    rank, base = Stretches.of(both, longest)
    wanted = np.zeros(base[-1], bool)
    for first, of_length in zip(base, rank[:, len(source.words) :], strict=False):
        wanted[first + of_length[of_length >= 0]] = True
    return Stretches(rank[:, : len(source.words)], base), wanted
