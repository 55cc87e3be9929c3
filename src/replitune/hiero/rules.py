"""Rules of a batch of sentences: weighted, and only the best of each source side.

Rules belong to source sides, not to sentences: a source side that matches in many places is
weighted once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.hiero.chart import Matched
from replitune.hiero.context import append_words
from replitune.hiero.model import GLUE, LM, RULE_PENALTY, TM, WORD_PENALTY, HieroModel
from replitune.leaf import leaf
from replitune.phrase.arrays import frozen, starts
from replitune.phrase.features import UNKNOWN_WORD

RULE = np.dtype(
    [
        ("estimate", "f8"),
        ("score", "f8"),
        ("prefix", "f8"),
        ("begin", "i4"),
        ("middle", "i4"),
        ("end", "i4"),
        ("left", "i4"),
        ("full", "i4"),
        ("state", "i4"),
        ("first", "i4"),
        ("unused", "i4"),
    ]
)
"""All that the search needs of a rule. estimate: score + the LM score of its words, each stretch between
gaps without context; score: translation model and penalties; begin .. end: its target symbols; middle:
the first gap among them, or end; prefix, left, full, state: the LM score of the words before `middle`,
and the three numbers of `replitune.hiero.context`; first: the gap (0 or 1) that comes first on the
target side."""


class Rules(NamedTuple):
    """O rules of U source sides under one weights vector; all scores are weighted.

    first, counts: (U,) rules of side u are first[u] : first[u] + counts[u], highest estimate first.
    The last two rules belong to no side: the glue rule, and the one that ends a sentence.
    table: (O,) RULE; symbols: LM ids, -1 and -2 for the gaps
    """

    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    table: NDArray[np.void]
    symbols: NDArray[np.int32]


@dataclass(frozen=True)
class Weighted(Matched):
    """A batch with its rules, and the scores and words of the rules, which the search does not need.

    scores: (O, 4) float32, as in the grammar, unweighted
    target: all target symbols: ids in the target vocabulary, ids from its size on for copied words,
        -1 and -2 for gaps
    unknown: (O,) 1 for a copied word
    """

    rules: Rules
    scores: NDArray[np.float32]
    target: NDArray[np.int32]
    unknown: NDArray[np.int8]

    @property
    def tables(self) -> tuple[Rules, NDArray[np.float32], NDArray[np.int32], NDArray[np.int8]]:
        """What is needed to read derivations."""
        return self.rules, self.scores, self.target, self.unknown


@njit(cache=True)
def _select(nodes, option_start, target_start, symbols, scores, isolated, weights, limit, chosen):
    """The `limit` best rules of each source side by estimate, ties in the grammar's order.

    chosen: (U, limit) rules, best first; returns counts."""
    count = np.zeros(len(nodes), np.int64)
    best = np.empty(limit)
    for u in range(len(nodes)):
        kept = 0
        for rule in range(option_start[nodes[u]], option_start[nodes[u] + 1]):
            estimate = weights[RULE_PENALTY] + weights[LM] * isolated[rule]
            for j in range(target_start[rule], target_start[rule + 1]):
                if symbols[j] >= 0:
                    estimate -= weights[WORD_PENALTY]
            for j in range(4):
                estimate += weights[TM + j] * scores[rule, j]
            i = kept
            if i == limit:
                if estimate <= best[i - 1]:
                    continue
                i -= 1
            else:
                kept += 1
            while i > 0 and best[i - 1] < estimate:
                best[i] = best[i - 1]
                chosen[u, i] = chosen[u, i - 1]
                i -= 1
            best[i] = estimate
            chosen[u, i] = rule
        count[u] = kept
    return count


@leaf
def _read_prefix(automaton, extends, symbols, rule):
    """Set where the first gap is, and what the LM says of the words before it."""
    root = np.int64(automaton.root)
    begin, end = np.int64(rule.begin), np.int64(rule.end)
    total, left, full, state, j = append_words(
        automaton, extends, symbols, begin, end, root, np.int64(0), root
    )
    rule.middle = j
    rule.first = 1 if j < rule.end and symbols[j] == -2 else 0
    rule.prefix, rule.left, rule.full, rule.state = total, left, full, state


@njit(cache=True)
def _fill(automaton, extends, weights, scores, isolated, unknown, start, rules):
    """Set all fields of RULE."""
    table, symbols = rules.table, rules.symbols
    for o in range(len(table)):
        rule = table[o]
        rule.begin, rule.end = start[o], start[o + 1]
        score = weights[RULE_PENALTY] + UNKNOWN_WORD * unknown[o]
        for j in range(rule.begin, rule.end):
            if symbols[j] >= 0:
                score -= weights[WORD_PENALTY]
        for j in range(4):
            score += weights[TM + j] * scores[o, j]
        _read_prefix(automaton, extends, symbols, rule)
        rule.score = score
        rule.estimate = score + weights[LM] * isolated[o]
    glue, stop = len(table) - 2, len(table) - 1
    table[glue].score = weights[GLUE]
    table[glue].estimate = weights[GLUE]
    table[stop].score = 0.0
    table[stop].estimate = weights[LM] * isolated[stop]


def weigh(model: HieroModel, matched: Matched, weights: NDArray[np.float64], limit: int) -> Weighted:
    """The best rules of each source side of a batch; `weights` is a full vector."""
    grammar, lm = model.table, model.lm
    option_start, target_start = frozen(grammar.option_start), frozen(grammar.target_start)
    nodes = matched.nodes
    widest = int(np.max(option_start[nodes + 1] - option_start[nodes], initial=1))
    chosen = np.zeros((len(nodes), min(limit, widest)), np.int64)
    counts = _select(
        nodes,
        option_start,
        target_start,
        frozen(grammar.target_symbols),
        frozen(grammar.scores),
        frozen(model.isolated),
        weights,
        chosen.shape[1],
        chosen,
    )
    rows = chosen[np.arange(chosen.shape[1]) < counts[:, None]]
    known, copied = len(rows), len(matched.copied)
    total = known + copied + 2
    symbols_of = np.asarray(grammar.target_symbols)
    start, target, symbols = model.targets(target_start, symbols_of, rows, matched.copied)
    alone, end = symbols[start[known] :], lm.end
    # X1 X2 of the glue rule, and X1 </s> of the one that ends a sentence
    start = np.append(start, start[-1] + np.array([2, 4]))
    target = np.append(target, [-1, -2, -1, model.target_ids["</s>"]]).astype(np.int32)
    symbols = np.append(symbols, [-1, -2, -1, end]).astype(np.int32)
    scores = np.zeros((total, 4), np.float32)
    scores[:known] = np.asarray(grammar.scores)[rows]
    unknown = np.zeros(total, np.int8)
    unknown[known:-2] = 1
    isolated = np.zeros(total)
    isolated[:known] = np.asarray(model.isolated)[rows]
    isolated[known:-2] = lm.nodes["logprob"][alone]
    isolated[-1] = lm.nodes["logprob"][end]
    count = np.concatenate([counts, np.ones(copied, np.int64)])
    rules = Rules(starts(count)[:-1], count, np.zeros(total, RULE), symbols)
    _fill(lm.automaton, frozen(model.extends), weights, scores, isolated, unknown, start, rules)
    return Weighted(**vars(matched), rules=rules, scores=scores, target=target, unknown=unknown)
