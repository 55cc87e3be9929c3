"""Which outputs of a segment have the same statistics, as those of replicas often do."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def number_rows(rows, numbers, first):  # type: ignore[no-untyped-def]
    """rows (U, m, W) -> numbers (U, m): of each row among its unit's distinct rows, as they appear.

    first (U, m): where each distinct row appears first, padded with -1.
    """
    U, m, W = rows.shape
    first[:] = -1
    for u in range(U):
        distinct = 0
        for o in range(m):
            d = 0
            while d < distinct:
                w = 0
                while w < W and rows[u, first[u, d], w] == rows[u, o, w]:
                    w += 1
                if w == W:
                    break
                d += 1
            if d == distinct:
                first[u, distinct] = o
                distinct += 1
            numbers[u, o] = d


def distinct_rows(rows: NDArray) -> tuple[NDArray[np.uint16], NDArray[np.int64], NDArray[np.int64]]:
    """For rows (U, m, W), `numbers` and `first` of `number_rows`, and how many are distinct (U,)."""
    numbers = np.empty(rows.shape[:2], dtype=np.uint16)
    first = np.empty(rows.shape[:2], dtype=np.int64)
    number_rows(rows, numbers, first)
    return numbers, first, (first >= 0).sum(axis=1)
