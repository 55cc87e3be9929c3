"""Phrase extraction and counting against the definition, by brute force and by hand."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.phrase.encode import RESERVED, Encoded, encode, encode_known
from replitune.phrase.extract import extract
from replitune.phrase.pairs import LinkedPhrases
from replitune.phrase.settings import LONGEST_PHRASE
from replitune.phrase.symmetrise import Linked, Links

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
@given(
    st.lists(segment, min_size=1, max_size=6),
    st.integers(1, LONGEST_PHRASE),
    st.none() | st.lists(st.lists(st.sampled_from("uvwx"), max_size=4), max_size=3),
    st.sampled_from([1, 2, 10_000]),
    st.sampled_from([1, 5, 1 << 24]),
)
def test_counts_and_internal_links_equal_dictionaries(
    pairs: list[Pair], longest: int, known: list[list[str]] | None, block: int, most: int
) -> None:
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
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for (f, e), times in counts.items():
        sources[f] += times
        targets[e] += times

    linked = Linked(*corpus(pairs))
    text = None if known is None else encode_known(known, linked.source.vocab)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("replitune.phrase.pairs.BLOCK", block)
        patch.setattr("replitune.phrase.pairs.MOST", most)
        phrases = LinkedPhrases(linked, longest, text)
        parts = list(phrases.parts())
    assert phrases.extracted == counts.total()
    if known is not None:
        there = {" ".join(one[i:j]) for one in known for j in range(len(one) + 1) for i in range(j)}
        counts = Counter({key: times for key, times in counts.items() if key[0] in there})
    begins = []
    for part in parts:
        source_at, source_length, source_count = (
            np.repeat(array, part.options).tolist()
            for array in (part.source_at, part.source_length, part.source_count)
        )
        begins.append({linked.source.words[at] for at in source_at})
        for k, times in enumerate(part.count.tolist()):
            f = spelt(linked.source, source_at[k], source_length[k])
            e = spelt(linked.target, part.target_at[k], part.target_length[k])
            assert times == counts.pop((f, e))
            frequent = max(inside[f, e].values())
            assert part.links[k] == min(mask for mask, n in inside[f, e].items() if n == frequent)
            assert source_count[k] == sources[f]
            assert part.target_count[k] == targets[e]
            assert part.backward[k].sum() == part.forward[k].sum() == times
    assert not counts
    assert all(max(one) < min(other) for one, other in itertools.pairwise(begins))


def spelt(side: Encoded, at: int, length: int) -> str:
    return " ".join(side.vocab[word] for word in side.words[at : at + length])
