"""An n-gram model as lists of n-grams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class NgramModel:
    """words: id = position; contains <unk>, <s>, </s> (anywhere)
    ngrams: ngrams[n-1] is (M_n, n); logprobs, backoffs: log10, as in ARPA
    """

    words: list[str]
    ngrams: list[NDArray[np.int32]]
    logprobs: list[NDArray[np.float32]]
    backoffs: list[NDArray[np.float32]]
