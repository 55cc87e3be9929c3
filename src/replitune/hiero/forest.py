"""Forests: all that a search kept, with the features of every edge.

A node is a hypothesis after recombination; an edge is a rule with hypotheses in its gaps. The features
of a derivation are the sums over its edges, the language model's too: an edge has the log probability
of its own words, and the change in that of the words in its gaps, which now have a context.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.hiero.context import DEEPEST, append_row, append_word
from replitune.hiero.model import GLUE, LM, RULE_PENALTY, TM, WIDTH, WORD_PENALTY
from replitune.leaf import leaf
from replitune.phrase.graph import worst_kept


@leaf
def _lm_gain(rows, rules, rule, one, two, automaton, extends, path):
    """What a rule with hypotheses in its gaps adds to the sum of their log probabilities."""
    left, full, state = np.int64(automaton.root), np.int64(0), np.int64(automaton.root)
    total = 0.0
    for j in range(rules.table[rule].begin, rules.table[rule].end):
        symbol = rules.symbols[j]
        if symbol >= 0:
            gain, left, full, state = append_word(automaton, extends, left, full, state, np.int64(symbol))
        else:
            part = rows[one if symbol == -1 else two]
            gain, left, full, state = append_row(automaton, extends, path, left, full, state, part)
        total += gain
    return total


@leaf
def _edge(rows, rule, one, two, weighted, automaton, extends, path, out):
    """Write the features of a rule with hypotheses in its gaps to `out` (WIDTH,)."""
    rules, scores, target, _ = weighted
    glue, stop = len(rules.table) - 2, len(rules.table) - 1
    if rule < 0:
        return
    out[LM] = _lm_gain(rows, rules, rule, one, two, automaton, extends, path)
    if rule == glue:
        out[GLUE] = 1.0
        return
    if rule == stop:
        return
    out[RULE_PENALTY] = 1.0
    for k in range(4):
        out[TM + k] = scores[rule, k]
    for j in range(rules.table[rule].begin, rules.table[rule].end):
        if target[j] >= 0:
            out[WORD_PENALTY] -= 1.0


@njit(cache=True)
def _losses(rows, arcs):
    """(loss (rows,), ways): the score of the best derivation through each row minus the best of all
    (-inf where there is none), and the number of ways into these rows."""
    loss = np.full(len(rows), -np.inf)
    loss[len(rows) - 1] = 0.0
    count = 0
    for row in range(len(rows) - 1, -1, -1):
        if loss[row] == -np.inf:
            continue
        one, two, arc, value = rows[row].one, rows[row].two, rows[row].arcs, loss[row]
        while True:
            count += 1
            if one >= 0:
                loss[one] = max(loss[one], value)
            if two >= 0:
                loss[two] = max(loss[two], value)
            if arc < 0:
                break
            one, two = arcs[arc].one, arcs[arc].two
            value = loss[row] + (arcs[arc].score - rows[row].score)
            arc = arcs[arc].next
    return loss, count


@njit(cache=True, nogil=True)
def forest_of(rows, arcs, weighted, automaton, extends, most):
    """(nodes, head, one, two, rules of edges, features (E, WIDTH)) of a searched sentence.

    weighted: (rules, scores, target, unknown); most: edges kept, those of the best derivations (more
    when others tie with the last of them)."""
    loss, count = _losses(rows, arcs)
    least = worst_kept(rows, arcs, 0, loss, count, most)
    node = np.full(len(rows), -1, np.int64)
    nodes, n = 0, 0
    edges = np.empty((count, 4), np.int32)
    features = np.zeros((count, WIDTH))
    path = np.empty(DEEPEST, np.int64)
    for row in range(len(rows)):
        if loss[row] == -np.inf or loss[row] < least:
            continue
        node[row] = nodes
        rule, one, two = rows[row].rule, rows[row].one, rows[row].two
        arc, value = rows[row].arcs, loss[row]
        while True:
            if value >= least:
                edges[n, 0], edges[n, 3] = nodes, rule
                edges[n, 1] = -1 if one < 0 else node[one]
                edges[n, 2] = -1 if two < 0 else node[two]
                _edge(rows, rule, one, two, weighted, automaton, extends, path, features[n])
                n += 1
            if arc < 0:
                break
            rule, one, two = arcs[arc].rule, arcs[arc].one, arcs[arc].two
            value = loss[row] + (arcs[arc].score - rows[row].score)
            arc = arcs[arc].next
        nodes += 1
    edges = edges[:n]
    return (
        nodes,
        edges[:, 0].copy(),
        edges[:, 1].copy(),
        edges[:, 2].copy(),
        edges[:, 3].copy(),
        features[:n],
    )
