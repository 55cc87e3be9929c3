"""Symmetrisation against drawings, a plain-set restatement of symal, and sil-thot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.phrase.align import DirectedAlignments
from replitune.phrase.encode import Encoded
from replitune.phrase.settings import HEURISTICS
from replitune.phrase.symmetrise import symmetrise


def side(*lengths: int) -> Encoded:
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Encoded([], np.zeros(int(start[-1]), np.int32), start)


def run(pairs: list[tuple[list[int], list[int]]], heuristic: str) -> list[set[tuple[int, int]]]:
    """pairs: (to_target of each source word, to_source of each target word) per segment."""
    source = side(*(len(a) for a, _ in pairs))
    target = side(*(len(b) for _, b in pairs))
    directed = DirectedAlignments(
        np.array([x for _, b in pairs for x in b], np.int16),
        np.array([x for a, _ in pairs for x in a], np.int16),
    )
    links = symmetrise(directed, source, target, heuristic)
    result = []
    for i in range(len(pairs)):
        part = slice(links.start[i], links.start[i + 1])
        points = list(zip(links.source[part].tolist(), links.target[part].tolist(), strict=True))
        assert points == sorted(set(points)), "links are sorted and unique"
        result.append(set(points))
    return result


def by_sets(a: list[int], b: list[int], heuristic: str) -> set[tuple[int, int]]:
    """The heuristics with sets of (target, source), as published with Moses' training."""
    direct = {(t, s) for s, t in enumerate(a) if t >= 0}
    inverse = {(t, s) for t, s in enumerate(b) if s >= 0}
    union, links = direct | inverse, direct & inverse
    if heuristic == "union":
        links = set(union)

    def free(point: tuple[int, int]) -> tuple[bool, bool]:
        return all(t != point[0] for t, _ in links), all(s != point[1] for _, s in links)

    if heuristic.startswith("grow"):
        steps = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
        grown = True
        while grown:
            grown = False
            for t in range(len(b)):
                for s in range(len(a)):
                    if (t, s) not in links:
                        continue
                    for dt, ds in steps:
                        new = (t + dt, s + ds)
                        if new in union and any(free(new)):
                            links.add(new)
                            grown = True
    if "final" in heuristic:
        wanted = all if heuristic.endswith("and") else any
        for half in (inverse - direct, direct - inverse):
            for point in sorted(half):
                if wanted(free(point)):
                    links.add(point)
    return {(s, t) for t, s in links}


# source words down, target words across; D: source word's choice, I: target word's choice, B: both
#        t0 t1 t2 t3
#   s0    B  I  .  .        to_target 0, -, 1, 3
#   s1    .  .  I  .        to_source 0, 0, 1, 2
#   s2    .  D  .  I
#   s3    .  .  .  D
DRAWING = ([0, -1, 1, 3], [0, 0, 1, 2])


@pytest.mark.parametrize(
    ("heuristic", "links"),
    [
        ("intersection", {(0, 0)}),
        ("union", {(0, 0), (0, 1), (1, 2), (2, 1), (2, 3), (3, 3)}),
        # (0,1) beside (0,0); from it (1,2); from (1,2): (2,1), s2 is free, and (2,3), t3 is free;
        # from (2,3): (3,3), s3 is free
        ("grow-diag", {(0, 0), (0, 1), (1, 2), (2, 1), (2, 3), (3, 3)}),
    ],
)
def test_drawing(heuristic: str, links: set[tuple[int, int]]) -> None:
    assert run([DRAWING], heuristic) == [links]


# nothing is near the one common link (0,0), so only "final" can add
#        t0 t1 t2 t3
#   s0    B  .  .  .
#   s1    .  .  .  .
#   s2    D  .  .  I        (2,0): t0 is taken, s2 is free      (2,3): both are free
#   s3    .  .  D  .        (3,2): both are free
FAR = ([0, -1, 0, 2], [0, -1, -1, 2])


def test_final_adds_links_of_one_free_word_and_final_and_of_two() -> None:
    assert run([FAR], "grow-diag") == [{(0, 0)}]
    # the target words' (2,3) comes first; then (2,0) has no free word left
    assert run([FAR], "grow-diag-final") == [{(0, 0), (2, 3), (3, 2)}]
    assert run([FAR], "grow-diag-final-and") == [{(0, 0), (2, 3), (3, 2)}]
    #        t0 t1 t2
    #   s0    B  .  .
    #   s1    .  .  .
    #   s2    D  .  .       s2 is free, t0 is not
    half_free = ([0, -1, 0], [0, -1, -1])
    assert run([half_free], "grow-diag-final") == [{(0, 0), (2, 0)}]
    assert run([half_free], "grow-diag-final-and") == [{(0, 0)}]


def test_straight_neighbours_come_before_diagonal_ones() -> None:
    # from (2,2): (1,2) is straight and taken while s1 is free; then (1,1), as t1 is free
    #        t0 t1 t2
    #   s0    .  .  .
    #   s1    .  I  D
    #   s2    .  .  B
    assert run([([-1, 2, 2], [-1, 1, 2])], "grow-diag") == [{(1, 1), (1, 2), (2, 2)}]


directed = st.integers(1, 7).flatmap(
    lambda m: st.integers(1, 7).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(-1, n - 1), min_size=m, max_size=m),
            st.lists(st.integers(-1, m - 1), min_size=n, max_size=n),
        )
    )
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.lists(directed, min_size=1, max_size=3), st.sampled_from(HEURISTICS))
def test_equals_the_definition_with_sets(pairs: list[tuple[list[int], list[int]]], heuristic: str) -> None:
    assert run(pairs, heuristic) == [by_sets(a, b, heuristic) for a, b in pairs]


@settings(deadline=None, derandomize=True, max_examples=50)
@given(directed)
def test_heuristics_are_nested(pair: tuple[list[int], list[int]]) -> None:
    inter, union, grown, final, final_and = (run([pair], name)[0] for name in HEURISTICS)
    assert inter <= grown <= final_and
    assert grown <= final <= union


@settings(deadline=None, derandomize=True, max_examples=50)
@given(directed)
def test_intersection_and_union_equal_thot(pair: tuple[list[int], list[int]]) -> None:
    from thot.common import WordAlignmentMatrix

    a, b = pair
    for heuristic in ("intersection", "union"):
        one, two = (WordAlignmentMatrix(len(a), len(b)) for _ in range(2))
        for s, t in enumerate(a):
            if t >= 0:
                one.set(s, t)
        for t, s in enumerate(b):
            if s >= 0:
                two.set(s, t)
        both = one.intersect(two) if heuristic == "intersection" else one.union(two)
        points = both.to_numpy() if both is not None else one.to_numpy()
        assert run([pair], heuristic) == [{(int(s), int(t)) for s, t in np.argwhere(points)}]
