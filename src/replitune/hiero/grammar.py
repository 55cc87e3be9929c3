"""The grammar as flat arrays, saved as .npy files that are memory-mapped when loaded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.hiero.trie import GAP, Trie
from replitune.phrase.arrays import frozen
from replitune.phrase.saved import SavedTable


@dataclass(frozen=True)
class Grammar(SavedTable):
    """R rules over a trie of S nodes, whose paths are source sides. All scores are natural logs.

    source_parent, source_symbol: (S,) int32 the parent and the last symbol of each node; symbols as in
        `replitune.hiero.trie`
    trie_keys, trie_children: the trie's table
    option_start: (S + 1,) int64, the source side of node s has the rules option_start[s] :
        option_start[s + 1], the best p(e|f) first; none where it is only a prefix of source sides
    target_start: (R + 1,) int64, the target side of rule r is
        target_symbols[target_start[r] : target_start[r + 1]]
    target_symbols: int32, word ids, and -1 or -2 for the first or second gap of the source side
    scores: (R, 4) float32: p(f|e), lex(f|e), p(e|f), lex(e|f)
    """

    what = "a grammar"
    file = "grammar.json"

    source_parent: NDArray[np.int32]
    source_symbol: NDArray[np.int32]
    trie_keys: NDArray[np.uint64]
    trie_children: NDArray[np.int32]
    option_start: NDArray[np.int64]
    target_start: NDArray[np.int64]
    target_symbols: NDArray[np.int32]
    scores: NDArray[np.float32]

    @property
    def trie(self) -> Trie:
        return Trie(frozen(self.trie_keys), frozen(self.trie_children))

    def source_symbols(self, node: int) -> list[int]:
        """The symbols of a node, as in `replitune.hiero.trie`."""
        symbols = []
        while node:
            symbols.append(int(self.source_symbol[node]))
            node = int(self.source_parent[node])
        return symbols[::-1]

    def source_side(self, node: int) -> list[str]:
        """The words and gaps (X1, X2) of a node."""
        gaps = iter(("X1", "X2"))
        return [next(gaps) if s == GAP else self.source_vocab[s - 1] for s in self.source_symbols(node)]

    @property
    def sizes(self) -> dict[str, int]:
        return {"source_nodes": len(self.source_parent), "rules": len(self.scores)}
