"""The pool of hypotheses that a tuner works on, collected over iterations.

Hypotheses with equal features and equal statistics are one: which of them is chosen makes no
difference. Within a segment they stand in an order that depends on their content alone (a
hash, then the content), so that no tuner can depend on the order in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError


@dataclass(frozen=True)
class Pool:
    """H distinct hypotheses of N segments."""

    features: NDArray[np.floating]
    """(F, H), C-contiguous: the values of one feature are together."""
    statistics: NDArray
    """(H, K), int32 for metrics whose statistics are counts, float64 otherwise."""
    offsets: NDArray[np.int64]
    """(N+1,): the hypotheses of segment s are offsets[s] .. offsets[s+1]-1."""

    @classmethod
    def empty(
        cls,
        n_segments: int,
        n_features: int,
        n_statistics: int,
        *,
        integer: bool = True,
        dtype: type = np.float32,
    ) -> Pool:
        """A pool without hypotheses; `dtype` is the precision that features are kept in."""
        return cls(
            np.empty((n_features, 0), dtype=dtype),
            np.empty((0, n_statistics), dtype=np.int32 if integer else np.float64),
            np.zeros(n_segments + 1, dtype=np.int64),
        )

    @property
    def n_segments(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_features(self) -> int:
        return len(self.features)

    def __len__(self) -> int:
        return len(self.statistics)

    def extend(
        self, segments: NDArray[np.integer], features: NDArray[np.floating], statistics: NDArray
    ) -> Pool:
        """This pool and more hypotheses: segments (M,), features (M, F), statistics (M, K)."""
        return Pool(self.features.copy(), self.statistics.copy(), self.offsets).absorb(
            segments, features, statistics
        )

    def absorb(
        self, segments: NDArray[np.integer], features: NDArray[np.floating], statistics: NDArray
    ) -> Pool:
        """As `extend`, but in the memory of this pool, which must not be used afterwards: saves a copy
        of a large pool."""
        rows, stats, source, offsets = self._merged(segments, features, statistics)
        H = len(self)
        try:
            # The arrays grow in place, and the rows move up in them, the last first.
            self.features.resize((self.n_features, len(source)))
            self.statistics.resize((len(source), stats.shape[1]))
            grown = Pool(self.features, self.statistics, offsets)
        except ValueError:  # another array is a view of it
            grown = Pool(
                np.resize(self.features, (self.n_features, len(source))),
                np.resize(self.statistics, (len(source), stats.shape[1])),
                offsets,
            )
        _spread(grown.features.reshape(-1), grown.statistics, rows, stats, source, H)
        return grown

    def _merged(
        self, segments: NDArray[np.integer], features: NDArray[np.floating], statistics: NDArray
    ) -> tuple[NDArray, NDArray, NDArray[np.int64], NDArray[np.int64]]:
        """The new rows' features (M, F) and statistics (M, K) in the pool's types; for each row of
        the merged pool its number in this one, or H + its number among the new; offsets."""
        segments, features, statistics = self._checked(segments, features, statistics)
        rows = np.ascontiguousarray(features, dtype=self.features.dtype)
        rows = rows + self.features.dtype.type(0)  # -0 becomes 0
        if not np.isfinite(rows).all():
            bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise ReplituneError(
                "a hypothesis has features that are not finite numbers",
                found=f"{features[bad]} in segment {segments[bad]}",
            )
        stats = np.ascontiguousarray(statistics, dtype=self.statistics.dtype)
        keys = _hashes(rows.T, stats)
        order = np.lexsort((keys, segments))
        starts = np.searchsorted(segments[order], np.arange(self.n_segments + 1))
        source, offsets = _merge(
            self.features,
            self.statistics,
            self.offsets,
            _hashes(self.features, self.statistics),
            rows,
            stats,
            order,
            starts.astype(np.int64),
            keys,
        )
        return rows, stats, source, offsets

    def _checked(
        self, segments: NDArray, features: NDArray, statistics: NDArray
    ) -> tuple[NDArray, NDArray, NDArray]:
        segments, features = np.asarray(segments), np.asarray(features)
        statistics = np.asarray(statistics)
        shapes = (segments.shape, features.shape, statistics.shape)
        m = len(segments)
        wanted = ((m,), (m, self.n_features), (m, self.statistics.shape[1]))
        if shapes != wanted:
            raise ReplituneError("hypotheses do not fit the pool", found=str(shapes), expected=str(wanted))
        if m and not (segments.min() >= 0 and segments.max() < self.n_segments):
            raise ReplituneError(
                "a hypothesis with an unknown segment",
                found=f"segments {segments.min()} to {segments.max()}",
                expected=f"0 to {self.n_segments - 1}",
            )
        if self.statistics.dtype.kind == "i":
            if not np.isfinite(statistics).all() or (statistics != statistics.astype("i4")).any():
                raise ReplituneError("statistics that are not whole numbers of 32 bits")
        elif not np.isfinite(statistics).all():
            raise ReplituneError("statistics that are not finite numbers")
        return segments, features, statistics

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """(N,) row of each segment's hypothesis with the largest weights . features; of
        equally good ones the first."""
        return segment_argmax(combine(weights, self.features), self.offsets)

    def select(self, segments: NDArray[np.integer]) -> Pool:
        """The pool of a bootstrap sample: segments (M,) in this order, repeats allowed."""
        counts = np.diff(self.offsets)[segments]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[segments] - offsets[:-1], counts)
        return Pool(np.ascontiguousarray(self.features[:, rows]), self.statistics[rows], offsets)


def combine(direction: NDArray[np.float64], features: NDArray[np.floating]) -> NDArray[np.float64]:
    """(H,) direction . features of (F, H), summed in the order of the features."""
    out = np.zeros(features.shape[1])
    _combine(np.ascontiguousarray(direction, dtype=np.float64), features, out)
    return out


@njit(cache=True, nogil=True)
def _combine(direction, features, out):
    # Blocks stay in the first cache; four features at once save passes over `out`.
    chosen = np.flatnonzero(direction)
    block = 1024
    for start in range(0, len(out), block):
        end = min(start + block, len(out))
        i = 0
        while i + 4 <= len(chosen):
            d0 = direction[chosen[i]]
            d1 = direction[chosen[i + 1]]
            d2 = direction[chosen[i + 2]]
            d3 = direction[chosen[i + 3]]
            x0 = features[chosen[i]]
            x1 = features[chosen[i + 1]]
            x2 = features[chosen[i + 2]]
            x3 = features[chosen[i + 3]]
            for h in range(start, end):
                out[h] += d0 * x0[h] + d1 * x1[h] + d2 * x2[h] + d3 * x3[h]
            i += 4
        while i < len(chosen):
            d0 = direction[chosen[i]]
            x0 = features[chosen[i]]
            for h in range(start, end):
                out[h] += d0 * x0[h]
            i += 1


# nnan and nsz let LLVM vectorise a maximum; they change no value, since there are no NaN.
@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest(values, lo, hi):
    top = values[lo]
    for h in range(lo + 1, hi):
        top = max(top, values[h])
    return top


@njit(cache=True, nogil=True)
def segment_argmax(values, offsets):
    """(N,) first row of the largest of values (H,) within each segment."""
    out = np.empty(len(offsets) - 1, dtype=np.int64)
    for s in range(len(out)):
        top = _largest(values, offsets[s], offsets[s + 1])
        h = offsets[s]
        while values[h] != top:
            h += 1
        out[s] = h
    return out


def segment_ends(values: NDArray[np.floating], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """(2, N) first rows of the smallest and the largest of values (H,) in each segment."""
    return np.stack([segment_argmax(-values, offsets), segment_argmax(values, offsets)])


def _hashes(features: NDArray[np.floating], statistics: NDArray) -> NDArray[np.uint64]:
    """(H,) 64-bit hash of the content of each hypothesis, of (F, H) and (H, K)."""
    out = np.full(len(statistics), 0x9E3779B97F4A7C15, dtype=np.uint64)
    bits = np.dtype(f"u{features.dtype.itemsize}")
    for column in features:
        _hash_column(out, column.view(bits))
    bits = np.dtype(f"u{statistics.dtype.itemsize}")
    for column in statistics.T:
        _hash_column(out, column.view(bits))
    return out


@njit(cache=True)
def _hash_column(out, column):
    for i in range(len(out)):
        out[i] = mix(out[i] ^ np.uint64(column[i]))


@njit(cache=True, inline="always")
def mix(h):
    """The finaliser of splitmix64."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@njit(cache=True)
