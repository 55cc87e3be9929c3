"""Forests that are lattices: every edge goes on from one node."""

from __future__ import annotations

import threading
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from replitune.metrics.bleu import Bleu
from replitune.streams import stream
from replitune.tuning.forest import Forest, Forests
from replitune.tuning.hypothesis_statistics import KnownStatistics
from replitune.tuning.linesearch import PoolSearch, Step, best_step, integrate
from replitune.tuning.loop import Decoded, run_loop
from replitune.tuning.mert import Mert
from replitune.tuning.mert_lattice import MertLattice
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool
from replitune.tuning.settings import LoopSettings

VOCABULARY = [f"w{i}" for i in range(12)]
N, F = 6, 3
METRIC = Bleu(tokenize="none")


def draw_lattice(rng: np.random.Generator, nodes: int) -> Forest:
    """Every node has arcs to the next one or two nodes; arcs of 0 to 2 words."""
    arcs = [(u, v) for u in range(nodes) for v in range(u + 1, min(u + 3, nodes + 1))]
    arcs += [(u, u + 1) for u in range(nodes)]
    arcs = [(-1, 0), *sorted(arcs, key=lambda arc: arc[1])]
    words = [rng.integers(0, len(VOCABULARY), length).tolist() for length in rng.integers(0, 3, len(arcs))]
    symbols = [[], *([-1, *own] for own in words[1:])]
    features = rng.normal(size=(len(arcs), F))
    features[0] = 0.0
    return Forest(
        np.array([v for _, v in arcs]),
        np.array([u for u, _ in arcs]),
        np.full(len(arcs), -1),
        np.cumsum([0, *map(len, symbols)]),
        np.array([symbol for own in symbols for symbol in own]),
        features,
        nodes + 1,
    )


def paths(lattice: Forest, node: int = 0) -> list[tuple[list[int], np.ndarray]]:
    """Every path from a node to the end: words and features, by recursion."""
    if node == lattice.nodes - 1:
        return [([], np.zeros(F))]
    out = []
    for a in np.flatnonzero(lattice.one == node):
        words = lattice.symbols[lattice.symbol_start[a] + 1 : lattice.symbol_start[a + 1]].tolist()
        for rest, features in paths(lattice, int(lattice.head[a])):
            out.append((words + rest, lattice.features[a] + features))
    return out


class Space:
    def __init__(self, seed: int, nodes: int = 5) -> None:
        rng = np.random.default_rng(seed)
        self.each = [draw_lattice(rng, nodes) for _ in range(N)]
        self.lattices = Forests.pack(self.each)
        refs = [" ".join(rng.choice(VOCABULARY, 5)) for _ in range(N)]
        self.prepared = METRIC.prepare([refs])
        segments, features, texts = [], [], []
        for s, lattice in enumerate(self.each):
            for words, values in paths(lattice):
                segments.append(s)
                features.append(values)
                texts.append(" ".join(VOCABULARY[w] for w in words))
        statistics = METRIC.segment_statistics(texts, np.array(segments), self.prepared)
        self.n_paths = len(texts)
        self.pool = Pool.empty(N, F, 10, dtype=np.float64).extend(segments, features, statistics)

    def statistics(self, segments, word_start, words):
        texts = [" ".join(VOCABULARY[w] for w in words[i:j]) for i, j in pairwise(word_start)]
        return METRIC.segment_statistics(texts, segments, self.prepared)


@pytest.mark.parametrize("seed", range(6))
def test_the_envelope_holds_the_best_path_everywhere(seed: int, bleu: Objective):
    space = Space(seed)
    assert space.n_paths > 100
    rng = np.random.default_rng(seed)
    weights, direction = rng.normal(size=F), rng.normal(size=F)
    envelope = space.lattices.envelope(weights, direction)
    for s in range(N):
        rows = slice(envelope.offsets[s], envelope.offsets[s + 1])
        begins, features = envelope.begins[rows], envelope.features[rows]
        assert begins[0] == -np.inf
        assert (np.diff(begins) > 0).all()
        every = np.array([values for _, values in paths(space.each[s])])
        for gamma in np.linspace(-6, 6, 121):
            best = (every @ (weights + gamma * direction)).max()
            line = features[np.searchsorted(begins, gamma, side="right") - 1]
            assert line @ (weights + gamma * direction) == pytest.approx(best, abs=1e-9)


