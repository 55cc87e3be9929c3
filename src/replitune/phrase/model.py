"""A trained system as the decoder reads it: phrase table, language model and what is computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.phrase.arrays import frozen
from replitune.phrase.features import PhraseLayout
from replitune.phrase.lm import LanguageModel, step
from replitune.phrase.saved import SavedModel
from replitune.phrase.table import PhraseTable


@njit(cache=True)
def phrase_slot(words, begin, end, slots):
    """Where the search for a source phrase starts in a table of `slots` slots."""
    mixed = np.uint64(end - begin)
    for j in range(begin, end):
        mixed = (mixed ^ np.uint64(words[j])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed % np.uint64(slots))


@njit(cache=True)
def _index_phrases(source_start, source_words, index):
    slots = len(index)
    for phrase in range(len(source_start) - 1):
        i = phrase_slot(source_words, source_start[phrase], source_start[phrase + 1], slots)
        while index[i] >= 0:
            i = (i + 1) % slots
        index[i] = phrase


@njit(cache=True)
def score_isolated(automaton, start, symbols, lm_words, isolated):
    """Set the LM score of each target side; words after a gap (a symbol below 0) have no context."""
    for k in range(len(start) - 1):
        total = 0.0
        state = np.int64(automaton.root)
        for j in range(start[k], start[k + 1]):
            if symbols[j] < 0:
                state = np.int64(automaton.root)
            else:
                logprob, state = step(automaton, state, lm_words[symbols[j]])
                total += logprob
        isolated[k] = total


@dataclass(frozen=True)
class PhraseModel(SavedModel[PhraseTable]):
    """One system's model.

    index: (slots,) int32 open-addressing table of source phrases, -1 empty; phrases are compared
        word by word, so equal hashes do no harm
    isolated: (P,) float32 LM score of each target phrase without context (Koehn 2010, 6.3.2)
    """

    what = "a phrase-based system"
    Table = PhraseTable
    Layout = PhraseLayout

    index: NDArray[np.int32]
    isolated: NDArray[np.float32]

    @classmethod
    def compute(
        cls, table: PhraseTable, lm: LanguageModel, lm_words: NDArray[np.int32]
    ) -> dict[str, NDArray]:
        phrases = len(table.source_start) - 1
        index = np.full(2 * phrases + 8, -1, np.int32)
        _index_phrases(frozen(table.source_start), frozen(table.source_words), index)
        isolated = np.zeros(len(table.target_start) - 1, np.float32)
        target = frozen(table.target_start), frozen(table.target_words)
        score_isolated(lm.automaton, *target, lm_words, isolated)
        return {"index": index, "isolated": isolated}

    @cached_property
    def longest(self) -> int:
        """Words of the longest source phrase."""
        return int(np.diff(self.table.source_start).max(initial=1))
