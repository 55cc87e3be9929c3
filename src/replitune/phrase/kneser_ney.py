"""Interpolated modified Kneser-Ney language models (Chen and Goodman 1998, section 3).

The choices that the paper leaves open are those of KenLM's lmplz without pruning (Heafield et
al. 2013): every order has discounts D1, D2, D3+ from the counts of its own *adjusted* counts
(distinct words to the left; true counts for the highest order and for n-grams that begin with
<s>), and the unigrams are interpolated with the uniform distribution over the vocabulary with
<unk> and </s> and without <s>.

When an order has no n-gram of adjusted count one, two or three, or its formula leaves (0, k],
which happens with tiny or artificial text, its discounts are `FALLBACK`, and `train_lm` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import log10
from replitune.errors import ReplituneError
from replitune.phrase.arpa import IMPOSSIBLE, NgramModel
from replitune.phrase.encode import RESERVED, Encoded, encode

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts for counts 1, 2 and 3 or more when they cannot be estimated (lmplz's fallback)."""

_BEGIN, _END = RESERVED.index("<s>"), RESERVED.index("</s>")


@dataclass(frozen=True)
class CountedOrder:
    """All n-grams of one length, sorted by word ids; for n = 1 the whole vocabulary.

    grams: (M, n) int32
    context, suffix: (M,) int64, index in the next lower order of the n-gram without its last,
        first word (0 for n = 1)
    count: (M,) int64, adjusted count
    """

    grams: NDArray[np.int32]
    context: NDArray[np.int64]
    suffix: NDArray[np.int64]
    count: NDArray[np.int64]


def train_lm(
    segments: Sequence[Sequence[str]], order: int, progress: Callable[[str], None] | None = None
) -> NgramModel:
    """The model of `segments` (lists of words); a blank segment counts as <s> </s>."""
    if not segments:
        raise ReplituneError("no text to train a language model on")
    encoded = encode(segments, RESERVED)
    size = len(encoded.vocab)

    grams, logprobs, backoffs = [], [], []
    guessed: list[str] = []
    lower = np.full(1, 1 / (size - 1))  # uniform, <s> apart
    for n, this in enumerate(count_orders(encoded, order), 1):
        estimated = discounts(this.count)
        if estimated is None:
            guessed.append(str(n))
        discount = np.array([0.0, *(estimated or FALLBACK)])[np.minimum(this.count, 3)]
        total = np.bincount(this.context, weights=this.count, minlength=len(lower))
        freed = np.bincount(this.context, weights=discount, minlength=len(lower))
        gamma = np.divide(freed, total, out=np.ones(len(lower)), where=total > 0)
        prob = (this.count - discount) / total[this.context]
        prob += gamma[this.context] * lower[this.suffix]
        if n > 1:
            backoffs.append(log10(gamma).astype(np.float32))
        grams.append(this.grams)
        logprobs.append(log10(prob).astype(np.float32))
        lower = prob
    backoffs.append(np.zeros(len(lower), np.float32))
    logprobs[0][_BEGIN] = IMPOSSIBLE  # <s> is never predicted
    if guessed and progress is not None:
        progress(
            f"too little text to estimate the discounts of n-grams with n = {', '.join(guessed)}: "
            f"using {FALLBACK}"
        )
    return NgramModel(encoded.vocab, grams, logprobs, backoffs)


def discounts(counts: NDArray[np.int64]) -> tuple[float, float, float] | None:
    """(D1, D2, D3+) by Chen and Goodman's equation 26; None when they cannot be estimated."""
    n1, n2, n3, n4 = (int((counts == k).sum()) for k in (1, 2, 3, 4))
    if min(n1, n2, n3) == 0:
        return None
    y = n1 / (n1 + 2 * n2)
    estimates = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    return estimates if all(0 < value <= k for k, value in enumerate(estimates, 1)) else None


def count_orders(encoded: Encoded, order: int) -> list[CountedOrder]:
    """Distinct n-grams for n = 1 ... order with their adjusted counts.

    The vocabulary must begin with `RESERVED`. An n-gram is named by its rank, found by sorting
    (rank of its first n - 1 words, last word): one 64-bit key per position for every order.
    """
    size = len(encoded.vocab)
    text = _padded(encoded)
    ends = np.flatnonzero(text == _END)
    # words left in the segment from each position on, </s> included
    left = np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(len(text)) + 1

    words = np.arange(size, dtype=np.int32)[:, None]
    nothing = np.zeros(size, np.int64)
    orders = [CountedOrder(words, nothing, nothing, np.bincount(text, minlength=size))]
    rank = text.astype(np.int64)
    for n in range(2, order + 1):
        positions = np.flatnonzero(left >= n)
        keys = rank[positions] * size + text[positions + n - 1]
        _, where, inverse, count = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        first = positions[where]
        grams = text[first[:, None] + np.arange(n)]
        orders.append(CountedOrder(grams, rank[first], rank[first + 1], count))
        rank[positions] = inverse

    for lower in range(order - 1):
        this = orders[lower]
        extensions = np.bincount(orders[lower + 1].suffix, minlength=len(this.grams))
        adjusted = np.where(this.grams[:, 0] == _BEGIN, this.count, extensions)
        orders[lower] = CountedOrder(this.grams, this.context, this.suffix, adjusted)
    orders[0].count[_BEGIN] = 0
    return orders


def _padded(encoded: Encoded) -> NDArray[np.int32]:
    """`<s> w ... w </s>` for every segment, one after the other."""
    segments = np.arange(len(encoded))
    text = np.empty(len(encoded.words) + 2 * len(segments), np.int32)
    begin = encoded.start[:-1] + 2 * segments
    end = encoded.start[1:] + 2 * segments + 1
    inside = np.ones(len(text), bool)
    inside[begin] = False
    inside[end] = False
    text[begin] = _BEGIN
    text[end] = _END
    text[inside] = encoded.words
    return text
