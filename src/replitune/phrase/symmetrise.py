"""From two directed alignments to one set of links: the heuristics of Moses' symal.

Och and Ney (2003) and Koehn, Och and Marcu (2003) describe them; where the order of the links
matters, this follows symal. grow-diag visits the links of the current alignment by target word,
then by source word, reaches links that are added after the current one in the same sweep, and tries
straight neighbours before diagonal ones. "final" goes by target word, first through the links of
the alignment of target words, then through those of the alignment of source words.

A parallel text with these links is what tables of phrases and rules are learnt from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.phrase.align import DirectedAlignments
from replitune.phrase.arrays import frozen, load_array, save_array
from replitune.phrase.encode import Encoded
from replitune.phrase.settings import HEURISTICS, Heuristic
from replitune.running.files import read_lines, write_lines


class Links(NamedTuple):
    """Word links of `n` segments, sorted by segment, source word, target word.

    start: (n + 1,) int64, segment i owns links start[i]:start[i + 1]
    source, target: (L,) int16, positions in the segment
    """

    start: NDArray[np.int64]
    source: NDArray[np.int16]
    target: NDArray[np.int16]


def symmetrise(
    directed: DirectedAlignments,
    source: Encoded,
    target: Encoded,
    heuristic: Heuristic = "grow-diag-final-and",
) -> Links:
    """The links of every segment by one of `HEURISTICS`."""
    room = len(source.words) + len(target.words)
    out = Links(np.zeros(len(source) + 1, np.int64), np.empty(room, np.int16), np.empty(room, np.int16))
    number = HEURISTICS.index(heuristic)
    used = _symmetrise(directed.to_source, directed.to_target, source.start, target.start, number, out)
    return Links(out.start, out.source[:used].copy(), out.target[:used].copy())


@njit(cache=True)
def _symmetrise(to_source, to_target, source_start, target_start, heuristic, out):
    """Write the links of all segments; returns their number."""
    start, from_source, from_target = out
    used = 0
    longest_source, longest_target = 0, 0
    for i in range(len(source_start) - 1):
        longest_source = max(longest_source, source_start[i + 1] - source_start[i])
        longest_target = max(longest_target, target_start[i + 1] - target_start[i])
    linked = np.zeros((longest_target, longest_source), np.bool_)
    covered_source = np.zeros(longest_source, np.bool_)
    covered_target = np.zeros(longest_target, np.bool_)
    near_target = (-1, 0, 1, 0, -1, -1, 1, 1)
    near_source = (0, -1, 0, 1, -1, 1, -1, 1)
    for i in range(len(source_start) - 1):
        a = to_target[source_start[i] : source_start[i + 1]]
        b = to_source[target_start[i] : target_start[i + 1]]
        linked[: len(b), : len(a)] = False
        covered_source[: len(a)] = False
        covered_target[: len(b)] = False
        for t in range(len(b)):
            s = b[t]
            if s >= 0 and (heuristic == 1 or a[s] == t):
                linked[t, s] = True
                covered_target[t] = True
                covered_source[s] = True
        if heuristic == 1:
            for s in range(len(a)):
                if a[s] >= 0:
                    linked[a[s], s] = True
        if heuristic >= 2:
            grown = True
            while grown:
                grown = False
                for t in range(len(b)):
                    for s in range(len(a)):
                        if not linked[t, s]:
                            continue
                        for k in range(8):
                            t2, s2 = t + near_target[k], s + near_source[k]
                            if t2 < 0 or t2 >= len(b) or s2 < 0 or s2 >= len(a):
                                continue
                            if covered_target[t2] and covered_source[s2]:
                                continue
                            if b[t2] == s2 or a[s2] == t2:
                                linked[t2, s2] = True
                                covered_target[t2] = True
                                covered_source[s2] = True
                                grown = True
        if heuristic >= 3:
            for half in range(2):
                for t in range(len(b)):
                    for s in range(len(a)):
                        if linked[t, s]:
                            continue
                        if half == 0 and (b[t] != s or a[s] == t):
                            continue
                        if half == 1 and (a[s] != t or b[t] == s):
                            continue
                        if heuristic == 4:
                            wanted = not covered_target[t] and not covered_source[s]
                        else:
                            wanted = not (covered_target[t] and covered_source[s])
                        if wanted:
                            linked[t, s] = True
                            covered_target[t] = True
                            covered_source[s] = True
        for s in range(len(a)):
            for t in range(len(b)):
                if linked[t, s]:
                    from_source[used] = s
                    from_target[used] = t
                    used += 1
        start[i + 1] = used
    return used


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
