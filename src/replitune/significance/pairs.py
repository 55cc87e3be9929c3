"""Which pairs of systems are compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from replitune.errors import ReplituneError, did_you_mean
from replitune.significance.settings import Baseline, Pairs


def pairs_of_systems(pairs: Pairs, names: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs (A, B), in their order; a baseline is always A."""
    if isinstance(pairs, str):
        return list(combinations(names, 2))
    if isinstance(pairs, Baseline):
        require_system(pairs.baseline, names)
        return [(pairs.baseline, name) for name in names if name != pairs.baseline]
    for pair in pairs:
        for name in pair:
            require_system(name, names)
        if pair[0] == pair[1]:
            raise ReplituneError(f"system {pair[0]} cannot be compared with itself")
    return [(a, b) for a, b in pairs]


def require_system(name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise ReplituneError(
            f"no system is called {name!r}",
            expected="one of " + ", ".join(names),
            fix=did_you_mean(name, names, "{!r}"),
        )
