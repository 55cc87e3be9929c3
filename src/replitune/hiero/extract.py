"""Hierarchical rules consistent with word links (Chiang 2007, section 3.2; Moses' extract-rules).

A rule is made from an initial phrase pair, one that is consistent with the links, by replacing none,
one or two smaller phrase pairs inside it by gaps. At least one link between the remaining words is
kept. A gap stands for at least `min_gap` source words, and two gaps are not adjacent on the source
side, which has at most `max_symbols` words and gaps. The rules of one phrase pair share a count of 1
with `fractional_counts`, and count 1 each without.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.hiero.model import Growing, Trie, child, extend, grown
from replitune.hiero.settings import LONGEST_RULE, HieroSettings
from replitune.leaf import leaf
from replitune.phrase.arrays import frozen
from replitune.phrase.encode import Encoded
from replitune.phrase.extract import phrases_of
from replitune.phrase.symmetrise import Linked

TARGET_WORD = 2
"""Symbol of word 0 on a target side; 0 and 1 are the first and second gap of the source side."""

RECORD = np.dtype([("source", "i4"), ("target", "i4"), ("links", "u8"), ("sharing", "i4")])
"""An extracted rule. source, target: its sides, as nodes; links: bit s * max_span + t is set when word s
of the source words is linked to word t of the target words; sharing: how many rules share a count of 1."""

BLOCK = 1 << 22
"""Records written at a time."""

DEEPEST = 32
"""More than the symbols of a target side."""

PART = 1 << 23
"""Records read at a time, unless a single source side has more."""

GROUP = 1 << 25
"""About the number of target sides whose table is in memory at a time."""


class Text(NamedTuple):
    """What is known of the text to be translated. runs: its stretches of words, as a trie; pairs: a run
    and, as symbol, a later run at a distance that a gap can span; known: 0 when any rule may be used."""

    runs: Trie
    pairs: Trie
    known: int


class Nodes(NamedTuple):
    """A trie without its table: parent and last symbol of every node, (S,) int32."""

    parent: NDArray[np.int32]
    symbol: NDArray[np.int32]


@dataclass(frozen=True)
class Extracted:
    """The rules of a corpus that can match a text.

    source, target: their sides; source_count, target_count: (S,), (T,) float64 the counts of the sides
    in all rules; target_rank: (T,) int64, smaller for target sides that were extracted earlier
    sizes: (S,) int32 the number of records of each source side; files: file k has the records of the
    source sides 2 ** (k - 1) .. 2 ** k - 1, file 0 those of side 0
    extracted: the number of rules of the corpus, with repetitions
    """

    source: Nodes
    target: Nodes
    source_count: NDArray[np.float64]
    target_count: NDArray[np.float64]
    target_rank: NDArray[np.int64]
    sizes: NDArray[np.int32]
    extracted: int
    files: Sequence[BinaryIO]
    folder: Path

    def parts(self) -> Iterator[tuple[int, int, NDArray[np.void]]]:
        """All source sides in parts: (begin, end, records), those of each rule in the corpus's order."""
        for low, file in zip(POWERS.tolist(), self.files, strict=True):
            sizes = self.sizes[low : 2 * low or 1].astype(np.int64)
            part = (np.cumsum(sizes) - sizes) // PART
            bounds = low + np.searchsorted(part, np.arange(part.max(initial=-1) + 2))
            with ExitStack() as stack:
                files = [file]
                if len(bounds) > 2:
                    files = [_scratch(stack, self.folder) for _ in bounds[1:]]
                    for block in _records(file, BLOCK):
                        _spill(block, 0, bounds[:-1], files)
                for (begin, end), of_part in zip(pairwise(bounds.tolist()), files, strict=False):
                    yield begin, end, next(_records(of_part, -1))


POWERS = np.append(0, 1 << np.arange(31))


def _scratch(stack: ExitStack, folder: Path) -> BinaryIO:
    """A file without a name, so that it is gone however the process ends."""
    return stack.enter_context(tempfile.TemporaryFile(dir=folder))


def _records(file: BinaryIO, most: int) -> Iterator[NDArray[np.void]]:
    """The records of a file, `most` at a time (-1: all at once)."""
    file.seek(0)
    while True:
        data = file.read(most * RECORD.itemsize if most > 0 else -1)
        yield np.frombuffer(data, RECORD)
        if most < 0 or not data:
            return


