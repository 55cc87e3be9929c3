"""Orientations of drawn phrase pairs, and the scores worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.phrase.encode import RESERVED, encode
from replitune.phrase.extract import extract
from replitune.phrase.pairs import LinkedPhrases
from replitune.phrase.reordering import orientations, reordering_scores
from replitune.phrase.symmetrise import Linked, Links

M, S, D = 0, 1, 2
Phrase = tuple[str, str]


def oriented(source: str, target: str, drawing: str, longest: int = 7) -> dict[Phrase, tuple[int, int]]:
    """Orientations (previous, next) of each extracted pair of a segment of distinct words.

    drawing: one row per source word, x where it is linked.
    """
    points = [
        (s, t)
        for s, row in enumerate(drawing.strip().splitlines())
        for t, cell in enumerate(row.strip())
        if cell == "x"
    ]
    links = Links(
        np.array([0, len(points)]),
        np.array([s for s, _ in points], np.int16),
        np.array([t for _, t in points], np.int16),
    )
    f, e = encode([source.split()]), encode([target.split()], RESERVED)
    found = extract(f, e, links, longest)
    backward, forward = orientations(f, e, links, found)
    result = {}
    for k in range(len(found.links)):
        s, t = found.source_begin[k], found.target_begin[k]
        phrase = (
            " ".join(source.split()[s : s + found.source_length[k]]),
            " ".join(target.split()[t : t + found.target_length[k]]),
        )
        result[phrase] = (int(backward[k]), int(forward[k]))
    return result


def test_straight_text_is_monotone_borders_included() -> None:
    found = oriented(
        "x y z",
        "a b c",
        """
        x..
        .x.
        ..x
        """,
    )
    assert set(found.values()) == {(M, M)}
    assert len(found) == 6


def test_swap() -> None:
    # the source words in the other order
    found = oriented(
        "x y",
        "a b",
        """
        .x
        x.
        """,
    )
    assert found["y", "a"] == (D, S)  # not at the beginning of the source; next lies before it
    assert found["x", "b"] == (S, D)
    assert found["x y", "a b"] == (M, M)


def test_discontinuous() -> None:
    # z is translated first, then x, then y
    found = oriented(
        "x y z",
        "a b c",
        """
        .x.
        ..x
        x..
        """,
    )
    assert found["z", "a"] == (D, S)  # the phrase pair (x y, b c) swaps with it
    assert found["x", "b"] == (D, M)
    assert found["y", "c"] == (M, D)
    assert found["x y", "b c"] == (S, D)


def test_an_adjacent_phrase_decides_where_no_single_link_does() -> None:
    # before (z, c) stands the phrase pair (x y, a b), whose last words are not linked with each
    # other: a word-based model would say discontinuous
    found = oriented(
        "x y z",
        "a b c",
        """
        .x.
        x..
        ..x
        """,
    )
    assert found["z", "c"] == (M, M)
    assert found["x y", "a b"] == (M, M)
    assert found["x", "b"] == (S, D)
    assert found["y", "a"] == (D, S)
    # limited to single words there is no such phrase pair
    assert oriented("x y z", "a b c", ".x.\nx..\n..x", longest=1)["z", "c"] == (D, M)


def test_forward_looks_at_where_the_next_phrase_begins() -> None:
    # behind (x, a) follows (y z, b c), whose words cross: it begins at (y, b) but no phrase pair
    # that ends at b begins at y
    found = oriented(
        "x y z",
        "a b c",
        """
        x..
        ..x
        .x.
        """,
    )
    assert found["x", "a"] == (M, M)
    assert found["y z", "b c"] == (M, M)


def test_unaligned_words_between_phrases_leave_them_adjacent() -> None:
    found = oriented(
        "x y z",
        "a b",
        """
        x.
        ..
        .x
        """,
    )
    # (x y, a) and (y z, b) are extracted too, and touch
    assert found["x", "a"] == (M, M)
    assert found["z", "b"] == (M, M)
    assert found["x y", "a"] == (M, M)


def test_a_corner_link_counts_even_when_no_phrase_pair_ends_there() -> None:
    # (x w, a) is not consistent with a phrase ending at (x, a): w lies behind z, so no pair of
    # phrases ends right before (z, b), but its corner is linked on one side only
    found = oriented(
        "x z w",
        "a b",
        """
        x.
        .x
        x.
        """,
    )
    assert ("x", "a") not in found
    # both corners of (z, b) are linked with a, before and behind: neither is alone
    assert found["z", "b"][0] == D
    found = oriented(
        "x z y w",
        "a b",
        """
        x.
        .x
        ..
        x.
        """,
    )
    assert found["z", "b"][0] == M
    assert found["z y", "b"][0] == D


segment = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
    lambda size: st.tuples(
        st.just(size[0]),
        st.just(size[1]),
        st.sets(st.tuples(st.integers(0, size[0] - 1), st.integers(0, size[1] - 1)), max_size=8),
    )
)
Box = tuple[int, int, int, int]


def boxes(m: int, n: int, points: set[tuple[int, int]]) -> dict[Box, tuple[int, int]]:
    """Orientations by (first, last source word, first, last target word)."""
    links = Links(
        np.array([0, len(points)]),
        np.array([s for s, _ in sorted(points)], np.int16),
        np.array([t for _, t in sorted(points)], np.int16),
    )
    f, e = encode([["x"] * m]), encode([["a"] * n], RESERVED)
    found = extract(f, e, links, 4)
    backward, forward = orientations(f, e, links, found)
    s1, t1 = found.source_begin, found.target_begin
    s2, t2 = s1 + found.source_length - 1, t1 + found.target_length - 1
    keys = zip(s1.tolist(), s2.tolist(), t1.tolist(), t2.tolist(), strict=True)
    return dict(zip(keys, zip(backward.tolist(), forward.tolist(), strict=True), strict=True))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(segment)
def test_equals_the_definition_over_pairs_of_phrase_pairs(
    drawing: tuple[int, int, set[tuple[int, int]]],
) -> None:
    m, n, points = drawing
    found = boxes(m, n, points)
    linked = points | {(-1, -1), (m, n)}
    for (s1, s2, t1, t2), (backward, forward) in found.items():
        before = (s1 - 1, t1 - 1) in linked, (s2 + 1, t1 - 1) in linked
        mono = before == (True, False) or any(b[1] == s1 - 1 and b[3] == t1 - 1 for b in found)
        swap = before == (False, True) or any(b[0] == s2 + 1 and b[3] == t1 - 1 for b in found)
        assert backward == (M if mono else S if swap else D)
        behind = (s2 + 1, t2 + 1) in linked, (s1 - 1, t2 + 1) in linked
        mono = behind == (True, False) or any(b[0] == s2 + 1 and b[2] == t2 + 1 for b in found)
        swap = behind == (False, True) or any(b[1] == s1 - 1 and b[2] == t2 + 1 for b in found)
        assert forward == (M if mono else S if swap else D)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(segment)
def test_reading_both_sides_backwards_exchanges_previous_and_next(
    drawing: tuple[int, int, set[tuple[int, int]]],
) -> None:
    m, n, points = drawing
    mirrored = boxes(m, n, {(m - 1 - s, n - 1 - t) for s, t in points})
    assert boxes(m, n, points) == {
        (m - 1 - s2, m - 1 - s1, n - 1 - t2, n - 1 - t1): (forward, backward)
        for (s1, s2, t1, t2), (backward, forward) in mirrored.items()
    }


def test_scores_are_smoothed_relative_frequencies() -> None:
    # (x, a) occurs three times: monotone at the start twice, once swapped behind y
    pairs = [("x", "a", [(0, 0)]), ("x", "a", [(0, 0)]), ("x y", "b a", [(0, 1), (1, 0)])]
    links = Links(
        np.array([0, 1, 2, 4]), np.array([0, 0, 0, 1], np.int16), np.array([0, 0, 1, 0], np.int16)
    )
    f = encode([s.split() for s, _, _ in pairs])
    e = encode([t.split() for _, t, _ in pairs], RESERVED)
    (distinct,) = LinkedPhrases(Linked(f, e, links), 7).parts()
    scores = np.exp(reordering_scores(distinct.backward, distinct.forward, 0.5))
    number = int(np.flatnonzero(distinct.count == 3)[0])
    # previous: mono 2, swap 1, disc 0; next: mono 2, swap 0, disc 1; each + 0.5 over 4.5
    expected = [2.5 / 4.5, 1.5 / 4.5, 0.5 / 4.5, 2.5 / 4.5, 0.5 / 4.5, 1.5 / 4.5]
    assert scores[number].tolist() == pytest.approx(expected, abs=1e-15)
    assert scores[:, :3].sum(axis=1) == pytest.approx(1)
    assert scores[:, 3:].sum(axis=1) == pytest.approx(1)
