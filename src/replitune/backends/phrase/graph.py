"""Search graphs: everything a search found, with the features of every arc.

A node is a hypothesis after recombination, an arc the translation of one more source phrase. The
features of the arcs of a path add up to the features of its derivation, so a tuner can find the
envelope of all derivations of a sentence as functions of the weights (Macherey et al. 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.backends.phrase.features import (
    DISTORTION,
    LEXRO,
    LM,
    PHRASE_PENALTY,
    TM,
    WIDTH,
    WORD_PENALTY,
)
from replitune.backends.phrase.lm import step
from replitune.backends.phrase.search import orientation


@dataclass(frozen=True)
class SearchGraph:
    """The search graph of one sentence: M nodes, A arcs.

    Node 0 is the start, node M - 1 the complete translation; every node lies on a path between
    them. Arcs are sorted by the node they lead to, of one node the best way first, and lead from
    smaller to larger numbers, so their order is topological.

    nodes: M (1 for a blank line, with no arcs)
    arc_from, arc_to: (A,) int32
    word_start: (A + 1,) int64; words: int32 ids into `vocabulary`: what an arc appends
    features: (A, K) float64, columns as in the model's layout; the last arc's LM has </s> in it
    copied: (A,) int32 copied words
    """

    nodes: int
    arc_from: NDArray[np.int32]
    arc_to: NDArray[np.int32]
    word_start: NDArray[np.int64]
    words: NDArray[np.int32]
    features: NDArray[np.float64]
    copied: NDArray[np.int32]
    vocabulary: list[str]


@njit(cache=True)
def _number(rows, arcs, final, node):  # type: ignore[no-untyped-def]
    """Number the rows from which `final` can be reached, in order; returns (nodes, arcs)."""
    node[final] = 0
    count = 0
    for row in range(final, 0, -1):
        if node[row] < 0:
            continue
        node[rows[row].back] = 0
        count += 1
        arc = rows[row].arcs
        while arc >= 0:
            node[arcs[arc].back] = 0
            count += 1
            arc = arcs[arc].next
    nodes = 0
    for row in range(final + 1):
        if node[row] == 0:
            node[row] = nodes
            nodes += 1
    return nodes, count


@njit(cache=True)
def _arc_features(rows, back, start, end, option, final, options, tables, automaton, stop, out):  # type: ignore[no-untyped-def]
    """Features of extending row `back` by an option over start .. end; copied words."""
    scores, reordering, unknown = tables
    last = rows[back]
    turn = orientation(last.start, last.end, start, end)
    out[LEXRO + turn] += reordering[option, turn]
    if last.option >= 0:
        out[LEXRO + 3 + turn] += reordering[last.option, 3 + turn]
    out[DISTORTION] -= abs(start - (last.end + 1))
    state = np.int64(last.state)
    for j in range(options.word_start[option], options.word_start[option + 1]):
        logprob, state = step(automaton, state, options.words[j])
        out[LM] += logprob
        out[WORD_PENALTY] -= 1.0
    if final:
        out[LM] += step(automaton, state, stop)[0]
    out[PHRASE_PENALTY] += 1.0
    for j in range(4):
        out[TM + j] += scores[option, j]
    return unknown[option]


@njit(cache=True, nogil=True)
def graph_of(rows, arcs, final, options, tables, automaton, stop):  # type: ignore[no-untyped-def]
    """(nodes, arc_from, arc_to, options of arcs, features (A, 14), copied) of a searched sentence.

    tables: (scores, reordering, unknown) of the options; stop: the word </s>."""
    node = np.full(final + 1, -1, np.int32)
    nodes, count = _number(rows, arcs, final, node)
    arc_from = np.empty(count, np.int32)
    arc_to = np.empty(count, np.int32)
    chosen = np.empty(count, np.int32)
    copied = np.empty(count, np.int32)
    features = np.zeros((count, WIDTH))
    at = 0
    for row in range(1, final + 1):
        if node[row] < 0:
            continue
        begin = at
        back, start, end = rows[row].back, rows[row].start, rows[row].end
        option, arc = rows[row].option, rows[row].arcs
        while True:
            arc_from[at] = node[back]
            arc_to[at] = node[row]
            chosen[at] = option
            copied[at] = _arc_features(
                rows,
                back,
                start,
                end,
                option,
                row == final,
                options,
                tables,
                automaton,
                stop,
                features[at],
            )
            at += 1
            if arc < 0:
                break
            back, start, end = arcs[arc].back, arcs[arc].start, arcs[arc].end
            option, arc = arcs[arc].option, arcs[arc].next
        # The best stays in front; the others are put in the order in which they were found.
        for i in range((at - begin - 1) // 2):
            a, b = begin + 1 + i, at - 1 - i
            arc_from[a], arc_from[b] = arc_from[b], arc_from[a]
            chosen[a], chosen[b] = chosen[b], chosen[a]
            copied[a], copied[b] = copied[b], copied[a]
            for j in range(WIDTH):
                features[a, j], features[b, j] = features[b, j], features[a, j]
    return nodes, arc_from, arc_to, chosen, features, copied
