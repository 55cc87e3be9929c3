"""The phrase table as flat arrays, saved as .npy files that are memory-mapped when loaded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from replitune.phrase.arrays import stretches
from replitune.phrase.encode import Encoded
from replitune.phrase.saved import SavedTable


@dataclass(frozen=True)
class PhraseTable(SavedTable):
    """S source phrases with P translation options. All scores are natural logs.

    source_start: (S + 1,) int64, source phrase s is
        source_words[source_start[s]:source_start[s + 1]]; phrases are sorted by their ids
    source_words: int32
    option_start: (S + 1,) int64, phrase s has options option_start[s]:option_start[s + 1],
        the best p(e|f) first
    target_start: (P + 1,) int64, as source_start
    target_words: int32
    scores: (P, 4) float32: p(f|e), lex(f|e), p(e|f), lex(e|f)
    reordering: (P, 6) float32: monotone, swap, discontinuous towards the previous phrase, then
        towards the next
    """

    what = "a phrase table"
    file = "table.json"

    source_start: NDArray[np.int64]
    source_words: NDArray[np.int32]
    option_start: NDArray[np.int64]
    target_start: NDArray[np.int64]
    target_words: NDArray[np.int32]
    scores: NDArray[np.float32]
    reordering: NDArray[np.float32]

    def only(self, known: Encoded) -> PhraseTable:
        """The source phrases that a text has."""
        longest = int(np.diff(self.source_start).max(initial=0))
        there = set()
        for begin, end in pairwise(known.start.tolist()):
            words = known.words[begin:end].tolist()
            for i in range(len(words)):
                there |= {tuple(words[i : i + n]) for n in range(1, longest + 1)}
        phrases = enumerate(pairwise(self.source_start.tolist()))
        kept = np.array(
            [s for s, (i, j) in phrases if tuple(self.source_words[i:j].tolist()) in there], int
        )
        sizes = np.diff(self.option_start)[kept]
        source_start, source = stretches(self.source_start[kept], np.diff(self.source_start)[kept])
        option_start, options = stretches(self.option_start[kept], sizes)
        target_start, target = stretches(self.target_start[options], np.diff(self.target_start)[options])
        return PhraseTable(
            self.source_vocab,
            self.target_vocab,
            source_start,
            self.source_words[source],
            option_start,
            target_start,
            self.target_words[target],
            self.scores[options],
            self.reordering[options],
        )

    @property
    def sizes(self) -> dict[str, int]:
        return {"source_phrases": len(self.option_start) - 1, "options": len(self.scores)}
