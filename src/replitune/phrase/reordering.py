"""Lexicalised reordering, msd-bidirectional-fe (Tillmann 2004; Koehn et al. 2005).

The orientation of a phrase pair towards the previous target phrase is *monotone* when some
extracted phrase pair ends right before it on both sides, *swap* when one ends right before it
on the target side and begins right after it on the source side, and *discontinuous*
otherwise; towards the next target phrase it is the mirror image. As in Moses' "phrase" model,
a link at a corner (between the word before the target phrase and the word before, or after, the
source phrase) also decides when the other corner has none, and the borders of the segment count
as linked with each other.

For the next phrase, Moses' extract-main uses the corners where phrase pairs *end* on the target
side. This module uses those where they begin, as the definition requires and as Moses' own later
PhraseOrientation does.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.arithmetic import log
from replitune.phrase.arrays import frozen
from replitune.phrase.encode import Encoded
from replitune.phrase.extract import Occurrences
from replitune.phrase.options import DISCONTINUOUS, MONOTONE, SWAP
from replitune.phrase.symmetrise import Links


def orientations(
    source: Encoded, target: Encoded, links: Links, occurrences: Occurrences
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Orientation of every occurrence towards the previous and the next phrase, each (M,)."""
    backward = np.empty(len(occurrences.links), np.int8)
    forward = np.empty(len(occurrences.links), np.int8)
    corpus = frozen(source.start), frozen(target.start), Links(*(frozen(array) for array in links))
    _orientations(*corpus, occurrences, backward, forward)
    return backward, forward


@njit(cache=True)
def _decide(link_mono: bool, link_swap: bool, corner_mono: bool, corner_swap: bool) -> int:
    if (link_mono and not link_swap) or corner_mono:
        return MONOTONE
    if (link_swap and not link_mono) or corner_swap:
        return SWAP
    return DISCONTINUOUS


@njit(cache=True)
def _orientations(source_start, target_start, links, occurrences, backward, forward):
    link_start, link_source, link_target = links
    start, source_begin, source_length, target_begin, target_length, _ = occurrences
    rows, columns = 0, 0
    for i in range(len(source_start) - 1):
        rows = max(rows, target_start[i + 1] - target_start[i] + 2)
        columns = max(columns, source_start[i + 1] - source_start[i] + 2)
    # All have a border of one: index 0 is before the first word, n + 1 after the last. At (t, s): whether
    # the words are linked; whether a phrase pair ends at target t and ends / begins at source s; whether
    # one begins at target t and begins / ends at source s.
    marks = np.zeros((5, rows, columns), np.bool_)
    linked, end_end, end_begin, begin_begin, begin_end = marks[0], marks[1], marks[2], marks[3], marks[4]
    for i in range(len(source_start) - 1):
        n_target = target_start[i + 1] - target_start[i]
        n_source = source_start[i + 1] - source_start[i]
        marks[:, : n_target + 2, : n_source + 2] = False
        linked[0, 0] = True
        linked[n_target + 1, n_source + 1] = True
        for k in range(link_start[i], link_start[i + 1]):
            linked[link_target[k] + 1, link_source[k] + 1] = True
        for k in range(start[i], start[i + 1]):
            s1, t1 = source_begin[k] + 1, target_begin[k] + 1
            s2, t2 = s1 + source_length[k] - 1, t1 + target_length[k] - 1
            end_end[t2, s2] = True
            end_begin[t2, s1] = True
            begin_begin[t1, s1] = True
            begin_end[t1, s2] = True
        for k in range(start[i], start[i + 1]):
            s1, t1 = source_begin[k] + 1, target_begin[k] + 1
            s2, t2 = s1 + source_length[k] - 1, t1 + target_length[k] - 1
            backward[k] = _decide(
                linked[t1 - 1, s1 - 1],
                linked[t1 - 1, s2 + 1],
                end_end[t1 - 1, s1 - 1],
                end_begin[t1 - 1, s2 + 1],
            )
            forward[k] = _decide(
                linked[t2 + 1, s2 + 1],
                linked[t2 + 1, s1 - 1],
                begin_begin[t2 + 1, s2 + 1],
                begin_end[t2 + 1, s1 - 1],
            )


def reordering_scores(
    backward: NDArray[np.int64], forward: NDArray[np.int64], smoothing: float = 0.5
) -> NDArray[np.float64]:
    """Natural logs of the six scores of every phrase pair: (P, 6), from how often it has each orientation
    towards the previous and the next phrase.

    p(orientation | f, e) with `smoothing` added to each of the three counts, as Moses does.
    """
    smoothed = np.stack([backward, forward], axis=1) + smoothing
    return log((smoothed / smoothed.sum(axis=2, keepdims=True)).reshape(-1, 6))
