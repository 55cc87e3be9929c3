"""What the language model must know of a stretch of target words whose neighbours are not known.

Three numbers suffice: the node of the left words, whose probabilities depend on what comes before
(an n-gram that some longer one ends in, or the empty one); whether more words follow them (`full`);
and the automaton's state after the stretch. Stretches that agree in all three get the same
probability in every context (Chiang 2007, section 5.3.2; left words cut as in Heafield 2011). The
word after the left words was scored from the state of their node alone. A context therefore changes
the probabilities of the left words, and adds the back-offs from the state that they reach in the
context down to that state.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
from replitune.phrase.lm import LanguageModel, find, step

DEEPEST = 8
"""More than the words of any n-gram: room for the path to a node."""


@njit(cache=True)
def _mark_suffixes(automaton, order, extends):
    """extends[i]: whether some n-gram of the model ends in n-gram i and is longer."""
    nodes, root = automaton.nodes, automaton.root
    suffix = np.full(len(nodes), -1, np.int64)
    length = np.zeros(len(nodes), np.uint8)
    length[:root] = 1
    for n in range(2, order + 1):
        for i in range(root + 1, len(nodes)):
            if nodes[i].key == np.uint64(0) or length[i] != 0:
                continue
            key = nodes[i].key - np.uint64(1)
            parent = np.int64(key >> np.uint64(32))
            if length[parent] != n - 1:
                continue
            word = np.int64(key & np.uint64(0xFFFFFFFF))
            length[i] = n
            suffix[i] = word if n == 2 else find(automaton, suffix[parent], word)
            extends[suffix[i]] = 1


def suffixes(lm: LanguageModel) -> NDArray[np.uint8]:
    """(len(lm.nodes),) 1 for each n-gram that a longer one of the model ends in."""
    extends = np.zeros(len(lm.nodes), np.uint8)
    _mark_suffixes(lm.automaton, lm.order, extends)
    return extends


@leaf
def append_word(automaton, extends, left, full, state, word):
    """A stretch (left, full, state) with one more word: (log probability of the word, left, full,
    state). The empty stretch is (root, 0, root)."""
    if full:
        logprob, state = step(automaton, state, word)
        return logprob, left, full, state
    nodes = automaton.nodes
    total = 0.0
    if left == automaton.root:
        node = np.int64(word)
    elif state == left:
        node = find(automaton, left, word)
        if node < 0:
            total = np.float64(nodes[left].backoff)
            state = np.int64(nodes[left].link)
    else:
        node = np.int64(-1)
    if node >= 0:
        logprob, state = np.float64(nodes[node].logprob), np.int64(nodes[node].next)
        if extends[node]:
            return logprob, node, full, state
        return logprob, left, np.int64(1), state
    logprob, state = step(automaton, state, word)
    return total + logprob, left, np.int64(1), state


@leaf
def append_words(automaton, extends, symbols, j, end, left, full, state):
    """Append symbols[j:end] to a stretch up to the next gap: (log probability, left, full, state,
    position of the gap or `end`)."""
    total = 0.0
    while j < end and symbols[j] >= 0:
        logprob, left, full, state = append_word(
            automaton, extends, left, full, state, np.int64(symbols[j])
        )
        total += logprob
        j += 1
    return total, left, full, state, j


@leaf
def append_row(automaton, extends, path, left, full, state, row):
    """As `append_part`, with the words of a hypothesis of the search."""
    behind, complete = np.int64(row.left >> 1), np.int64(row.left & 1)
    return append_part(automaton, extends, path, left, full, state, behind, complete, np.int64(row.state))


@leaf
def append_part(automaton, extends, path, left, full, state, other_left, other_full, other_state):
    """Append one stretch to another: (what this adds to the sum of their log probabilities, left,
    full, state). path: room for `DEEPEST` nodes."""
    nodes, root = automaton.nodes, automaton.root
    if not full and left == root:
        return 0.0, other_left, other_full, other_state
    depth = 0
    node = other_left
    while node != root:
        path[depth] = node
        depth += 1
        node = np.int64(root)
        if path[depth - 1] > root:
            node = np.int64((nodes[path[depth - 1]].key - np.uint64(1)) >> np.uint64(32))
    alone = np.int64(root)  # the state after the same words without the context
    total = 0.0
    for i in range(depth - 1, -1, -1):
        if state == alone:
            return total, left, np.int64(1), other_state
        node = path[i]
        word = node
        if node > root:
            word = np.int64((nodes[node].key - np.uint64(1)) & np.uint64(0xFFFFFFFF))
        logprob, left, full, state = append_word(automaton, extends, left, full, state, word)
        total += logprob - np.float64(nodes[node].logprob)
        alone = np.int64(nodes[node].next)
    if other_full:
        while state != alone:
            total += np.float64(nodes[state].backoff)
            state = np.int64(nodes[state].link)
        return total, left, np.int64(1), other_state
    return total, left, full, state
