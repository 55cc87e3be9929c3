"""Interpolated modified Kneser-Ney language models (Chen and Goodman 1998, section 3).

The choices that the paper leaves open are those of KenLM's lmplz without pruning (Heafield et
al. 2013): every order has discounts D1, D2, D3+ from the counts of its own *adjusted* counts
(distinct words to the left; true counts for the highest order and for n-grams that begin with
<s>), and the unigrams are interpolated with the uniform distribution over the vocabulary with
<unk> and </s> and without <s>.

Pruning, too, is as in lmplz: an n-gram that is too rare in the text is left out after everything has
been counted; discounts and denominators are those of all n-grams.

When an order has no n-gram of adjusted count one, two or three, or its formula leaves (0, k],
which happens with tiny or artificial text, its discounts are `FALLBACK`, and `train_lm` says so.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import log10
from replitune.errors import ReplituneError
from replitune.phrase.arpa import IMPOSSIBLE, NgramModel, save_words
from replitune.phrase.arrays import ArrayFile, starts
from replitune.phrase.encode import RESERVED, Encoded, encode

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts for counts 1, 2 and 3 or more when they cannot be estimated (lmplz's fallback)."""

BLOCK = 1 << 23
"""N-grams of the text sorted at a time; this bounds the memory and does not affect models."""

LONGEST_TEXT = 2**31 - 1
"""Most words of a text, since their places are 32-bit numbers."""

_BEGIN, _END = RESERVED.index("<s>"), RESERVED.index("</s>")


class Pile:
    """Arrays in a file without a name, so that nothing is left of it whatever happens; they are read back
    in the order in which they were put there."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.arrays = file, 0

    def put(self, array: NDArray[Any]) -> None:
        np.save(self.file, array)
        self.arrays += 1

    def __iter__(self) -> Iterator[NDArray[Any]]:
        self.file.seek(0)
        for _ in range(self.arrays):
            yield np.load(self.file)


@dataclass
class CountedOrder:
    """All n-grams of one length, in the order of their word ids; for n = 1 the whole vocabulary.

    contexts: (blocks + 1,) the first (n - 1)-gram of each block; n-grams that begin alike share a block
    grams: blocks (4, M) int32: a place in the text; the numbers, in the next lower order, of the n-gram
        without its last and without its first word; how often it is in the text
    counts: blocks (M,) int32, adjusted counts
    kept: n-grams that are not pruned
    discounts: D1, D2, D3+, or None when they cannot be estimated
    """

    contexts: NDArray[np.int64]
    grams: Pile
    counts: Pile
    kept: int = 0
    discounts: tuple[float, float, float] | None = None

    def adjust(self, counts: NDArray[np.int32], sizes: list[int]) -> None:
        """Store the adjusted counts, in blocks of these sizes, and estimate the discounts."""
        self.discounts = discounts(counts)
        for begin, end in pairwise(starts(sizes)):
            self.counts.put(counts[begin:end])


def train_lm(
    segments: Iterable[Sequence[str]],
    order: int,
    folder: Path,
    prune: Sequence[int] = (),
    progress: Callable[[str], None] | None = None,
) -> NgramModel:
    """The model of `segments` (lists of words, read once), written into an existing folder; a blank
    segment counts as <s> </s>.

    `prune`: for n = 1, 2, ..., n-grams that occur at most this often are left out; the last
    number also holds for all longer ones. The numbers do not decrease, and the first is 0.
    """
    encoded = encode(segments, RESERVED)
    if not len(encoded):
        raise ReplituneError("no text to train a language model on")
    text, vocab = _padded(encoded), encoded.vocab
    size = len(vocab)
    del encoded  # another copy of the text
    thresholds = [*prune, *[prune[-1] if prune else 0] * order][:order]
    with ExitStack() as stack:
        piles = (Pile(stack.enter_context(tempfile.TemporaryFile(dir=folder))) for _ in range(2 * order))
        orders = count_orders(text, size, thresholds, piles)
        guessed = [str(n) for n, counted in enumerate(orders, 1) if counted.discounts is None]
        if guessed and progress is not None:
            progress(
                f"too little text to estimate the discounts of n-grams with n = {', '.join(guessed)}: "
                f"using {FALLBACK}"
            )

        probs, kept = np.full(1, 1 / (size - 1)), np.ones(1, bool)  # uniform, without <s>
        for n in range(1, order + 1):
            probs, kept = _write_order(folder, n, orders, thresholds[n - 1], text, probs, kept)
        with ArrayFile(folder / f"backoffs{order}.npy", np.float32) as last:
            last.append(np.zeros(orders[-1].kept, np.float32))
    save_words(folder, vocab, order)
    return NgramModel.load(folder)


def _write_order(
    folder: Path,
    n: int,
    orders: list[CountedOrder],
    threshold: int,
    text: NDArray[np.int32],
    lower: NDArray[np.float64],
    lower_kept: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Write n-grams, their probabilities, and the back-off weights of their contexts; returns the
    probabilities of all n-grams, and which are kept. `lower`, `lower_kept`: these of the order below."""
    counted = orders[n - 1]
    discount = np.array([0.0, *(counted.discounts or FALLBACK)])
    probs, kept_ones = [], []
    with ExitStack() as stack:

        def rows(name: str, kind: type, *columns: int) -> ArrayFile:
            return stack.enter_context(ArrayFile(folder / f"{name}.npy", kind, columns))

        ngrams, logprobs = rows(f"ngrams{n}", np.int32, n), rows(f"logprobs{n}", np.float32)
        backoffs = rows(f"backoffs{n - 1}", np.float32) if n > 1 else None
        for (begin, end), (place, context, suffix, often), count in zip(
            pairwise(counted.contexts.tolist()), counted.grams, counted.counts, strict=True
        ):
            context -= begin
            total = np.bincount(context, weights=count, minlength=end - begin)
            taken = discount[np.minimum(count, 3)]
            kept = often > threshold if threshold else np.ones(len(count), bool)
            freed = np.bincount(context, np.where(kept, taken, count), minlength=end - begin)
            gamma = np.divide(freed, total, out=np.ones(end - begin), where=total > 0)
            prob = (count - taken) / total[context]
            prob += gamma[context] * lower[suffix]
            logprob = log10(prob[kept]).astype(np.float32)
            if backoffs is None:
                logprob[_BEGIN] = IMPOSSIBLE  # <s> is never predicted
                ngrams.append(place)
            else:
                ngrams.append(text[place[kept, None] + np.arange(n)])
                backoffs.append(log10(gamma[lower_kept[begin:end]]).astype(np.float32))
            logprobs.append(logprob)
            if n < len(orders):
                probs.append(prob)
                kept_ones.append(kept)
    return np.concatenate([np.empty(0), *probs]), np.concatenate([np.empty(0, bool), *kept_ones])


