"""RIBES (Isozaki et al. 2010), by the rules of the official script, version 1.03.1.

    RIBES = NKT * P1^alpha * BP^beta

NKT is the normalised Kendall tau of the positions that hypothesis words have in the
reference, P1 the share of hypothesis words that could be aligned, BP the brevity penalty.
A word is aligned by the shortest n-gram that ends or begins with it and occurs exactly once on
both sides (the word itself, if it does); of two equally short ones, the n-gram that ends with it
is taken. The score of a system is the mean over segments, each with its best reference.

Statistics: `score` of the segment (0..100), and `count` 1; both are 0 when all of a
segment's references are empty (the official option -z).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import MeanMetric
from replitune.metrics.token_ids import TokenizedReferences, batches, tokenize_references
from replitune.metrics.tokenizers import Tokenize, get_tokenizer
from replitune.settings import about, check_arguments


class Ribes(MeanMetric):
    """Mean RIBES of the segments (0..100)."""

    name = "ribes"
    title = "RIBES"
    needs_text = True

    @check_arguments
    def __init__(
        self,
        alpha: Annotated[float, about("Exponent of the unigram precision.", ge=0)] = 0.25,
        beta: Annotated[float, about("Exponent of the brevity penalty.", ge=0)] = 0.10,
        tokenize: Tokenize = "none",
        lowercase: Annotated[
            bool, about("Compare lower-cased words, the official script's default.")
        ] = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id)
        self.alpha = alpha
        self.beta = beta
        self.tokenizer = get_tokenizer(tokenize)
        self.lowercase = lowercase

    @property
    def ignores(self) -> Collection[str]:
        return ("case",) if self.lowercase else ()

    def signature(self) -> str:
        case = "lc" if self.lowercase else "mixed"
        return (
            f"case:{case}|alpha:{self.alpha:g}|beta:{self.beta:g}"
            f"|tok:{self.tokenizer.signature}|aggregation:mean"
        )

    def prepare(self, refs: Sequence[Sequence[str]]) -> TokenizedReferences:
        return tokenize_references(self.words, refs)

    def words(self, lines: Sequence[str]) -> list[list[str]]:
        return self.tokenizer(lines, self.lowercase)

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: TokenizedReferences
    ) -> NDArray[np.float64]:
        from replitune.metrics.ribes_kernel import best_ribes

        statistics = np.empty((len(hyps), 2))
        for batch, ids, starts, own in batches(self.words, hyps, segments, prepared):
            statistics[batch] = best_ribes(ids, starts, own, *prepared.arrays, self.alpha, self.beta)
        return statistics