def test_words_and_features_of_a_hypothesis_belong_to_one_path():
    space = Space(3)
    envelope = space.lattices.envelope(np.ones(F), np.array([1.0, -1.0, 0.5]))
    for i, s in enumerate(envelope.segments):
        words = envelope.words[envelope.word_start[i] : envelope.word_start[i + 1]].tolist()
        known = [values for text, values in paths(space.each[s]) if text == words]
        assert any(np.allclose(values, envelope.features[i], atol=1e-12) for values in known)


class LatticeSearch:
    """An oracle: every line search on the whole lattices (Macherey et al. 2008)."""

    def __init__(self, lattices: Forests, objective: Objective, statistics: Any) -> None:
        self.lattices, self.objective = lattices, objective
        self.statistics, self.lock = KnownStatistics(statistics), threading.Lock()

    def at(self, weights: NDArray[np.float64]) -> LatticePoint:
        return LatticePoint(self, weights)

    def along(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        return vector

    def axis(self, number: int) -> NDArray[np.float64]:
        return np.eye(F)[number]


class LatticePoint:
    """Weights that move along lines through lattices."""

    def __init__(self, search: LatticeSearch, weights: NDArray[np.float64]) -> None:
        self.space = search
        self.weights = weights

    def sums(self) -> NDArray:
        here = np.zeros(len(self.weights))
        best = self.space.lattices.envelope(self.weights, here)
        with self.space.lock:
            rows = self.space.statistics(best.segments, best.word_start, best.words)
        return rows.sum(axis=0)

    def search(self, direction: NDArray[np.float64], fraction: float = 0.0) -> Step:
        """Go to the best place along `direction` (F,)."""
        envelope = self.space.lattices.envelope(self.weights, direction)
        with self.space.lock:
            rows, table = self.space.statistics.rows(envelope.segments, envelope.word_start, envelope.words)
        first = np.zeros(len(rows), dtype=bool)
        first[envelope.offsets[:-1]] = True
        later = np.flatnonzero(~first)
        # A change of words that changes no statistic is no corner.
        later = later[(table[rows[later - 1]] != table[rows[later]]).any(axis=1)]
        gammas = envelope.begins[later]
        line = integrate(
            gammas,
            np.argsort(gammas),
            rows[later - 1].astype(np.int32),
            rows[later].astype(np.int32),
            table[rows[first]].sum(axis=0),
            table,
            self.space.objective,
        )
        step = best_step(line, round(fraction * len(line.utilities)))
        if step.gamma:
            self.weights = self.weights + step.gamma * direction
        return step


@pytest.mark.parametrize("seed", range(4))
def test_a_line_on_lattices_is_that_on_all_their_paths(seed: int, bleu: Objective):
    space = Space(seed)
    rng = np.random.default_rng(seed)
    weights, direction = rng.normal(size=F), rng.normal(size=F)
    lattice = LatticeSearch(space.lattices, bleu, space.statistics).at(weights)
    pool = PoolSearch(space.pool, bleu)
    listed = pool.at(weights)
    one, other = lattice.search(direction), listed.search(pool.along(direction))
    assert one.here == pytest.approx(other.here)
    assert one.best == pytest.approx(other.best)
    assert one.gamma == pytest.approx(other.gamma)


@pytest.mark.parametrize("seed", range(3))
def test_mert_on_lattices_is_mert_on_all_their_paths(seed: int, bleu: Objective):
    space = Space(seed)
    tuner = Mert(restarts=2)
    start = np.random.default_rng(seed).normal(size=F)
    search = LatticeSearch(space.lattices, bleu, space.statistics)
    one = tuner.optimise(search, start, np.random.default_rng(1))
    other = tuner.tune(space.pool, bleu, start, np.random.default_rng(1))
    assert one.score == pytest.approx(other.score)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-9)
    two = tuner.optimise(
        LatticeSearch(space.lattices, bleu, space.statistics), start, np.random.default_rng(1), threads=2
    )
    assert one.weights.tobytes() == two.weights.tobytes()


