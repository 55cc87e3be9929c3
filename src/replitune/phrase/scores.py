"""From counted phrase pairs to the phrase table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import log
from replitune.phrase.arrays import starts
from replitune.phrase.encode import Encoded
from replitune.phrase.extract import Occurrences, PhrasePairs
from replitune.phrase.lexical import lexical_table, lexical_weights
from replitune.phrase.reordering import orientations, reordering_scores
from replitune.phrase.symmetrise import Links
from replitune.phrase.table import PhraseTable

GOOD_TURING_BELOW = 9
"""Counts from here on are not discounted, as in Moses."""


def good_turing_factors(count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Factors for counts 0 ... 8 (Foster, Kuhn and Johnson 2006, section 3.1; as in Moses).

    r* / r = (r + 1) / r * n_{r+1} / n_r with 0.1 added to both counts of counts, at most 1 and
    not falling with r. The factor of count 0 is never used.
    """
    n = np.bincount(np.minimum(count, GOOD_TURING_BELOW + 1), minlength=GOOD_TURING_BELOW + 2)
    factors = np.full(GOOD_TURING_BELOW, 0.01)
    for r in range(1, GOOD_TURING_BELOW):
        factor = (r + 1) / r * (n[r + 1] + 0.1) / (n[r] + 0.1)
        factors[r] = max(min(factor, 1.0), factors[r - 1])
    return factors


def discounted(count: NDArray[np.integer | np.floating]) -> NDArray[np.float64]:
    """Counts after Good-Turing discounting; the factor of a fractional count is that of the next whole
    number, as in Moses."""
    whole = np.ceil(count - 1e-5).astype(np.int64)
    factors = np.append(good_turing_factors(whole), 1.0)
    return count * factors[np.minimum(whole, GOOD_TURING_BELOW)]


def limited(
    order: NDArray[np.int64], sizes: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of groups of `sizes` in this order, of each the first `most` (0: all); their sizes."""
    if not most:
        return order, sizes
    begin = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[np.arange(len(order)) - begin < most], np.minimum(sizes, most)


def phrase_table(
    source: Encoded,
    target: Encoded,
    links: Links,
    occurrences: Occurrences,
    pairs: PhrasePairs,
    *,
    good_turing: bool = False,
    smoothing: float = 0.5,
    max_options: int = 100,
) -> PhraseTable:
    """Score the phrase pairs and keep the best `max_options` (0: all) of each source phrase.

    Best is the largest p(e|f), then lex(e|f), then the smaller target phrase id.
    """
    count = discounted(pairs.count) if good_turing else pairs.count.astype(np.float64)
    lex_fe, lex_ef = lexical_weights(
        source, target, occurrences, pairs.example, lexical_table(source, target, links)
    )
    p_fe = log(count / pairs.target_count[pairs.target_phrase])
    p_ef = log(count / pairs.source_count[pairs.source_phrase])
    scores = np.stack([p_fe, lex_fe, p_ef, lex_ef], axis=1).astype(np.float32)
    backward, forward = orientations(source, target, links, occurrences)
    reordering = reordering_scores(pairs, backward, forward, smoothing).astype(np.float32)

    # source phrases in the order of their word ids: ids are by length first
    first = np.flatnonzero(np.diff(pairs.source_phrase, prepend=-1))
    sizes = np.diff(first, append=len(pairs.count))
    source_words, source_length = _words(
        source, occurrences, occurrences.source_begin, occurrences.source_length, pairs.example[first]
    )
    phrase_order = np.lexsort(source_words.T[::-1])
    rank = np.empty(len(first), np.int64)
    rank[phrase_order] = np.arange(len(first))

    order = np.lexsort((pairs.target_phrase, -scores[:, 3], -scores[:, 2], np.repeat(rank, sizes)))
    order, sizes = limited(order, sizes[phrase_order], max_options)
    target_words, target_length = _words(
        target, occurrences, occurrences.target_begin, occurrences.target_length, pairs.example[order]
    )
    source_words = source_words[phrase_order]
    return PhraseTable(
        source.vocab,
        target.vocab,
        starts(source_length[phrase_order]),
        source_words[source_words >= 0],
        starts(sizes),
        starts(target_length),
        target_words[target_words >= 0],
        scores[order],
        reordering[order],
    )


def _words(
    side: Encoded, occurrences: Occurrences, begin: NDArray, length: NDArray, examples: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """The words of the phrases at `examples`, as rows filled up with -1, and their lengths."""
    segment = np.searchsorted(occurrences.start, examples, side="right") - 1
    at = side.start[segment] + begin[examples]
    lengths = length[examples]
    longest = int(lengths.max(initial=0))
    words = np.full((len(examples), longest), -1, np.int32)
    for n in range(longest):
        inside = lengths > n
        words[inside, n] = side.words[at[inside] + n]
    return words, lengths
