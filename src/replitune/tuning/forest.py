"""Search graphs as forests, and the upper envelope of all their derivations along a line.

An edge leads to a node from up to two others, whose words fill the gaps among its own words. In the
lattice of a phrase-based search it leads from one node, whose words come first. A derivation of a
node is an edge to it with derivations of the nodes that this edge leads from, and its features are
the sums over all its edges. The envelope of the derivations of an edge is the Minkowski sum of its
nodes' envelopes, shifted by its own line (Macherey, Och, Thayer & Uszkoreit 2008; Kumar, Macherey,
Dyer & Och 2009), so that exponentially many hypotheses take part in a line search at the cost of a
few per edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.leaf import inlined, leaf, with_room
from replitune.tuning.linesearch import upper_envelope
from replitune.tuning.pool import combine


@dataclass(frozen=True)
class Forest:
    """The forest of one segment: E edges over nodes 0 .. nodes - 1; the last one is the translation.

    Edges are sorted by the node they lead to, and lead from smaller to larger numbers. A forest
    without nodes is that of the empty translation."""

    head: NDArray[np.integer]
    """(E,)"""
    one: NDArray[np.integer]
    """(E,) node in the first gap, or -1."""
    two: NDArray[np.integer]
    """(E,) node in the second gap, or -1."""
    symbol_start: NDArray[np.integer]
    """(E+1,): edge e has the symbols symbols[symbol_start[e]:symbol_start[e + 1]]."""
    symbols: NDArray[np.integer]
    """Words, and -1 or -2 for the first or second gap."""
    features: NDArray[np.floating]
    """(E, F)"""
    nodes: int


@dataclass(frozen=True)
class Envelope:
    """L hypotheses, segment by segment in the order in which they are best."""

    offsets: NDArray[np.int64]
    """(N+1,): lines of segment s are offsets[s] .. offsets[s+1]-1."""
    begins: NDArray[np.float64]
    """(L,) gamma at which each becomes the best; -inf for the first of a segment."""
    features: NDArray[np.float64]
    """(L, F)"""
    word_start: NDArray[np.int64]
    """(L+1,)"""
    words: NDArray[np.int32]

    @property
    def segments(self) -> NDArray[np.int64]:
        """(L,)"""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True)
class Forests:
    """The forests of N segments in one set of arrays."""

    head: NDArray[np.int64]
    """(E,) within the segment."""
    one: NDArray[np.int64]
    two: NDArray[np.int64]
    symbol_start: NDArray[np.int64]
    """(E+1,)"""
    symbols: NDArray[np.int32]
    features: NDArray[np.float64]
    """(E, F)"""
    nodes: NDArray[np.int64]
    """(N,)"""
    offsets: NDArray[np.int64]
    """(N+1,): the edges of segment s are offsets[s] .. offsets[s+1]-1."""

    @classmethod
    def pack(cls, forests: Sequence[Forest]) -> Forests:
        """Check and join the forests of all segments."""
        for segment, forest in enumerate(forests):
            _check(forest, segment)
        lengths = np.concatenate([np.diff(forest.symbol_start) for forest in forests])
        counts = [len(forest.head) for forest in forests]

        def joined(name: str, kind: type) -> NDArray:
            return np.concatenate([getattr(forest, name) for forest in forests]).astype(kind)

        return cls(
            joined("head", np.int64),
            joined("one", np.int64),
            joined("two", np.int64),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            joined("symbols", np.int32),
            np.ascontiguousarray(joined("features", np.float64)),
            np.array([forest.nodes for forest in forests], np.int64),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        )

    def envelope(
        self, weights: NDArray[np.float64], direction: NDArray[np.float64], reach: float = np.inf
    ) -> Envelope:
        """The hypotheses that are best somewhere on the line weights + gamma direction, for gamma
        from -reach to reach."""
        return next(self.envelopes(weights, [direction], reach))

    def envelopes(
        self, weights: NDArray[np.float64], directions: Iterable[NDArray[np.float64]], reach: float = np.inf
    ) -> Iterator[Envelope]:
        """The envelope of each of several lines through the weights."""
        # combine and not @: BLAS may sum in another order on another machine.
        start = combine(weights, self.features.T)
        symbols = self.symbol_start, self.symbols
        edges = self.head, self.one, self.two
        for direction in directions:
            lines = start, combine(direction, self.features.T)
            yield Envelope(
                *_envelopes(*edges, *lines, self.nodes, self.offsets, *symbols, self.features, reach)
            )


def _check(forest: Forest, segment: int) -> None:
    def refuse(message: str) -> ReplituneError:
        return ReplituneError(f"forest of segment {segment}: {message}")

    edges = len(forest.head)
    lengths = (len(forest.one), len(forest.two), len(forest.symbol_start) - 1, len(forest.features))
    if any(n != edges for n in lengths) or forest.features.ndim != 2:
        raise refuse(f"{edges} edges, but arrays of {lengths}")
    if bool(edges) != bool(forest.nodes):
        raise refuse(f"{edges} edges of {forest.nodes} nodes")
    if not edges:
        return
    if (np.diff(forest.head) < 0).any() or set(forest.head.tolist()) != set(range(forest.nodes)):
        raise refuse("edges are not sorted by node, or no edge leads to some node")
    if (forest.one >= forest.head).any() or (forest.two >= forest.head).any():
        raise refuse("edges must lead from smaller to larger numbers")
    if not np.isfinite(forest.features).all():
        raise refuse("features that are not finite numbers")
    gaps = np.zeros((2, edges), np.int64)
    edge_of = np.repeat(np.arange(edges), np.diff(forest.symbol_start))
    if len(edge_of) != len(forest.symbols) or forest.symbol_start[0] != 0:
        raise refuse("symbol_start does not divide the symbols")
    for gap in range(2):
        np.add.at(gaps[gap], edge_of[forest.symbols == -1 - gap], 1)
    if ((gaps[0] > 0) != (forest.one >= 0)).any() or ((gaps[1] > 0) != (forest.two >= 0)).any():
        raise refuse("edges whose nodes are not those of their gaps")
    if gaps.max(initial=0) > 1:
        raise refuse("a gap that occurs twice")


LINE = np.dtype([("a", "f8"), ("b", "f8"), ("begin", "f8"), ("edge", "i8"), ("one", "i8"), ("two", "i8")])
"""A derivation of a node as a line a + gamma b, the highest from `begin` on; its last edge, and the
lines of the derivations in its gaps."""


@inlined
def _sum(lines, one, one_stop, two, two_stop, a, b, edge, out, n):
    """Write the envelope of an edge into out[n:]: its line a + gamma b plus the lines of its nodes that
    are highest at the same gamma. Returns where it ends; there must be room."""
    while True:
        new = out[n]
        new.a, new.b, new.begin, new.edge, new.one, new.two = a, b, -np.inf, edge, one, two
        next_one = next_two = np.inf
        if one >= 0:
            new.a += lines[one].a
            new.b += lines[one].b
            if one + 1 < one_stop:
                next_one = lines[one + 1].begin
        if two >= 0:
            new.a += lines[two].a
            new.b += lines[two].b
            if two + 1 < two_stop:
                next_two = lines[two + 1].begin
        n += 1
        if next_one == np.inf and next_two == np.inf:
            return n
        if next_one <= next_two:
            one += 1
        if next_two <= next_one:
            two += 1


@inlined
def _ends(candidates, n, a, b):
    """Copy the lines into a and b; returns the rows of least slope, largest intercept and greatest
    slope."""
    low = top = high = 0
    for i in range(n):
        a[i], b[i] = candidates[i].a, candidates[i].b
        if b[i] < b[low]:
            low = i
        if b[i] > b[high]:
            high = i
        if a[i] > a[top]:
            top = i
    return low, top, high


@inlined
def _keep(candidates, hull, cuts, h, reach, lines, n):
    """Write what is on the envelope within reach to lines[n:]; returns where it ends."""
    while h > 1 and cuts[h - 1] >= reach:
        h -= 1
    below = 0
    while below + 1 < h and cuts[below + 1] <= -reach:
        below += 1
    for i in range(below, h):
        lines[n] = candidates[hull[i]]
        lines[n].begin = -np.inf if i == below else cuts[i]
        n += 1
    return n


@leaf
def _read(lines, line, symbol_start, symbols, features, stack, words, at, out):
    """Write the words of a derivation to words[at:], as far as there is room, and add its features to
    `out` (F,); returns where the words end."""
    depth = 1
    stack[0, 0], stack[0, 1] = line, -1
    while depth > 0:
        current = lines[stack[depth - 1, 0]]
        edge, j = current.edge, stack[depth - 1, 1]
        if j < 0:
            j = symbol_start[edge]
            for f in range(len(out)):
                out[f] += features[edge, f]
        if j == symbol_start[edge + 1]:
            depth -= 1
            continue
        stack[depth - 1, 1] = j + 1
        if symbols[j] >= 0:
            if at < len(words):
                words[at] = symbols[j]
            at += 1
        else:
            stack[depth, 0] = current.one if symbols[j] == -1 else current.two
            stack[depth, 1] = -1
            depth += 1
    return at


@njit(cache=True, nogil=True)
def _envelopes(head, one, two, edge_a, edge_b, nodes, offsets, symbol_start, symbols, features, reach):
    """Envelopes of all segments' derivations, with features and words of their hypotheses."""
    lines, candidates = np.empty(1024, LINE), np.empty(1024, LINE)
    a, b = np.empty(1024), np.empty(1024)
    kept, hull, cuts = np.empty(1025, np.int64), np.empty(1025, np.int64), np.empty(1025)
    out_offsets = np.zeros(len(nodes) + 1, np.int64)
    begins = np.empty(1024)
    out_features = np.zeros((1024, features.shape[1]))
    out_start = np.zeros(1025, np.int64)
    out_words = np.empty(8192, np.int32)
    n_out = 0
    for s in range(len(nodes)):
        first = np.zeros(nodes[s] + 1, np.int64)
        n = 0
        edge = offsets[s]
        for node in range(nodes[s]):
            c = 0
            while edge < offsets[s + 1] and head[edge] == node:
                u, v = one[edge], two[edge]
                from_u, to_u, from_v, to_v = -1, -1, -1, -1
                if u >= 0:
                    from_u, to_u = first[u], first[u + 1]
                if v >= 0:
                    from_v, to_v = first[v], first[v + 1]
                most = c + to_u - from_u + to_v - from_v + 2
                if most > len(candidates):
                    candidates = with_room(candidates, c, most - c)
                c = _sum(lines, from_u, to_u, from_v, to_v, edge_a[edge], edge_b[edge], edge, candidates, c)
                edge += 1
            if c > len(a):
                a, b = np.empty(2 * c), np.empty(2 * c)
                kept, hull = np.empty(2 * c + 1, np.int64), np.empty(2 * c + 1, np.int64)
                cuts = np.empty(2 * c + 1)
            low, top, high = _ends(candidates, c, a, b)
            h = upper_envelope(a, b, 0, c, low, top, high, kept, hull, cuts)
            if n + h > len(lines):
                lines = with_room(lines, n, h)
            n = _keep(candidates, hull, cuts, h, reach, lines, n)
            first[node + 1] = n
        stack = np.empty((nodes[s] + 2, 2), np.int64)
        whole = nodes[s] - 1
        n_lines = first[whole + 1] - first[whole] if nodes[s] else 1
        begins = with_room(begins, n_out, n_lines)
        out_start = with_room(out_start, n_out + 1, n_lines)
        if n_out + n_lines > len(out_features):
            grown = np.zeros((2 * (n_out + n_lines), features.shape[1]))
            grown[:n_out] = out_features[:n_out]
            out_features = grown
        if nodes[s] == 0:  # the empty translation
            begins[n_out] = -np.inf
            out_start[n_out + 1] = out_start[n_out]
            n_out += 1
        for i in range(n_lines if nodes[s] else 0):
            line = first[whole] + i
            while True:
                out_features[n_out] = 0.0
                end = _read(
                    lines,
                    line,
                    symbol_start,
                    symbols,
                    features,
                    stack,
                    out_words,
                    out_start[n_out],
                    out_features[n_out],
                )
                if end <= len(out_words):
                    break
                out_words = with_room(out_words, out_start[n_out], end - out_start[n_out])
            begins[n_out] = lines[line].begin
            out_start[n_out + 1] = end
            n_out += 1
        out_offsets[s + 1] = n_out
    return (
        out_offsets,
        begins[:n_out].copy(),
        out_features[:n_out].copy(),
        out_start[: n_out + 1].copy(),
        out_words[: out_start[n_out]].copy(),
    )