@leaf
def _by_begin(phrases, count, n_source, first, order):
    """Sort phrases by first source word: order[first[s] : first[s + 1]] are those that begin at s."""
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
def _rules_of(p, phrases, first, order, linked, symbols, min_gap, holes, near, rules):
    """Write the pairs of gaps (-1: none) of the rules from phrase p to `rules`, as far as there is room;
    returns the number of rules. linked: number of links before each source word; holes: (phrases, 6)
    room for possible gaps; near: room for the first hole at or after each source word."""
    s1, s2, t1, t2 = phrases[p, 0], phrases[p, 1], phrases[p, 2], phrases[p, 3]
    words, links = s2 - s1 + 1, linked[s2 + 1] - linked[s1]
    used, inside, room = 0, 0, len(rules)
    if words <= symbols:
        rules[0, 0] = rules[0, 1] = -1
        used = 1
    for s in range(s1, s2 + 2 - min_gap):
        near[s] = inside
        for k in range(first[s], first[s + 1]):
            h = order[k]
            end = phrases[h, 1]
            width = end - s + 1
            if width < min_gap or end > s2 or phrases[h, 2] < t1 or phrases[h, 3] > t2:
                continue
            filled = linked[end + 1] - linked[s]
            if filled >= links:
                continue
            hole = holes[inside]
            hole[0], hole[1], hole[2], hole[3] = h, end, phrases[h, 2], phrases[h, 3]
            hole[4], hole[5] = width, filled
            inside += 1
            if words - width + 1 <= symbols:
                if used < room:
                    rules[used, 0] = h
                    rules[used, 1] = -1
                used += 1
    last = s2 + 1 - min_gap
    for i in range(inside):
        a = holes[i]
        if a[1] + 2 > last:
            continue
        width, filled = words + 2 - a[4] - symbols, links - a[5]
        for j in range(near[a[1] + 2], inside):
            b = holes[j]
            if b[4] < width or b[5] >= filled or (b[2] <= a[3] and a[2] <= b[3]):
                continue
            if used < room:
                rules[used, 0] = a[0]
                rules[used, 1] = b[0]
            used += 1
    return used


@leaf
def _extend_source(sides, phrase, a, b, source):
    """The node of the source side of a phrase with the gaps a and b, each a phrase (4,), or all -1 where
    there is no gap. source: words of the segment."""
    node = np.int64(0)
    s = phrase[0]
    while s <= phrase[1]:
        if s == a[0] or s == b[0]:
            node = extend(sides, node, 0)
            s = (a[1] if s == a[0] else b[1]) + 1
        else:
            node = extend(sides, node, source[s] + 1)
            s += 1
    return node


@leaf
def _next_target(phrase, a, b, target, t):
    """(The symbol of the target side at word t of the segment, the word after what it stands for)."""
    if a[0] >= 0 and t == a[2]:
        return np.int64(0), a[3] + 1
    if b[0] >= 0 and t == b[2]:
        return np.int64(1), b[3] + 1
    return np.int64(target[t] + TARGET_WORD), t + 1


@leaf
def _is_of_group(phrase, a, b, target, group, groups):
    """Whether a target side is in a group; sides that begin with the same two symbols share a group."""
    one, t = _next_target(phrase, a, b, target, phrase[2])
    if t > phrase[3]:
        return group == 0
    two, t = _next_target(phrase, a, b, target, t)
    return (one + 7 * two) % groups == group


@leaf
def _extend_target(sides, phrase, a, b, target, place):
    """The node of the target side. place: room for each word's position among the words of the rule."""
    node, words, t = np.int64(0), 0, phrase[2]
    while t <= phrase[3]:
        symbol, behind = _next_target(phrase, a, b, target, t)
        place[t] = words
        words += symbol >= TARGET_WORD
        node = extend(sides, node, symbol)
        t = behind
    return node


