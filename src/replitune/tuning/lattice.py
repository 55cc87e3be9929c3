"""Search graphs, and the upper envelope of all their paths along a line.

Each arc of a graph has words and features; a path from the start to the final node is a
hypothesis with their sums. In the topological order of the nodes, the envelope of the paths to
a node is that of the shifted envelopes of its predecessors (Macherey, Och, Thayer & Uszkoreit
2008; Kumar, Macherey, Dyer & Och 2009), so that exponentially many hypotheses take part in a
line search at the cost of a few per arc.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.tuning.linesearch import upper_envelope
from replitune.tuning.pool import combine


@dataclass(frozen=True)
class Lattice:
    """The search graph of one segment: A arcs over nodes 0 .. final.

    Nodes are numbered in topological order: every arc goes from a smaller to a larger number.
    Node 0 is the start; with `final` 0 and no arcs it is the end too, of the empty path.
    Arcs on no path to the end are allowed; packing drops them.
    """

    arc_from: NDArray[np.integer]
    """(A,)"""
    arc_to: NDArray[np.integer]
    """(A,)"""
    word_start: NDArray[np.integer]
    """(A+1,): the words of arc a are words[word_start[a]:word_start[a + 1]]."""
    words: NDArray[np.integer]
    features: NDArray[np.floating]
    """(A, F)"""
    final: int


class SearchGraphs(ABC):
    """What decoders found of all segments: `Lattices`, or `replitune.tuning.forest.Forests`."""

    features: NDArray[np.float64]
    """(F, A) of each arc or edge."""

    @abstractmethod
    def lines(
        self, intercepts: NDArray[np.float64], slopes: NDArray[np.float64], reach: float
    ) -> tuple[NDArray, ...]:
        """The arrays of an `Envelope`, of arcs that are lines intercept + gamma slope."""

    def envelope(
        self, weights: NDArray[np.float64], direction: NDArray[np.float64], reach: float = np.inf
    ) -> Envelope:
        """The hypotheses that are best somewhere on the line weights + gamma direction, for gamma
        from -reach to reach."""
        # combine and not @: BLAS may sum in another order on another machine.
        intercepts, slopes = combine(weights, self.features), combine(direction, self.features)
        return Envelope(*self.lines(intercepts, slopes, reach))


@dataclass(frozen=True)
class Lattices(SearchGraphs):
    """The lattices of N segments in one set of arrays; arcs in the order of their ends."""

    arc_from: NDArray[np.int64]
    """(A,) within the segment."""
    arc_to: NDArray[np.int64]
    word_start: NDArray[np.int64]
    """(A+1,)"""
    words: NDArray[np.int32]
    features: NDArray[np.float64]
    """(F, A)"""
    final: NDArray[np.int64]
    """(N,)"""
    offsets: NDArray[np.int64]
    """(N+1,): the arcs of segment s are offsets[s] .. offsets[s+1]-1."""

    @property
    def n_segments(self) -> int:
        return len(self.final)

    @classmethod
    def pack(cls, lattices: Sequence[Lattice]) -> Lattices:
        """Check and join the lattices of all segments."""
        orders = [_ordered(lattice, s) for s, lattice in enumerate(lattices)]
        counts = [len(order) for order in orders]
        pairs = list(zip(lattices, orders, strict=True))
        starts = [lattice.word_start[:-1][order] for lattice, order in pairs]
        lengths = [np.diff(lattice.word_start)[order] for lattice, order in pairs]
        bases = np.cumsum([0, *(len(lattice.words) for lattice in lattices)])
        begins = np.concatenate([x + base for x, base in zip(starts, bases, strict=False)])
        all_lengths = np.concatenate(lengths)
        word_start = np.concatenate([[0], np.cumsum(all_lengths)]).astype(np.int64)
        take = np.arange(word_start[-1]) + np.repeat(begins - word_start[:-1], all_lengths)
        every_word = np.concatenate([lattice.words for lattice in lattices])
        return cls(
            np.concatenate([x.arc_from[o] for x, o in pairs]).astype(np.int64),
            np.concatenate([x.arc_to[o] for x, o in pairs]).astype(np.int64),
            word_start,
            every_word[take].astype(np.int32),
            np.ascontiguousarray(np.concatenate([x.features[o] for x, o in pairs]).astype(np.float64).T),
            np.array([lattice.final for lattice in lattices], dtype=np.int64),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        )

    def lines(
        self, intercepts: NDArray[np.float64], slopes: NDArray[np.float64], reach: float
    ) -> tuple[NDArray, ...]:
        envelopes: tuple[NDArray, ...] = _envelopes(
            self.arc_from,
            self.arc_to,
            intercepts,
            slopes,
            self.final,
            self.offsets,
            self.word_start,
            self.words,
            self.features,
            reach,
        )
        return envelopes


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


def _ordered(lattice: Lattice, segment: int) -> NDArray[np.int64]:
    """Arcs on paths from start to end, in the order of their ends."""

    def refuse(message: str) -> ReplituneError:
        return ReplituneError(f"search graph of segment {segment}: {message}")

    arcs = len(lattice.arc_from)
    lengths = (len(lattice.arc_to), len(lattice.word_start) - 1, len(lattice.features))
    if any(n != arcs for n in lengths) or lattice.features.ndim != 2:
        raise refuse(f"{arcs} arcs, but arrays of {lengths}")
    if not arcs and lattice.final == 0:
        return np.empty(0, dtype=np.int64)
    if not arcs or lattice.final < 1:
        raise refuse("no arcs")
    if (lattice.arc_from >= lattice.arc_to).any() or lattice.arc_from.min() < 0:
        raise refuse("arcs must go from smaller to larger node numbers, from 0 on")
    if lattice.arc_to.max() > lattice.final:
        raise refuse("an arc beyond the final node")
    if not np.isfinite(lattice.features).all():
        raise refuse("features that are not finite numbers")
    bounds = lattice.word_start
    if (np.diff(bounds) < 0).any() or bounds[0] != 0 or bounds[-1] != len(lattice.words):
        raise refuse("word_start does not divide the words")
    order = np.argsort(lattice.arc_to, kind="stable")
    used = _on_paths(
        lattice.arc_from[order].astype(np.int64), lattice.arc_to[order].astype(np.int64), lattice.final
    )
    if not used.any():
        raise refuse("no path from the start to the final node")
    return order[used]


@njit(cache=True, nogil=True)
def _on_paths(arc_from, arc_to, final):
    """(A,) whether an arc is on a path from node 0 to the final one; arcs by their ends."""
    reached = np.zeros(final + 1, dtype=np.bool_)
    useful = np.zeros(final + 1, dtype=np.bool_)
    reached[0] = True
    useful[final] = True
    for a in range(len(arc_to)):
        if reached[arc_from[a]]:
            reached[arc_to[a]] = True
    for a in range(len(arc_to) - 1, -1, -1):
        if useful[arc_to[a]]:
            useful[arc_from[a]] = True
    out = np.empty(len(arc_to), dtype=np.bool_)
    for a in range(len(arc_to)):
        out[a] = reached[arc_from[a]] and useful[arc_to[a]]
    return out


@njit(cache=True, nogil=True)
def _grown(array, size):
    out = np.empty(max(size, 2 * len(array)), dtype=array.dtype)
    out[: len(array)] = array
    return out


@njit(cache=True, nogil=True)
def _envelopes(arc_from, arc_to, arc_a, arc_b, final, offsets, word_start, words, features, reach):
    """Envelopes of all segments' paths, with features and words of their hypotheses."""
    N = len(final)
    F = len(features)
    # All lines of one segment's nodes: intercept, slope, last arc, and line before it.
    a = np.empty(1024)
    b = np.empty(1024)
    last = np.empty(1024, dtype=np.int64)
    before = np.empty(1024, dtype=np.int64)
    kept = np.empty(256, dtype=np.int64)
    hull = np.empty(256, dtype=np.int64)
    cuts = np.empty(256)
    # what comes out
    out_offsets = np.zeros(N + 1, dtype=np.int64)
    begins = np.empty(1024)
    out_features = np.empty(1024 * F)
    out_start = np.zeros(1025, dtype=np.int64)
    out_words = np.empty(8192, dtype=np.int32)
    n_out = 0
    for s in range(N):
        first = np.zeros(final[s] + 2, dtype=np.int64)
        stop = np.zeros(final[s] + 2, dtype=np.int64)
        a[0] = 0.0
        b[0] = 0.0
        last[0] = -1
        before[0] = -1
        stop[0] = 1
        n = 1
        arc = offsets[s]
        h = 1
        cuts[0] = -np.inf
        while arc < offsets[s + 1]:
            node = arc_to[arc]
            lo = n
            # the shifted envelopes of all predecessors
            while arc < offsets[s + 1] and arc_to[arc] == node:
                u = arc_from[arc]
                need = n + stop[u] - first[u] + 1
                if need > len(a):
                    a = _grown(a, need)
                    b = _grown(b, need)
                    last = _grown(last, need)
                    before = _grown(before, need)
                for line in range(first[u], stop[u]):
                    a[n] = a[line] + arc_a[arc]
                    b[n] = b[line] + arc_b[arc]
                    last[n] = arc
                    before[n] = line
                    n += 1
                arc += 1
            if n == lo:
                continue  # a node that no path reaches
            if n - lo + 1 > len(kept):
                kept = np.empty(2 * (n - lo + 1), dtype=np.int64)
                hull = np.empty(len(kept), dtype=np.int64)
                cuts = np.empty(len(kept))
            l = lo  # noqa: E741
            c = lo
            r = lo
            for i in range(lo + 1, n):
                if b[i] < b[l]:
                    l = i  # noqa: E741
                if b[i] > b[r]:
                    r = i
                if a[i] > a[c]:
                    c = i
            h = upper_envelope(a, b, lo, n, l, c, r, kept, hull, cuts)
            # What is not best within reach up to here cannot be further on.
            while h > 1 and cuts[h - 1] >= reach:
                h -= 1
            below = 0
            while below + 1 < h and cuts[below + 1] <= -reach:
                below += 1
            if below:
                h -= below
                for i in range(h):
                    hull[i] = hull[below + i]
                    cuts[i] = cuts[below + i]
                cuts[0] = -np.inf
            # keep the envelope only, where its candidates stood; it is sorted by slope, not by
            # row, so it is copied out first
            if n + h > len(a):
                a = _grown(a, n + h)
                b = _grown(b, n + h)
                last = _grown(last, n + h)
                before = _grown(before, n + h)
            for i in range(h):
                a[n + i] = a[hull[i]]
                b[n + i] = b[hull[i]]
                last[n + i] = last[hull[i]]
                before[n + i] = before[hull[i]]
            for i in range(h):
                a[lo + i] = a[n + i]
                b[lo + i] = b[n + i]
                last[lo + i] = last[n + i]
                before[lo + i] = before[n + i]
            first[node] = lo
            stop[node] = lo + h
            n = lo + h
        # the paths of the final node's lines
        for i in range(h):
            if n_out + 2 > len(begins):
                begins = _grown(begins, n_out + 2)
                out_start = _grown(out_start, n_out + 3)
                out_features = _grown(out_features, F * (n_out + 2))
            length = 0
            line = first[final[s]] + i
            while last[line] >= 0:
                length += word_start[last[line] + 1] - word_start[last[line]]
                line = before[line]
            end = out_start[n_out] + length
            if end > len(out_words):
                out_words = _grown(out_words, end)
            out_start[n_out + 1] = end
            begins[n_out] = cuts[i]
            for f in range(F):
                out_features[n_out * F + f] = 0.0
            line = first[final[s]] + i
            while last[line] >= 0:
                arc = last[line]
                for w in range(word_start[arc + 1] - 1, word_start[arc] - 1, -1):
                    end -= 1
                    out_words[end] = words[w]
                for f in range(F):
                    out_features[n_out * F + f] += features[f, arc]
                line = before[line]
            n_out += 1
        out_offsets[s + 1] = n_out
    return (
        out_offsets,
        begins[:n_out].copy(),
        out_features[: n_out * F].copy().reshape(n_out, F),
        out_start[: n_out + 1].copy(),
        out_words[: out_start[n_out]].copy(),
    )
