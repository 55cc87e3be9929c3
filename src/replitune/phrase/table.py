"""The phrase table as flat arrays, saved as .npy files that are memory-mapped when loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.arrays import load_array
from replitune.running.files import atomic_open, read_lines, read_text, write_lines

FORMAT = 1
ARRAYS = (
    "source_start",
    "source_words",
    "option_start",
    "target_start",
    "target_words",
    "scores",
    "reordering",
)


@dataclass(frozen=True)
class PhraseTable:
    """S source phrases with P translation options. All scores are natural logs.

    source_vocab, target_vocab: id = position; target ids 0, 1, 2 are <unk>, <s>, </s>
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

    source_vocab: list[str]
    target_vocab: list[str]
    source_start: NDArray[np.int64]
    source_words: NDArray[np.int32]
    option_start: NDArray[np.int64]
    target_start: NDArray[np.int64]
    target_words: NDArray[np.int32]
    scores: NDArray[np.float32]
    reordering: NDArray[np.float32]

    def save(self, folder: str | Path) -> None:
        """Write one .npy per array, two vocabularies and `table.json` into an existing folder."""
        folder = Path(folder)
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        for name in ("source_vocab", "target_vocab"):
            write_lines(folder / f"{name}.txt", getattr(self, name))
        with atomic_open(folder / "table.json") as handle:
            summary = {
                "format": FORMAT,
                "source_phrases": len(self.option_start) - 1,
                "options": len(self.scores),
            }
            handle.write(json.dumps(summary, indent=1) + "\n")

    @staticmethod
    def load(folder: str | Path) -> PhraseTable:
        """Memory-map what `save` wrote."""
        folder = Path(folder)
        found = json.loads(read_text(folder / "table.json")).get("format")
        if found != FORMAT:
            raise ReplituneError(
                "unknown format of a phrase table",
                file=folder / "table.json",
                found=str(found),
                expected=str(FORMAT),
                fix="train again with this version",
            )
        source_vocab = read_lines(folder / "source_vocab.txt")
        target_vocab = read_lines(folder / "target_vocab.txt")
        arrays = {name: load_array(folder / f"{name}.npy") for name in ARRAYS}
        return PhraseTable(source_vocab, target_vocab, **arrays)
