"""Fu et al.'s seven training subsets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.corpus.subsets import NAMED, overlap, subset, take
from replitune.errors import ReplituneError


@settings(deadline=None, derandomize=True, max_examples=40)
@given(lines=st.integers(2, 200), seed=st.integers(0, 2**40))
def test_halves_partition_the_corpus(lines, seed):
    for first, second in (("top", "bottom"), ("odd", "even")):
        both = np.concatenate([subset(first, lines, seed), subset(second, lines, seed)])
        assert sorted(both.tolist()) == list(range(lines))
    for name in NAMED[1:]:
        chosen = subset(name, lines, seed)
        assert len(chosen) in (lines // 2, (lines + 1) // 2)
        assert np.all(np.diff(chosen) > 0)


def test_subsets_of_five_lines():
    assert subset("all", 5, 1).tolist() == [0, 1, 2, 3, 4]
    assert subset("top", 5, 1).tolist() == [0, 1, 2]
    assert subset("bottom", 5, 1).tolist() == [3, 4]
    assert subset("odd", 5, 1).tolist() == [0, 2, 4]  # lines 1, 3, 5
    assert subset("even", 5, 1).tolist() == [1, 3]
    assert take(["a", "b", "c"], subset("even", 3, 1)) == ["b"]


def test_random_halves_differ_by_name_and_seed_only():
    first = subset("rand1", 1000, 7)
    assert first.tolist() == subset("rand1", 1000, 7).tolist()
    assert first.tolist() == subset("random-1", 1000, 7).tolist()
    assert first.tolist() != subset("rand2", 1000, 7).tolist()
    assert first.tolist() != subset("rand1", 1000, 8).tolist()


def test_two_random_halves_share_a_quarter_of_the_corpus():
    # hypergeometric: mean 2500, standard deviation 25
    shared = np.intersect1d(subset("rand1", 10_000, 7), subset("rand2", 10_000, 7))
    assert abs(len(shared) - 2500) < 100


@pytest.mark.parametrize("name", ["", "half", "rand", "rand0", "rand01", "Top", "random1x"])
def test_unknown_names_are_refused(name):
    with pytest.raises(ReplituneError, match="no such training subset"):
        subset(name, 10, 1)


def test_the_nearest_name_is_suggested():
    with pytest.raises(ReplituneError, match="did you mean bottom"):
        subset("botom", 10, 1)


def test_an_empty_half_is_an_error():
    with pytest.raises(ReplituneError, match="empty"):
        subset("bottom", 1, 1)


def test_overlap_counts_test_segments_and_not_blank_ones():
    assert overlap(["a", "b", "a", "", " "], ["a", "", " ", "c"]) == 2
    assert overlap(["a"], []) == 0
