"""Hierarchical rules consistent with word links (Chiang 2007, section 3.2; Moses' extract-rules).

A rule is made from an initial phrase pair, one that is consistent with the links, by putting a gap
in place of none, one or two smaller phrase pairs inside it. It keeps at least one link between its
words; gaps stand for `min_gap` source words or more and do not touch each other on the source side,
which has at most `max_symbols` words and gaps. The rules of one phrase share a count of 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.hiero.settings import HieroSettings
from replitune.hiero.trie import Growing, extend, grown
from replitune.leaf import leaf
from replitune.phrase.encode import Encoded
from replitune.phrase.extract import phrases_of
from replitune.phrase.symmetrise import Links

TARGET_WORD = 2
"""Symbol of word 0 on a target side; 0 and 1 are the first and second gap of the source side."""


PIECE = 22
"""Bits of a mask of links in one symbol."""


class Tries(NamedTuple):
    """The extracted sides and rules, each once. Sides are sequences of symbols; a rule is a source side
    and, as symbol, a target side; links of a rule, `aligned`, are a rule and a node of `masks`."""

    source: Growing
    target: Growing
    rules: Growing
    masks: Growing
    aligned: Growing


class Nodes(NamedTuple):
    """A trie without its table: parent and last symbol of every node, (S,) int32."""

    parent: NDArray[np.int32]
    symbol: NDArray[np.int32]


@dataclass(frozen=True)
class Extracted:
    """The R distinct rules of a corpus.

    source, target: all sides; source_side, target_side: (R,) int32 those of each rule, as nodes
    count: (R,) float64
    links: (R,) uint64 the most frequent links between a rule's words, of those that are equally
        frequent the smallest number: bit s * max_span + t is set when word s of the source words is
        linked to word t of the target words
    extracted: rules with repetitions
    """

    source: Nodes
    target: Nodes
    source_side: NDArray[np.int32]
    target_side: NDArray[np.int32]
    count: NDArray[np.float64]
    links: NDArray[np.uint64]
    extracted: int


def extract_rules(source: Encoded, target: Encoded, links: Links, settings: HieroSettings) -> Extracted:
    """The rules of all segments."""
    corpus = (source.words, source.start), (target.words, target.start), links
    limits = (
        settings.max_span,
        settings.max_symbols,
        settings.min_gap,
        settings.extraction == "tight",
        settings.fractional_counts,
    )
    start = np.zeros(len(source) + 1, np.int64)
    tries = Tries(*(grown(None, 0) for _ in Tries._fields))
    count, times = np.zeros(0), np.zeros(0, np.int32)
    _extract(*corpus, limits, 0, False, start, tries, count, times)
    done = 0
    while done < len(source):
        more = int(start[done + 1] - start[done])
        needed = more * np.array([settings.max_symbols, settings.max_span, 1, 3, 1])
        tries = Tries(*map(grown, tries, needed.tolist()))
        count.resize(len(tries.rules.parent))
        times.resize(len(tries.aligned.parent))
        done = _extract(*corpus, limits, done, True, start, tries, count, times)
    rules = _nodes(tries.rules)
    return Extracted(
        source=_nodes(tries.source),
        target=_nodes(tries.target),
        source_side=rules.parent[1:],
        target_side=rules.symbol[1:],
        count=count[1 : len(rules.parent)].copy(),
        links=_usual_links(tries, times),
        extracted=int(start[-1]),
    )


def _nodes(growing: Growing) -> Nodes:
    size = int(growing.size[0])
    return Nodes(growing.parent[:size].copy(), growing.symbol[:size].copy())


def _usual_links(tries: Tries, times: NDArray[np.int32]) -> NDArray[np.uint64]:
    """The most frequent links of each rule."""
    masks = np.zeros(int(tries.masks.size[0]), np.uint64)
    depth = np.zeros(len(masks), np.int64)
    for node in range(1, len(masks)):
        before = tries.masks.parent[node]
        depth[node] = depth[before] + 1
        bits = np.uint64(tries.masks.symbol[node]) << np.uint64(PIECE * (depth[node] - 1))
        masks[node] = masks[before] | bits
    usual = np.zeros(int(tries.rules.size[0]), np.uint64)
    aligned = int(tries.aligned.size[0])
    _choose_links(tries.aligned.parent, tries.aligned.symbol, times, aligned, masks, usual)
    return usual[1:]


@njit(cache=True)
def _choose_links(rule, mask_node, times, aligned, masks, usual):
    most = np.zeros(len(usual), np.int32)
    for i in range(1, aligned):
        mask = masks[mask_node[i]]
        r = rule[i]
        if times[i] > most[r] or (times[i] == most[r] and mask < usual[r]):
            most[r] = times[i]
            usual[r] = mask


@leaf
def _by_begin(phrases, count, n_source, first, order):
    """Phrases by their first source word s: order[first[s] : first[s + 1]]."""
    for s in range(n_source + 2):
        first[s] = 0
    for p in range(count):
        first[phrases[p, 0] + 2] += 1
    for s in range(n_source):
        first[s + 2] += first[s + 1]
    for p in range(count):
        s = phrases[p, 0] + 1
        order[first[s]] = p
        first[s] += 1


@leaf
def _rules_of(p, phrases, first, order, linked, symbols, min_gap, holes, rules):
    """The pairs of gaps (-1: none) of the rules from phrase p, as far as there is room in `rules`;
    their number, and that of the gaps considered. linked: links before each source word."""
    s1, s2, t1, t2 = phrases[p, 0], phrases[p, 1], phrases[p, 2], phrases[p, 3]
    words, links = s2 - s1 + 1, linked[s2 + 1] - linked[s1]
    used, inside = 0, 0
    if words <= symbols:
        if used < len(rules):
            rules[used, 0] = -1
            rules[used, 1] = -1
        used += 1
    for s in range(s1, s2 + 2 - min_gap):
        for k in range(first[s], first[s + 1]):
            h = order[k]
            end = phrases[h, 1]
            width = end - s + 1
            if width < min_gap or end > s2 or phrases[h, 2] < t1 or phrases[h, 3] > t2:
                continue
            left = links - (linked[end + 1] - linked[s])
            if left < 1:
                continue
            if inside < len(holes):
                holes[inside] = h
            inside += 1
            if words - width + 1 <= symbols:
                if used < len(rules):
                    rules[used, 0] = h
                    rules[used, 1] = -1
                used += 1
    for i in range(min(inside, len(holes))):
        a = holes[i]
        a_end = phrases[a, 1]
        for j in range(i + 1, min(inside, len(holes))):
            b = holes[j]
            b_begin, b_end = phrases[b, 0], phrases[b, 1]
            if b_begin <= a_end + 1:
                continue
            if phrases[b, 2] <= phrases[a, 3] and phrases[a, 2] <= phrases[b, 3]:
                continue
            if words - (a_end - phrases[a, 0] + 1) - (b_end - b_begin + 1) + 2 > symbols:
                continue
            left = links - (linked[a_end + 1] - linked[phrases[a, 0]])
            if left - (linked[b_end + 1] - linked[b_begin]) < 1:
                continue
            if used < len(rules):
                rules[used, 0] = a
                rules[used, 1] = b
            used += 1
    return used, inside


@leaf
def _make_rule(phrase, a, b, source, target, link_at, link_target, tries, place, longest):
    """The rule of a phrase with the gaps a and b, each (4,), first source word -1 where there is
    none: (its node, that of its links). source, target: words of the segment; place: room for the
    number of each target word among those of the rule.

    Links are a mask: bit s * longest + t is set when word s of the rule's source words is linked to
    word t of its target words."""
    other = np.int64(0)
    t, words = phrase[2], 0
    while t <= phrase[3]:
        if a[0] >= 0 and t == a[2]:
            other = extend(tries.target, other, 0)
            t = a[3] + 1
        elif b[0] >= 0 and t == b[2]:
            other = extend(tries.target, other, 1)
            t = b[3] + 1
        else:
            other = extend(tries.target, other, target[t] + TARGET_WORD)
            place[t] = words
            words += 1
            t += 1
    node, mask = np.int64(0), np.uint64(0)
    s, words = phrase[0], 0
    while s <= phrase[1]:
        if s == a[0] or s == b[0]:
            node = extend(tries.source, node, 0)
            s = (a[1] if s == a[0] else b[1]) + 1
        else:
            node = extend(tries.source, node, source[s] + 1)
            for k in range(link_at[s], link_at[s + 1]):
                mask |= np.uint64(1) << np.uint64(words * longest + place[link_target[k]])
            words += 1
            s += 1
    rule = extend(tries.rules, node, other)
    links = np.int64(0)
    for piece in range(3):
        bits = (mask >> np.uint64(PIECE * piece)) & np.uint64((1 << PIECE) - 1)
        links = extend(tries.masks, links, bits)
    return rule, extend(tries.aligned, rule, links)


@leaf
def _has_room(tries, more, symbols, longest):
    """Whether there is room for what `more` rules can need."""
    return (
        tries.source.size[0] + more * symbols <= len(tries.source.parent)
        and tries.target.size[0] + more * longest <= len(tries.target.parent)
        and tries.rules.size[0] + more <= len(tries.rules.parent)
        and tries.masks.size[0] + more * 3 <= len(tries.masks.parent)
        and tries.aligned.size[0] + more <= len(tries.aligned.parent)
    )


@njit(cache=True)
def _extract(sources, targets, links, limits, begin, fill, start, tries, count, times):
    """Say in `start` how many rules there are (fill False), or count those of segments from `begin`
    on as long as there is room for their nodes; returns the first segment that is left."""
    (source_words, source_start), (target_words, target_start) = sources, targets
    link_start, link_source, link_target = links
    longest, symbols, min_gap, tight, fractional = limits
    room_source, room_target = 1, 1
    for i in range(len(source_start) - 1):
        room_source = max(room_source, source_start[i + 1] - source_start[i])
        room_target = max(room_target, target_start[i + 1] - target_start[i])
    ends = np.empty((4, max(room_source, room_target)), np.int64)
    linked = np.zeros(room_source + 1, np.int64)
    first = np.zeros(room_source + 2, np.int64)
    place = np.zeros(room_target, np.int64)
    phrases, order = np.empty((4096, 4), np.int64), np.empty(4096, np.int64)
    holes, rules = np.empty(4096, np.int64), np.empty((4096, 2), np.int64)
    none = np.full(4, -1, np.int64)
    for i in range(begin, len(source_start) - 1):
        if fill:
            more = start[i + 1] - start[i]
            if not _has_room(tries, more, symbols, longest):
                return i
        n_source = source_start[i + 1] - source_start[i]
        n_target = target_start[i + 1] - target_start[i]
        linked[: n_source + 1] = 0
        for k in range(link_start[i], link_start[i + 1]):
            linked[link_source[k] + 1] += 1
        for word in range(n_source):
            linked[word + 1] += linked[word]
        sources_of_links = link_source[link_start[i] : link_start[i + 1]]
        targets_of_links = link_target[link_start[i] : link_start[i + 1]]
        while True:
            n_phrases = phrases_of(
                n_source, n_target, sources_of_links, targets_of_links, longest, tight, ends, phrases
            )
            if n_phrases <= len(phrases):
                break
            phrases, order = np.empty((2 * n_phrases, 4), np.int64), np.empty(2 * n_phrases, np.int64)
            holes = np.empty(2 * n_phrases, np.int64)
        _by_begin(phrases, n_phrases, n_source, first, order)
        at = start[i]
        source, target = source_words[source_start[i] :], target_words[target_start[i] :]
        for p in range(n_phrases):
            while True:
                made, _ = _rules_of(p, phrases, first, order, linked, symbols, min_gap, holes, rules)
                if made <= len(rules) or not fill:
                    break
                rules = np.empty((2 * made, 2), np.int64)
            if fill:
                for r in range(made):
                    a = none if rules[r, 0] < 0 else phrases[rules[r, 0]]
                    b = none if rules[r, 1] < 0 else phrases[rules[r, 1]]
                    rule, aligned = _make_rule(
                        phrases[p], a, b, source, target, linked, targets_of_links, tries, place, longest
                    )
                    count[rule] += 1.0 / made if fractional else 1.0
                    times[aligned] += 1
            at += made
        start[i + 1] = at
    return len(source_start) - 1
