"""The derivation of a translation, for people to read: which rule covers which words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.backends.interface import Derivation
from replitune.hiero.model import HieroModel
from replitune.hiero.rules import Weighted
from replitune.hiero.trie import GAP


class Spelling:
    """The rules of a batch of sentences as text."""

    def __init__(self, model: HieroModel, batch: Weighted) -> None:
        self._grammar, self._batch = model.table, batch
        self._vocabulary = [*model.table.target_vocab, *batch.copied]
        self._nodes = np.repeat(batch.nodes, batch.rules.counts[: len(batch.nodes)])

    def source_side(self, rule: int) -> tuple[str, list[bool]]:
        """The text, and for each symbol whether it is a gap."""
        if rule >= len(self._nodes):
            return self._batch.copied[rule - len(self._nodes)], [False]
        node = int(self._nodes[rule])
        gaps = [symbol == GAP for symbol in self._grammar.source_symbols(node)]
        return " ".join(self._grammar.source_side(node)), gaps

    def target_side(self, rule: int) -> str:
        row = self._batch.rules.table[rule]
        symbols = self._batch.target[row["begin"] : row["end"]].tolist()
        return " ".join(f"X{-s}" if s < 0 else self._vocabulary[s] for s in symbols)


def derivation(rows: NDArray[np.void], spelling: Spelling) -> Derivation:
    """The stretches that the best derivation of the last row is made of, from left to right."""
    stretches = []
    row = rows[rows["one"][-1]]
    while row["rule"] >= 0:  # the glue rule, up to the beginning
        stretches.append(int(row["two"]))
        row = rows[row["one"]]
    parts: Derivation = []
    for stretch in reversed(stretches):
        parts.append(_part(rows, spelling, stretch, parts[-1][1] if parts else 0))
    return parts


def _part(rows: NDArray[np.void], spelling: Spelling, number: int, begin: int) -> list[Any]:
    row = rows[number]
    rule = int(row["rule"])
    source, gaps = spelling.source_side(rule)
    waiting = [int(row["two"]), int(row["one"])]
    inside: Derivation = []
    end = begin
    for is_gap in gaps:
        if is_gap:
            inside.append(_part(rows, spelling, waiting.pop(), end))
        end = inside[-1][1] if is_gap else end + 1
    return [begin, end, source, spelling.target_side(rule), inside]
