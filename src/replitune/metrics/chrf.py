"""chrF (Popović 2015) and chrF++ (Popović 2017), equal to sacrebleu's.

Statistics: for each character order 1..char_order, then each word order 1..word_order, the
n-grams of the hypothesis, of the reference, and their matches; with several references,
those of the reference with the highest sentence chrF. Score: F_beta of the precisions and
recalls averaged over the orders (0..100).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.metrics.token_ids import BATCH, by_segment, segment_numbers
from replitune.settings import about, check_arguments

EPS = 1e-16


@dataclass(frozen=True)
class CodePoints:
    """Texts as Unicode code points: text k is ``points[starts[k]:starts[k + 1]]``."""

    points: NDArray[np.uint32]
    starts: NDArray[np.int64]
    nrefs: int


def code_points(texts: Sequence[str], nrefs: int = 1) -> CodePoints:
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=starts[1:])
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    return CodePoints(np.frombuffer(joined, dtype=np.uint32), starts, nrefs)


class Chrf(Metric):
    """Character n-gram F-score; options and defaults are sacrebleu's."""

    name = "chrf"
    title = "chrF"
    word_order_by_default = 0

    @check_arguments
    def __init__(
        self,
        char_order: Annotated[int, about("Longest character n-gram.", ge=0)] = 6,
        word_order: Annotated[
            int | None, about("Longest word n-gram; by default 0, in `chrf++` 2.", ge=0)
        ] = None,
        beta: Annotated[float, about("Weight of recall against precision.", ge=0)] = 2.0,
        lowercase: Annotated[bool, about("Compare lower-cased text.")] = False,
        whitespace: Annotated[bool, about("Keep white space in character n-grams.")] = False,
        eps_smoothing: Annotated[
            bool,
            about(
                "Mean of the orders' F-scores, with 1e-16 for what is undefined, instead of "
                "averages over the orders that both sides have."
            ),
        ] = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id)
        if word_order is None:
            word_order = self.word_order_by_default
        if char_order + word_order < 1:
            raise ReplituneError(
                f"{self.name} needs n-grams to count",
                found=f"char_order {char_order}, word_order {word_order}",
                expected="orders of at least 0, not both 0",
            )
        self.char_order = char_order
        self.word_order = word_order
        self.beta = beta
        self.lowercase = lowercase
        self.whitespace = whitespace
        self.eps_smoothing = eps_smoothing
        self.statistic_names = tuple(
            f"{unit}{side}_{n}"
            for unit, order in (("char_", char_order), ("word_", word_order))
            for n in range(1, order + 1)
            for side in ("hyp", "ref", "match")
        )

    @property
    def ignores(self) -> Collection[str]:
        spaces = not self.whitespace and not self.word_order
        return [*(["case"] if self.lowercase else []), *(["spaces"] if spaces else [])]

    def signature(self) -> str:
        case = "lc" if self.lowercase else "mixed"
        effective_order = "no" if self.eps_smoothing else "yes"
        space = "yes" if self.whitespace else "no"
        # sacrebleu has beta in the score's name (chrF2) and not in the signature
        beta = "" if self.beta == 2 else f"|beta:{self.beta:g}"
        return (
            f"case:{case}|eff:{effective_order}|nc:{self.char_order}|nw:{self.word_order}"
            f"|space:{space}{beta}"
        )

    def bounds(self) -> Iterable[tuple[str, str]]:
        for hyp, ref, match in zip(*(iter(self.statistic_names),) * 3, strict=True):
            yield match, hyp
            yield match, ref

    def prepare(self, refs: Sequence[Sequence[str]]) -> CodePoints:
        return code_points(list(map(self._cased, by_segment(refs))), len(refs))

    def _cased(self, line: str) -> str:
        return line.lower() if self.lowercase else line

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: CodePoints
    ) -> NDArray[np.int64]:
        from replitune.metrics.chrf_kernel import best_counts

        segments = segment_numbers(segments, (len(prepared.starts) - 1) // prepared.nrefs)
        statistics = np.empty((len(hyps), len(self.statistic_names)), dtype=np.int64)
        for start in range(0, len(hyps), BATCH):
            batch = slice(start, start + BATCH)
            texts = code_points(list(map(self._cased, hyps[batch])))
            statistics[batch] = best_counts(
                texts.points,
                texts.starts,
                np.argsort(segments[batch], kind="stable"),
                segments[batch],
                prepared.points,
                prepared.starts,
                prepared.nrefs,
                self.char_order,
                self.word_order,
                self.whitespace,
                self.beta,
                self.eps_smoothing,
            )
        return statistics

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        hyp, ref, match = self._columns(sums)
        if self.eps_smoothing:
            precision = np.divide(match, hyp, out=np.full_like(match, EPS), where=hyp > 0)
            recall = np.divide(match, ref, out=np.full_like(match, EPS), where=ref > 0)
            scores = self._f_scores(precision, recall, EPS)
            return 100 * scores.sum(axis=-1) / scores.shape[-1]
        return 100 * self._f_scores(*self._averages(hyp, ref, match), 0.0)

    def _f_scores(self, precision: NDArray[Any], recall: NDArray[Any], undefined: float) -> NDArray[Any]:
        factor = self.beta**2
        below = factor * precision + recall
        above = (1 + factor) * precision * recall
        return np.divide(above, below, out=np.full_like(below, undefined), where=below > 0)

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        hyp, ref, match = self._columns(sums)
        both = (hyp > 0) & (ref > 0)
        one_by_hyp = np.divide(1.0, hyp, out=np.zeros_like(match), where=both)
        one_by_ref = np.divide(1.0, ref, out=np.zeros_like(match), where=both)
        if self.eps_smoothing:
            # an order that one side lacks scores eps or less whatever the counts
            precision, recall = match * one_by_hyp, match * one_by_ref
            share = np.full((*match.shape[:-1], 1), 1 / match.shape[-1])
        else:
            precision, recall = (mean[..., None] for mean in self._averages(hyp, ref, match))
            share = 1 / np.maximum(both.sum(axis=-1, keepdims=True), 1)
        factor = self.beta**2
        below = factor * precision + recall
        scale = np.divide(
            100 * (1 + factor) * share, below**2, out=np.zeros_like(match), where=(below > 0) & both
        )
        by_precision = scale * recall**2
        by_recall = scale * factor * precision**2
        slopes = np.stack(
            [
                -by_precision * match * one_by_hyp**2,
                -by_recall * match * one_by_ref**2,
                by_precision * one_by_hyp + by_recall * one_by_ref,
            ],
            axis=-1,
        )
        return slopes.reshape(*match.shape[:-1], -1)

    def _columns(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        """(3, ..., orders): hypothesis, reference and matching n-grams."""
        sums = np.asarray(sums, dtype=np.float64)
        by_order = sums.reshape(*sums.shape[:-1], -1, 3)
        return np.moveaxis(by_order, -1, 0)

    def _averages(
        self, hyp: NDArray[np.float64], ref: NDArray[np.float64], match: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Precision and recall (...), averaged over the orders that both sides have."""
        both = (hyp > 0) & (ref > 0)
        effective = np.maximum(both.sum(axis=-1), 1)
        precision = np.divide(match, hyp, out=np.zeros_like(match), where=both)
        recall = np.divide(match, ref, out=np.zeros_like(match), where=both)
        return precision.sum(axis=-1) / effective, recall.sum(axis=-1) / effective


class ChrfPlusPlus(Chrf):
    """chrF++: word unigrams and bigrams in addition to character n-grams."""

    name = "chrf++"
    title = "chrF++"
    word_order_by_default = 2
