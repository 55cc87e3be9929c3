"""TER, translation edit rate (Snover et al. 2006), equal to sacrebleu's and tercom's.

Statistics: `num_edits`, the edits (insertions, deletions, substitutions and shifts, each of
cost 1) against the reference that needs the fewest; `ref_length`, the *mean* length of the
references, not always a whole number. Score: 100 * num_edits / ref_length.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.metrics.token_ids import TokenizedReferences, batches, tokenize_references
from replitune.settings import about, check_arguments

_BETWEEN = " \0 "


class Ter(Metric):
    """Translation edit rate; options, tokenisation and defaults are sacrebleu's."""

    name = "ter"
    title = "TER"
    statistic_names = ("num_edits", "ref_length")
    direction = -1
    integer_statistics = False
    signed_statistics = ()

    @check_arguments
    def __init__(
        self,
        normalized: Annotated[bool, about("Split punctuation off, undo XML escapes, join lines.")] = False,
        no_punct: Annotated[bool, about("Remove punctuation.")] = False,
        asian_support: Annotated[
            bool,
            about(
                "With `normalized`, split CJK characters; with `no_punct`, remove CJK and "
                "full-width punctuation too."
            ),
        ] = False,
        case_sensitive: Annotated[bool, about("Do not lower-case.")] = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id)
        self.normalized = normalized
        self.no_punct = no_punct
        self.asian_support = asian_support
        self.case_sensitive = case_sensitive

    @property
    def ignores(self) -> Collection[str]:
        return ("case",) if not self.case_sensitive else ()

    def signature(self) -> str:
        yes = {True: "yes", False: "no"}
        return (
            f"case:{'mixed' if self.case_sensitive else 'lc'}|tok:tercom"
            f"|norm:{yes[self.normalized]}|punct:{yes[not self.no_punct]}"
            f"|asian:{yes[self.asian_support]}"
        )

    @cached_property
    def _tokenize(self) -> Callable[[str], str]:
        """sacrebleu's tokenisation, without its cache: here each line comes only once."""
        if self.normalized or self.no_punct:
            from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

            options = (self.normalized, self.no_punct, self.asian_support, self.case_sensitive)
            return partial(TercomTokenizer.__call__.__wrapped__, TercomTokenizer(*options))
        return str if self.case_sensitive else str.lower

    def words(self, lines: Sequence[str]) -> list[list[str]]:
        """Tokens of each line.

        A block is tokenised as one text. Its lines are separated by a character that no rule of
        the tokeniser touches, between spaces, as the rules put spaces around a line.
        """
        texts = [line.rstrip() for line in lines]
        joined = _BETWEEN.join(texts)
        if joined.count("\0") == len(lines) - 1:
            return [line.split() for line in self._tokenize(joined).split("\0")]
        return [self._tokenize(text).split() for text in texts]

    def prepare(self, refs: Sequence[Sequence[str]]) -> TokenizedReferences:
        return tokenize_references(self.words, refs)

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: TokenizedReferences
    ) -> NDArray[np.float64]:
        from replitune.metrics.ter_kernel import fewest_edits

        statistics = np.empty((len(hyps), 2), dtype=np.float64)
        for batch, ids, starts, own in batches(self.words, hyps, segments, prepared):
            statistics[batch, 0] = fewest_edits(ids, starts, own, *prepared.arrays)
        statistics[:, 1] = prepared.mean_lengths[segments]
        return statistics

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.asarray(sums, dtype=np.float64)
        edits, length = sums[..., 0], sums[..., 1]
        empty = np.where(edits > 0, 1.0, 0.0)
        return 100 * np.divide(edits, length, out=empty, where=length > 0)

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.asarray(sums, dtype=np.float64)
        edits, length = sums[..., 0], sums[..., 1]
        inverse = np.divide(100.0, length, out=np.zeros_like(length), where=length > 0)
        ratio = np.divide(edits, length, out=np.zeros_like(length), where=length > 0)
        return np.stack([inverse, -inverse * ratio], axis=-1)
