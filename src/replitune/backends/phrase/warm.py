"""Compiling the decoder's kernels once, before many jobs need them.

Numba keeps compiled kernels in a cache on disk, file by file and by renaming, so concurrent jobs
cannot damage it; but each would compile for itself. A tiny model is decoded in every way here.
"""

from __future__ import annotations

import numpy as np

from replitune.backends.phrase.arpa import NgramModel
from replitune.backends.phrase.decoder import SEARCHES, Decoder, Settings
from replitune.backends.phrase.encode import RESERVED
from replitune.backends.phrase.lm import LanguageModel
from replitune.backends.phrase.model import PhraseModel
from replitune.backends.phrase.table import PhraseTable


def tiny_model() -> PhraseModel:
    """Two source words with one option each, and a bigram model."""
    words = [*RESERVED, "a", "b"]
    table = PhraseTable(
        source_vocab=["x", "y"],
        target_vocab=words,
        source_start=np.arange(3, dtype=np.int64),
        source_words=np.arange(2, dtype=np.int32),
        option_start=np.arange(3, dtype=np.int64),
        target_start=np.arange(3, dtype=np.int64),
        target_words=np.array([3, 4], np.int32),
        scores=np.zeros((2, 4), np.float32),
        reordering=np.zeros((2, 6), np.float32),
    )
    ngrams = NgramModel(
        words,
        [np.arange(5, dtype=np.int32)[:, None], np.array([[3, 4]], np.int32)],
        [np.full(5, -1, np.float32), np.full(1, -0.5, np.float32)],
        [np.zeros(5, np.float32), np.zeros(1, np.float32)],
    )
    return PhraseModel.build(table, LanguageModel.build(ngrams))


def compile_decoder() -> None:
    """Compile every kernel of the decoder, or load it from the cache."""
    model = tiny_model()
    for search in SEARCHES:
        decoder = Decoder(model, model.layout.sensible(), Settings(search=search))
        lines = ["x y z", ""]
        decoder.decode(lines)
        decoder.nbest(lines, 2, distinct=True)
        decoder.graphs(lines)
    model.lm.score(["a"])
