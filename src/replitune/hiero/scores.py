"""From instances of rules to the grammar."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.arithmetic import log
from replitune.hiero.extract import TARGET_WORD, Extracted, Nodes
from replitune.hiero.grammar import Grammar
from replitune.hiero.settings import HieroSettings
from replitune.hiero.trie import table_of
from replitune.phrase.arrays import starts
from replitune.phrase.encode import Encoded
from replitune.phrase.lexical import lexical_table, weights_of
from replitune.phrase.scores import counts_of_counts, discounted, limited
from replitune.phrase.symmetrise import Links

BLOCK = 1 << 20
"""Rules that are spelt at a time."""


def make_grammar(
    source: Encoded, target: Encoded, links: Links, extracted: Extracted, settings: HieroSettings
) -> Grammar:
    """Score the rules, and keep the best of each source side.

    Best is the largest p(e|f), then lex(e|f), then the target side that was extracted first.
    """
    source_side, target_side, count = extracted.source_side, extracted.target_side, extracted.count
    nodes = len(extracted.source.parent)
    scores = np.empty((len(count), 4), np.float32)
    totals = np.bincount(target_side, weights=count), np.bincount(source_side, weights=count)
    if settings.good_turing:
        count = discounted(count, counts_of_counts(count))
    scores[:, 0] = log(count / totals[0][target_side])
    scores[:, 2] = log(count / totals[1][source_side])
    table = lexical_table(source, target, links)
    for begin in range(0, len(count), BLOCK):
        block = slice(begin, begin + BLOCK)
        scores[block, 1], scores[block, 3] = weights_of(
            *_words(extracted.source, source_side[block], 1),
            *_words(extracted.target, target_side[block], TARGET_WORD),
            extracted.links[block],
            settings.max_span,
            table,
        )

    order = np.lexsort((target_side, -scores[:, 3], -scores[:, 2], source_side))
    sizes = np.bincount(source_side, minlength=nodes)
    order, sizes = limited(order, sizes, settings.max_options)
    trie = table_of(*extracted.source, nodes)
    return Grammar(
        source.vocab,
        target.vocab,
        *extracted.source,
        trie.keys,
        trie.children,
        starts(sizes),
        *_sides(extracted.target, target_side[order], TARGET_WORD),
        scores[order],
    )


def _words(
    sides: Nodes, nodes: NDArray[np.int32], first_word: int
) -> tuple[tuple[NDArray[np.int32], NDArray[np.int64]], NDArray[np.int64]]:
    """Words of some sides without the gaps: ((words, where each side begins), lengths)."""
    start, symbols = _sides(sides, nodes, first_word)
    is_word = symbols >= 0
    at = np.concatenate([[0], np.cumsum(is_word)])[start]
    return (symbols[is_word], at[:-1]), np.diff(at)


def _sides(
    sides: Nodes, nodes: NDArray[np.int32], first_word: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(start, symbols) of the sequences of some nodes, words as their ids and gaps below 0."""
    parent, symbol = sides
    start = np.zeros(len(nodes) + 1, np.int64)
    _spell(parent, symbol, nodes, first_word, start, np.empty(0, np.int32))
    np.cumsum(start, out=start)
    symbols = np.empty(start[-1], np.int32)
    _spell(parent, symbol, nodes, first_word, start, symbols)
    return start, symbols


@njit(cache=True)
def _spell(parent, symbol, nodes, first_word, start, symbols):
    """Write the lengths into start[1:], or where there is room the symbols."""
    fill = len(symbols) > 0
    for i in range(len(nodes)):
        node = nodes[i]
        at = start[i + 1]
        while node > 0:
            at -= 1
            if fill:
                value = symbol[node] - first_word
                symbols[at] = value if value >= 0 else -symbol[node] - 1
            node = parent[node]
        if not fill:
            start[i + 1] = -at
