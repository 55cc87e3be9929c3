"""Exchanging outputs between two systems, segment by segment.

Eight outputs at a time: the sums of all 256 subsets of eight rows of statistics are tabulated,
and one byte of a random word looks one of them up. So an exchange of 49,780 outputs costs 6,223
row additions. Each table is used for a whole block of resamples before the next is built.

Sums are exact: int32 where no sum can overflow it, otherwise float64.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.significance.kernels.mixing import mix
from replitune.significance.kernels.random import GAMMA, aligned, exact_dtype, in_lines

_BYTE = np.uint64(255)
_S8, _S16, _S24, _S32 = (np.uint64(s) for s in (8, 16, 24, 32))
_S40, _S48, _S56 = (np.uint64(s) for s in (40, 48, 56))


@njit(cache=True, nogil=True)
def _tabulate(rows, table):  # type: ignore[no-untyped-def]
    """rows (8, lines, lanes) -> table (256, lines, lanes): the sum of each subset of rows."""
    lanes = 64 // rows.itemsize
    table[0] = 0
    for u in range(8):
        size = 1 << u
        for k in range(size):
            for c in range(rows.shape[1]):
                for j in range(lanes):
                    table[size + k, c, j] = table[k, c, j] + rows[u, c, j]


@njit(cache=True, nogil=True)
def _look_up(words, tables, count, out):  # type: ignore[no-untyped-def]
    """Add to out (B, lines, lanes) the rows that the first `count` bytes of words (B,) name."""
    lanes = 64 // out.itemsize
    lines = out.shape[1]
    if count == 8:
        for b in range(words.shape[0]):
            word = words[b]
            i0, i1 = word & _BYTE, (word >> _S8) & _BYTE
            i2, i3 = (word >> _S16) & _BYTE, (word >> _S24) & _BYTE
            i4, i5 = (word >> _S32) & _BYTE, (word >> _S40) & _BYTE
            i6, i7 = (word >> _S48) & _BYTE, word >> _S56
            for c in range(lines):
                for j in range(lanes):
                    out[b, c, j] += (
                        (tables[0, i0, c, j] + tables[1, i1, c, j])
                        + (tables[2, i2, c, j] + tables[3, i3, c, j])
                    ) + (
                        (tables[4, i4, c, j] + tables[5, i5, c, j])
                        + (tables[6, i6, c, j] + tables[7, i7, c, j])
                    )
        return
    for t in range(count):
        shift = np.uint64(8 * t)
        for b in range(words.shape[0]):
            i = (words[b] >> shift) & _BYTE
            for c in range(lines):
                for j in range(lanes):
                    out[b, c, j] += tables[t, i, c, j]


@njit(cache=True, nogil=True)
def _exchange_paired(rows, first_word, keys, tables, words, out):  # type: ignore[no-untyped-def]
    """rows (W, 8, 8, lines, lanes); bit u of byte t of word w exchanges rows[w, t, u]."""
    for w in range(rows.shape[0]):
        if not rows[w].any():
            continue
        for t in range(8):
            _tabulate(rows[w, t], tables[t])
        offset = np.uint64(first_word + w + 1) * GAMMA
        for b in range(keys.shape[0]):
            words[b] = mix(keys[b] + offset)
        _look_up(words, tables, 8, out)


class PairedExchange:
    """Output r of A and output r of B change places with probability 1/2, in each unit.

    Parameters
    ----------
    differences : (n, U, K)
        B's statistics minus A's.
    """

    def __init__(self, differences: NDArray) -> None:
        n, units, self.columns = differences.shape
        bound = float(np.abs(differences.astype(np.float64)).sum(axis=(0, 1)).max(initial=0))
        self.dtype = exact_dtype(bound, differences.dtype.kind)
        # Each replica starts at a new word, so that its exchanges do not depend on other replicas.
        words = -(-units // 64)
        padded = np.zeros((n, words * 64, self.columns), dtype=self.dtype)
        padded[:, :units] = differences
        lines = in_lines(padded, self.dtype)
        self.rows = lines.reshape(n, words, 8, 8, *lines.shape[2:])

    def _run(self, replica: int, keys: NDArray[np.uint64], out: NDArray) -> None:
        rows = self.rows[replica]
        tables = aligned((8, 256, *rows.shape[3:]), self.dtype)
        words = np.empty(len(keys), dtype=np.uint64)
        _exchange_paired(rows, replica * rows.shape[0], keys, tables, words, out)

    def pooled(self, keys: NDArray[np.uint64]) -> NDArray:
        """(B, K) what A's statistics, summed over replicas, gain in each resample."""
        out = aligned((len(keys), *self.rows.shape[4:]), self.dtype)
        for replica in range(len(self.rows)):
            self._run(replica, keys, out)
        return out.reshape(len(keys), -1)[:, : self.columns]

    def by_replica(self, keys: NDArray[np.uint64]) -> NDArray:
        """(B, n, K) what each replica of A gains; the same exchanges as `pooled`."""
        n = len(self.rows)
        gains = np.empty((len(keys), n, self.columns), dtype=self.dtype)
        for replica in range(n):
            out = aligned((len(keys), *self.rows.shape[4:]), self.dtype)
            self._run(replica, keys, out)
            gains[:, replica] = out.reshape(len(keys), -1)[:, : self.columns]
        return gains
