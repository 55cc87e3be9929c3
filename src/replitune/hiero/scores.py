"""From extracted rules to the grammar, and so from a parallel text to a model folder.

Training is like that of a phrase-based system, with a grammar (`grammar.json`, arrays) in place of a
table.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.arithmetic import log
from replitune.errors import ReplituneError
from replitune.hiero.extract import TARGET_WORD, Extracted, Nodes, extract_rules
from replitune.hiero.model import Grammar, HieroLayout, HieroModel, table_of
from replitune.hiero.settings import HieroSettings
from replitune.phrase.align import Progress
from replitune.phrase.arrays import ArrayFile, save_array, starts
from replitune.phrase.encode import Encoded
from replitune.phrase.lexical import LexicalTable, lexical_table, weights_of
from replitune.phrase.scores import counts_of_counts, discounted, limited
from replitune.phrase.symmetrise import Linked
from replitune.phrase.train import ModelKind

BLOCK = 1 << 20
"""Rules spelt out at a time."""


class Rules(NamedTuple):
    """R distinct rules.

    source, target: (R,) int32 sides, as nodes; times: (R,) float64 their counts; links: (R,) uint64 the
    most frequent mask of links of each rule, of equally frequent ones the smallest
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    times: NDArray[np.float64]
    links: NDArray[np.uint64]


def counted(records: NDArray[np.void]) -> Rules:
    """The distinct rules among some records."""
    sides = records["source"].astype(np.int64) << 32 | records["target"]
    order = np.argsort(sides)
    sides = sides[order]
    first = np.flatnonzero(np.diff(sides, prepend=-1))
    sides = sides[first]
    times, links = np.zeros(len(first)), np.zeros(len(first), np.uint64)
    _count(records, order, np.append(first, len(order)), times, links)
    return Rules((sides >> 32).astype(np.int32), sides.astype(np.int32), times, links)


@njit(cache=True)
def _count(records, order, start, times, links):
    """The counts of rules whose records are order[start[r] : start[r + 1]], added up in the order of the
    corpus, and their most frequent links."""
    for r in range(len(times)):
        own = order[start[r] : start[r + 1]]
        if len(own) == 1:
            times[r], links[r] = 1.0 / records[own[0]]["sharing"], records[own[0]]["links"]
            continue
        own.sort()
        for i in own:
            times[r] += 1.0 / records[i]["sharing"]
        masks = np.sort(records["links"][own])
        most, begin = 0, 0
        for i in range(1, len(masks) + 1):
            if i == len(masks) or masks[i] != masks[begin]:
                if i - begin > most:
                    most, links[r] = i - begin, masks[begin]
                begin = i


def make_grammar(
    linked: Linked, settings: HieroSettings, known: Encoded | None, folder: Path
) -> dict[str, int]:
    """Extract and score the rules (with a known text, those that can match it) and write the best of each
    source side to `folder`; returns the numbers of rules.

    Rules are ranked by p(e|f), then by lex(e|f), then by which target side was extracted first.
    """
    table = lexical_table(linked.source, linked.target, linked.links)
    with ExitStack() as stack:
        rules = stack.enter_context(extract_rules(linked, settings, known, folder))
        counts = _counts_of_counts(linked, settings, rules if known is None else None, folder)
        arrays = {
            name: stack.enter_context(ArrayFile(folder / f"{name}.npy", dtype, columns))
            for name, dtype, columns in (
                ("target_start", np.int64, ()),
                ("target_symbols", np.int32, ()),
                ("scores", np.float32, (4,)),
            )
        }
        arrays["target_start"].append(np.zeros(1, np.int64))
        sizes = np.zeros(len(rules.source.parent), np.int64)
        distinct = symbols = 0
        for low, high, part in rules.parts():
            found = counted(part)
            scores = _scores(found, rules, counts, table, settings.max_span)
            rank = rules.target_rank[found.target]
            order = np.lexsort((rank, -scores[:, 3], -scores[:, 2], found.source))
            order, sizes[low:high] = limited(
                order, np.bincount(found.source - low, minlength=high - low), settings.max_options
            )
            start, target = _sides(rules.target, found.target[order], TARGET_WORD)
            arrays["target_start"].append(start[1:] + symbols)
            arrays["target_symbols"].append(target)
            arrays["scores"].append(scores[order])
            symbols += len(target)
            distinct += len(found.times)
        trie = table_of(*rules.source, len(sizes))
        save_array(folder / "source_parent.npy", rules.source.parent)
        save_array(folder / "source_symbol.npy", rules.source.symbol)
        save_array(folder / "trie_keys.npy", trie.keys)
        save_array(folder / "trie_children.npy", trie.children)
        save_array(folder / "option_start.npy", starts(sizes))
    kept = int(sizes.sum())
    Grammar.finish(
        folder, linked.source.vocab, linked.target.vocab, {"source_nodes": len(sizes), "rules": kept}
    )
    return {"extracted": rules.extracted, "distinct": distinct, "rules": kept}


