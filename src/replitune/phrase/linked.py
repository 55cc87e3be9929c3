"""A parallel text with its word links: what tables of phrases and rules are learnt from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from numpy.typing import NDArray

from replitune.phrase.arrays import frozen, load_array, save_array
from replitune.phrase.encode import Encoded
from replitune.phrase.symmetrise import Links
from replitune.running.files import read_lines, write_lines


@dataclass(frozen=True)
class Linked:
    """Both sides in word ids, and the links between them."""

    source: Encoded
    target: Encoded
    links: Links

    def save(self, folder: Path) -> None:
        """Write it into an existing folder."""
        for name, side in (("source", self.source), ("target", self.target)):
            write_lines(folder / f"{name}_vocab.txt", side.vocab)
            save_array(folder / f"{name}_text.npy", side.words)
            save_array(folder / f"{name}_text_start.npy", side.start)
        for name, array in self.links._asdict().items():
            save_array(folder / f"links_{name}.npy", array)

    @classmethod
    def load(cls, folder: Path) -> Linked:
        """Memory-map what `save` wrote."""

        def array(name: str) -> NDArray:
            return frozen(load_array(folder / f"{name}.npy"))

        def side(name: str) -> Encoded:
            vocab = read_lines(folder / f"{name}_vocab.txt")
            return Encoded(vocab, array(f"{name}_text"), array(f"{name}_text_start"))

        links = Links(*(array(f"links_{name}") for name in Links._fields))
        return cls(side("source"), side("target"), links)
