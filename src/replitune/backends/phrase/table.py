"""The phrase table: arrays in files that are read by memory-map."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.files import atomic_open, atomic_path, read_lines, write_lines


@dataclass(frozen=True)
class PhraseTable:
    """Phrase pairs with their scores, grouped by source phrase.

    source_vocab, target_vocab: id = position; target 0 <unk>, 1 <s>, 2 </s>
    source_start: (S+1,) source phrase s = source_words[source_start[s]:source_start[s+1]]
    source_words: phrases sorted by tuple of ids
    option_start: (S+1,) options of s = option_start[s]:option_start[s+1], best p(e|f) first
    target_start: (P+1,); target_words
    scores: (P, 4) natural logs: p(f|e), lex(f|e), p(e|f), lex(e|f)
    reordering: (P, 6) natural logs: backward mono, swap, discontinuous; forward the same
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
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                write_lines(folder / f"{field.name}.txt", value)
            else:
                with atomic_path(folder / f"{field.name}.npy") as path, open(path, "wb") as handle:
                    np.save(handle, value)
        with atomic_open(folder / "table.json") as handle:
            json.dump({"format": 1}, handle)

    @classmethod
    def load(cls, folder: str | Path) -> PhraseTable:
        folder = Path(folder)
        values: dict[str, object] = {}
        for field in fields(cls):
            if "vocab" in field.name:
                values[field.name] = read_lines(folder / f"{field.name}.txt")
            else:
                values[field.name] = np.load(folder / f"{field.name}.npy", mmap_mode="r")
        return cls(**values)  # type: ignore[arg-type]