def _counts_of_counts(
    linked: Linked, settings: HieroSettings, every: Extracted | None, folder: Path
) -> NDArray[np.int64] | None:
    """The counts of counts of all rules, or None without discounting; every: all rules, None to extract
    them first."""
    if not settings.good_turing:
        return None
    if every is None:
        with extract_rules(linked, settings, None, folder) as every:
            return _counts_of_counts(linked, settings, every, folder)
    return np.sum([counts_of_counts(counted(part).times) for _, _, part in every.parts()], axis=0)


def _scores(
    rules: Rules, of: Extracted, counts: NDArray[np.int64] | None, table: LexicalTable, span: int
) -> NDArray[np.float32]:
    """(R, 4) float32. counts: the counts of counts of all rules, None without discounting."""
    source, target, count, links = rules
    scores = np.empty((len(count), 4), np.float32)
    if counts is not None:
        count = discounted(count, counts)
    scores[:, 0] = log(count / of.target_count[target])
    scores[:, 2] = log(count / of.source_count[source])
    for begin in range(0, len(count), BLOCK):
        block = slice(begin, begin + BLOCK)
        scores[block, 1], scores[block, 3] = weights_of(
            *_words(of.source, source[block], 1),
            *_words(of.target, target[block], TARGET_WORD),
            links[block],
            span,
            table,
        )
    return scores


def _words(
    sides: Nodes, nodes: NDArray[np.int32], first_word: int
) -> tuple[tuple[NDArray[np.int32], NDArray[np.int64]], NDArray[np.int64]]:
    """Words of some sides without the gaps: ((words, where each side begins), lengths)."""
    start, symbols = _sides(sides, nodes, first_word)
    is_word = symbols >= 0
    at = np.concatenate([[0], np.cumsum(is_word)])[start]
    return (symbols[is_word], at[:-1]), np.diff(at)


def _sides(
    sides: Nodes, nodes: NDArray[np.int32], first_word: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(start, symbols) of the sequences of some nodes, words as their ids and gaps below 0."""
    parent, symbol = sides
    start = np.zeros(len(nodes) + 1, np.int64)
    _spell(parent, symbol, nodes, first_word, start, np.empty(0, np.int32))
    np.cumsum(start, out=start)
    symbols = np.empty(start[-1], np.int32)
    _spell(parent, symbol, nodes, first_word, start, symbols)
    return start, symbols


@njit(cache=True)
def _spell(parent, symbol, nodes, first_word, start, symbols):
    """Write the symbols or, when `symbols` is empty, the lengths into start[1:]."""
    fill = len(symbols) > 0
    for i in range(len(nodes)):
        node = nodes[i]
        at = start[i + 1]
        while node > 0:
            at -= 1
            if fill:
                value = symbol[node] - first_word
                symbols[at] = value if value >= 0 else -symbol[node] - 1
            node = parent[node]
        if not fill:
            start[i + 1] = -at


def hiero_kind(settings: HieroSettings) -> ModelKind:
    """The kind of hierarchical systems."""
    layout = HieroLayout.from_groups(settings.features)
    return ModelKind("hiero", layout, HieroModel, partial(_train_grammar, settings))


def _train_grammar(
    settings: HieroSettings, linked: Linked, known: Encoded | None, folder: Path, say: Progress
) -> dict[str, int]:
    """Extract, score and save the grammar."""
    counts = make_grammar(linked, settings, known, folder)
    if counts["extracted"] == 0:
        raise ReplituneError(
            "no rule can be extracted",
            found=f"{len(linked.source)} pairs with {len(linked.links.source)} word links",
            fix="train on more text",
        )
    say(
        f"{counts['extracted']} rules extracted ({settings.extraction}), {counts['distinct']} distinct, "
        f"{counts['rules']} kept"
    )
    return counts
