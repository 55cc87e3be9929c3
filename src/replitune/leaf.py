"""Decorators for compiled kernels that create no array, and growing arrays for those that do."""

from __future__ import annotations

import numpy as np
from numba import njit

from replitune.probes.numba import prefetcher, uncounted

leaf = njit(cache=True, nogil=True, **uncounted())
"""For a kernel that creates no array and is called by other kernels: it does not count references to
the arrays that it receives or slices, which in inner loops can cost more than the work."""

inlined = njit(cache=True, nogil=True, forceinline=True, **uncounted())
"""For one that is called from one place in an inner loop: a call would pass every field of every array."""

prefetch = prefetcher()


@njit(cache=True, nogil=True)
def with_room(array, count, more):  # type: ignore[no-untyped-def]
    """The array, or a copy of it, with room for `more` elements after the first `count`."""
    if count + more <= len(array):
        return array
    out = np.empty(2 * (count + more), array.dtype)
    out[:count] = array[:count]
    return out
