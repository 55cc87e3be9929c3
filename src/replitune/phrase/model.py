"""A trained system as the decoder reads it: phrase table, language model and what joins them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.arpa import NgramModel
from replitune.phrase.arrays import frozen, load_array, not_whole, save_array
from replitune.phrase.encode import RESERVED
from replitune.phrase.features import NAMES, PhraseLayout
from replitune.phrase.lm import LanguageModel, score_words
from replitune.phrase.settings import GROUPS
from replitune.phrase.table import PhraseTable
from replitune.running.files import read_text

DECODER = "decoder"
"""Folder inside a model's folder for what is computed from table and language model."""
COMPUTED = ("index", "isolated", "lm_words")
"""Its arrays, beside the language model's."""


@njit(cache=True)
def phrase_slot(words, begin, end, slots):  # type: ignore[no-untyped-def]
    """Where the search for a source phrase starts in a table of `slots` slots."""
    mixed = np.uint64(end - begin)
    for j in range(begin, end):
        mixed = (mixed ^ np.uint64(words[j])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed % np.uint64(slots))


@njit(cache=True)
def _index_phrases(source_start, source_words, index):  # type: ignore[no-untyped-def]
    slots = len(index)
    for phrase in range(len(source_start) - 1):
        i = phrase_slot(source_words, source_start[phrase], source_start[phrase + 1], slots)
        while index[i] >= 0:
            i = (i + 1) % slots
        index[i] = phrase


@njit(cache=True)
def _score_isolated(automaton, target_start, words, isolated):  # type: ignore[no-untyped-def]
    for option in range(len(target_start) - 1):
        isolated[option] = score_words(
            automaton, automaton.root, words, target_start[option], target_start[option + 1]
        )[0]


@dataclass(frozen=True)
class PhraseModel:
    """One system's model.

    table: phrase pairs; lm: language model; layout: the features in use
    index: (slots,) int32 open-addressing table of source phrases, -1 empty; phrases are compared
        word by word, so equal hashes do no harm
    isolated: (P,) float32 LM score of each target phrase without context (Koehn 2010, 6.3.2)
    lm_words: (target words,) int32 the LM's id of each target word
    """

    table: PhraseTable
    lm: LanguageModel
    layout: PhraseLayout
    index: NDArray[np.int32]
    isolated: NDArray[np.float32]
    lm_words: NDArray[np.int32]

    @classmethod
    def build(
        cls, table: PhraseTable, lm: LanguageModel | None, features: tuple[str, ...] = GROUPS
    ) -> PhraseModel:
        """Join a phrase table with a language model (None where `features` has no lm)."""
        layout = PhraseLayout.of(features)
        if lm is None or "lm" not in layout.groups:
            if "lm" in layout.groups:
                raise ReplituneError("the features include lm, but there is no language model")
            lm = LanguageModel.uniform(table.target_vocab)
        ids = lm.ids
        unknown = ids["<unk>"]
        lm_words = np.array([ids.get(word, unknown) for word in table.target_vocab], np.int32)
        phrases = len(table.source_start) - 1
        index = np.full(2 * phrases + 8, -1, np.int32)
        _index_phrases(frozen(table.source_start), frozen(table.source_words), index)
        isolated = np.zeros(len(table.target_start) - 1, np.float32)
        words = lm_words[np.asarray(table.target_words)]
        _score_isolated(lm.automaton, frozen(table.target_start), words, isolated)
        return cls(table, lm, layout, index, isolated, lm_words)

    @cached_property
    def longest(self) -> int:
        """Words of the longest source phrase."""
        return int(np.diff(self.table.source_start).max(initial=1))

    @cached_property
    def source_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.table.source_vocab)}

    @cached_property
    def target_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.table.target_vocab)}

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
    def load(cls, folder: str | Path, features: tuple[str, ...] | None = None) -> PhraseModel:
        """A trained model by memory-map: files are touched only where the text needs them.

        `features`: groups to use, by default those of the model. Without `decoder/` in the folder
        its content is computed, which takes a few seconds.
        """
        folder = Path(folder)
        if not (folder / "model.json").exists():
            raise ReplituneError(
                "is not a model of a phrase-based system",
                file=folder,
                found="no model.json",
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
            table = PhraseTable.load(folder)
            if "lm" not in groups or not (folder / DECODER / "lm.json").exists():
                lm = LanguageModel.build(NgramModel.load(folder / "lm")) if "lm" in groups else None
                return cls.build(table, lm, groups)
            arrays = {name: load_array(folder / DECODER / f"{name}.npy") for name in COMPUTED}
            lm = LanguageModel.load(folder / DECODER)
            return cls(table, lm, PhraseLayout.of(groups), **arrays)
        except (FileNotFoundError, ValueError, KeyError, EOFError) as error:
            raise not_whole(folder, str(error).splitlines()[0]) from None
