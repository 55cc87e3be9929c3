"""The phrase table as flat arrays, saved as .npy files that are memory-mapped when loaded."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.phrase.arrays import ArrayFile
from replitune.phrase.saved import SavedTable

KINDS: dict[str, tuple[Any, ...]] = {
    "source_words": (np.int32,),
    "target_words": (np.int32,),
    "scores": (np.float32, (4,)),
    "reordering": (np.float32, (6,)),
}
"""Types and shapes of the arrays whose names do not end in `_start`."""


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

    @classmethod
    def write(
        cls, folder: Path, source_vocab: list[str], target_vocab: list[str], parts: Iterable[PhraseTable]
    ) -> dict[str, int]:
        """Save the table that `parts` make up, one after the other; returns its sizes."""
        with ExitStack() as stack:
            files = {
                name: stack.enter_context(ArrayFile(folder / f"{name}.npy", *KINDS.get(name, (np.int64,))))
                for name in cls._arrays()
            }
            ends = {name: np.int64(0) for name in files if name not in KINDS}
            for name, end in ends.items():
                files[name].append(np.array([end]))
            for part in parts:
                for name, file in files.items():
                    array = getattr(part, name)
                    if name in ends:
                        file.append(array[1:] + ends[name])
                        ends[name] += array[-1]
                    else:
                        file.append(array)
            sizes = {"source_phrases": len(files["option_start"]) - 1, "options": len(files["scores"])}
        cls.finish(folder, source_vocab, target_vocab, sizes)
        return sizes

    @property
    def sizes(self) -> dict[str, int]:
        return {"source_phrases": len(self.option_start) - 1, "options": len(self.scores)}
