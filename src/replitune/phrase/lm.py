"""Queries of a back-off n-gram model of any order: an automaton in one hash table.

A node is an n-gram. The key of n-gram w_1..w_n is the pair (node of w_1..w_{n-1}, w_n): two
32-bit numbers in one 64-bit word, so every n-gram has a key of its own and keys cannot collide.
Unigrams sit at the front, addressed by word. A state is the node of the longest suffix of the
history that can still matter: it is continued by some n-gram or has a back-off weight. Histories
with the same state give every continuation the same probability, which is what recombination
needs. A step looks up (state, word); if it is not there, the step adds the state's back-off weight
and follows `link` to the state of the next shorter history.

To make the walk exact for pruned models too, missing prefixes and suffixes of n-grams are added
with the probability that backing off gives them (Heafield 2011, section 3).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import inlined, leaf, prefetch
from replitune.phrase.arpa import UNKNOWN_LOGPROB, NgramModel
from replitune.phrase.arrays import frozen, load_array, save_array
from replitune.running.files import read_lines, read_text, write_json, write_lines

NODE = np.dtype(
    [("key", "u8"), ("words", "u8"), ("logprob", "f4"), ("backoff", "f4"), ("next", "i4"), ("link", "i4")]
)
"""key: 0 where the slot is empty; words: a bit filter of the words that continue this n-gram, so that
most searches for what is not there end without reading the table; logprob, backoff: natural logs;
next: the state after this n-gram; link: for a state, the state of the next shorter history."""


class Automaton(NamedTuple):
    """What the kernels need. nodes: (V + 1 + slots,) NODE: unigrams, the empty history, n-grams.

    tags: (slots,) 0 where the slot is empty, else a part of the key's hash; most searches in vain that
    pass the filter of words end in this small array."""

    nodes: NDArray[np.void]
    tags: NDArray[np.uint8]
    root: int
    slots: int


@leaf
def _slot(key, slots):
    """(the slot where the search for a key begins, its tag)."""
    mixed = (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(((mixed >> np.uint64(32)) * np.uint64(slots)) >> np.uint64(32))
    return slot, np.uint8((mixed >> np.uint64(24)) & np.uint64(0xFF)) | np.uint8(1)


@leaf
def _bit(word):
    mixed = np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)
    return np.uint64(1) << (mixed >> np.uint64(58))


@leaf
def find(automaton, state, word):
    """Node of (state, word), or -1; `state` must not be the root."""
    nodes = automaton.nodes
    if nodes[state].words & _bit(word) == np.uint64(0):
        return np.int64(-1)
    key = ((np.uint64(state) << np.uint64(32)) | np.uint64(word)) + np.uint64(1)
    first = automaton.root + 1
    tags = automaton.tags
    i, tag = _slot(key, automaton.slots)
    while True:
        stored = tags[i]
        if stored == np.uint8(0):
            return np.int64(-1)
        if stored == tag and nodes[first + i].key == key:
            return first + i
        i += 1
        if i == automaton.slots:
            i = np.int64(0)


@inlined
def expect(automaton, state, word):
    """Prefetch what `find` will read."""
    i, _ = _slot(((np.uint64(state) << np.uint64(32)) | np.uint64(word)) + np.uint64(1), automaton.slots)
    prefetch(automaton.tags, i)
    prefetch(automaton.nodes, automaton.root + 1 + i)


@leaf
def step(automaton, state, word):
    """(natural log probability of `word` after `state`, the state after it)."""
    nodes = automaton.nodes
    total = 0.0
    while state != automaton.root:
        node = find(automaton, state, word)
        if node >= 0:
            return total + np.float64(nodes[node].logprob), np.int64(nodes[node].next)
        total += np.float64(nodes[state].backoff)
        state = np.int64(nodes[state].link)
    return total + np.float64(nodes[word].logprob), np.int64(nodes[word].next)


@njit(cache=True)
def _ensure(automaton, length, words, begin, end):
    """Node of the n-gram words[begin:end], made (without a probability) where it is missing.

    Returns (node, number of nodes made)."""
    nodes = automaton.nodes
    node = np.int64(words[begin])
    made = 0
    for j in range(begin + 1, end):
        child = find(automaton, node, words[j])
        if child < 0:
            key = ((np.uint64(node) << np.uint64(32)) | np.uint64(words[j])) + np.uint64(1)
            i, tag = _slot(key, automaton.slots)
            while nodes[automaton.root + 1 + i].key != np.uint64(0):
                i = (i + 1) % automaton.slots
            child = automaton.root + 1 + i
            nodes[child].key = key
            automaton.tags[i] = tag
            nodes[node].words |= _bit(words[j])
            nodes[child].logprob = np.nan
            length[child] = j + 1 - begin
            made += 1
        node = child
    return node, made


@njit(cache=True)
def _insert(automaton, length, ngrams, logprobs, backoffs, room):
    """Insert all n-grams of one order and their suffixes; returns the room left, or -1 when full."""
    nodes = automaton.nodes
    n = ngrams.shape[1]
    for row in range(ngrams.shape[0]):
        if room < 2 * n:
            return -1
        for begin in range(1, n - 1):
            _, made = _ensure(automaton, length, ngrams[row], begin, n)
            room -= made
        node, made = _ensure(automaton, length, ngrams[row], 0, n)
        room -= made
        nodes[node].logprob = logprobs[row]
        nodes[node].backoff = backoffs[row]
    return room


@njit(cache=True)
def _finish(automaton, length, suffix, order, high):
    """Set probabilities of added nodes, `next`, `link`, and `high`.

    high[i]: the largest log probability that the last word of n-gram i has after any longer
    history, when no back-off weight is positive.
    """
    nodes = automaton.nodes
    root = automaton.root
    nodes[root].next = root
    nodes[root].link = root
    for n in range(1, order + 1):
        begin, end = (0, root) if n == 1 else (root + 1, len(nodes))
        for i in range(begin, end):
            if length[i] != n:
                continue
            if n == 1:
                suffix[i] = root
            else:
                key = nodes[i].key - np.uint64(1)
                parent = np.int64(key >> np.uint64(32))
                word = np.int64(key & np.uint64(0xFFFFFFFF))
                suffix[i] = word if n == 2 else find(automaton, suffix[parent], word)
                if np.isnan(nodes[i].logprob):
                    nodes[i].logprob = nodes[parent].backoff + nodes[suffix[i]].logprob
            nodes[i].link = nodes[suffix[i]].next
            useful = nodes[i].words != np.uint64(0) or nodes[i].backoff != 0.0
            nodes[i].next = i if useful else nodes[i].link
            high[i] = nodes[i].logprob
    for n in range(order, 1, -1):
        for i in range(root + 1, len(nodes)):
            if length[i] == n and high[i] > high[suffix[i]]:
                high[suffix[i]] = high[i]


@dataclass(frozen=True)
class LanguageModel:
    """A back-off model ready for queries.

    words: id = position; order: n; nodes, tags: see Automaton; high: (len(nodes),) float32, see
    `_finish`; rise: how far a positive back-off weight can lift a probability above `high` (mostly
    0).
    """

    words: list[str]
    order: int
    nodes: NDArray[np.void]
    tags: NDArray[np.uint8]
    high: NDArray[np.float32]
    rise: float

    @classmethod
    def build(cls, model: NgramModel) -> LanguageModel:
        words = list(model.words)
        if "<unk>" not in words:
            words.append("<unk>")
        ln10 = np.float32(math.log(10.0))
        order = len(model.ngrams)
        slots = max(8, int(1.7 * sum(len(rows) for rows in model.ngrams[1:])))
        while True:
            root = len(words)
            nodes = np.zeros(root + 1 + slots, NODE)
            length = np.zeros(len(nodes), np.uint8)
            length[:root] = 1
            nodes["logprob"][:root] = UNKNOWN_LOGPROB * ln10
            ids = model.ngrams[0][:, 0]
            nodes["logprob"][ids] = model.logprobs[0] * ln10
            if order > 1:
                nodes["backoff"][ids] = model.backoffs[0] * ln10
            tags = np.zeros(slots, np.uint8)
            automaton = Automaton(nodes, tags, root, slots)
            room = int(0.65 * slots) + 2 * order
            for n in range(2, order + 1):
                rows = np.ascontiguousarray(model.ngrams[n - 1], np.int32)
                backoffs = model.backoffs[n - 1] * ln10
                logprobs = model.logprobs[n - 1] * ln10
                room = _insert(automaton, length, rows, logprobs, backoffs, room)
                if room < 0:
                    break
            if room >= 0:
                break
            slots *= 2
        high = np.zeros(len(nodes), np.float32)
        _finish(automaton, length, np.zeros(len(nodes), np.int64), order, high)
        rise = sum(max(0.0, float(b.max(initial=0.0))) for b in model.backoffs[:-1]) * float(ln10)
        return cls(words, order, nodes, tags, high, rise)

    @classmethod
    def uniform(cls, words: list[str]) -> LanguageModel:
        """A model that gives every word log probability 0: a system without a language model."""
        names = list(dict.fromkeys(["<unk>", "<s>", "</s>", *words]))
        ids = np.arange(len(names), dtype=np.int32)[:, None]
        zeros = np.zeros(len(names), np.float32)
        return cls.build(NgramModel(names, [ids], [zeros], [zeros]))

    @property
    def automaton(self) -> Automaton:
        return Automaton(frozen(self.nodes), frozen(self.tags), len(self.words), len(self.tags))

    @property
    def ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    @property
    def begin(self) -> int:
        """The state at the start of a sentence."""
        return int(self.nodes["next"][self.words.index("<s>")])

    @property
    def end(self) -> int:
        """The word </s>."""
        return self.words.index("</s>")

    def save(self, folder: str | Path) -> None:
        folder = Path(folder)
        save_array(folder / "lm.nodes.npy", self.nodes)
        save_array(folder / "lm.tags.npy", self.tags)
        save_array(folder / "lm.high.npy", self.high)
        write_lines(folder / "lm.words.txt", self.words)
        write_json(folder / "lm.json", {"format": 1, "order": self.order, "rise": self.rise}, indent=None)

    @classmethod
    def load(cls, folder: str | Path) -> LanguageModel:
        """Read by memory-map."""
        folder = Path(folder)
        settings = json.loads(read_text(folder / "lm.json"))
        nodes = load_array(folder / "lm.nodes.npy")
        tags = load_array(folder / "lm.tags.npy")
        high = load_array(folder / "lm.high.npy")
        words = read_lines(folder / "lm.words.txt")
        return cls(words, settings["order"], nodes, tags, high, settings["rise"])
