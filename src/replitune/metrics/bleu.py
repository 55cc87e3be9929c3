"""BLEU (Papineni et al. 2002), equal to sacrebleu's statistic for statistic; and BLEU+1."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import exp, log
from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric, Metric
from replitune.metrics.length import ReferenceLength, reference_length
from replitune.metrics.token_ids import batches, tokenize_references
from replitune.metrics.tokenizers import Tokenize, get_tokenizer
from replitune.settings import about, check_arguments

if TYPE_CHECKING:
    from replitune.metrics.ngrams import ReferenceNgrams

_SMOOTH_DEFAULTS = {"floor": 0.1, "add-k": 1.0}

Lowercase = Annotated[bool, about("Compare lower-cased text.")]
Order = Annotated[int, about("Longest n-gram.", ge=1, le=16)]


class Bleu(Metric):
    """Corpus BLEU, 0 .. 100.

    With several references, an n-gram's matches are clipped at its largest count in any one
    reference; the reference length is the one closest to the hypothesis's (of two equally
    close, the shorter), or with ``ref_length=shortest`` the smallest.
    """

    name = "bleu"
    title = "BLEU"

    @check_arguments
    def __init__(
        self,
        id: str | None = None,
        tokenize: Tokenize = "13a",
        lowercase: Lowercase = False,
        smooth_method: Annotated[
            Literal["none", "floor", "add-k", "exp"], about("How orders without a match are smoothed.")
        ] = "exp",
        smooth_value: Annotated[
            float | None, about("The value for `floor` (default 0.1) or `add-k` (default 1).", ge=0)
        ] = None,
        effective_order: Annotated[
            bool, about("Average over the orders that have matches, for single sentences.")
        ] = False,
        max_ngram_order: Order = 4,
        ref_length: ReferenceLength = "closest",
    ) -> None:
        super().__init__(id)
        if smooth_value is not None and smooth_method not in _SMOOTH_DEFAULTS:
            raise ReplituneError(
                f"smooth_method={smooth_method} takes no smooth_value",
                found=f"smooth_value={smooth_value}",
                expected="smooth_value only with floor or add-k",
            )
        self.tokenizer = get_tokenizer(tokenize)
        self.lowercase = lowercase
        self.smooth_method = smooth_method
        self.smooth_value = _SMOOTH_DEFAULTS.get(smooth_method, 0.0)
        if smooth_value is not None:
            self.smooth_value = smooth_value
        self.effective_order = effective_order
        self.max_ngram_order = max_ngram_order
        self.ref_length = ref_length
        orders = range(1, max_ngram_order + 1)
        self.statistic_names = (
            *(f"match_{n}" for n in orders),
            *(f"total_{n}" for n in orders),
            "hyp_len",
            "ref_len",
        )

    @property
    def ignores(self) -> Collection[str]:
        return ("case",) if self.lowercase else ()

    def signature(self) -> str:
        smooth: str = self.smooth_method
        if smooth in _SMOOTH_DEFAULTS:
            smooth += f"[{self.smooth_value:.2f}]"
        fields = [
            f"case:{'lc' if self.lowercase else 'mixed'}",
            f"eff:{'yes' if self.effective_order else 'no'}",
            f"tok:{self.tokenizer.signature}",
            f"smooth:{smooth}",
        ]
        # sacrebleu leaves the order out, and only has the closest length.
        if self.max_ngram_order != 4:
            fields.append(f"order:{self.max_ngram_order}")
        if self.ref_length != "closest":
            fields.append(f"reflen:{self.ref_length}")
        return "|".join(fields)

    def prepare(self, refs: Sequence[Sequence[str]]) -> ReferenceNgrams:
        """Tokenise R streams of N references and store their n-grams per segment."""
        from replitune.metrics.ngrams import prepare_references

        return prepare_references(tokenize_references(self.words, refs), self.max_ngram_order)

    def words(self, lines: Sequence[str]) -> list[list[str]]:
        return self.tokenizer(lines, self.lowercase)

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: ReferenceNgrams
    ) -> NDArray[np.int32]:
        from replitune.metrics.ngrams import count_matches

        references, order = prepared.references, self.max_ngram_order
        out = np.zeros((len(hyps), len(self.statistic_names)), dtype=np.int32)
        for batch, ids, starts, own in batches(self.words, hyps, segments, references):
            count_matches(ids, starts, own, *prepared.tries, order, out[batch, :order])
            lengths = np.diff(starts)
            out[batch, order:-2] = np.maximum(lengths[:, None] - np.arange(order), 0)
            out[batch, -2] = lengths
            out[batch, -1] = reference_length(lengths, references.lengths[own], self.ref_length)
        return out

    def bounds(self) -> Iterable[tuple[str, str]]:
        for n in range(1, self.max_ngram_order + 1):
            yield f"match_{n}", f"total_{n}"
            yield f"total_{n}", "hyp_len"

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        return self._evaluate(sums)[0]

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        """d score / d sums, with a smoothed zero count held at its smoothed value, and the
        right-hand branch (no penalty) where hypothesis and reference length are equal."""
        score, used, positive, matches, totals, effective = self._evaluate(sums)
        order = self.max_ngram_order
        hyp, ref = (np.asarray(sums, dtype=np.float64)[..., k] for k in (-2, -1))
        weight = np.where(used, (score / np.maximum(effective, 1))[..., None], 0.0)
        out = np.zeros(np.shape(sums), dtype=np.float64)
        np.divide(weight, matches, out=out[..., :order], where=used & positive)
        np.divide(-weight, totals, out=out[..., order : 2 * order], where=used)
        short = (hyp < ref) & (hyp > 0)
        np.divide(score * ref, hyp**2, out=out[..., -2], where=short)
        np.divide(-score, hyp, out=out[..., -1], where=short)
        return out

    def _evaluate(self, sums: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Score and what its gradient needs: which orders count, which have matches, their
        smoothed matches and totals, and how many orders the mean is over."""
        z = np.asarray(sums, dtype=np.float64)
        order = self.max_ngram_order
        matches, totals = z[..., :order].copy(), z[..., order : 2 * order].copy()
        hyp, ref = z[..., -2], z[..., -1]
        matched = (matches > 0).any(axis=-1)
        if self.smooth_method == "add-k":
            matches[..., 1:] += self.smooth_value
            totals[..., 1:] += self.smooth_value
        # sacrebleu stops at the first order without n-grams.
        used = np.logical_and.accumulate(totals > 0, axis=-1)
        positive = matches > 0
        zero = used & ~positive
        smoothed = np.zeros_like(matches)
        if self.smooth_method == "exp":
            smoothed = np.ldexp(1.0, np.negative(np.cumsum(zero, axis=-1)))
        elif self.smooth_method == "floor":
            smoothed += self.smooth_value
        ratio = np.divide(
            100.0 * np.where(positive, matches, smoothed), totals, out=np.zeros_like(totals), where=used
        )
        logs = np.where(ratio > 0, log(ratio), 0.0)
        effective = used.sum(axis=-1) if self.effective_order else np.full(z.shape[:-1], order)
        defined = matched & ((ratio > 0).sum(axis=-1) == effective) & (hyp > 0)
        precision = exp(logs.sum(axis=-1) / np.maximum(effective, 1))
        short = (hyp < ref) & (hyp > 0)
        penalty = exp(1 - np.divide(ref, hyp, out=np.ones_like(hyp), where=short))
        score = np.where(defined, penalty * precision, 0.0)
        return score, used, positive, matches, totals, effective

    def kink(self, sums: NDArray[Any], spread: NDArray[np.float64]) -> str | None:
        """BLEU has a corner at hypothesis length = reference length, and at zero matches."""
        z = np.asarray(sums, dtype=np.float64)
        corners = []
        variance = spread[-2, -2] + spread[-1, -1] - 2 * spread[-2, -1]
        if abs(z[-2] - z[-1]) <= 2 * np.sqrt(max(variance, 0.0)):
            corners.append(
                f"hypothesis length {z[-2]:.0f} is within 2 standard errors "
                f"of the reference length {z[-1]:.0f}"
            )
        # With add-k only unigrams can be zero.
        orders = 1 if self.smooth_method == "add-k" else self.max_ngram_order
        for n in range(orders):
            if z[n] <= 2 * np.sqrt(max(spread[n, n], 0.0)):
                corners.append(f"{z[n]:.0f} matching {n + 1}-grams are within 2 standard errors of zero")
        return f"BLEU is not smooth here: {', '.join(corners)}" if corners else None


