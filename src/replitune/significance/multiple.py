"""Many comparisons: p-values adjusted for the number of pairs tested."""

from __future__ import annotations

from collections.abc import Sequence

from replitune.significance.arguments import one_of


def adjust(p: Sequence[float | None], method: str) -> list[float | None]:
    """Adjusted p-values: "holm" (family-wise error) or "bh" (false discovery rate).

    None stays None and does not count as a test.
    """
    one_of("method", method, ("holm", "bh"))
    known = sorted((value, i) for i, value in enumerate(p) if value is not None)
    m = len(known)
    found: list[float | None] = [None] * len(p)
    if method == "holm":
        largest = 0.0
        for rank, (value, i) in enumerate(known):
            largest = max(largest, min(1.0, (m - rank) * value))
            found[i] = largest
    else:
        smallest = 1.0
        for rank in range(m, 0, -1):
            value, i = known[rank - 1]
            smallest = min(smallest, m / rank * value)
            found[i] = smallest
    return found
