"""Which rules apply where in a batch of sentences, whatever the weights.

A cell is a span of a sentence that some rule derives; a way is a source side that matches the span,
with the cells in its gaps. Source sides are found by dotted items over the trie (CKY+). First words
are visited from the last to the first, and spans from short to long, so that the cell in a gap is
found before the cell that contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.hiero.model import GAP, HieroModel, child
from replitune.leaf import leaf, with_room
from replitune.phrase.arrays import frozen, starts
from replitune.phrase.encode import split_words

ITEM = np.dtype([("node", "i4"), ("gap", "i4"), ("end", "i4"), ("one", "i4"), ("two", "i4")])
"""A source side that begins at the current word. node: its node; gap: the node with a gap added, or -1;
end: the word after it; one, two: the cells in its gaps, or -1."""

CELL = np.dtype([("begin", "i4"), ("end", "i4"), ("ways", "i8")])
"""The span begin .. end - 1. ways: its first way; its last one precedes the first of the next cell."""

WAY = np.dtype([("side", "i4"), ("one", "i4"), ("two", "i4")])
"""side: a source side, as a node of the trie or a number (see `Matched`); one, two: the cells in its
gaps, or -1."""


@leaf
def _extend_items(trie, items, count, word, symbol, number):
    """Add the items that end with `word`, made from the earlier ones; returns the number of all items.

    number: by length, the cell that ends with `word`, or -1; `items` must have room."""
    old = count
    for a in range(old):
        item = items[a]
        if item.end == word:
            node = child(trie, item.node, symbol) if symbol > 0 else np.int64(-1)
            if node >= 0:
                new = items[count]
                new.node, new.end, new.one, new.two = node, word + 1, item.one, item.two
                count += 1
        if item.gap >= 0 and (item.one < 0 or item.two < 0):
            cell = number[word + 1 - item.end]
            if cell >= 0:
                new = items[count]
                new.node, new.end = item.gap, word + 1
                new.one = cell if item.one < 0 else item.one
                new.two = np.int64(-1) if item.one < 0 else cell
                count += 1
    for a in range(old, count):
        items[a].gap = child(trie, items[a].node, GAP)
    return count


@njit(cache=True, nogil=True)
def _match(trie, option_start, tokens, copied, start, longest, cells, ways):
    """The chart of every sentence: (first, cells, ways); sentence i has the cells first[i] : first[i + 1].

    tokens: word ids, -1 for unknown; copied: the side that copies the word, or -1 where the word has
    a rule of its own. The ways of a cell are in the order in which their items were found."""
    first = np.zeros(len(start), np.int64)
    n_cells, n_ways = 0, 0
    items = np.empty(4096, ITEM)
    for sentence in range(len(start) - 1):
        base = first[sentence]
        n = start[sentence + 1] - start[sentence]
        # cells by end and length, numbered from 0 in each sentence
        number = np.full((n + 1, longest + 1), -1, np.int64)
        for i in range(n - 1, -1, -1):
            items[0].node, items[0].end = 0, i
            items[0].one, items[0].two = -1, -1
            items[0].gap = -1  # sides that begin with a gap are added with each cell found
            gap = child(trie, 0, GAP)
            count = 1
            for j in range(i + 1, min(n, i + longest) + 1):
                items = with_room(items, count, 2 * count + 1)
                old = count
                count = _extend_items(
                    trie, items, count, j - 1, tokens[start[sentence] + j - 1] + 1, number[j]
                )
                cells = with_room(cells, n_cells, 1)
                ways = with_room(ways, n_ways, count - old + 1)
                begin = n_ways
                for a in range(old, count):
                    node = items[a].node
                    if option_start[node + 1] > option_start[node]:
                        ways[n_ways].side = node
                        ways[n_ways].one, ways[n_ways].two = items[a].one, items[a].two
                        n_ways += 1
                side = copied[start[sentence] + i]
                if j == i + 1 and n_ways == begin and side >= 0:
                    ways[n_ways].side = side
                    ways[n_ways].one, ways[n_ways].two = -1, -1
                    n_ways += 1
                if n_ways == begin:
                    continue
                number[j, j - i] = n_cells - base
                cells[n_cells].begin, cells[n_cells].end = i, j
                cells[n_cells].ways = begin
                n_cells += 1
                if gap >= 0:
                    new = items[count]
                    new.node, new.gap, new.end = gap, -1, j
                    new.one, new.two = n_cells - 1 - base, -1
                    count += 1
        first[sentence + 1] = n_cells
    return first, cells[:n_cells], ways[:n_ways]


@dataclass(frozen=True)
class Matched:
    """The charts of N sentences. Sentence i has the cells first[i] : first[i + 1], which its ways
    number from 0.

    Ways refer to U source sides by number: the first U - len(copied) are `nodes` of the trie, and
    the others copy the words `copied`.

    start: (N + 1,) sentence i has the words start[i]:start[i + 1] of the batch
    """

    start: NDArray[np.int64]
    first: NDArray[np.int64]
    cells: NDArray[np.void]
    ways: NDArray[np.void]
    nodes: NDArray[np.int64]
    copied: list[str]

    def __len__(self) -> int:
        return len(self.start) - 1

    def chart(self, i: int) -> tuple[NDArray[np.void], NDArray[np.void], int]:
        """(cells, ways, words) of a sentence; one extra cell at the end marks the end of the ways."""
        cells = np.zeros(self.first[i + 1] - self.first[i] + 1, CELL)
        cells[:-1] = self.cells[self.first[i] : self.first[i + 1]]
        end = len(self.ways)
        if self.first[i + 1] < len(self.cells):
            end = self.cells["ways"][self.first[i + 1]]
        begin = cells["ways"][0] if len(cells) > 1 else end
        cells["ways"][-1] = end
        cells["ways"] -= begin
        return cells, self.ways[begin:end], int(self.start[i + 1] - self.start[i])


def match(model: HieroModel, lines: Sequence[str], longest: int) -> Matched:
    """The charts of the lines, with rules over at most `longest` words."""
    grammar, trie = model.table, model.table.trie
    option_start = frozen(grammar.option_start)
    sentences = [split_words(line) for line in lines]
    ids = model.source_ids
    words = [word for sentence in sentences for word in sentence]
    tokens = np.array([ids.get(word, -1) for word in words], np.int64)
    start = starts([len(sentence) for sentence in sentences])
    copied: dict[str, int] = {}
    nodes = len(grammar.source_parent)
    sides = np.full(len(tokens), -1, np.int64)
    alone = _has_rule(trie, option_start, tokens)
    for i in np.flatnonzero(~alone):
        sides[i] = nodes + copied.setdefault(words[i], len(copied))
    first, cells, ways = _match(
        trie, option_start, tokens, sides, start, longest, np.empty(1024, CELL), np.empty(8192, WAY)
    )
    used = np.zeros(nodes + len(copied), bool)
    used[ways["side"]] = True
    ways["side"] = (np.cumsum(used, dtype=np.int32) - 1)[ways["side"]]
    return Matched(start, first, cells, ways, np.flatnonzero(used[:nodes]), list(copied))


@njit(cache=True)
def _has_rule(trie, option_start, tokens):
    """Whether each word has a rule of its own."""
    out = np.zeros(len(tokens), np.bool_)
    for i in range(len(tokens)):
        if tokens[i] >= 0:
            node = child(trie, 0, tokens[i] + 1)
            out[i] = node >= 0 and option_start[node + 1] > option_start[node]
    return out
