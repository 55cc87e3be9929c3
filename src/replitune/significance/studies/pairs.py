"""The pairs of systems that a study uses, with their statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from replitune.errors import ReplituneError
from replitune.significance.base import Comparison
from replitune.significance.pairs import pairs_of_systems, require_system
from replitune.statistics.segments import SegmentStatistics


def with_systems(store: SegmentStatistics, names: Sequence[str]) -> SegmentStatistics:
    for name in names:
        require_system(name, list(store.systems))
    return replace(store, systems={name: store.systems[name] for name in names})


def pair_of(store: SegmentStatistics, a: str, b: str) -> Comparison:
    return Comparison(store.metric, store.systems[a], store.systems[b], store.documents)


def replicated_pairs(store: SegmentStatistics, pairs: Any, fewest: int) -> Iterator[Comparison]:
    """The pairs whose systems have enough replicas; the others are named on the terminal."""
    wanted = pairs_of_systems(pairs, list(store.systems))
    short = {name: s.n for name, s in store.systems.items() if s.n < fewest}
    kept = [pair for pair in wanted if not short.keys() & set(pair)]
    if not kept:
        raise ReplituneError(
            f"no pair of systems with {fewest} runs each",
            found=", ".join(f"{s.n} of {name}" for name, s in store.systems.items()),
            fix="tune or train each system once more",
        )
    for a, b in wanted:
        if (a, b) in kept:
            yield pair_of(store, a, b)
        else:
            scarce = [f"{short[name]} of {name}" for name in (a, b) if name in short]
            print(f"  {b} - {a}: left out, too few runs ({', '.join(scarce)})")
