"""Bootstrap draws that tests share: test sets, and pools of one system's outputs.

All systems and metrics see the same bootstrap test sets, and all comparisons of a system see the
same bootstrap pools of it. Their scores are computed once and kept as long as the object lives.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.significance.arguments import in_units, own_strata, pooled_score
from replitune.significance.base import Comparison
from replitune.significance.kernels.random import aligned, blocks, draw_key, exact_dtype, in_lines, keys_of
from replitune.statistics.systems import SystemStatistics
from replitune.streams import stream

TEST_SETS = 256
"""Bootstrap test sets drawn at once."""

UNITS = 1 << 12
"""Where there are many units, how many are multiplied at once by how often they were drawn."""

FEW = 1 << 23
"""Up to this many numbers, all units are converted to floats once, and kept."""

POOLS = 512
"""Bootstrap pools drawn at once."""

SPARE = 4
"""By how many standard deviations the expected sum of Poisson counts is below a pool's number of draws."""

CHUNK = 1024
"""Items of a pool drawn at once: their counts stay in the second-level cache."""


class _Memory:
    """Values computed once, even if several threads ask at the same time; dropped together with
    the statistics that they were computed from."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Any, threading.Lock] = {}
        self._values: dict[Any, NDArray] = {}

    def get(self, owner: object, key: tuple[Any, ...], rows: int, make: Callable[[], NDArray]) -> NDArray:
        """The first `rows` rows of what `make` returns for (owner, key)."""
        name = (id(owner), *key)
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            value = self._values.get(name)
            if value is None or len(value) < rows:
                if value is None:
                    # before another owner can have the same id
                    weakref.finalize(owner, self._forget, name).atexit = False
                value = make()
                self._values[name] = value
            return value[:rows]

    def _forget(self, name: Any) -> None:
        self._values.pop(name, None)
        self._locks.pop(name, None)


def exact_columns(columns: NDArray, terms: int, largest: NDArray | None = None) -> NDArray:
    """Columns (U, ...) as floats such that any sum of `terms` of them along U is exact.

    Then BLAS may add in any order, and no sum depends on what else is computed with it. Counts
    keep their values. Real numbers are rounded to a multiple of a power of two, one for each column;
    even for 2^18 terms the error of each is at most 2^-35 of the column's largest value. largest: the
    largest size in each column, if these are not all its rows.
    """
    if largest is None:
        largest = _largest(columns)
    if columns.dtype.kind in "iu":
        return columns.astype(float_dtype(terms * float(largest.max(initial=0))), order="C")
    _, exponent = np.frexp(largest)
    grid = np.maximum(exponent + math.ceil(math.log2(max(terms, 2))) - 53, -1074)
    return np.ldexp(np.rint(np.ldexp(columns, -grid)), grid)


def _largest(columns: NDArray) -> NDArray:
    """Largest size of the numbers in each column."""
    return np.maximum(columns.max(axis=0, initial=0), -columns.min(axis=0, initial=0))


def float_dtype(bound: float) -> type[np.float32] | type[np.float64]:
    """The smallest float in which integer sums up to `bound` are exact."""
    return np.float32 if bound < 2**24 else np.float64


@dataclass(frozen=True)
class _Remembered:
    """Draws under one key, and what was computed from them."""

    key: int
    _memory: _Memory = field(default_factory=_Memory, repr=False, compare=False)

    @classmethod
    def from_rng(cls, rng: np.random.Generator) -> Self:
        return cls(draw_key(rng))


class SegmentDraws(_Remembered):
    """Bootstrap test sets: `size` draws from the U units (segments, documents), U by default."""

    def counts(
        self,
        units: int,
        samples: slice,
        *,
        size: int | None = None,
        replacement: bool = True,
        kind: type[np.integer[Any]] = np.int32,
    ) -> NDArray[Any]:
        """(B, U) how often each unit is in each of the given test sets."""
        from replitune.significance.kernels.bootstrap import draw_counts
        from replitune.significance.kernels.free import draw_subsets

        keys = keys_of(self.key, samples.stop)[samples]
        draws = units if size is None else size
        counts = np.zeros((len(keys), units), dtype=kind)
        if replacement:
            draw_counts(draws, keys, counts)
        else:
            words = np.empty((-(-units // 64), len(keys)), dtype=np.uint64)
            draw_subsets(0, units, draws, keys, words, np.empty(len(keys), dtype=np.int64))
            bits = np.unpackbits(np.ascontiguousarray(words.T).view(np.uint8), axis=1, bitorder="little")
            counts[:] = bits[:, :units]
        return counts

    def sums(
        self, statistics: NDArray, samples: int, *, size: int | None = None, replacement: bool = True
    ) -> Iterator[tuple[slice, NDArray]]:
        """Sums (B, n, K) of statistics (n, U, K) over each test set, block by block."""
        n, units, k = statistics.shape
        draws = units if size is None else size
        # 8 bits suffice: a unit is drawn once on average, and 256 times in one of 256! test sets
        kind = np.uint8 if draws <= units else np.int32
        columns = statistics.transpose(1, 0, 2)
        integer = columns.dtype.kind in "iu"
        largest = _largest(columns)
        parts = [slice(0, units)] if columns.size <= FEW else [*blocks(units, UNITS)]
        kept = exact_columns(columns, draws, largest) if len(parts) == 1 else None
        for rows in blocks(samples, TEST_SETS):
            counts = self.counts(units, rows, size=draws, replacement=replacement, kind=kind)
            sums = np.zeros((len(counts), n * k))
            for part in parts:
                drawn = counts[:, part]
                terms = int(drawn.sum(axis=1).max()) if integer and kept is None else draws
                exact = exact_columns(columns[part], terms, largest) if kept is None else kept
                sums += drawn.astype(exact.dtype) @ exact.reshape(-1, n * k)
            del counts, drawn  # to free the memory before the next are drawn
            yield rows, sums.astype(np.int64 if integer else np.float64, copy=False).reshape(-1, n, k)

    def scores(
        self,
        metric: Metric,
        system: SystemStatistics,
        documents: NDArray[np.int32],
        *,
        unit: str,
        samples: int,
        replica: int | None = None,
    ) -> NDArray[np.float64]:
        """(samples, n) score of each replica on each test set; (samples, 1) for one replica."""

        def make() -> NDArray[np.float64]:
            chosen = slice(None) if replica is None else slice(replica, replica + 1)
            statistics = in_units(system.statistics[chosen], documents, unit)
            scores = np.empty((samples, len(statistics)))
            for rows, sums in self.sums(statistics, samples):
                scores[rows] = metric.score(sums)
            return scores

        return self._memory.get(system, (metric.id, unit, replica), samples, make)


class PoolDraws(_Remembered):
    """Bootstrap pools of one system: as many draws as it has outputs, from all of them."""

    def sums(self, pool: NDArray, samples: int, stratum: int = 0) -> NDArray:
        """(samples, K) sums over M draws from pool (M, K)."""
        if pool.dtype.kind == "f":
            pool = exact_columns(pool, len(pool))
        sums = np.empty((samples, pool.shape[1]))
        for rows in blocks(samples, POOLS):
            sums[rows] = self._block(pool, rows, stratum)
        return sums

    def _keys(self, samples: slice, stratum: int, attempt: int = 0) -> NDArray[np.uint64]:
        key = (self.key + 0x632BE59BD9B4E019 * stratum + 0xD6E8FEB86659FD93 * attempt) % 2**64
        return keys_of(key, samples.stop)[samples]

    def _block(self, pool: NDArray, rows: slice, stratum: int) -> NDArray[np.float64]:
        from replitune.significance.kernels.bootstrap import gather

        size, k = pool.shape
        keys = self._keys(rows, stratum)
        rate = 1 - SPARE / math.sqrt(size)
        out = np.zeros((len(keys), k))
        totals = np.zeros(len(keys), dtype=np.int64)
        if rate > 0.5:
            self._add_poisson(pool, rate, keys, out, totals)
            attempt = 0
            while (again := np.flatnonzero(totals > size)).size:
                attempt += 1
                other = self._keys(rows, stratum, attempt)[again]
                keys[again] = other
                out[again], totals[again] = 0, 0
                once, total = np.zeros((len(again), k)), np.zeros(len(again), dtype=np.int64)
                self._add_poisson(pool, rate, other, once, total)
                out[again], totals[again] = once, total
        kind = exact_dtype(float(np.abs(pool).max(initial=0)) * size, pool.dtype.kind)
        lines = in_lines(pool, kind)
        rest = aligned((len(keys), *lines.shape[1:]), kind)
        # Draws are numbered from `size` on: the words before belong to the Poisson counts.
        gather(lines, size - totals, size + size % 2, keys, rest)
        return out + rest.reshape(len(keys), -1)[:, :k]

    def _add_poisson(
        self,
        pool: NDArray,
        rate: float,
        keys: NDArray[np.uint64],
        out: NDArray[np.float64],
        totals: NDArray[np.int64],
    ) -> None:
        from replitune.significance.kernels.bootstrap import draw_poisson, poisson_tables

        thresholds, rest = poisson_tables(rate)
        words = np.empty(CHUNK // 4, dtype=np.uint64)
        largest = float(np.abs(pool).max(initial=0))
        for start in range(0, len(pool), CHUNK):
            part = pool[start : start + CHUNK]
            counts = np.empty((len(keys), len(part)), dtype=np.uint8)
            drawn = np.zeros(len(keys), dtype=np.int64)
            draw_poisson(thresholds, rest, start, keys, words[: -(-len(part) // 4)], counts, drawn)
            integer = pool.dtype.kind in "iu"
            kind = float_dtype(float(drawn.max()) * largest) if integer else np.float64
            out += counts.astype(kind) @ part.astype(kind)
            totals += drawn

    def scores(
        self,
        metric: Metric,
        system: SystemStatistics,
        documents: NDArray[np.int32],
        *,
        aggregation: str,
        strata: str,
        unit: str,
        samples: int,
    ) -> NDArray[np.float64]:
        """(samples,) score of the pooled statistics of each bootstrap pool, or mean score of n
        outputs, each of U draws from the pool."""

        def make() -> NDArray[np.float64]:
            statistics = in_units(system.statistics, documents, unit)
            score = self._pooled_scores if aggregation == "pooled" else self._mean_scores
            return score(metric, statistics, own_strata(system, strata), samples)

        return self._memory.get(system, (aggregation, metric.id, unit, strata), samples, make)

    def _pooled_scores(
        self, metric: Metric, statistics: NDArray, strata: list[NDArray[np.intp]], samples: int
    ) -> NDArray[np.float64]:
        n, _, k = statistics.shape
        pools = (statistics[members].reshape(-1, k) for members in strata)
        total = sum(self.sums(pool, samples, h) for h, pool in enumerate(pools))
        return pooled_score(metric, np.asarray(total), n)

    def _mean_scores(
        self, metric: Metric, statistics: NDArray, strata: list[NDArray[np.intp]], samples: int
    ) -> NDArray[np.float64]:
        from replitune.significance.kernels.bootstrap import gather

        n, units, k = statistics.shape
        total = np.zeros(samples)
        for h, members in enumerate(strata):
            pool = statistics[members].reshape(-1, k)
            bound = float(np.abs(pool).max(initial=0)) * units
            lines = in_lines(pool, exact_dtype(bound, pool.dtype.kind))
            for rows in blocks(samples):
                keys = self._keys(rows, h)
                draws = np.full(len(keys), units)
                for slot in range(len(members)):
                    out = aligned((len(keys), *lines.shape[1:]), lines.dtype)
                    gather(lines, draws, slot * (units + units % 2), keys, out)
                    total[rows] += metric.score(out.reshape(len(keys), -1)[:, :k])
        return total / n


@dataclass(frozen=True)
class Draws:
    """What the bootstraps of one test set share."""

    segments: SegmentDraws
    pools: Callable[[str], PoolDraws]
    """The pool draws of a system, by its name."""
    replicas: Callable[[str], np.random.Generator]
    """By the name of a system, a fresh generator that draws its whole replicas."""

    @classmethod
    def from_rng(cls, rng: np.random.Generator) -> Draws:
        return cls(SegmentDraws.from_rng(rng), lambda _: PoolDraws.from_rng(rng), lambda _: rng)


def named_draws(testset: str, seed: int) -> Draws:
    """The bootstrap draws of a test set, shared by all systems, pairs, metrics and methods."""
    pools: dict[str, PoolDraws] = {}

    def pool(system: str) -> PoolDraws:
        drawn = PoolDraws.from_rng(stream(seed, "test", testset, "pool", system))
        return pools.setdefault(system, drawn)

    return Draws(
        SegmentDraws.from_rng(stream(seed, "test", testset, "segments")),
        pool,
        lambda system: stream(seed, "test", testset, "replicas", system),
    )


def one_replica_deltas(
    comparison: Comparison, replicas: tuple[int, int], segments: SegmentDraws, unit: str, samples: int
) -> NDArray[np.float64]:
    """(samples,) difference of a replica of B and one of A on bootstrap test sets."""
    metric, documents = comparison.metric, comparison.documents
    x, y = (
        segments.scores(metric, system, documents, unit=unit, samples=samples, replica=replica)
        for system, replica in zip((comparison.a, comparison.b), replicas, strict=True)
    )
    return (y - x)[:, 0]
