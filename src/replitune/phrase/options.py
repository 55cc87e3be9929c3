"""Translation options of a batch of sentences: looked up, weighted, and only the best of each span.

Options belong to source phrases, not to sentences: a phrase that occurs in many sentences is
weighted once, and a sentence holds only the number of the phrase on each of its spans.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
from replitune.phrase.arrays import frozen, starts
from replitune.phrase.encode import split_words
from replitune.phrase.features import LM, PHRASE_PENALTY, TM, UNKNOWN_WORD, WORD_PENALTY
from replitune.phrase.lm import find, step
from replitune.phrase.model import PhraseModel, phrase_slot

MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2

BASE = np.uint64(0x94D049BB133111EB)


CELL = np.dtype(
    [
        ("promise", "f8"),
        ("ceiling", "f8"),
        ("score", "f8"),
        ("backward", "f8"),
        ("option", "i4"),
        ("word", "i4"),
    ]
)
"""All that the search needs of an option for one orientation. score: translation model and penalties;
backward: lexicalised reordering; promise: estimate + backward; ceiling: score + backward + the most that
the LM can give in any context, a true bound; word: its first word."""


class Options(NamedTuple):
    """O options of U source phrases under one weights vector; all scores are weighted.

    first, counts: (U,) options of phrase u are first[u] : first[u] + counts[u], best first
    estimate: (O,) translation model, penalties, and LM of the words without context
    cells: (3, O) CELL per orientation, the options of a phrase from the highest promise down
    forward: (O, 3) lexicalised reordering of the next phrase, by its orientation
    identity: (O,) equal for options with the same forward reordering scores
    spelling, power: (O,) a translation with hash h has the hash h * power + spelling after the
        option is added
    word_start: (O + 1,); words: LM ids
    inner_state, inner_rest: per word: LM state after it when the phrase has no context, and the LM
        score of the words after it; once a state in context equals inner_state, the rest of the
        score is known
    """

    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    estimate: NDArray[np.float64]
    cells: NDArray[np.void]
    forward: NDArray[np.float64]
    identity: NDArray[np.int32]
    spelling: NDArray[np.uint64]
    power: NDArray[np.uint64]
    word_start: NDArray[np.int64]
    words: NDArray[np.int32]
    inner_state: NDArray[np.int32]
    inner_rest: NDArray[np.float64]


@njit(cache=True)
def _find_spans(tokens, start, source_start, source_words, index, longest, spans):
    """spans[i, l]: the source phrase of the l + 1 words from token i on, or -1."""
    slots = len(index)
    for sentence in range(len(start) - 1):
        for i in range(start[sentence], start[sentence + 1]):
            for length in range(1, min(longest, start[sentence + 1] - i) + 1):
                if tokens[i + length - 1] < 0:
                    break
                slot = phrase_slot(tokens, i, i + length, slots)
                while index[slot] >= 0:
                    phrase = index[slot]
                    begin = source_start[phrase]
                    if source_start[phrase + 1] - begin == length:
                        j = 0
                        while j < length and source_words[begin + j] == tokens[i + j]:
                            j += 1
                        if j == length:
                            spans[i, length - 1] = phrase
                            break
                    slot = (slot + 1) % slots


@njit(cache=True)
def _select(phrases, option_start, target_start, scores, isolated, weights, limit, chosen, best):
    """The `limit` best options of each phrase by estimate, ties in the table's order.

    chosen: (U, limit) options of the table, best first; best: their estimates; returns counts."""
    count = np.zeros(len(phrases), np.int64)
    for u in range(len(phrases)):
        for option in range(option_start[phrases[u]], option_start[phrases[u] + 1]):
            length = target_start[option + 1] - target_start[option]
            estimate = weights[PHRASE_PENALTY] - weights[WORD_PENALTY] * length
            estimate += weights[LM] * isolated[option]
            for j in range(4):
                estimate += weights[TM + j] * scores[option, j]
            i = count[u]
            if i == limit:
                if estimate <= best[u, i - 1]:
                    continue
                i -= 1
            else:
                count[u] += 1
            while i > 0 and best[u, i - 1] < estimate:
                best[u, i] = best[u, i - 1]
                chosen[u, i] = chosen[u, i - 1]
                i -= 1
            best[u, i] = estimate
            chosen[u, i] = option
    return count


@leaf
def _sort_cells(cells, orientation, begin, end, scratch):
    """Sort cells[orientation, begin:end] by promise downwards, stably."""
    for o in range(begin + 1, end):
        if cells[orientation, o - 1].promise >= cells[orientation, o].promise:
            continue
        scratch[0] = cells[orientation, o]
        i = o
        while i > begin and cells[orientation, i - 1].promise < scratch[0].promise:
            cells[orientation, i] = cells[orientation, i - 1]
            i -= 1
        cells[orientation, i] = scratch[0]


@njit(cache=True)
def _fill(automaton, high, rise, weights, scores, reordering, unknown, options):
    """Set scores, LM inside each phrase, reordering and bounds, and sort cells by promise."""
    weight = weights[LM]
    scratch = np.empty(1, CELL)
    for o in range(len(options.estimate)):
        begin, end = options.word_start[o], options.word_start[o + 1]
        score = weights[PHRASE_PENALTY] - weights[WORD_PENALTY] * (end - begin)
        score += UNKNOWN_WORD * unknown[o]
        for j in range(4):
            score += weights[TM + j] * scores[o, j]
        state = np.int64(automaton.root)
        whole = True  # the state is the whole phrase so far, so that a longer context can matter
        most = rise  # bounds the score of </s>, which may follow the option
        total = 0.0
        for j in range(begin, end):
            word = options.words[j]
            logprob, after = step(automaton, state, word)
            top = logprob
            if whole:
                node = np.int64(word) if state == automaton.root else find(automaton, state, word)
                whole = bool(node >= 0 and after == node)
                if node >= 0:
                    top = np.float64(high[node])
            most += top + rise
            total += logprob
            state = after
            options.inner_state[j] = state
            options.inner_rest[j] = total
        for j in range(begin, end):
            options.inner_rest[j] = total - options.inner_rest[j]
        options.estimate[o] = score + weight * total
        for orientation in range(3):
            options.forward[o, orientation] = weights[3 + orientation] * reordering[o, 3 + orientation]
            backward = weights[orientation] * reordering[o, orientation]
            cell = options.cells[orientation, o]
            cell.promise = options.estimate[o] + backward
            cell.ceiling = (np.inf if weight < 0 else score + weight * most) + backward
            cell.score = score
            cell.backward = backward
            cell.option = o
            cell.word = options.words[begin] if begin < end else 0
    _identify(reordering, options.identity)
    for u in range(len(options.first)):
        begin, end = options.first[u], options.first[u] + options.counts[u]
        for orientation in range(3):
            _sort_cells(options.cells, orientation, begin, end, scratch)


@njit(cache=True)
def _spell(target_words, options):
    """Hashes of the options' words: polynomials in an odd number, modulo 2^64."""
    for o in range(len(options.spelling)):
        for j in range(options.word_start[o], options.word_start[o + 1]):
            word = np.uint64(target_words[j] + 1) * np.uint64(0x9E3779B97F4A7C15)
            word = (word ^ (word >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
            options.spelling[o] = options.spelling[o] * BASE + (word ^ (word >> np.uint64(29)))
            options.power[o] *= BASE


@njit(cache=True)
def _identify(reordering, identity):
    """identity[o]: the first option with exactly the forward reordering scores of o."""
    slots = 2 * len(identity) + 1
    table = np.full(slots, -1, np.int64)
    for o in range(len(identity)):
        mixed = np.uint64(0)
        for j in range(3, 6):
            bits = np.uint64(np.int64(np.float64(reordering[o, j]) * 1048576.0))
            mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        i = np.int64(mixed % np.uint64(slots))
        while table[i] >= 0:
            other = table[i]
            if (
                reordering[o, 3] == reordering[other, 3]
                and reordering[o, 4] == reordering[other, 4]
                and reordering[o, 5] == reordering[other, 5]
            ):
                break
            i = (i + 1) % slots
        if table[i] < 0:
            table[i] = o
        identity[o] = table[i]


@dataclass(frozen=True)
class Batch:
    """Sentences ready for the search.

    start: (N + 1,) sentence i has the words start[i]:start[i + 1] of the batch
    spans: (words, longest) the phrase on the span of l + 1 words from word i on, or -1
    options: see Options
    scores: (O, 4) float32 and reordering: (O, 6) float32, as in the phrase table, unweighted
    target_words: of all options: ids in the target vocabulary, ids from its size on for `copied`
    unknown: (O,) 1 for a copied word
    copied: source words without options of their own
    memos: one for each thread
    """

    start: NDArray[np.int64]
    spans: NDArray[np.int32]
    options: Options
    scores: NDArray[np.float32]
    reordering: NDArray[np.float32]
    target_words: NDArray[np.int32]
    unknown: NDArray[np.int8]
    copied: list[str]
    memos: threading.local = field(default_factory=threading.local)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def tables(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int8]]:
        """What the features of derivations are computed from."""
        return self.scores, self.reordering, self.unknown


def prepare(model: PhraseModel, lines: Sequence[str], weights: NDArray[np.float64], limit: int) -> Batch:
    """Look up and weight the options of `lines`; `weights` has all 14 values."""
    table = model.table
    sentences = [split_words(line) for line in lines]
    ids = model.source_ids
    words = [word for sentence in sentences for word in sentence]
    tokens = np.array([ids.get(word, -1) for word in words], np.int32)
    start = starts([len(sentence) for sentence in sentences])

    spans = np.full((len(tokens), model.longest), -1, np.int32)
    source_start, source_words = frozen(table.source_start), frozen(table.source_words)
    _find_spans(tokens, start, source_start, source_words, frozen(model.index), model.longest, spans)
    phrases, inverse = np.unique(spans, return_inverse=True)
    inverse = inverse.reshape(spans.shape)
    if len(phrases) and phrases[0] < 0:
        phrases, inverse = phrases[1:], inverse - 1
    spans = np.ascontiguousarray(inverse, np.int32)

    # A word without options of its own is copied, even where a longer phrase could cover it.
    copied: dict[str, int] = {}
    for i in np.flatnonzero(spans[:, 0] < 0) if len(tokens) else ():
        spans[i, 0] = len(phrases) + copied.setdefault(words[i], len(copied))

    option_start, target_start = frozen(table.option_start), frozen(table.target_start)
    widest = int(np.max(option_start[phrases + 1] - option_start[phrases], initial=1))
    chosen = np.zeros((len(phrases), min(limit, widest)), np.int64)
    counts = _select(
        phrases.astype(np.int64),
        option_start,
        target_start,
        frozen(table.scores),
        frozen(model.isolated),
        weights,
        chosen.shape[1],
        chosen,
        np.zeros(chosen.shape),
    )
    rows = chosen[np.arange(chosen.shape[1]) < counts[:, None]]
    return _batch(model, weights, start, spans, rows, counts, list(copied))


def _batch(
    model: PhraseModel,
    weights: NDArray[np.float64],
    start: NDArray[np.int64],
    spans: NDArray[np.int32],
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
    copied: list[str],
) -> Batch:
    """Gather the chosen rows of the phrase table, append copied words, weight everything."""
    table, lm = model.table, model.lm
    known, total = len(rows), len(rows) + len(copied)
    count = np.concatenate([counts, np.ones(len(copied), np.int64)])
    target_start, target_words = np.asarray(table.target_start), np.asarray(table.target_words)
    word_start, target, lm_words = model.targets(target_start, target_words, rows, copied)
    scores = np.zeros((total, 4), np.float32)
    scores[:known] = np.asarray(table.scores)[rows]
    reordering = np.zeros((total, 6), np.float32)
    if "lexro" in model.layout.groups:
        reordering[:known] = np.asarray(table.reordering)[rows]
    unknown = np.zeros(total, np.int8)
    unknown[known:] = 1
    options = Options(
        first=starts(count)[:-1],
        counts=count,
        estimate=np.zeros(total),
        cells=np.zeros((3, total), CELL),
        forward=np.zeros((total, 3)),
        identity=np.zeros(total, np.int32),
        spelling=np.zeros(total, np.uint64),
        power=np.ones(total, np.uint64),
        word_start=word_start,
        words=lm_words,
        inner_state=np.zeros(len(target), np.int32),
        inner_rest=np.zeros(len(target)),
    )
    _spell(target, options)
    _fill(lm.automaton, frozen(lm.high), lm.rise, weights, scores, reordering, unknown, options)
    return Batch(start, spans, options, scores, reordering, target, unknown, copied)
