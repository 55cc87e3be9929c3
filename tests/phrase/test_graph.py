"""Search graphs: their paths are the derivations, their edges add up to features."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from decoder_oracle import derivations, random_model
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.phrase.decoder import Decoder
from replitune.phrase.settings import SearchSettings


class Graph:
    """One line's edges without the one of the beginning, the words as texts."""

    def __init__(self, decoder: Decoder, line: str, density: float = 1e6) -> None:
        self.forest, vocabulary = decoder.forests([line], density)
        forest, known = self.forest, len(decoder.model.table.target_vocab)
        (self.nodes,) = forest.nodes.tolist()
        assert (forest.two == -1).all()
        assert forest.symbols[forest.symbol_start[1:-1]].tolist() == [-1] * (len(forest.head) - 1)
        self.arc_from, self.arc_to, self.features = forest.one[1:], forest.head[1:], forest.features[1:]
        own = [forest.symbols[a + 1 : b] for a, b in pairwise(forest.symbol_start[1:])]
        self.words = [[vocabulary[word] for word in words] for words in own]
        self.copied = np.array([(words >= known).sum() for words in own])


def paths(graph: Graph) -> list[tuple[str, np.ndarray, int]]:
    """All paths of a graph: (text, features, copied words)."""
    ways: list[list[tuple[list[str], np.ndarray, int]]] = [[] for _ in range(graph.nodes)]
    ways[0] = [([], np.zeros(graph.features.shape[1]), 0)]
    for a, (begin, end) in enumerate(zip(graph.arc_from, graph.arc_to, strict=True)):
        ways[end] += [
            (before + graph.words[a], features + graph.features[a], copied + graph.copied[a])
            for before, features, copied in ways[begin]
        ]
    return [(" ".join(text), features, copied) for text, features, copied in ways[-1]]


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=25)
def test_paths_of_an_unpruned_graph_are_all_derivations(seed):
    rng = np.random.default_rng(seed)
    model, ngrams = random_model(rng, order=int(rng.integers(1, 4)))
    sentence = [f"f{i}" for i in rng.integers(0, 7, rng.integers(1, 4))]
    limit = int(rng.integers(-1, 3))
    decoder = Decoder(
        model,
        rng.normal(size=14),
        SearchSettings(stack=2000, pop_limit=10**5, beam=0, distortion_limit=limit, options=99),
    )
    graph = Graph(decoder, " ".join(sentence))
    found = sorted((t, c, *np.round(f, 3)) for t, f, c in paths(graph))
    expected = sorted(
        (t, c, *np.round(f, 3)) for t, f, c in derivations(model.table, ngrams, sentence, limit)
    )
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    np.testing.assert_allclose(
        np.array([row[2:] for row in found], float),
        np.array([row[2:] for row in expected], float),
        atol=2.1e-3,
    )


def test_nbest_lists_are_the_best_paths_of_the_graph():
    rng = np.random.default_rng(21)
    model, _ = random_model(rng, features=("tm", "lm", "penalties", "lexro"))
    weights = model.layout.sensible()
    decoder = Decoder(model, weights, SearchSettings(stack=4, pop_limit=15))
    lines = [" ".join(f"f{i}" for i in rng.integers(0, 6, 6)) for _ in range(10)]
    found = decoder.nbest(lines, 20)
    for segment, line in enumerate(lines):
        graph = Graph(decoder, line)
        rows = found.segment == segment
        scores = sorted((f @ weights - 100 * c for _, f, c in paths(graph)), reverse=True)
        ours = (found.score - 100 * found.copied)[rows]
        np.testing.assert_allclose(ours, scores[: len(ours)], atol=1e-9)
        assert len(ours) == min(20, len(scores))


def test_a_graph_with_fewer_arcs_has_the_best_paths():
    """Which arcs stay is decided by the best of all paths through each, found by enumeration."""
    rng = np.random.default_rng(23)
    model, _ = random_model(rng, features=("tm", "lm", "penalties", "lexro"))
    weights = model.layout.sensible()
    decoder = Decoder(model, weights, SearchSettings(stack=4, pop_limit=15))
    lines = [" ".join(f"f{i}" for i in rng.integers(0, 6, 6)) for _ in range(10)]
    cut = 0
    for line in lines:
        whole, graph = Graph(decoder, line), Graph(decoder, line, 3.0)
        every = sorted(((f @ weights - 100 * c, t) for t, f, c in paths(whole)), reverse=True)
        kept = sorted(((f @ weights - 100 * c, t) for t, f, c in paths(graph)), reverse=True)
        arcs = len(graph.arc_from)
        assert arcs >= min(3 * 6, len(whole.arc_from))
        cut += arcs < len(whole.arc_from)
        np.testing.assert_allclose(kept[0][0], every[0][0], atol=1e-9)
        assert kept[0][1] == every[0][1]
        # What is as good as the worst arc's best path is there.
        value = graph.features @ weights - 100 * graph.copied
        left, right = np.full(graph.nodes, -np.inf), np.full(graph.nodes, -np.inf)
        left[0] = right[-1] = 0.0
        for a in range(arcs):
            left[graph.arc_to[a]] = max(left[graph.arc_to[a]], left[graph.arc_from[a]] + value[a])
        for a in reversed(range(arcs)):
            right[graph.arc_from[a]] = max(right[graph.arc_from[a]], right[graph.arc_to[a]] + value[a])
        best_through = left[graph.arc_from] + value + right[graph.arc_to]
        worst = best_through.min()
        above = [score for score, _ in every if score > worst + 1e-9]
        np.testing.assert_allclose([x for x, _ in kept[: len(above)]], above, atol=1e-9)
    assert cut > 5


def test_graphs_are_topological_and_connected():
    rng = np.random.default_rng(22)
    model, _ = random_model(rng)
    decoder = Decoder(model, model.layout.sensible(), SearchSettings(stack=5, pop_limit=20))
    for line in ("f0 f1 f2 f3 f4 f0 f1", "f1"):
        graph = Graph(decoder, line)
        assert (graph.arc_from < graph.arc_to).all()
        assert (np.diff(graph.arc_to) >= 0).all()
        assert set(graph.arc_to) == set(range(1, graph.nodes))
        assert set(graph.arc_from) == set(range(graph.nodes - 1))


def test_lines_side_by_side_are_those_alone():
    model, _ = random_model(np.random.default_rng(1))
    decoder = Decoder(model, model.layout.sensible())
    lines = ["f0 f1 f2", " ", "f3 f1", "f2"]
    together, _ = decoder.forests(lines, 1e6, threads=2)
    assert together.nodes[1] == 0
    for i, line in enumerate(lines):
        alone, _ = decoder.forests([line], 1e6)
        rows = slice(together.offsets[i], together.offsets[i + 1])
        np.testing.assert_array_equal(together.head[rows], alone.head)
        np.testing.assert_array_equal(together.features[rows], alone.features)