@leaf
def _find_target(trie, phrase, a, b, target, rank, number, whole):
    """The node of the target side of rule `number`, or -1; ranks each of its prefixes that has no rank
    yet. whole: when False, only the first symbol is ranked."""
    node, t, depth = np.int64(0), phrase[2], 0
    while t <= phrase[3]:
        symbol, t = _next_target(phrase, a, b, target, t)
        node = child(trie, node, symbol)
        if node < 0 or (depth > 0 and not whole):
            return np.int64(-1)
        if rank[node] < 0:
            rank[node] = number * DEEPEST + depth
        depth += 1
    return node


@leaf
def _links_of(phrase, a, b, link_at, link_target, place, longest):
    """The mask of the links between the words of a rule."""
    mask, words, s = np.uint64(0), 0, phrase[0]
    while s <= phrase[1]:
        if s == a[0] or s == b[0]:
            s = (a[1] if s == a[0] else b[1]) + 1
            continue
        for k in range(link_at[s], link_at[s + 1]):
            mask |= np.uint64(1) << np.uint64(words * longest + place[link_target[k]])
        words += 1
        s += 1
    return mask


@leaf
def _find_runs(trie, source, n_source, most, runs):
    """runs[s, n]: the node of the n + 1 words from s on, or -1."""
    for s in range(n_source):
        node = np.int64(0)
        for n in range(most):
            if node >= 0:
                node = child(trie, node, source[s + n] + 1) if s + n < n_source else np.int64(-1)
            runs[s, n] = node


@leaf
def _may_match(text, runs, phrase, a, b):
    """Whether the text has each stretch of words between the gaps of a rule, and has neighbouring
    stretches in order and near enough to each other."""
    before, begin = np.int64(0), phrase[0]
    for gap in range(3):
        end = phrase[1] + 1
        if gap == 0 and a[0] >= 0:
            end = a[0]
        elif gap == 1 and b[0] >= 0:
            end = b[0]
        if end > begin:
            run = runs[begin, end - begin - 1]
            if run < 0 or (before > 0 and child(text.pairs, before, run) < 0):
                return False
            before = run
        if end == phrase[1] + 1:
            break
        begin = (a[1] if gap == 0 else b[1]) + 1
    return True


@njit(cache=True)
def _read_text(words, start, symbols, line, runs, pairs):
    """Enter the runs of a text from `line` on while there is room; returns the first line not entered."""
    for i in range(line, len(start) - 1):
        n = start[i + 1] - start[i]
        if runs.size[0] + n * symbols > len(runs.parent):
            return i
        if pairs.size[0] + n * LONGEST_RULE * symbols * symbols > len(pairs.parent):
            return i
        source = words[start[i] : start[i + 1]]
        found = np.full((n, symbols), -1, np.int64)
        for s in range(n):
            node = np.int64(0)
            for k in range(min(symbols, n - s)):
                if source[s + k] < 0:
                    break
                node = extend(runs, node, source[s + k] + 1)
                found[s, k] = node
        for s in range(n):
            for k in range(symbols - 2):
                if s + k >= n or found[s, k] < 0:
                    break
                for other in range(s + k + 2, min(n, s + LONGEST_RULE)):
                    for m in range(min(symbols - k - 2, s + LONGEST_RULE - other)):
                        if other + m >= n or found[other, m] < 0:
                            break
                        extend(pairs, found[s, k], found[other, m])
    return len(start) - 1


def text_of(known: Encoded | None, symbols: int) -> Text:
    """What rules of up to `symbols` source symbols can match in a text; None is any text."""
    runs, pairs = grown(None, 0), grown(None, 0)
    line = 0
    while known is not None and line < len(known):
        words = int(known.start[line + 1] - known.start[line])
        runs = grown(runs, words * symbols)
        pairs = grown(pairs, words * LONGEST_RULE * symbols * symbols)
        line = _read_text(frozen(known.words), frozen(known.start), symbols, line, runs, pairs)
    return Text(runs.trie, pairs.trie, int(known is not None))


WRITE, COUNT = 0, 1

SEGMENT, PHRASE, NEEDED, EXTRACTED, USED = 0, 1, 2, 3, 4
"""Indices of `Work.at`: the segment, the phrase, the rules of this phrase, the rules before it, records."""


