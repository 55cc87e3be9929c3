"""Search graphs: all that a search kept, with the features of every arc.

A node is a hypothesis after recombination, an arc the translation of one more source phrase. The
features of the arcs of a path add up to the features of its derivation, so a tuner can find the
envelope of all derivations of a sentence as functions of the weights (Macherey et al. 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
from replitune.phrase.features import DISTORTION, LEXRO, LM, PHRASE_PENALTY, TM, WIDTH, WORD_PENALTY
from replitune.phrase.lm import step
from replitune.phrase.search import orientation
from replitune.phrase.stacks import kth_largest


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
def _losses(rows, arcs, final):
    """(loss (final + 1,), ways): of each row how far the best path through it is below the best
    of all (-inf where `final` cannot be reached), and the number of ways between these rows."""
    loss = np.full(final + 1, -np.inf)
    loss[final] = 0.0
    count = 0
    for row in range(final, 0, -1):
        if loss[row] == -np.inf:
            continue
        back = rows[row].back
        loss[back] = max(loss[back], loss[row])
        count += 1
        arc = rows[row].arcs
        while arc >= 0:
            back = arcs[arc].back
            loss[back] = max(loss[back], loss[row] + (arcs[arc].score - rows[row].score))
            count += 1
            arc = arcs[arc].next
    return loss, count


@njit(cache=True)
def worst_kept(rows, arcs, first, loss, count, most):
    """Loss of the `most`-th best of the ways into rows[first:len(loss)], `count` in all; every way
    that loses no more is on such a path."""
    if most < 0 or count <= most:
        return -np.inf
    losses = np.empty(count)
    count = 0
    for row in range(first, len(loss)):
        if loss[row] == -np.inf:
            continue
        losses[count] = loss[row]
        count += 1
        arc = rows[row].arcs
        while arc >= 0:
            losses[count] = loss[row] + (arcs[arc].score - rows[row].score)
            count += 1
            arc = arcs[arc].next
    # The best path stays whole.
    return min(kth_largest(losses, count, max(1, most)), 0.0)


@leaf
def _arc_features(rows, back, start, end, option, final, options, tables, automaton, stop, out):
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
def graph_of(rows, arcs, final, options, tables, automaton, stop, most):
    """(nodes, arc_from, arc_to, options of arcs, features (A, 14), copied) of a searched sentence.

    tables: (scores, reordering, unknown) of the options; stop: the word </s>; most: arcs kept,
    those on the best paths (and others that lose as little as the last of them), -1 for all."""
    loss, count = _losses(rows, arcs, final)
    least = worst_kept(rows, arcs, 1, loss, count, most)
    node = np.full(final + 1, -1, np.int32)
    nodes = 0
    for row in range(final + 1):
        if loss[row] > -np.inf and loss[row] >= least:
            node[row] = nodes
            nodes += 1
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
        value = rows[row].score
        while True:
            if loss[row] + (value - rows[row].score) < least:
                if arc < 0:
                    break
                back, start, end = arcs[arc].back, arcs[arc].start, arcs[arc].end
                value, option, arc = arcs[arc].score, arcs[arc].option, arcs[arc].next
                continue
            arc_from[at] = node[back]
            arc_to[at] = node[row]
            chosen[at] = option
            copied[at] = _arc_features(
                rows, back, start, end, option, row == final, options, tables, automaton, stop, features[at]
            )
            at += 1
            if arc < 0:
                break
            back, start, end = arcs[arc].back, arcs[arc].start, arcs[arc].end
            value, option, arc = arcs[arc].score, arcs[arc].option, arcs[arc].next
        # The best stays in front; the others are put in the order in which they were found.
        for i in range((at - begin - 1) // 2):
            a, b = begin + 1 + i, at - 1 - i
            arc_from[a], arc_from[b] = arc_from[b], arc_from[a]
            chosen[a], chosen[b] = chosen[b], chosen[a]
            copied[a], copied[b] = copied[b], copied[a]
            for j in range(WIDTH):
                features[a, j], features[b, j] = features[b, j], features[a, j]
    return nodes, arc_from[:at], arc_to[:at], chosen[:at], features[:at], copied[:at]