def _compare(old_features, old_statistics, new_features, new_statistics, i, j):
    """Order of two rows' contents, -1, 0 or 1; a row below H is old, H and above new."""
    H = old_features.shape[1]
    for f in range(len(old_features)):
        x = old_features[f, i] if i < H else new_features[i - H, f]
        y = old_features[f, j] if j < H else new_features[j - H, f]
        if x != y:
            return -1 if x < y else 1
    for k in range(old_statistics.shape[1]):
        u = old_statistics[i, k] if i < H else new_statistics[i - H, k]
        v = old_statistics[j, k] if j < H else new_statistics[j - H, k]
        if u != v:
            return -1 if u < v else 1
    return 0


@njit(cache=True)
def _merge(
    old_features,
    old_statistics,
    old_offsets,
    old_keys,
    new_features,
    new_statistics,
    order,
    starts,
    new_keys,
):
    """Rows of the merged pool, each as its number in old (below H) or H + new; offsets."""
    H = old_features.shape[1]
    N = len(old_offsets) - 1
    source = np.empty(H + len(order), dtype=np.int64)
    offsets = np.zeros(N + 1, dtype=np.int64)
    n = 0
    for s in range(N):
        i = old_offsets[s]
        j = starts[s]
        begin = n
        while i < old_offsets[s + 1] or j < starts[s + 1]:
            take_new = i == old_offsets[s + 1]
            if not take_new and j < starts[s + 1]:
                take_new = new_keys[order[j]] < old_keys[i]
            if take_new:
                row = H + order[j]
                key = new_keys[order[j]]
                j += 1
            else:
                row = i
                key = old_keys[i]
                i += 1
            # Rows of one hash stand together, in the order of their content.
            place = n
            known = False
            while place > begin:
                other = source[place - 1]
                other_key = old_keys[other] if other < H else new_keys[other - H]
                if other_key != key:
                    break
                way = _compare(old_features, old_statistics, new_features, new_statistics, other, row)
                if way == 0:
                    known = True
                    break
                if way < 0:
                    break
                place -= 1
            if known:
                continue
            for k in range(n, place, -1):
                source[k] = source[k - 1]
            source[place] = row
            n += 1
        offsets[s + 1] = n
    return source[:n].copy(), offsets


@njit(cache=True)
def _spread(features, statistics, new_features, new_statistics, source, H):
    """Move apart the first H rows of grown arrays, features (F * M,) flat and statistics (M, K), and
    put the new ones between them. Rows only move up, so the last goes first."""
    M = len(source)
    for f in range(new_features.shape[1] - 1, -1, -1):
        for h in range(M - 1, -1, -1):
            row = source[h]
            features[f * M + h] = features[f * H + row] if row < H else new_features[row - H, f]
    for h in range(M - 1, -1, -1):
        row = source[h]
        for k in range(statistics.shape[1]):
            statistics[h, k] = statistics[row, k] if row < H else new_statistics[row - H, k]
