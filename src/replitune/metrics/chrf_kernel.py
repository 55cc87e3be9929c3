"""Exact n-gram matching of characters and words, for chrF.

The n-grams of a reference form a trie; a hypothesis walks down it once per position and uses
up occurrences. Each word is a node of a second trie, of characters; these nodes are the symbols
of the word n-grams.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.metrics.base import Array
from replitune.metrics.ngrams import ABSENT, ROOT, child, grow, plant, table_size, walk

# Code points that str.split() splits at.
_WHITESPACE = [9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 0x85, 0xA0, 0x1680]
_WHITESPACE += [*range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
WHITESPACE = np.zeros(0x3001, dtype=np.bool_)
WHITESPACE[_WHITESPACE] = True

PUNCTUATION = np.zeros(128, dtype=np.bool_)
PUNCTUATION[[ord(sign) for sign in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"]] = True


@njit(cache=True)
def characters_of(text: Array, whitespace: bool, out: Array) -> int:
    """Copy `text` to `out`, without white space unless `whitespace`; return the size."""
    size = 0
    for k in range(text.size):
        point = text[k]
        if whitespace or point >= WHITESPACE.size or not WHITESPACE[point]:
            out[size] = point
            size += 1
    return size


@njit(cache=True)
def bounds_of_words(text: Array, bounds: Array) -> int:
    """Fill `bounds` with the start and the end of each word; return the number of words.

    One punctuation sign at the end of a word, or else at its start, is a word of its own, as in
    Popovic's chrF++.py.
    """
    words = 0
    k = 0
    while k < text.size:
        if text[k] < WHITESPACE.size and WHITESPACE[text[k]]:
            k += 1
            continue
        start = k
        while k < text.size and (text[k] >= WHITESPACE.size or not WHITESPACE[text[k]]):
            k += 1
        cut = k
        if k - start > 1:
            if text[k - 1] < 128 and PUNCTUATION[text[k - 1]]:
                cut = k - 1
            elif text[start] < 128 and PUNCTUATION[text[start]]:
                cut = start + 1
        bounds[2 * words] = start
        bounds[2 * words + 1] = cut
        words += 1
        if cut < k:
            bounds[2 * words] = cut
            bounds[2 * words + 1] = k
            words += 1
    return words


@njit(cache=True)
def f_score(counts: Array, orders: int, beta: float, smooth: bool) -> float:
    """Sentence chrF (0..100) of `counts` (3 * orders,): sacrebleu's operations in its order,
    because the best reference is chosen by comparing such scores."""
    eps = 1e-16
    factor = beta**2
    total, precision, recall, effective = 0.0, 0.0, 0.0, 0
    for i in range(orders):
        hyp, ref, match = counts[3 * i], counts[3 * i + 1], counts[3 * i + 2]
        p = match / hyp if hyp > 0 else eps
        r = match / ref if ref > 0 else eps
        below = factor * p + r
        total += ((1 + factor) * p * r / below) if below > 0 else eps
        if hyp > 0 and ref > 0:
            precision += p
            recall += r
            effective += 1
    if smooth:
        return 100 * total / orders
    if effective == 0:
        return 0.0
    precision /= effective
    recall /= effective
    if precision + recall == 0:
        return 0.0
    return 100 * ((1 + factor) * precision * recall / ((factor * precision) + recall))


@njit(cache=True, nogil=True)
def best_counts(
    hyps: Array,
    hyp_starts: Array,
    by_segment: Array,
    segments: Array,
    refs: Array,
    ref_starts: Array,
    nrefs: int,
    char_order: int,
    word_order: int,
    whitespace: bool,
    beta: float,
    smooth: bool,
) -> Array:
    """Statistics (J, 3 * (char_order + word_order)): [hyp, ref, match] of each order, against
    the reference with the highest sentence score (the first of equals).

    `by_segment` (J,) lists the hypotheses segment by segment, so that a reference's tries are
    built once for all of its hypotheses.
    """
    count = segments.size
    orders = char_order + word_order
    best = np.zeros((count, 3 * orders), dtype=np.int64)
    best_score = np.full(count, -1.0)
    longest = 1
    for h in range(count):
        longest = max(longest, hyp_starts[h + 1] - hyp_starts[h])
    longest_ref = 1
    for h in range(count):
        for k in range(segments[h] * nrefs, (segments[h] + 1) * nrefs):
            longest_ref = max(longest_ref, ref_starts[k + 1] - ref_starts[k])
    symbols = np.empty(max(longest, longest_ref), dtype=np.int64)
    bounds = np.empty(2 * max(longest, longest_ref), dtype=np.int64)
    char_space = char_order * longest_ref + 1
    word_space = word_order * longest_ref + 1
    char_keys = np.empty(table_size(char_space), dtype=np.int64)
    char_nodes = np.empty(char_keys.size, dtype=np.int32)
    char_counts = np.empty(char_space, dtype=np.int32)
    spelling_keys = np.empty(table_size(longest_ref + 1 if word_order else 1), dtype=np.int64)
    spelling_nodes = np.empty(spelling_keys.size, dtype=np.int32)
    word_keys = np.empty(table_size(word_space), dtype=np.int64)
    word_nodes = np.empty(word_keys.size, dtype=np.int32)
    word_counts = np.empty(word_space, dtype=np.int32)
    left = np.empty(max(char_space, word_space), dtype=np.int32)
    matches = np.empty(max(char_order, word_order), dtype=np.int64)
    counts = np.empty(3 * orders, dtype=np.int64)

    begin = 0
    while begin < count:
        segment = segments[by_segment[begin]]
        end = begin
        while end < count and segments[by_segment[end]] == segment:
            end += 1
        for k in range(segment * nrefs, (segment + 1) * nrefs):
            ref = refs[ref_starts[k] : ref_starts[k + 1]]
            ref_size = characters_of(ref, whitespace, symbols)
            keys = char_keys[: table_size(char_order * ref_size + 1)]
            keys[:] = ABSENT
            char_used = plant(symbols, ref_size, char_order, keys, char_nodes, char_counts, 1)

            ref_words = 0
            spelling = spelling_keys
            grams = word_keys
            word_used = 1
            if word_order > 0:
                ref_words = bounds_of_words(ref, bounds)
                spelling = spelling_keys[: table_size(ref.size + 1)]
                spelling[:] = ABSENT
                letters = 1
                for w in range(ref_words):
                    node = ROOT
                    for c in range(bounds[2 * w], bounds[2 * w + 1]):
                        node = grow(spelling, spelling_nodes, node, ref[c], letters)
                        if node == letters:
                            letters += 1
                    symbols[w] = node
                grams = word_keys[: table_size(word_order * ref_words + 1)]
                grams[:] = ABSENT
                word_used = plant(symbols, ref_words, word_order, grams, word_nodes, word_counts, 1)

            for place in range(begin, end):
                h = by_segment[place]
                hyp = hyps[hyp_starts[h] : hyp_starts[h + 1]]
                size = characters_of(hyp, whitespace, symbols)
                left[:char_used] = char_counts[:char_used]
                matches[:] = 0
                walk(symbols, size, char_order, keys, char_nodes, left, matches)
                for n in range(char_order):
                    counts[3 * n] = max(0, size - n) if ref_size > n else 0
                    counts[3 * n + 1] = max(0, ref_size - n)
                    counts[3 * n + 2] = matches[n]
                if word_order > 0:
                    words = bounds_of_words(hyp, bounds)
                    for w in range(words):
                        node = ROOT
                        for c in range(bounds[2 * w], bounds[2 * w + 1]):
                            node = child(spelling, spelling_nodes, node, hyp[c])
                            if node == ABSENT:
                                break
                        symbols[w] = node
                    left[:word_used] = word_counts[:word_used]
                    matches[:] = 0
                    walk(symbols, words, word_order, grams, word_nodes, left, matches)
                    for n in range(word_order):
                        at = 3 * (char_order + n)
                        counts[at] = max(0, words - n) if ref_words > n else 0
                        counts[at + 1] = max(0, ref_words - n)
                        counts[at + 2] = matches[n]
                score = f_score(counts, orders, beta, smooth)
                if score > best_score[h]:
                    best_score[h] = score
                    best[h] = counts
        begin = end
    return best
