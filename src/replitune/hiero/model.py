"""A trained system as the decoder reads it: grammar, language model and what joins them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.hiero.context import suffixes
from replitune.hiero.features import NAMES, HieroLayout
from replitune.hiero.grammar import Grammar
from replitune.hiero.settings import GROUPS
from replitune.phrase.arpa import NgramModel
from replitune.phrase.arrays import frozen, load_array, not_whole, save_array
from replitune.phrase.encode import RESERVED
from replitune.phrase.lm import LanguageModel, step
from replitune.phrase.model import DECODER
from replitune.running.files import read_text

COMPUTED = ("isolated", "lm_words", "extends")
"""The arrays in a model's folder `DECODER`, beside the language model's."""


@njit(cache=True)
def _score_isolated(automaton, target_start, symbols, lm_words, isolated):  # type: ignore[no-untyped-def]
    for rule in range(len(target_start) - 1):
        total = 0.0
        state = np.int64(automaton.root)
        for j in range(target_start[rule], target_start[rule + 1]):
            if symbols[j] < 0:
                state = np.int64(automaton.root)
            else:
                logprob, state = step(automaton, state, lm_words[symbols[j]])
                total += logprob
        isolated[rule] = total


@dataclass(frozen=True)
class HieroModel:
    """One system's model.

    grammar: rules; lm: language model; layout: the features in use
    isolated: (R,) float32 LM score of each rule's words, those between gaps without context
    lm_words: (target words,) int32 the LM's id of each target word
    extends: (LM nodes,) see `replitune.hiero.context.suffixes`
    """

    grammar: Grammar
    lm: LanguageModel
    layout: HieroLayout
    isolated: NDArray[np.float32]
    lm_words: NDArray[np.int32]
    extends: NDArray[np.uint8]

    @classmethod
    def build(
        cls, grammar: Grammar, lm: LanguageModel | None, features: tuple[str, ...] = GROUPS
    ) -> HieroModel:
        """Join a grammar with a language model (None where `features` has no lm)."""
        layout = HieroLayout.of(features)
        if "lm" not in layout.groups:
            lm = LanguageModel.uniform(grammar.target_vocab)
        elif lm is None:
            raise ReplituneError("the features include lm, but there is no language model")
        ids = lm.ids
        unknown = ids["<unk>"]
        lm_words = np.array([ids.get(word, unknown) for word in grammar.target_vocab], np.int32)
        isolated = np.zeros(len(grammar.target_start) - 1, np.float32)
        _score_isolated(
            lm.automaton, frozen(grammar.target_start), frozen(grammar.target_symbols), lm_words,
            isolated,
        )  # fmt: skip
        return cls(grammar, lm, layout, isolated, lm_words, suffixes(lm))

    @cached_property
    def source_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.grammar.source_vocab)}

    @cached_property
    def target_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.grammar.target_vocab)}

    @cached_property
    def lm_ids(self) -> dict[str, int]:
        """LM ids of words, without the reserved ones."""
        return {word: i for word, i in self.lm.ids.items() if word not in RESERVED}

    @property
    def unknown(self) -> int:
        return self.lm.words.index("<unk>")

    def save_queries(self, folder: str | Path) -> None:
        """Write what `build` computed to `folder`/decoder, so that `load` only maps it."""
        out = Path(folder) / DECODER
        out.mkdir(parents=True, exist_ok=True)
        for name in COMPUTED:
            save_array(out / f"{name}.npy", getattr(self, name))
        self.lm.save(out)

    @classmethod
    def load(cls, folder: str | Path, features: tuple[str, ...] | None = None) -> HieroModel:
        """A trained model by memory-map: files are touched only where the text needs them.

        `features`: groups to use, by default those of the model. Without `decoder/` in the folder
        its content is computed, which takes a few seconds.
        """
        folder = Path(folder)
        if not (folder / "grammar.json").exists():
            raise ReplituneError(
                "is not a model of a hierarchical system",
                file=folder,
                found="no grammar.json",
                fix="train one, or let an unfinished training end",
            )
        try:
            names = json.loads(read_text(folder / "model.json"))["features"]
            of = {name: group for name, group, _ in NAMES}
            own = tuple(group for group in GROUPS if group in {of[name] for name in names})
            groups = own if features is None else tuple(features)
            missing = [group for group in groups if group not in own]
            if missing:
                raise ReplituneError(
                    "the model has no scores for a feature group",
                    file=folder,
                    found=", ".join(missing),
                    expected="some of " + ", ".join(own),
                )
            grammar = Grammar.load(folder)
            if "lm" not in groups or not (folder / DECODER / "lm.json").exists():
                lm = LanguageModel.build(NgramModel.load(folder / "lm")) if "lm" in groups else None
                return cls.build(grammar, lm, groups)
            arrays = {name: load_array(folder / DECODER / f"{name}.npy") for name in COMPUTED}
            lm = LanguageModel.load(folder / DECODER)
            return cls(grammar, lm, HieroLayout.of(groups), **arrays)
        except (FileNotFoundError, ValueError, KeyError, EOFError) as error:
            raise not_whole(folder, str(error).splitlines()[0]) from None