def test_the_tuner_ends_where_lattices_and_pool_agree(bleu: Objective):
    start = np.array([0.2, -1.0, 0.4])
    below = []
    for seed in range(8):
        space = Space(seed, nodes=7)
        empty = Pool.empty(N, F, 10, dtype=np.float64)
        result = MertLattice(rounds=8, reach=np.inf).tune_lattices(
            space.lattices, space.statistics, empty, bleu, start, np.random.default_rng(0)
        )
        whole = Mert().tune(space.pool, bleu, start, np.random.default_rng(0))
        below.append(whole.score - result.score)
        assert result.score == pytest.approx(bleu.score(space.pool, result.weights), abs=1e-6)
        last = result.history[-1]
        assert last["score"] >= last["pool_score"] - 0.01
        assert result.added is not None
        assert len(empty.extend(*vars(result.added).values())) < len(space.pool)
    # Both climb hills from random starts; they mostly end on the same one.
    assert np.median(below) <= 0.01
    assert np.mean(below) < 0.5


@pytest.mark.parametrize("seed", range(4))
def test_within_reach_the_envelope_is_the_whole_one(seed: int):
    space = Space(seed)
    rng = np.random.default_rng(seed)
    weights, direction = rng.normal(size=F), rng.normal(size=F)
    whole = space.lattices.envelope(weights, direction)
    near = space.lattices.envelope(weights, direction, 0.3)
    assert len(near.begins) < len(whole.begins)
    for s in range(N):
        rows = slice(near.offsets[s], near.offsets[s + 1])
        every = slice(whole.offsets[s], whole.offsets[s + 1])
        ends = np.append(whole.begins[every][1:], np.inf)
        expected = (whole.begins[every] < 0.3) & (ends > -0.3)
        assert near.begins[rows][0] == -np.inf
        np.testing.assert_allclose(near.features[rows], whole.features[every][expected], atol=1e-9)


def test_the_loop_tunes_on_lattices_and_resumes(tmp_path):
    space = Space(1, nodes=7)
    tuner = MertLattice(restarts=2, directions=2, decodings=4)
    offsets = space.pool.offsets

    def decode(weights, iteration, die_at=None):
        if iteration == die_at:
            raise KeyboardInterrupt
        scores = weights @ space.pool.features
        best = [
            offsets[s] + np.argsort(-scores[offsets[s] : offsets[s + 1]], kind="stable")[:3]
            for s in range(N)
        ]
        rows = np.concatenate(best)
        return Decoded(
            np.repeat(np.arange(N), 3),
            space.pool.features[:, rows].T,
            space.pool.statistics[rows],
            space.lattices,
            space.statistics,
        )

    def run(**more):
        return run_loop(
            more.pop("decode", decode),
            tuner,
            Objective(METRIC),
            np.array([0.2, -1.0, 0.4]),
            N,
            partial(stream, 1, "tune"),
            LoopSettings(iterations=4, patience=4),
            **more,
        )

    whole = run()
    with pytest.raises(KeyboardInterrupt):
        run(decode=partial(decode, die_at=2), folder=tmp_path / "work")
    resumed = run(folder=tmp_path / "work")
    assert resumed.weights.tobytes() == whole.weights.tobytes()
    # the pool has what was found in the lattices, not only three paths of each
    assert whole.history[0].pool_size > 6 * N
    assert whole.dev_score > whole.history[0].dev_score
