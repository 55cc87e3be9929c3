"""NIST (Doddington 2002), as mteval-v13a computes it.

    score = beta(hyp words / mean reference words) * sum over n of
            (information of the matching n-grams) / (n-grams of the hypothesis)

with Info(w1..wn) = log2(count(w1..wn-1) / count(w1..wn)) counted over *all* references of
the test set (for n = 1 the numerator is their number of words), matches clipped by the
largest count in one reference of the segment, and beta(r) = exp(-b ln(r)^2) for r < 1, with
b such that beta(2/3) = 1/2.

Statistics: `info_n`, the information of matching n-grams, `total_n`, the n-grams of the
hypothesis, both for n = 1..order, and `ref_length`, the mean length of the references.
"""

from __future__ import annotations

import math
import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import exp, log
from replitune.metrics.base import Array, Metric
from replitune.metrics.token_ids import TokenizedReferences, batches, tokenize_references
from replitune.metrics.tokenizers import Tokenize, get_tokenizer
from replitune.settings import about, check_arguments

BREVITY_STRENGTH = math.log(2) / math.log(1.5) ** 2
ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True)
class InformedReferences:
    """References, the trie of their n-grams, and the information of each node of the trie."""

    references: TokenizedReferences
    keys: Array
    nodes: Array
    information: Array


class Nist(Metric):
    """NIST score; higher is better, and unbounded."""

    name = "nist"
    title = "NIST"
    integer_statistics = False
    signed_statistics = ()
    breadth = 2.0

    @check_arguments
    def __init__(
        self,
        order: Annotated[int, about("Longest n-gram.", ge=1)] = 5,
        tokenize: Tokenize = "13a",
        lowercase: Annotated[
            bool,
            about("Lower-case A-Z before comparing, mteval-v13a's default (its option -c turns it off)."),
        ] = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id)
        self.order = order
        self.tokenizer = get_tokenizer(tokenize)
        self.lowercase = lowercase
        self.statistic_names = (
            *(f"info_{n}" for n in range(1, order + 1)),
            *(f"total_{n}" for n in range(1, order + 1)),
            "ref_length",
        )

    @property
    def ignores(self) -> Collection[str]:
        return ("case",) if self.lowercase else ()

    def signature(self) -> str:
        case = "lc" if self.lowercase else "mixed"
        return f"case:{case}|order:{self.order}|tok:{self.tokenizer.signature}"

    def words(self, lines: Sequence[str]) -> list[list[str]]:
        """Tokens of each line, lower-cased last, because mteval-v13a decodes entities first."""
        lists = self.tokenizer(lines)
        if self.lowercase:
            lists = [[word.translate(ASCII_LOWER) for word in words] for words in lists]
        return lists

    def prepare(self, refs: Sequence[Sequence[str]]) -> InformedReferences:
        from replitune.metrics.ngrams import all_ngrams, informations

        references = tokenize_references(self.words, refs)
        keys, nodes, counts = all_ngrams(references.tokens, references.starts, self.order)
        return InformedReferences(references, keys, nodes, informations(keys, nodes, counts))

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: InformedReferences
    ) -> NDArray[np.float64]:
        from replitune.metrics.ngrams import matched_information

        references, order = prepared.references, self.order
        informed = (prepared.keys, prepared.nodes, prepared.information)
        statistics = np.empty((len(hyps), 2 * order + 1))
        for batch, ids, starts, own in batches(self.words, hyps, segments, references):
            statistics[batch, :order] = matched_information(
                ids, starts, own, *references.arrays, order, *informed
            )
            shorter = np.arange(order)
            statistics[batch, order : 2 * order] = np.maximum(np.diff(starts)[:, None] - shorter, 0)
        statistics[:, -1] = references.mean_lengths[segments]
        return statistics

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        informative, _, brevity, _ = self._parts(sums)
        return informative * brevity

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.asarray(sums, dtype=np.float64)
        order = self.order
        info, total, length = sums[..., :order], sums[..., order:-1], sums[..., -1]
        informative, per_ngram, brevity, ratio = self._parts(sums)
        gradient = np.zeros(sums.shape)
        gradient[..., :order] = per_ngram * brevity[..., None]
        counted = total > 1  # a total below 1 counts as 1, mteval's guard against division by 0
        gradient[..., order:-1] = np.where(counted, -info * per_ngram**2 * brevity[..., None], 0.0)
        # d brevity / d ln(ratio)
        short = (ratio > 0) & (ratio < 1)
        slope = np.where(short, -2 * BREVITY_STRENGTH * log(np.where(short, ratio, 1.0)) * brevity, 0.0)
        words = total[..., 0]
        gradient[..., order] += np.divide(informative * slope, words, out=np.zeros_like(words), where=short)
        gradient[..., -1] = np.divide(-informative * slope, length, out=np.zeros_like(length), where=short)
        return gradient

    def _parts(self, sums: NDArray[Any]) -> tuple[Array, Array, Array, Array]:
        """Sum of information per n-gram (...), 1 / totals (..., order), brevity factor (...)
        and length ratio (...; 1 when there is no reference word)."""
        sums = np.asarray(sums, dtype=np.float64)
        order = self.order
        info, total, length = sums[..., :order], sums[..., order:-1], sums[..., -1]
        per_ngram = 1 / np.maximum(total, 1)
        ratio = np.divide(total[..., 0], length, out=np.ones_like(length), where=length > 0)
        logarithm = log(np.clip(ratio, np.finfo(float).tiny, 1.0))
        brevity = np.where(ratio > 0, exp(-BREVITY_STRENGTH * logarithm**2), 0.0)
        return (info * per_ngram).sum(axis=-1), per_ngram, brevity, ratio
