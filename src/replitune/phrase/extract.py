"""Phrase pairs consistent with word links (Och and Ney 2004; Moses' extract).

A pair of a source and a target stretch of words is extracted when it has at least one link
and no word of it is linked to a word outside. Unaligned words at the borders may belong to the
phrase or not, within the length limit, and every variant is extracted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.leaf import leaf
from replitune.phrase.arrays import frozen
from replitune.phrase.encode import Encoded
from replitune.phrase.settings import LONGEST_PHRASE
from replitune.phrase.symmetrise import Links


class Occurrences(NamedTuple):
    """Every extracted phrase pair of every segment, in order of target, then source start.

    start: (n + 1,) int64, segment i owns occurrences start[i]:start[i + 1]
    source_begin, target_begin: (M,) int16, first word in the segment
    source_length, target_length: (M,) int8
    links: (M,) uint64, bit s * LONGEST_PHRASE + t is set when word s of the source phrase is
        linked to word t of the target phrase
    """

    start: NDArray[np.int64]
    source_begin: NDArray[np.int16]
    source_length: NDArray[np.int8]
    target_begin: NDArray[np.int16]
    target_length: NDArray[np.int8]
    links: NDArray[np.uint64]


def extract(source: Encoded, target: Encoded, links: Links, longest: int = 7) -> Occurrences:
    """All phrase pairs with at most `longest` words on either side."""
    assert 1 <= longest <= LONGEST_PHRASE
    start = np.zeros(len(source) + 1, np.int64)
    corpus = frozen(source.start), frozen(target.start), Links(*(frozen(array) for array in links))

    def occurrences(fill: bool) -> Occurrences:
        room = int(start[-1])
        begins, lengths = np.empty((2, room), np.int16), np.empty((2, room), np.int8)
        masks = np.empty(room, np.uint64)
        out = Occurrences(start, begins[0], lengths[0], begins[1], lengths[1], masks)
        _extract(*corpus, longest, fill, out)
        return out

    occurrences(False)
    return occurrences(True)


@leaf
def phrases_of(n_source, n_target, sources, targets, longest, tight, ends, phrases):
    """Write the phrase pairs of a segment as (first and last source word, first and last target word)
    to `phrases`, as far as there is room; returns their number.

    sources, targets: the words of each link; tight: without unaligned words at the borders; ends:
    (4, longest segment), room for the first and last linked position of every word."""
    source_low, source_high, target_low, target_high = ends[0], ends[1], ends[2], ends[3]
    source_low[:n_source] = n_target  # first > last: not linked
    source_high[:n_source] = -1
    target_low[:n_target] = n_source
    target_high[:n_target] = -1
    for k in range(len(sources)):
        s, t = np.int64(sources[k]), np.int64(targets[k])
        source_low[s] = min(source_low[s], t)
        source_high[s] = max(source_high[s], t)
        target_low[t] = min(target_low[t], s)
        target_high[t] = max(target_high[t], s)
    used = 0
    for t1 in range(n_target):
        if tight and target_high[t1] < 0:
            continue
        low, high = n_source, np.int64(-1)
        for t2 in range(t1, min(n_target, t1 + longest)):
            low, high = min(low, target_low[t2]), max(high, target_high[t2])
            if high < 0 or high - low >= longest or (tight and target_high[t2] < 0):
                continue
            consistent = True
            for k in range(low, high + 1):
                if source_high[k] >= 0 and (source_low[k] < t1 or source_high[k] > t2):
                    consistent = False
                    break
            if not consistent:
                continue
            s1 = low
            while s1 >= 0 and s1 > high - longest and (s1 == low or source_high[s1] < 0):
                s2 = high
                while s2 < n_source and s2 < s1 + longest and (s2 == high or source_high[s2] < 0):
                    if used < len(phrases):
                        phrases[used, 0] = s1
                        phrases[used, 1] = s2
                        phrases[used, 2] = t1
                        phrases[used, 3] = t2
                    used += 1
                    if tight:
                        break
                    s2 += 1
                if tight:
                    break
                s1 -= 1
    return used


@njit(cache=True)
def _extract(source_start, target_start, links, longest, fill, out):
    """Count (fill False) or write the occurrences; `start` is written both times."""
    link_start, link_source, link_target = links
    start, source_begin, source_length, target_begin, target_length, masks = out
    room = 1
    for i in range(len(source_start) - 1):
        room = max(room, source_start[i + 1] - source_start[i], target_start[i + 1] - target_start[i])
    ends = np.empty((4, room), np.int64)
    phrases = np.empty((4096, 4), np.int64)
    used = 0
    for i in range(len(source_start) - 1):
        n_source = source_start[i + 1] - source_start[i]
        n_target = target_start[i + 1] - target_start[i]
        sources = link_source[link_start[i] : link_start[i + 1]]
        targets = link_target[link_start[i] : link_start[i + 1]]
        while True:
            number = phrases_of(n_source, n_target, sources, targets, longest, False, ends, phrases)
            if number <= len(phrases) or not fill:
                break
            phrases = np.empty((2 * number, 4), np.int64)
        for p in range(number if fill else 0):
            s1, s2, t1, t2 = phrases[p, 0], phrases[p, 1], phrases[p, 2], phrases[p, 3]
            mask = np.uint64(0)
            for k in range(len(sources)):
                s, t = np.int64(sources[k]), np.int64(targets[k])
                if s1 <= s <= s2 and t1 <= t <= t2:
                    bit = (s - s1) * LONGEST_PHRASE + (t - t1)
                    mask |= np.uint64(1) << np.uint64(bit)
            source_begin[used + p] = s1
            source_length[used + p] = s2 - s1 + 1
            target_begin[used + p] = t1
            target_length[used + p] = t2 - t1 + 1
            masks[used + p] = mask
        used += number
        start[i + 1] = used