class BleuPlusOne(MeanMetric):
    """Mean over segments of sentence BLEU+1, 0 .. 100 (Lin & Och 2004; Neubig, eq. 105):
    one is added to matches and totals of every order above the first."""

    name = "bleu+1"
    title = "BLEU+1"
    needs_text = True

    @check_arguments
    def __init__(
        self,
        id: str | None = None,
        tokenize: Tokenize = "13a",
        lowercase: Lowercase = False,
        max_ngram_order: Order = 4,
        ref_length: ReferenceLength = "closest",
    ) -> None:
        super().__init__(id)
        self.bleu = Bleu(
            tokenize=tokenize,
            lowercase=lowercase,
            smooth_method="add-k",
            smooth_value=1.0,
            max_ngram_order=max_ngram_order,
            ref_length=ref_length,
        )
        self.tokenizer = self.bleu.tokenizer

    @property
    def ignores(self) -> Collection[str]:
        return self.bleu.ignores

    def signature(self) -> str:
        return f"{self.bleu.signature()}|{super().signature()}"

    def prepare(self, refs: Sequence[Sequence[str]]) -> ReferenceNgrams:
        return self.bleu.prepare(refs)

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: ReferenceNgrams
    ) -> NDArray[np.float64]:
        scores = self.bleu.score(self.bleu.segment_statistics(hyps, segments, prepared))
        return np.stack([scores, np.ones_like(scores)], axis=-1)
