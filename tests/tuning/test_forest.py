"""Envelopes of forests against every derivation, enumerated."""

from __future__ import annotations

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.tuning.forest import Forest, Forests

N, F = 5, 3


def draw_forest(rng: np.random.Generator, nodes: int = 6) -> Forest:
    """Nodes with one to three edges from none to two earlier ones, in either order of gaps."""
    head, one, two, symbols = [], [], [], []
    for node in range(nodes):
        for _ in range(rng.integers(1, 4)):
            gaps = int(rng.integers(0, 3)) if node else 0
            below = [int(v) for v in rng.integers(0, node, gaps)] if gaps else []
            words = rng.integers(0, 9, rng.integers(0 if gaps else 1, 3)).tolist()
            for gap in rng.permutation(gaps).tolist():
                words.insert(int(rng.integers(0, len(words) + 1)), -1 - gap)
            head.append(node)
            one.append(below[0] if gaps > 0 else -1)
            two.append(below[1] if gaps > 1 else -1)
            symbols.append(words)
    return Forest(
        np.array(head),
        np.array(one),
        np.array(two),
        np.cumsum([0, *map(len, symbols)]),
        np.array([s for each in symbols for s in each]),
        rng.normal(size=(len(head), F)),
        nodes,
    )


def derivations(forest: Forest, node: int | None = None) -> list[tuple[list[int], np.ndarray]]:
    """Words and features of every derivation of a node, by recursion."""
    if forest.nodes == 0:
        return [([], np.zeros(forest.features.shape[1]))]
    node = forest.nodes - 1 if node is None else node
    out = []
    for e in np.flatnonzero(forest.head == node):
        symbols = forest.symbols[forest.symbol_start[e] : forest.symbol_start[e + 1]].tolist()
        parts = [
            derivations(forest, int(tail)) if tail >= 0 else [([], np.zeros(forest.features.shape[1]))]
            for tail in (forest.one[e], forest.two[e])
        ]
        for first in parts[0]:
            for second in parts[1]:
                words = []
                for s in symbols:
                    words += [s] if s >= 0 else (first, second)[-1 - s][0]
                out.append((words, forest.features[e] + first[1] + second[1]))
    return out


@pytest.mark.parametrize("seed", range(8))
def test_the_envelope_holds_the_best_derivation_everywhere(seed: int):
    rng = np.random.default_rng(seed)
    each = [draw_forest(rng, 4 + s % 3) for s in range(N)]
    forests = Forests.pack(each)
    weights, direction = rng.normal(size=F), rng.normal(size=F)
    envelope = forests.envelope(weights, direction)
    for s in range(N):
        rows = slice(envelope.offsets[s], envelope.offsets[s + 1])
        begins, features = envelope.begins[rows], envelope.features[rows]
        assert begins[0] == -np.inf
        assert (np.diff(begins) > 0).all()
        every = np.array([values for _, values in derivations(each[s])])
        for gamma in np.linspace(-6, 6, 61):
            best = (every @ (weights + gamma * direction)).max()
            line = features[np.searchsorted(begins, gamma, side="right") - 1]
            assert line @ (weights + gamma * direction) == pytest.approx(best, abs=1e-9)


def test_words_and_features_of_a_hypothesis_belong_to_one_derivation():
    rng = np.random.default_rng(3)
    each = [draw_forest(rng, 5) for _ in range(N)]
    envelope = Forests.pack(each).envelope(np.ones(F), np.array([1.0, -1.0, 0.5]))
    for i, s in enumerate(envelope.segments):
        words = envelope.words[envelope.word_start[i] : envelope.word_start[i + 1]].tolist()
        known = [values for text, values in derivations(each[s]) if text == words]
        assert any(np.allclose(values, envelope.features[i], atol=1e-12) for values in known)


def test_within_reach_nothing_is_lost_and_nothing_else_is_kept():
    rng = np.random.default_rng(5)
    forests = Forests.pack([draw_forest(rng) for _ in range(N)])
    weights, direction = rng.normal(size=F), rng.normal(size=F)
    whole, near = (forests.envelope(weights, direction, reach) for reach in (np.inf, 0.5))
    for s in range(N):
        rows = np.arange(whole.offsets[s], whole.offsets[s + 1])
        ends = np.append(whole.begins[rows[1:]], np.inf)
        inside = rows[(whole.begins[rows] < 0.5) & (ends > -0.5)]
        found = near.features[near.offsets[s] : near.offsets[s + 1]]
        np.testing.assert_allclose(found, whole.features[inside], atol=1e-12)


def test_an_empty_translation_has_one_hypothesis():
    none = np.zeros(0, np.int64)
    empty = Forest(none, none, none, np.zeros(1, np.int64), none, np.zeros((0, F)), 0)
    full = draw_forest(np.random.default_rng(1))
    envelope = Forests.pack([empty, full, empty]).envelope(np.ones(F), np.ones(F))
    sizes = np.diff(envelope.offsets)
    assert (sizes[0], sizes[2]) == (1, 1)
    assert not envelope.features[[0, -1]].any()
    assert np.diff(envelope.word_start)[[0, -1]].tolist() == [0, 0]


def test_results_are_the_same_beside_many_others():
    rng = np.random.default_rng(8)
    each = [draw_forest(rng, 8) for _ in range(1500)]
    weights, direction = rng.normal(size=F), rng.normal(size=F)
    _, together = Forests.pack(each).envelopes(weights, [np.ones(F), direction])
    assert together.offsets[-1] > 5000
    assert len(together.words) > 10_000
    for s in range(0, 1500, 37):
        alone = Forests.pack([each[s]]).envelope(weights, direction)
        rows = slice(together.offsets[s], together.offsets[s + 1])
        np.testing.assert_array_equal(together.features[rows], alone.features)
        np.testing.assert_array_equal(together.begins[rows], alone.begins)
        begin, end = together.word_start[[together.offsets[s], together.offsets[s + 1]]]
        np.testing.assert_array_equal(together.words[begin:end], alone.words)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"one": [0, 0]}, "smaller to larger"),
        ({"symbols": [5, -2]}, "not those of their gaps"),
        ({"head": [1, 0]}, "not sorted"),
        ({"features": [[0.0], [np.nan]]}, "not finite"),
        ({"symbol_start": [0, 1, 3]}, "divide"),
        ({"nodes": 0}, "nodes"),
    ],
)
def test_wrong_forests_are_refused(change, message):
    good = {
        "head": [0, 1],
        "one": [-1, 0],
        "two": [-1, -1],
        "symbol_start": [0, 1, 2],
        "symbols": [5, -1],
        "features": [[1.0], [2.0]],
    }
    nodes = change.pop("nodes", 2) if "nodes" in change else 2
    arrays = {name: np.array(value) for name, value in (good | change).items()}
    with pytest.raises(ReplituneError, match=message):
        Forests.pack([Forest(**arrays, nodes=nodes)])
