"""Small random grammars, and what a decoder must find in them, by enumeration in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from decoder_oracle import random_ngrams, sentence_logprob

from replitune.hiero.model import GAP, Grammar, HieroModel, table_of
from replitune.hiero.settings import GROUPS
from replitune.phrase.arpa import NgramModel
from replitune.phrase.lm import LanguageModel

Rule = tuple[tuple[int, ...], tuple[int, ...], list[float]]
"""Source side (words, -1 a gap), target side (words, -1 and -2 the gaps), four scores."""


def random_rules(
    rng: np.random.Generator, source: int = 4, target: int = 5, sides: int = 30, options: int = 3
) -> list[Rule]:
    """Rules with up to two gaps that do not touch each other, and up to five symbols."""
    pool: set[tuple[int, ...]] = {(int(w),) for w in range(source - 1)}
    while len(pool) < sides:
        words = rng.integers(0, source, rng.integers(1, 4)).tolist()
        for _ in range(rng.integers(0, 3)):
            words.insert(int(rng.integers(0, len(words) + 1)), -1)
        if all(pair != (-1, -1) for pair in pairwise(words)):
            pool.add(tuple(words[:5]))
    rules: list[Rule] = []
    for side in sorted(side for side in pool if any(w >= 0 for w in side)):
        known: set[tuple[int, ...]] = set()
        for _ in range(rng.integers(1, options + 1)):
            out = (rng.integers(3, 3 + target, rng.integers(1, 4))).tolist()
            gaps = [-1, -2][: side.count(-1)]
            if rng.random() < 0.4:
                gaps.reverse()
            for gap in gaps:
                out.insert(int(rng.integers(0, len(out) + 1)), gap)
            known.add(tuple(out))
        rules += [(side, out, (-3 * rng.random(4)).tolist()) for out in sorted(known)]
    return rules


def grammar_of(rules: list[Rule], source: int, target: int) -> Grammar:
    """Rules as a grammar, by way of a dictionary."""
    nodes: dict[tuple[int, ...], int] = {(): 0}
    parent, symbol = [0], [0]
    for side, _, _ in rules:
        for n in range(1, len(side) + 1):
            if side[:n] not in nodes:
                nodes[side[:n]] = len(nodes)
                parent.append(nodes[side[: n - 1]])
                symbol.append(GAP if side[n - 1] < 0 else side[n - 1] + 1)
    ordered = sorted(rules, key=lambda rule: nodes[rule[0]])
    counts = np.bincount([nodes[rule[0]] for rule in ordered], minlength=len(nodes))
    parents, symbols = np.array(parent, np.int32), np.array(symbol, np.int32)
    table = table_of(parents, symbols, len(nodes))
    return Grammar(
        source_vocab=[f"f{i}" for i in range(source)],
        target_vocab=["<unk>", "<s>", "</s>", *(f"e{i}" for i in range(target))],
        source_parent=parents,
        source_symbol=symbols,
        trie_keys=table.keys,
        trie_children=table.children,
        option_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        target_start=np.cumsum([0, *(len(rule[1]) for rule in ordered)]).astype(np.int64),
        target_symbols=np.array([s for rule in ordered for s in rule[1]], np.int32),
        scores=np.array([rule[2] for rule in ordered], np.float32).reshape(-1, 4),
    )


def random_model(
    rng: np.random.Generator,
    order: int = 3,
    features: tuple[str, ...] = GROUPS,
    source: int = 4,
    target: int = 5,
    **sizes: int,
) -> tuple[HieroModel, list[Rule], NgramModel]:
    rules = random_rules(rng, source, target, **sizes)
    ngrams = random_ngrams(rng, order, target)
    grammar = grammar_of(rules, source, target)
    return HieroModel.build(grammar, LanguageModel.build(ngrams), features), rules, ngrams


Derived = tuple[list[str], np.ndarray, int]
"""Words, 8 features without the language model's, copied words."""


def derivations(
    rules: list[Rule], ngrams: NgramModel, sentence: list[str], longest: int
) -> Iterator[tuple[str, np.ndarray, int]]:
    """All derivations of a sentence: (text, 8 features, copied words).

    Written from the definitions, top down and with nothing shared with the decoder.
    """
    words = [int(word[1:]) for word in sentence]
    alone = {side[0] for side, _, _ in rules if len(side) == 1}
    memo: dict[tuple[int, int], list[Derived]] = {}

    def matches(side: tuple[int, ...], i: int, j: int) -> Iterator[list[tuple[int, int]]]:
        """The spans of the gaps, in every way in which a source side covers i ... j - 1."""
        if not side:
            if i == j:
                yield []
            return
        if side[0] >= 0:
            if i < j and words[i] == side[0]:
                yield from matches(side[1:], i + 1, j)
            return
        for k in range(i + 1, j + 1):
            for rest in matches(side[1:], k, j):
                yield [(i, k), *rest]

    def span(i: int, j: int) -> list[Derived]:
        if (i, j) in memo:
            return memo[i, j]
        found: list[Derived] = []
        if j == i + 1 and words[i] not in alone:
            copy = np.zeros(8)
            copy[1], copy[2] = -1, 1
            found.append(([sentence[i]], copy, 1))
        for side, out, scores in rules if j - i <= longest else ():
            for gaps in matches(side, i, j):
                parts: list[list[Derived]] = [[]]
                for a, b in gaps:
                    parts = [[*p, part] for p in parts for part in span(a, b)]
                for p in parts:
                    text: list[str] = []
                    values = np.zeros(8)
                    values[2] += 1
                    values[4:] += np.float32(scores)
                    for s in out:
                        text += p[-1 - s][0] if s < 0 else [f"e{s - 3}"]
                        values[1] -= s >= 0
                    for part in p:
                        values += part[1]
                    found.append((text, values, sum(part[2] for part in p)))
        memo[i, j] = found
        return found

    def glued(i: int) -> Iterator[Derived]:
        if i == len(words):
            yield [], np.zeros(8), 0
            return
        for j in range(i + 1, len(words) + 1):
            for text, values, copied in span(i, j):
                for rest_text, rest, rest_copied in glued(j):
                    total = values + rest
                    total[3] += 1
                    yield text + rest_text, total, copied + rest_copied

    for text, values, copied in glued(0):
        values = values.copy()
        values[0] = sentence_logprob(ngrams, text)
        yield " ".join(text), values, copied
