"""A trained hierarchical system as the decoder reads it: features, the grammar as memory-mapped arrays,
the language model, and what is computed from them.

Sequences of symbols are nodes of a trie, in one hash table. The key of a node is the pair (node of the
sequence without its last symbol, last symbol): two 32-bit numbers in one 64-bit word, so every sequence
has a key of its own and keys cannot collide. Node 0 is the empty sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.hiero.context import suffixes
from replitune.hiero.settings import GROUPS
from replitune.leaf import leaf
from replitune.phrase.arrays import frozen
from replitune.phrase.features import Feature, GroupedLayout
from replitune.phrase.lm import LanguageModel
from replitune.phrase.model import score_isolated
from replitune.phrase.saved import SavedModel, SavedTable

GAP = 0
"""The symbol of a gap on a source side; that of word w is w + 1."""


class Trie(NamedTuple):
    """keys: (slots,) uint64, the key + 1, 0 where the slot is empty; children: (slots,) int32, the node
    of the key."""

    keys: NDArray[np.uint64]
    children: NDArray[np.int32]


class Growing(NamedTuple):
    """A trie that is being made. parent, symbol: (room,) int32 of each node; size: (1,) nodes."""

    trie: Trie
    parent: NDArray[np.int32]
    symbol: NDArray[np.int32]
    size: NDArray[np.int64]


@leaf
def _slot(keys, node, symbol):
    """(key + 1 of a node with one more symbol, the slot where it is or belongs)."""
    key = ((np.uint64(node) << np.uint64(32)) | np.uint64(symbol)) + np.uint64(1)
    mixed = (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    i = np.int64(((mixed >> np.uint64(32)) * np.uint64(len(keys))) >> np.uint64(32))
    while keys[i] != np.uint64(0) and keys[i] != key:
        i = i + 1 if i + 1 < len(keys) else np.int64(0)
    return key, i


@leaf
def child(trie, node, symbol):
    """The node of a sequence with one more symbol, or -1."""
    key, i = _slot(trie.keys, node, symbol)
    return np.int64(trie.children[i]) if trie.keys[i] == key else np.int64(-1)


@leaf
def extend(growing, node, symbol):
    """As `child`, but the node is made where it is missing; there must be room."""
    key, i = _slot(growing.trie.keys, node, symbol)
    if growing.trie.keys[i] == key:
        return np.int64(growing.trie.children[i])
    made = growing.size[0]
    growing.trie.keys[i] = key
    growing.trie.children[i] = made
    growing.parent[made] = node
    growing.symbol[made] = symbol
    growing.size[0] = made + 1
    return made


@njit(cache=True)
def _fill(trie, parent, symbol, size):
    """Put nodes 1 ... size - 1 into an empty table."""
    for node in range(1, size):
        key, i = _slot(trie.keys, parent[node], symbol[node])
        trie.keys[i] = key
        trie.children[i] = node


def table_of(parent: NDArray[np.int32], symbol: NDArray[np.int32], room: int) -> Trie:
    """The nodes' table, two thirds full when there are `room` of them."""
    slots = 8 + room + room // 2
    trie = Trie(np.zeros(slots, np.uint64), np.zeros(slots, np.int32))
    _fill(trie, parent, symbol, len(parent))
    return trie


def grown(growing: Growing | None, more: int) -> Growing:
    """The trie with room for `more` nodes; the one passed must not be used again. None: an empty trie."""
    size = 1 if growing is None else int(growing.size[0])
    if growing is not None and size + more <= len(growing.parent):
        return growing
    room = max(1 << 12, size + size // 2 + more)
    if growing is None:
        parent, symbol = np.zeros(room, np.int32), np.zeros(room, np.int32)
    else:
        (old, parent, symbol, _) = growing
        for array, length in ((parent, room), (symbol, room), (old.keys, 0), (old.children, 0)):
            array.resize(length, refcheck=False)
    table = table_of(parent[:size], symbol[:size], room)
    return Growing(table, parent, symbol, np.array([size], np.int64))


@dataclass(frozen=True)
class Grammar(SavedTable):
    """R rules over a trie of S nodes, whose paths are source sides. All scores are natural logs.

    source_parent, source_symbol: (S,) int32 the parent and the last symbol of each node; symbols as in
        `replitune.hiero.model`
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
        """The symbols of a node, as in `replitune.hiero.model`."""
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


FEATURES = (
    Feature("LM0", "lm", 1, 0.5),
    Feature("WordPenalty0", "penalties", 1, -0.3),
    Feature("RulePenalty0", "penalties", 1, 0.1),
    Feature("Glue0", "glue", 1, -0.1),
    Feature("TranslationModel0", "tm", 4, 0.2),
)
"""In the order of vectors."""

WIDTH = sum(feature.arity for feature in FEATURES)

# First column of each feature in a full vector of WIDTH values.
LM, WORD_PENALTY, RULE_PENALTY, GLUE, TM = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class HieroLayout(GroupedLayout):
    """Which of the 8 features a system has."""

    known = FEATURES
    all_groups = GROUPS


@dataclass(frozen=True)
class HieroModel(SavedModel[Grammar]):
    """One system's model.

    isolated: (R,) float32 LM score of each rule's words, each stretch between gaps without context
    extends: (LM nodes,) see `replitune.hiero.context.suffixes`
    """

    what = "a hierarchical system"
    OF_LM = ("extends",)
    Table = Grammar
    Layout = HieroLayout

    isolated: NDArray[np.float32]
    extends: NDArray[np.uint8]

    @classmethod
    def compute(cls, table: Grammar, lm: LanguageModel, lm_words: NDArray[np.int32]) -> dict[str, NDArray]:
        isolated = np.zeros(len(table.target_start) - 1, np.float32)
        target = frozen(table.target_start), frozen(table.target_symbols)
        score_isolated(lm.automaton, *target, lm_words, isolated)
        return {"isolated": isolated}

    @classmethod
    def compute_lm(cls, lm: LanguageModel) -> dict[str, NDArray]:
        return {"extends": suffixes(lm)}
