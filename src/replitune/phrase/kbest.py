"""The n best derivations of a searched sentence, with exact feature values."""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.leaf import leaf
from replitune.phrase.features import (
    DISTORTION,
    LEXRO,
    LM,
    PHRASE_PENALTY,
    TM,
    WIDTH,
    WORD_PENALTY,
)
from replitune.phrase.lm import step
from replitune.phrase.paths import CLAIMS, MADE, WAITING, begin_paths, next_path, paths_with_room
from replitune.phrase.search import orientation

NO_MORE, NO_ROOM = -1, -2


@leaf
def path_features(
    path, length, options, scores, reordering, unknown, automaton, begin, end, out, row
):  # type: ignore[no-untyped-def]
    """Add the feature values of a derivation to out[row] (14,); returns its number of copied words.

    path: (>= length,) ARC from the last phrase to the first.
    """
    state = begin
    last_start, last_end, last_option = -1, -1, -1
    copied = 0
    for i in range(length - 1, -1, -1):
        option, start = path[i].option, path[i].start
        turn = orientation(last_start, last_end, start, path[i].end)
        out[row, LEXRO + turn] += reordering[option, turn]
        if last_option >= 0:
            out[row, LEXRO + 3 + turn] += reordering[last_option, 3 + turn]
        out[row, DISTORTION] -= abs(start - (last_end + 1))
        for j in range(options.word_start[option], options.word_start[option + 1]):
            logprob, state = step(automaton, state, options.words[j])
            out[row, LM] += logprob
            out[row, WORD_PENALTY] -= 1.0
        out[row, PHRASE_PENALTY] += 1.0
        for j in range(4):
            out[row, TM + j] += scores[option, j]
        copied += unknown[option]
        last_start, last_end, last_option = start, path[i].end, option
    out[row, LM] += step(automaton, state, end)[0]
    return copied


@leaf
def _same_words(option_start, target_words, path, length, words, at, stop):  # type: ignore[no-untyped-def]
    """Whether a derivation has exactly the words words[at:stop]."""
    for i in range(length - 1, -1, -1):
        option = path[i].option
        for j in range(option_start[option], option_start[option + 1]):
            if at == stop or words[at] != target_words[j]:
                return False
            at += 1
    return at == stop


@njit(cache=True, nogil=True)
def nbest(  # type: ignore[no-untyped-def]
    rows,
    arcs,
    final,
    options,
    target_words,
    scores,
    reordering,
    unknown,
    automaton,
    begin,
    end,
    size,
    derivations,
    distinct,
):
    """The `size` best derivations into row `final`, or with `distinct` the best of each of
    `size` strings, looking at no more than `derivations` of them.

    Returns (word_start (H + 1,), words, features (H, 14), copied (H,), derivations looked at).
    """
    option_start = options.word_start
    state = begin_paths(rows, arcs, final, distinct)
    word_start = np.zeros(size + 1, np.int64)
    words = np.empty(4096, np.int32)
    features = np.zeros((size, WIDTH))
    copied = np.zeros(size, np.int64)
    slots = 8
    while distinct and slots < 4 * size:
        slots *= 2
    table = np.full(slots, -1, np.int64)
    found, looked = 0, 0
    while found < size and looked < derivations:
        length, looked = _look(
            state, rows, arcs, final, option_start, target_words, table, words, word_start, found,
            looked, derivations, distinct,
        )  # fmt: skip
        if length == NO_ROOM:
            state = paths_with_room(state)
            continue
        if length == NO_MORE:
            break
        at = word_start[found]
        stop = at + _count_words(option_start, state.path, length)
        if stop > len(words):
            words = np.concatenate((words, np.empty(stop, np.int32)))
        _spell(option_start, target_words, state.path, length, words, at)
        copied[found] = path_features(
            state.path, length, options, scores, reordering, unknown, automaton, begin, end,
            features, found,
        )  # fmt: skip
        found += 1
        word_start[found] = stop
    return (
        word_start[: found + 1],
        words[: word_start[found]],
        features[:found],
        copied[:found],
        looked,
    )


@leaf
def _look(  # type: ignore[no-untyped-def]
    state, rows, arcs, final, option_start, target_words, table, words, word_start, found, looked,
    derivations, distinct,
):  # fmt: skip
    """Go on to the next path that is wanted, into state.path: (its length, derivations looked at).

    The length is NO_MORE when there is none, NO_ROOM when the state must grow first."""
    counts = state.counts
    most = len(state.path)
    length = np.int64(NO_MORE)
    while length == NO_MORE and counts[WAITING] > 0 and looked < derivations:
        if counts[MADE] + most > len(state.items):
            return np.int64(NO_ROOM), looked
        if distinct and 2 * (counts[CLAIMS] + most) > len(state.claimed):
            return np.int64(NO_ROOM), looked
        looked += 1
        length, suffix = next_path(state, rows, arcs, final, option_start, target_words, distinct)
        if length < 0 or (
            distinct
            and not _is_new(
                table,
                suffix,
                option_start,
                target_words,
                state.path,
                length,
                words,
                word_start,
                found,
            )
        ):
            length = np.int64(NO_MORE)
    return length, looked


@leaf
def _is_new(table, suffix, option_start, target_words, path, length, words, word_start, found):  # type: ignore[no-untyped-def]
    """Whether a derivation's words are those of no hypothesis; then it gets number `found`."""
    mask = np.int64(len(table) - 1)
    slot = np.int64(suffix & np.uint64(mask))
    while table[slot] >= 0:
        h = table[slot]
        if _same_words(
            option_start, target_words, path, length, words, word_start[h], word_start[h + 1]
        ):
            return False
        slot = (slot + 1) & mask
    table[slot] = found
    return True


@leaf
def _count_words(option_start, path, length):  # type: ignore[no-untyped-def]
    count = 0
    for i in range(length):
        count += option_start[path[i].option + 1] - option_start[path[i].option]
    return count


@leaf
def _spell(option_start, target_words, path, length, words, at):  # type: ignore[no-untyped-def]
    """Put the words of a derivation into words[at:]."""
    for i in range(length - 1, -1, -1):
        option = path[i].option
        for j in range(option_start[option], option_start[option + 1]):
            words[at] = target_words[j]
            at += 1


@njit(cache=True, nogil=True)
def best_words(rows, final, word_start, target_words):  # type: ignore[no-untyped-def]
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
