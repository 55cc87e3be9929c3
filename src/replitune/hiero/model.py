"""A trained system as the decoder reads it: grammar, language model and what is computed from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.hiero.context import suffixes
from replitune.hiero.features import HieroLayout
from replitune.hiero.grammar import Grammar
from replitune.phrase.arrays import frozen
from replitune.phrase.lm import LanguageModel
from replitune.phrase.model import score_isolated
from replitune.phrase.saved import SavedModel


@dataclass(frozen=True)
class HieroModel(SavedModel[Grammar]):
    """One system's model.

    isolated: (R,) float32 LM score of each rule's words, each stretch between gaps without context
    extends: (LM nodes,) see `replitune.hiero.context.suffixes`
    """

    what = "a hierarchical system"
    OF_LM = ("extends",)
    Table = Grammar
    Layout = HieroLayout

    isolated: NDArray[np.float32]
    extends: NDArray[np.uint8]

    @classmethod
    def compute(cls, table: Grammar, lm: LanguageModel, lm_words: NDArray[np.int32]) -> dict[str, NDArray]:
        isolated = np.zeros(len(table.target_start) - 1, np.float32)
        target = frozen(table.target_start), frozen(table.target_symbols)
        score_isolated(lm.automaton, *target, lm_words, isolated)
        return {"isolated": isolated}

    @classmethod
    def compute_lm(cls, lm: LanguageModel) -> dict[str, NDArray]:
        return {"extends": suffixes(lm)}
