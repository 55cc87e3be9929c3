"""Phrase extraction and counting against the definition, by brute force and by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.phrase.encode import RESERVED, Encoded, encode
from replitune.phrase.extract import count_pairs, extract
from replitune.phrase.settings import LONGEST_PHRASE
from replitune.phrase.symmetrise import Links

Pair = tuple[list[str], list[str], list[tuple[int, int]]]


def corpus(pairs: list[Pair]) -> tuple[Encoded, Encoded, Links]:
    points = [sorted(set(links)) for _, _, links in pairs]
    links = Links(
        np.cumsum([0, *map(len, points)]),
        np.array([s for segment in points for s, _ in segment], np.int16),
        np.array([t for segment in points for _, t in segment], np.int16),
    )
    return encode([s for s, _, _ in pairs]), encode([t for _, t, _ in pairs], RESERVED), links


def drawn(source: str, target: str, links: str) -> Pair:
    points = [tuple(map(int, link.split("-"))) for link in links.split()]
    return source.split(), target.split(), [(s, t) for s, t in points]


def boxes(pairs: list[Pair], longest: int) -> list[list[tuple[int, int, int, int]]]:
    """(source begin, source length, target begin, target length) of all phrase pairs."""
    source, target, links = corpus(pairs)
    found = extract(source, target, links, longest)
    rows = np.stack(
        [found.source_begin, found.source_length, found.target_begin, found.target_length], 1
    ).tolist()
    return [[tuple(row) for row in rows[found.start[i] : found.start[i + 1]]] for i in range(len(pairs))]


def test_a_drawing_with_unaligned_words() -> None:
    #          the  house  .        "da" and "." are not linked
    #   das     x
    #   haus         x
    #   da
    pair = drawn("das haus da", "the house .", "0-0 1-1")
    assert set(boxes([pair], 7)[0]) == {
        (0, 1, 0, 1),  # das | the
        (1, 1, 1, 1),  # haus | house
        (1, 1, 1, 2),  # haus | house .
        (1, 2, 1, 1),  # haus da | house
        (1, 2, 1, 2),  # haus da | house .
        (0, 2, 0, 2),  # das haus | the house
        (0, 2, 0, 3),  # das haus | the house .
        (0, 3, 0, 2),  # das haus da | the house
        (0, 3, 0, 3),  # das haus da | the house .
    }


def test_crossing_links_and_one_to_many() -> None:
    #          a  b  c
    #   x            x
    #   y      x  x
    pair = drawn("x y", "a b c", "0-2 1-0 1-1")
    assert set(boxes([pair], 7)[0]) == {(0, 1, 2, 1), (1, 1, 0, 2), (0, 2, 0, 3)}


def test_no_links_no_phrases() -> None:
    assert boxes([drawn("x y", "a b", ""), drawn("x", "a", "0-0")], 7) == [[], [(0, 1, 0, 1)]]


segment = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
    lambda size: st.tuples(
        st.lists(st.sampled_from("uvw"), min_size=size[0], max_size=size[0]),
        st.lists(st.sampled_from("abc"), min_size=size[1], max_size=size[1]),
        st.lists(st.tuples(st.integers(0, size[0] - 1), st.integers(0, size[1] - 1)), max_size=8),
    )
)


def consistent(pair: Pair, longest: int) -> set[tuple[int, int, int, int]]:
    """Och and Ney's definition, tried on every box."""
    source, target, links = pair
    return {
        (s, m, t, n)
        for s in range(len(source))
        for m in range(1, min(longest, len(source) - s) + 1)
        for t in range(len(target))
        for n in range(1, min(longest, len(target) - t) + 1)
        if any(s <= i < s + m and t <= j < t + n for i, j in links)
        and all((s <= i < s + m) == (t <= j < t + n) for i, j in links)
    }


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.lists(segment, min_size=1, max_size=3), st.integers(1, LONGEST_PHRASE))
def test_equals_the_definition(pairs: list[Pair], longest: int) -> None:
    for found, pair in zip(boxes(pairs, longest), pairs, strict=True):
        assert len(set(found)) == len(found)
        assert set(found) == consistent(pair, longest)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(segment, min_size=1, max_size=6), st.integers(1, LONGEST_PHRASE))
def test_counts_and_internal_links_equal_dictionaries(pairs: list[Pair], longest: int) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    inside: dict[tuple[str, str], Counter[int]] = {}
    for source_words, target_words, links in pairs:
        for s, m, t, n in consistent((source_words, target_words, links), longest):
            key = " ".join(source_words[s : s + m]), " ".join(target_words[t : t + n])
            mask = sum(
                1 << ((i - s) * LONGEST_PHRASE + j - t)
                for i, j in set(links)
                if s <= i < s + m and t <= j < t + n
            )
            counts[key] += 1
            inside.setdefault(key, Counter())[mask] += 1

    source, target, links = corpus(pairs)
    found = extract(source, target, links, longest)
    distinct = count_pairs(source, target, found, longest)
    assert len(distinct.count) == len(counts)
    segments = np.repeat(np.arange(len(pairs)), np.diff(found.start))
    sources, targets = {}, {}
    for number, example in enumerate(distinct.example.tolist()):
        source_words, target_words, _ = pairs[segments[example]]
        s, m = found.source_begin[example], found.source_length[example]
        t, n = found.target_begin[example], found.target_length[example]
        f, e = " ".join(source_words[s : s + m]), " ".join(target_words[t : t + n])
        assert distinct.count[number] == counts.pop((f, e))
        frequent = max(inside[f, e].values())
        best = min(mask for mask, times in inside[f, e].items() if times == frequent)
        assert int(found.links[example]) == best
        sources[f] = distinct.source_count[distinct.source_phrase[number]]
        targets[e] = distinct.target_count[distinct.target_phrase[number]]
    assert not counts
    for phrase, total in sources.items():
        assert total == sum(sum(c.values()) for (f, _), c in inside.items() if f == phrase)
    for phrase, total in targets.items():
        assert total == sum(sum(c.values()) for (_, e), c in inside.items() if e == phrase)
    assert np.array_equal(np.bincount(distinct.pair, minlength=0), distinct.count)
