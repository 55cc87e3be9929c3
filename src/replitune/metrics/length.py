"""Lengths of hypotheses against their references: multeval's Length, and BLEU's ref_len."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric, ratio, ratio_gradient
from replitune.metrics.tokenizers import Tokenize, get_tokenizer
from replitune.settings import about, check_arguments

ReferenceLength = Annotated[
    Literal["closest", "shortest"],
    about(
        "Which reference's length counts: the one closest to the hypothesis's (of two equally "
        "close, the shorter), or the shortest."
    ),
]


class Length(Metric):
    """100 times hypothesis tokens over reference tokens (multeval's Length).

    Neither direction is better: 100 is the length of the references. The interface requires
    one, so "higher" here means "longer"; two-sided tests do not depend on it. References without
    any token score 0.
    """

    name = "length"
    title = "length ratio"
    direction = None
    statistic_names = ("hyp_len", "ref_len")

    @check_arguments
    def __init__(
        self, id: str | None = None, tokenize: Tokenize = "13a", ref_length: ReferenceLength = "closest"
    ) -> None:
        super().__init__(id)
        self.tokenizer = get_tokenizer(tokenize)
        self.ref_length = ref_length

    @property
    def ignores(self) -> Collection[str]:
        return ("case",)

    def signature(self) -> str:
        signature = f"tok:{self.tokenizer.signature}"
        return signature if self.ref_length == "closest" else f"{signature}|reflen:shortest"

    def prepare(self, refs: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """The number of tokens of each reference (N, R)."""
        check_references(refs)
        return np.stack([self._lengths(stream) for stream in refs], axis=1)

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        hyp = self._lengths(hyps)
        ref = reference_length(hyp.astype(np.int64), prepared[segments], self.ref_length)
        return np.stack([hyp, ref.astype(np.int32)], axis=1)

    def _lengths(self, lines: Sequence[str]) -> NDArray[np.int32]:
        lists = self.tokenizer(lines)
        return np.fromiter(map(len, lists), dtype=np.int32, count=len(lists))

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        return 100.0 * ratio(sums)

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        return 100.0 * ratio_gradient(sums)


def check_references(refs: Sequence[Sequence[str]]) -> None:
    """Refuse a test set without references, or with different numbers of segments in them."""
    counts = [len(stream) for stream in refs]
    if len(set(counts)) != 1:
        raise ReplituneError(
            "references have different numbers of segments" if counts else "no references",
            found=", ".join(map(str, counts)) or "none",
            expected="one or more references of the same segments",
        )


def reference_length(
    hyp: NDArray[np.int64], refs: NDArray[np.integer[Any]], which: str
) -> NDArray[np.int64]:
    """The reference length (H,) for hypothesis lengths (H,) and reference lengths (H, R): the
    closest (of two equally close, the shorter), or the shortest."""
    if which == "shortest":
        return refs.min(axis=1).astype(np.int64)
    lengths = refs.astype(np.int64)
    # One number that orders by distance, then by length.
    rank = np.abs(lengths - hyp[:, None]) * (int(lengths.max(initial=0)) + 1) + lengths
    return lengths[np.arange(len(lengths)), rank.argmin(axis=1)]
