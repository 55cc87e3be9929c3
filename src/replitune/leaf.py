"""How kernels that make no array are compiled."""

from __future__ import annotations

from numba import njit

leaf = njit(cache=True, nogil=True, _nrt=False)
"""For a kernel that makes no array and is called from others: it does not count references to the
arrays that it is passed or slices, which in inner loops can cost more than the work."""
