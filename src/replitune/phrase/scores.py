"""From counted phrase pairs to the phrase table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import log
from replitune.phrase.arrays import starts
from replitune.phrase.encode import Encoded
from replitune.phrase.lexical import LexicalTable, weights_of
from replitune.phrase.pairs import PhrasePairs
from replitune.phrase.reordering import reordering_scores
from replitune.phrase.settings import LONGEST_PHRASE
from replitune.phrase.symmetrise import Linked
from replitune.phrase.table import PhraseTable

BLOCK = 1 << 20
"""Phrase pairs whose reordering is scored at a time."""
GOOD_TURING_BELOW = 9
"""Counts from here on are not discounted, as in Moses."""


def counts_of_counts(count: NDArray[np.integer | np.floating]) -> NDArray[np.int64]:
    """(GOOD_TURING_BELOW + 2,) how many counts are 0, 1, 2, ..., the last for all that are higher.
    Fractional counts are rounded up, as in Moses."""
    return np.bincount(
        np.minimum(_whole(count), GOOD_TURING_BELOW + 1), minlength=GOOD_TURING_BELOW + 2
    ).astype(np.int64)


def _whole(count: NDArray[np.integer | np.floating]) -> NDArray[np.int64]:
    return np.ceil(count - 1e-5).astype(np.int64)


def good_turing_factors(n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Factors for counts 0 ... 8 (Foster, Kuhn and Johnson 2006, section 3.1; as in Moses), from the
    counts of counts.

    r* / r = (r + 1) / r * n_{r+1} / n_r with 0.1 added to both counts of counts, at most 1 and
    not decreasing with r. The factor of count 0 is never used.
    """
    factors = np.full(GOOD_TURING_BELOW, 0.01)
    for r in range(1, GOOD_TURING_BELOW):
        factor = (r + 1) / r * (n[r + 1] + 0.1) / (n[r] + 0.1)
        factors[r] = max(min(factor, 1.0), factors[r - 1])
    return factors


def discounted(count: NDArray[np.integer | np.floating], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Counts after Good-Turing discounting by the counts of counts."""
    factors = np.append(good_turing_factors(n), 1.0)
    return count * factors[np.minimum(_whole(count), GOOD_TURING_BELOW)]


def limited(
    order: NDArray[np.int64], sizes: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first `most` (0: all) of each group in `order`, and the new sizes. sizes: of the groups, which
    come one after the other in `order`."""
    if not most:
        return order, sizes
    begin = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[np.arange(len(order)) - begin < most], np.minimum(sizes, most)


def phrase_table(
    linked: Linked,
    lexical: LexicalTable,
    pairs: PhrasePairs,
    counts: NDArray[np.int64] | None = None,
    smoothing: float = 0.5,
    max_options: int = 100,
) -> PhraseTable:
    """Score phrase pairs and keep the best `max_options` (0: all) of each source phrase; `counts`: the
    counts of counts, for Good-Turing discounting.

    Options are ranked by p(e|f), then by lex(e|f), then the smaller target phrase by length and word ids.
    """
    source, target = linked.source, linked.target
    sizes = pairs.options
    count = pairs.count.astype(np.float64) if counts is None else discounted(pairs.count, counts)
    scores = np.empty((len(count), 4), np.float32)
    scores[:, 1], scores[:, 3] = weights_of(
        (source.words, np.repeat(pairs.source_at, sizes)),
        np.repeat(pairs.source_length, sizes),
        (target.words, pairs.target_at),
        pairs.target_length,
        pairs.links,
        LONGEST_PHRASE,
        lexical,
    )
    scores[:, 0] = log(count / pairs.target_count)
    scores[:, 2] = log(count / np.repeat(pairs.source_count, sizes))
    reordering = np.empty((len(count), 6), np.float32)
    for begin in range(0, len(count), BLOCK):
        block = slice(begin, begin + BLOCK)
        reordering[block] = reordering_scores(pairs.backward[block], pairs.forward[block], smoothing)

    # source phrases in the order of their word ids
    source_words = _words(source, pairs.source_at, pairs.source_length)
    phrase_order = np.lexsort(source_words.T[::-1])
    rank = np.empty(len(sizes), np.int64)
    rank[phrase_order] = np.arange(len(sizes))

    order = np.lexsort((pairs.target_number, -scores[:, 3], -scores[:, 2], np.repeat(rank, sizes)))
    order, sizes = limited(order, sizes[phrase_order], max_options)
    target_words = _words(target, pairs.target_at[order], pairs.target_length[order])
    source_words = source_words[phrase_order]
    return PhraseTable(
        source.vocab,
        target.vocab,
        starts(pairs.source_length[phrase_order]),
        source_words[source_words >= 0],
        starts(sizes),
        starts(pairs.target_length[order]),
        target_words[target_words >= 0],
        scores[order],
        reordering[order],
    )


def _words(side: Encoded, at: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int32]:
    """The words of the phrases that begin at `at`, as rows filled up with -1."""
    longest = int(lengths.max(initial=0))
    words = np.full((len(at), longest), -1, np.int32)
    for n in range(longest):
        inside = lengths > n
        words[inside, n] = side.words[at[inside] + n]
    return words
