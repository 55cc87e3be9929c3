"""Search graphs: all that a search kept, with the features of every edge; and their n best derivations.

A node is a hypothesis after recombination, an edge the translation of one more source phrase. The
features of the edges of a path add up to the features of its derivation.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.leaf import leaf
from replitune.phrase.features import DISTORTION, LEXRO, LM, PHRASE_PENALTY, TM, WIDTH, WORD_PENALTY
from replitune.phrase.lm import step
from replitune.phrase.paths import NO_MORE, NO_ROOM, WAY, begin_paths, next_path, paths_with_room
from replitune.phrase.search import orientation
from replitune.phrase.stacks import kth_largest


@njit(cache=True)
def _losses(rows, arcs, final):
    """(loss (final + 1,), ways): the score of the best path through each row minus the best of all
    (-inf where `final` cannot be reached), and the number of ways between these rows."""
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
    """Loss of the `most`-th best of the `count` ways into rows[first:len(loss)]; every way that loses
    no more is on a path of such ways."""
    if count <= most:
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
    # At most 0, so that the best path is kept whole.
    return min(kth_largest(losses, count, max(1, most)), 0.0)


@leaf
def add_phrase(
    out, last_start, last_end, last_option, state, option, start, end, options, tables, automaton
):
    """Add to `out` (WIDTH,) the features of an option over start .. end, after the phrase and the LM
    state before it; returns the state after it. tables: (scores, reordering, unknown) of the options."""
    scores, reordering, _ = tables
    turn = orientation(last_start, last_end, start, end)
    out[LEXRO + turn] += reordering[option, turn]
    if last_option >= 0:
        out[LEXRO + 3 + turn] += reordering[last_option, 3 + turn]
    out[DISTORTION] -= abs(start - (last_end + 1))
    for j in range(options.word_start[option], options.word_start[option + 1]):
        logprob, state = step(automaton, state, options.words[j])
        out[LM] += logprob
        out[WORD_PENALTY] -= 1.0
    out[PHRASE_PENALTY] += 1.0
    for j in range(4):
        out[TM + j] += scores[option, j]
    return state


@leaf
def _edge(way, rows, last, options, tables, automaton, stop, out):
    """Add the features of a way into a row to `out`. last: whether this row is the whole translation."""
    before = rows[way.back]
    state = add_phrase(
        out,
        before.start,
        before.end,
        before.option,
        np.int64(before.state),
        way.option,
        way.start,
        way.end,
        options,
        tables,
        automaton,
    )
    if last:
        out[LM] += step(automaton, state, stop)[0]


@njit(cache=True, nogil=True)
def forest_of(rows, arcs, final, options, target_words, tables, automaton, stop, most):
    """(nodes, head, one, symbol_start, symbols, features (E, WIDTH)) of a searched sentence, as in
    `replitune.tuning.forest.Forest`. The first edge is the beginning, from no node and without symbols;
    the symbols of each other edge are the node before it and the words of an option.

    tables: (scores, reordering, unknown) of the options; stop: the word </s>; most: edges kept, those
    on the best paths (more when others tie with the last of them)."""
    loss, count = _losses(rows, arcs, final)
    least = worst_kept(rows, arcs, 1, loss, count, most)
    node = np.full(final + 1, -1, np.int32)
    node[0] = 0
    head = np.zeros(count + 1, np.int32)
    one = np.full(count + 1, -1, np.int32)
    chosen = np.full(count + 1, -1, np.int32)
    features = np.zeros((count + 1, WIDTH))
    others = np.empty(count, np.int64)
    nodes, n = 1, 1
    for row in range(1, final + 1):
        if loss[row] == -np.inf or loss[row] < least:
            continue
        best, last = rows[row], row == final
        kept = 0
        arc = np.int64(best.arcs)
        while arc >= 0:
            if loss[row] + (arcs[arc].score - best.score) >= least:
                others[kept] = arc
                kept += 1
            arc = np.int64(arcs[arc].next)
        node[row] = nodes
        head[n : n + kept + 1] = nodes
        one[n], chosen[n] = node[best.back], best.option
        _edge(best, rows, last, options, tables, automaton, stop, features[n])
        # The best comes first, then the others in the order in which they were found.
        for i in range(kept):
            way = arcs[others[kept - 1 - i]]
            one[n + 1 + i], chosen[n + 1 + i] = node[way.back], way.option
            _edge(way, rows, last, options, tables, automaton, stop, features[n + 1 + i])
        n += kept + 1
        nodes += 1
    start = np.zeros(n + 1, np.int64)
    for edge in range(1, n):
        length = options.word_start[chosen[edge] + 1] - options.word_start[chosen[edge]]
        start[edge + 1] = start[edge] + 1 + length
    symbols = np.full(start[n], -1, np.int32)
    for edge in range(1, n):
        begin = options.word_start[chosen[edge]]
        for j in range(start[edge] + 1, start[edge + 1]):
            symbols[j] = target_words[begin + j - start[edge] - 1]
    return nodes, head[:n], one[:n], start, symbols, features[:n]


@leaf
def path_features(path, length, options, tables, automaton, terms, out):
    """Add the feature values of a derivation to `out` (14,); returns its number of copied words.

    path: (>= length,) WAY from the last phrase to the first; tables: (scores, reordering, unknown)
    of the options.
    """
    state = terms.begin
    last_start, last_end, last_option = -1, -1, -1
    copied = 0
    for i in range(length - 1, -1, -1):
        option, start, end = path[i].option, path[i].start, path[i].end
        last = last_start, last_end, last_option
        state = add_phrase(out, *last, state, option, start, end, options, tables, automaton)
        copied += tables[2][option]
        last_start, last_end, last_option = start, end, option
    out[LM] += step(automaton, state, terms.end)[0]
    return copied


@leaf
def _trace(state, path, phrases):
    """Fill `phrases` (longer than any path) with the ways of a path, last first; returns their number."""
    length = 0
    while state.paths[path].way >= 0:
        phrases[length] = state.ways[state.paths[path].way]
        path = np.int64(state.paths[path].back)
        length += 1
    return length


@leaf
def _count_words(option_start, phrases, length):
    count = 0
    for i in range(length):
        count += option_start[phrases[i].option + 1] - option_start[phrases[i].option]
    return count


@leaf
def _spell(option_start, target_words, phrases, length, words, at):
    """Put the words of a derivation into words[at:]."""
    for i in range(length - 1, -1, -1):
        option = phrases[i].option
        for j in range(option_start[option], option_start[option + 1]):
            words[at] = target_words[j]
            at += 1


@njit(cache=True, nogil=True)
def nbest(rows, arcs, final, options, target_words, tables, automaton, terms, size, distinct):
    """The `size` best derivations into row `final`, or with `distinct` the best of each of
    `size` strings.

    Returns (word_start (H + 1,), words, features (H, 14), copied (H,)).
    """
    option_start = options.word_start
    state = begin_paths(rows, arcs, final)
    phrases = np.empty(len(state.asked), WAY)
    word_start = np.zeros(size + 1, np.int64)
    words = np.empty(4096, np.int32)
    features = np.zeros((size, WIDTH))
    copied = np.zeros(size, np.int64)
    count = 0
    while count < size:
        path = next_path(state, rows, arcs, final, options.spelling, options.power, distinct)
        if path == NO_ROOM:
            state = paths_with_room(state)
            continue
        if path == NO_MORE:
            break
        length = _trace(state, path, phrases)
        at = word_start[count]
        stop = at + _count_words(option_start, phrases, length)
        if stop > len(words):
            words = np.concatenate((words, np.empty(stop, np.int32)))
        _spell(option_start, target_words, phrases, length, words, at)
        copied[count] = path_features(phrases, length, options, tables, automaton, terms, features[count])
        count += 1
        word_start[count] = stop
    return word_start[: count + 1], words[: word_start[count]], features[:count], copied[:count]


@njit(cache=True, nogil=True)
def best_words(rows, final, word_start, target_words):
    """The words of the best path into row `final`."""
    count = 0
    row = np.int64(final)
    while rows[row].back >= 0:
        option = rows[row].option
        count += word_start[option + 1] - word_start[option]
        row = np.int64(rows[row].back)
    words = np.empty(count, np.int32)
    row = np.int64(final)
    while rows[row].back >= 0:
        option = rows[row].option
        for j in range(word_start[option + 1] - 1, word_start[option] - 1, -1):
            count -= 1
            words[count] = target_words[j]
        row = np.int64(rows[row].back)
    return words