def discounts(counts: NDArray[np.integer]) -> tuple[float, float, float] | None:
    """(D1, D2, D3+) by Chen and Goodman's equation 26; None when they cannot be estimated."""
    n1, n2, n3, n4 = (int((counts == k).sum()) for k in (1, 2, 3, 4))
    if min(n1, n2, n3) == 0:
        return None
    y = n1 / (n1 + 2 * n2)
    estimates = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    return estimates if all(0 < value <= k for k, value in enumerate(estimates, 1)) else None


def count_orders(
    text: NDArray[np.int32], size: int, thresholds: Sequence[int], piles: Iterator[Pile]
) -> list[CountedOrder]:
    """Distinct n-grams for n = 1, 2, ... with their adjusted counts. `text`: see `_padded`; `size`: of the
    vocabulary; `piles`: two for each order.

    An n-gram is identified by its rank, found by sorting (rank of its first n - 1 words, last word): one
    64-bit key per place of the text for every order. Places are taken in blocks, by the rank of the first
    n - 1 words.
    """
    words = np.arange(size, dtype=np.int32)
    nothing = np.zeros(size, np.int32)
    often = np.bincount(text, minlength=size).astype(np.int32)
    orders = [CountedOrder(np.array([0, 1]), next(piles), next(piles), size)]
    orders[0].grams.put(np.array([words, nothing, nothing, often]))
    sizes = [size]
    rank = text  # of the n-gram that begins at each place; -1 where its segment is too short
    for n, threshold in enumerate(thresholds[1:], 2):
        below, extensions = orders[-1], np.zeros(len(often), np.int32)
        this = CountedOrder(_cuts(often), next(piles), next(piles))
        orders.append(this)
        ranks = np.full(len(text), -1, np.int32) if n < len(thresholds) else None
        counts = [np.empty(0, np.int32)]
        number = 0
        for begin, end in pairwise(this.contexts.tolist()):
            places = np.flatnonzero((rank >= begin) & (rank < end))
            places = places[text[places + (n - 2)] != _END]
            keys = (rank[places].astype(np.int64) - begin) * size + text[places + (n - 1)]
            order = np.argsort(keys)  # equal keys in any order: any place of an n-gram will do
            places, keys = places[order], keys[order]
            new = np.flatnonzero(np.diff(keys, prepend=-1))
            first, count = places[new], np.diff(new, append=len(keys))
            suffix = rank[first + 1]
            np.add.at(extensions, suffix, 1)
            this.grams.put(np.array([first, rank[first], suffix, count], np.int32))
            this.kept += int((count > threshold).sum())
            counts.append(count.astype(np.int32))
            if ranks is not None:
                ranks[places] = np.repeat(np.arange(number, number + len(new), dtype=np.int32), count)
            number += len(count)
        begins = rank[text == _BEGIN]
        begins = begins[begins >= 0]
        extensions[begins] = often[begins] if n > 2 else 0
        below.adjust(extensions, sizes)
        often, sizes = np.concatenate(counts), [len(count) for count in counts[1:]]
        if ranks is not None:
            rank = ranks
    if len(orders) == 1:
        often[_BEGIN] = 0
    orders[-1].adjust(often, sizes)
    return orders


def _cuts(often: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where to cut n-grams into blocks, each with about `BLOCK` occurrences in the text."""
    until = np.cumsum(often, dtype=np.int64)
    whole = np.arange(BLOCK, until[-1] if len(until) else 0, BLOCK)
    return np.unique([0, *np.searchsorted(until, whole), len(often)])


def _padded(encoded: Encoded) -> NDArray[np.int32]:
    """`<s> w ... w </s>` for every segment, one after the other."""
    segments = np.arange(len(encoded))
    if len(encoded.words) + 2 * len(segments) > LONGEST_TEXT:
        raise ReplituneError(
            "too much text for a language model",
            found=f"{len(encoded.words):,} words in {len(segments):,} segments",
            expected=f"at most {LONGEST_TEXT:,} words, and two for each segment",
        )
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
