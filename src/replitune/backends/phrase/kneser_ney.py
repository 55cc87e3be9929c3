"""Interpolated modified Kneser-Ney language models (Chen and Goodman 1998, section 3).

The choices that the paper leaves open are those of KenLM's lmplz without pruning (Heafield et
al. 2013): every order has discounts D1, D2, D3+ from the counts of its own *adjusted* counts
(distinct words to the left; true counts for the highest order and for n-grams that begin with
<s>), and the unigrams are interpolated with the uniform distribution over the vocabulary with
<unk> and </s> and without <s>.

When an order has no n-gram seen once, twice or three times, or its formula leaves (0, k],
which happens with tiny or artificial text, its discounts are `FALLBACK`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.backends.phrase.arpa import NgramModel
from replitune.backends.phrase.encode import BEGIN, END, RESERVED, encode
from replitune.errors import ReplituneError

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts for counts 1, 2 and 3 or more when they cannot be estimated (lmplz's fallback)."""

HIGHEST_ORDER = 6
ABSENT = -99.0
"""log10 probability of <s>, which is never predicted."""


@dataclass(frozen=True)
class Order:
    """All distinct n-grams of one length, sorted by word ids.

    first: (M,) int64, a position in the text where it occurs
    context, suffix: (M,) int64, index in the next lower order without its last, first word
    count: (M,) int64, its adjusted count
    """

    first: NDArray[np.int64]
    context: NDArray[np.int64]
    suffix: NDArray[np.int64]
    count: NDArray[np.int64]


def padded(words: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.int32]:
    """`<s> w ... w </s>` for every segment, one after the other. <s> is id 1, </s> id 2."""
    segments = len(start) - 1
    text = np.empty(len(words) + 2 * segments, np.int32)
    begin = start[:-1] + 2 * np.arange(segments)
    end = start[1:] + 2 * np.arange(segments) + 1
    inside = np.ones(len(text), bool)
    inside[begin] = False
    inside[end] = False
    text[begin] = 1
    text[end] = 2
    text[inside] = words
    return text


def count_orders(text: NDArray[np.int32], order: int, vocab_size: int) -> list[Order]:
    """Distinct n-grams for n = 1 ... order with their adjusted counts.

    An n-gram is named by its rank, found by sorting (rank of its first n - 1 words, last word),
    so that no order needs more than one 64-bit key per position.
    """
    n_positions = len(text)
    ends = np.flatnonzero(text == 2)
    # words left in the segment from each position on, </s> included
    left = np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(n_positions) + 1
    rank = np.zeros(n_positions, np.int64)
    everything = np.arange(n_positions)
    orders: list[Order] = []
    raw: list[NDArray[np.int64]] = []
    for n in range(1, order + 1):
        positions = everything[left >= n]
        keys = rank[positions] * vocab_size + text[positions + n - 1]
        _, where, inverse, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        first = positions[where]
        context = rank[first]
        suffix = rank[first + 1] if n > 1 else np.zeros(len(first), np.int64)
        rank = np.full(n_positions, -1, np.int64)
        rank[positions] = inverse
        orders.append(Order(first, context, suffix, counts))
        raw.append(counts)
    for lower, upper in zip(range(order - 1), range(1, order), strict=True):
        this = orders[lower]
        extensions = np.bincount(orders[upper].suffix, minlength=len(this.first))
        at_begin = text[this.first] == 1
        adjusted = np.where(at_begin, raw[lower], extensions)
        orders[lower] = Order(this.first, this.context, this.suffix, adjusted)
    unigrams = orders[0]
    predicted = np.where(text[unigrams.first] == 1, 0, unigrams.count)
    orders[0] = Order(unigrams.first, unigrams.context, unigrams.suffix, predicted)
    return orders


def discounts(counts: NDArray[np.int64]) -> tuple[tuple[float, float, float], bool]:
    """(D1, D2, D3+) by Chen and Goodman's equation 26, and whether they are the fallback."""
    n1, n2, n3, n4 = (int((counts == k).sum()) for k in (1, 2, 3, 4))
    if min(n1, n2, n3) == 0:
        return FALLBACK, True
    y = n1 / (n1 + 2 * n2)
    found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    if all(0 < value <= k for k, value in enumerate(found, 1)):
        return found, False
    return FALLBACK, True


def train_lm(segments: Sequence[Sequence[str]], order: int) -> NgramModel:
    """The model of `segments` (lists of words); a blank segment counts as <s> </s>."""
    if not 1 <= order <= HIGHEST_ORDER:
        raise ReplituneError(
            "order of the language model out of range",
            found=str(order),
            expected=f"1 to {HIGHEST_ORDER}",
        )
    if not segments:
        raise ReplituneError("no text to train a language model on")
    encoded = encode(segments, RESERVED)
    vocab_size = len(encoded.vocab)
    text = padded(encoded.words, encoded.start)
    orders = count_orders(text, order, vocab_size)

    ngrams: list[NDArray[np.int32]] = []
    logprobs: list[NDArray[np.float32]] = []
    backoffs: list[NDArray[np.float32]] = []
    lower = np.full(1, 1.0 / (vocab_size - 1))
    for n, this in enumerate(orders, 1):
        (d1, d2, d3), _ = discounts(this.count)
        discount = np.array([0.0, d1, d2, d3])[np.minimum(this.count, 3)]
        contexts = len(lower)
        total = np.bincount(this.context, weights=this.count, minlength=contexts)
        mass = np.bincount(this.context, weights=discount, minlength=contexts)
        extended = total > 0
        gamma = np.divide(mass, total, out=np.ones(contexts), where=extended)
        prob = (this.count - discount) / total[this.context]
        prob += gamma[this.context] * lower[this.suffix]
        if n > 1:
            backoffs.append(np.log10(gamma).astype(np.float32))
        grams = text[this.first[:, None] + np.arange(n)]
        if n == 1:
            # <unk> does not occur: it gets the uniform share alone
            grams, prob, orders[1:2] = _with_unknown(
                grams, prob, float(gamma[0] * lower[0]), orders[1:2]
            )
        ngrams.append(grams)
        with np.errstate(divide="ignore"):
            logprobs.append(np.log10(prob).astype(np.float32))
        lower = prob
    backoffs.append(np.zeros(len(lower), np.float32))
    logprobs[0][1] = ABSENT
    return NgramModel(encoded.vocab, ngrams, logprobs, backoffs)


def _with_unknown(
    grams: NDArray[np.int32], prob: NDArray[np.float64], share: float, above: list[Order]
) -> tuple[NDArray[np.int32], NDArray[np.float64], list[Order]]:
    """Put <unk> (id 0) before the unigrams that occur and renumber what points at them."""
    grams = np.concatenate([np.zeros((1, 1), np.int32), grams])
    prob = np.concatenate([[share], prob])
    renumbered = [Order(o.first, o.context + 1, o.suffix + 1, o.count) for o in above]
    return grams, prob, renumbered


__all__ = ["BEGIN", "END", "FALLBACK", "HIGHEST_ORDER", "count_orders", "discounts", "train_lm"]