class Work(NamedTuple):
    """What `_visit` does. `task` WRITE records the rules that can match the text and whose target sides
    are in `group` (of `groups`). It counts the records of each source side in `sizes` and, for group 0,
    adds up the source sides' counts over the rules of all groups in `totals`. COUNT adds up the counts
    of the group's target sides over all rules in `totals`, and ranks them by first occurrence."""

    task: int
    at: NDArray[np.int64]
    text: Text
    source: Growing
    sizes: NDArray[np.int32]
    target: Growing
    group: int
    groups: int
    totals: NDArray[np.float64]
    rank: NDArray[np.int64]
    records: NDArray[np.void]


@leaf
def _has_room(work, more, symbols, longest):
    """Whether there is room for all that `more` rules can need."""
    return work.task == COUNT or (
        work.source.size[0] + more * symbols <= len(work.sizes)
        and work.target.size[0] + more * longest <= len(work.target.parent)
        and work.at[USED] + more <= len(work.records)
    )


@leaf
def _take_rules(work, p, phrases, rules, none, sharing, segment, runs, place, longest):
    """Record or count the rules of a phrase. none: the phrase that stands for a missing gap."""
    count = 1.0 / sharing
    source, target, linked, linked_to = segment
    phrase = phrases[p]
    for r in range(len(rules)):
        a = none if rules[r, 0] < 0 else phrases[rules[r, 0]]
        b = none if rules[r, 1] < 0 else phrases[rules[r, 1]]
        whole = work.groups == 1 or _is_of_group(phrase, a, b, target, work.group, work.groups)
        if work.task == COUNT:
            number = work.at[EXTRACTED] + r
            node = _find_target(work.target.trie, phrase, a, b, target, work.rank, number, whole)
            if whole and node >= 0:
                work.totals[node] += count
            continue
        if not (whole or work.group == 0):
            continue
        if work.text.known and not _may_match(work.text, runs, phrase, a, b):
            continue
        node = _extend_source(work.source, phrase, a, b, source)
        if work.group == 0:
            work.totals[node] += count
        if not whole:
            continue
        work.sizes[node] += 1
        record = work.records[work.at[USED]]
        work.at[USED] += 1
        record.source, record.sharing = node, sharing
        record.target = _extend_target(work.target, phrase, a, b, target, place)
        record.links = _links_of(phrase, a, b, linked, linked_to, place, longest)


@njit(cache=True)
def _visit(corpus, limits, work):
    """Go through the rules of the corpus, from the phrase where the last call stopped, while there is
    room."""
    (source_words, source_start), (target_words, target_start), links_of = corpus
    link_start, link_source, link_target = links_of
    at = work.at
    longest, symbols, min_gap, tight, fractional = limits
    room_source, room_target = 1, 1
    for i in range(len(source_start) - 1):
        room_source = max(room_source, source_start[i + 1] - source_start[i])
        room_target = max(room_target, target_start[i + 1] - target_start[i])
    ends = np.empty((4, max(room_source, room_target)), np.int64)
    linked = np.zeros(room_source + 1, np.int64)
    first = np.zeros(room_source + 2, np.int64)
    place = np.zeros(room_target, np.int64)
    runs = np.zeros((room_source, symbols), np.int64)
    phrases, order = np.empty((4096, 4), np.int64), np.empty(4096, np.int64)
    holes, rules = np.empty((4096, 6), np.int64), np.empty((4096, 2), np.int64)
    near = np.zeros(room_source, np.int64)
    none = np.full(4, -1, np.int64)
    for i in range(at[SEGMENT], len(source_start) - 1):
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
            holes = np.empty((2 * n_phrases, 6), np.int64)
        _by_begin(phrases, n_phrases, n_source, first, order)
        source, target = source_words[source_start[i] :], target_words[target_start[i] :]
        if work.text.known and work.task != COUNT:
            _find_runs(work.text.runs, source, n_source, symbols, runs)
        for p in range(at[PHRASE], n_phrases):
            while True:
                made = _rules_of(p, phrases, first, order, linked, symbols, min_gap, holes, near, rules)
                if made <= len(rules):
                    break
                rules = np.empty((2 * made, 2), np.int64)
            at[SEGMENT], at[PHRASE], at[NEEDED] = i, p, made
            if not _has_room(work, made, symbols, longest):
                return
            sharing = max(made, 1) if fractional else 1
            segment = source, target, linked, targets_of_links
            _take_rules(work, p, phrases, rules[:made], none, sharing, segment, runs, place, longest)
            at[EXTRACTED] += made
        at[PHRASE] = 0
    at[SEGMENT] = len(source_start) - 1


