"""The n best derivations of a searched sentence, with exact feature values."""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.leaf import leaf
from replitune.phrase.features import LM, WIDTH
from replitune.phrase.graph import add_phrase
from replitune.phrase.lm import step
from replitune.phrase.paths import NO_MORE, NO_ROOM, WAY, begin_paths, next_path, paths_with_room


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
