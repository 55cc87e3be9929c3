"""The phrase table as flat arrays, saved as .npy files that are memory-mapped when loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.files import atomic_open, read_text, split_lines

FORMAT = 1
_ARRAYS = (
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
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        for name in ("source_vocab", "target_vocab"):
            with atomic_open(folder / f"{name}.txt") as handle:
                handle.write("".join(f"{word}\n" for word in getattr(self, name)))
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
        arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS]
        vocabs = [
            split_lines(read_text(folder / f"{name}.txt"))
            for name in ("source_vocab", "target_vocab")
        ]
        return PhraseTable(*vocabs, *arrays)

    def find(self, phrase: list[str]) -> tuple[int, int]:
        """First and last + 1 option of a source phrase; (0, 0) when it is not in the table."""
        ids = {word: position for position, word in enumerate(self.source_vocab)}
        if any(word not in ids for word in phrase):
            return 0, 0
        wanted = [ids[word] for word in phrase]
        low, high = 0, len(self.option_start) - 1
        while low < high:
            middle = (low + high) // 2
            begin, end = self.source_start[middle], self.source_start[middle + 1]
            if self.source_words[begin:end].tolist() < wanted:
                low = middle + 1
            else:
                high = middle
        if low == len(self.option_start) - 1:
            return 0, 0
        begin, end = self.source_start[low], self.source_start[low + 1]
        if self.source_words[begin:end].tolist() != wanted:
            return 0, 0
        return int(self.option_start[low]), int(self.option_start[low + 1])

    def option(self, number: int) -> list[str]:
        """The words of one translation option."""
        begin, end = self.target_start[number], self.target_start[number + 1]
        return [self.target_vocab[word] for word in self.target_words[begin:end].tolist()]


assert _ARRAYS == tuple(f.name for f in fields(PhraseTable))[2:]