@contextmanager
def extract_rules(
    linked: Linked, settings: HieroSettings, known: Encoded | None, folder: Path
) -> Iterator[Extracted]:
    """The rules of all segments that can match the known text (None: all rules). Their records are kept in
    nameless files in `folder`."""
    source, target, links = linked.source, linked.target, linked.links
    sides_of_text = ((source.words, source.start), (target.words, target.start), links)
    corpus = tuple(tuple(frozen(array) for array in arrays) for arrays in sides_of_text)
    limits = (
        settings.max_span,
        settings.max_symbols,
        settings.min_gap,
        settings.extraction == "tight",
        settings.fractional_counts,
    )
    text = text_of(known, settings.max_symbols)
    at = np.zeros(5, np.int64)
    sides = grown(None, 0)
    sizes, source_count = np.zeros(0, np.int32), np.zeros(0)

    def visit(task: int, *state: Any) -> bool:
        _visit(corpus, limits, Work(task, at, text, sides, sizes, *state))
        return bool(at[SEGMENT] < len(source))

    groups = 1 + len(source.words) * (8 if known is None else 1) // GROUP
    with ExitStack() as stack:
        files = [_scratch(stack, folder) for _ in POWERS]
        of_targets = [_scratch(stack, folder) for _ in range(4)]
        first = 0
        for group in range(groups):
            others, records = grown(None, 0), np.empty(BLOCK, RECORD)
            at[:] = 0
            more = True
            while more:
                for array in (sizes, source_count):
                    array.resize(len(sides.parent), refcheck=False)
                no_rank = np.empty(0, np.int64)
                more = visit(WRITE, others, group, groups, source_count, no_rank, records)
                _spill(records[: at[USED]], first, POWERS, files)
                at[USED] = 0
                if at[NEEDED] > len(records):
                    records = np.empty(2 * at[NEEDED], RECORD)
                others = grown(others, int(at[NEEDED]) * settings.max_span)
                sides = grown(sides, int(at[NEEDED]) * settings.max_symbols)
            found = int(others.size[0])
            count, rank = np.zeros(found), np.full(found, -1)
            at[:] = 0
            visit(COUNT, others, group, groups, count, rank, np.empty(0, RECORD))
            others.parent[others.parent > 0] += first
            of_group: tuple[NDArray[Any], ...] = (others.parent, others.symbol, count, rank)
            for file, array in zip(of_targets, of_group, strict=True):
                file.write(array[:found].tobytes())
            first += found
        types = np.int32, np.int32, np.float64, np.int64
        parent, symbol, count, rank = (
            frozen(np.memmap(file, dtype, "r")) for file, dtype in zip(of_targets, types, strict=True)
        )
        size = int(sides.size[0])
        yield Extracted(
            Nodes(frozen(sides.parent[:size]), frozen(sides.symbol[:size])),
            Nodes(parent, symbol),
            source_count,
            count,
            rank,
            sizes[:size],
            int(at[EXTRACTED]),
            files,
            folder,
        )


@njit(cache=True)
def _by_part(records, bounds, first, end, out):
    """Copy the records, grouped by part; end: (parts,) where each part ends. bounds: the first source
    side of each part; first: the number of the first node of the group of target sides."""
    for r in range(len(records)):
        end[np.searchsorted(bounds, records[r]["source"], side="right") - 1] += 1
    total = 0
    for k in range(len(end)):
        end[k], total = total, total + end[k]
    for r in range(len(records)):
        k = np.searchsorted(bounds, records[r]["source"], side="right") - 1
        out[end[k]] = records[r]
        out[end[k]]["target"] += first
        end[k] += 1


def _spill(
    records: NDArray[np.void], first: int, bounds: NDArray[np.int64], files: Sequence[BinaryIO]
) -> None:
    """Append each record to the file of its part."""
    end, out = np.zeros(len(files), np.int64), np.empty_like(records)
    _by_part(frozen(records), bounds, first, end, out)
    for piece, file in zip(np.split(out, end[:-1]), files, strict=True):
        file.write(piece.view(np.uint8).data)
