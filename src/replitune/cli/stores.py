"""What commands on segment statistics share: reading one test set, its systems and pairs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from replitune.cli import words
from replitune.errors import ReplituneError
from replitune.significance.base import Comparison
from replitune.significance.pairs import pairs_of_systems, require_system
from replitune.statistics.store import SegmentStatistics, read_stores


def one_testset(store: str, testset: str | None) -> list[SegmentStatistics]:
    """All metrics of one test set: of the only one, or of `testset`."""
    stores = read_stores(store)
    if testset is not None and any(item.testset for item in stores):
        stores = [item for item in stores if item.testset in (testset, "")]
    names = {item.testset for item in stores}
    if not stores or len(names) > 1:
        raise ReplituneError(
            "exactly one test set is needed",
            file=store,
            found=", ".join(sorted(names)) or "none",
            fix="choose one with --testset",
        )
    return stores


def studied(options: argparse.Namespace) -> list[SegmentStatistics]:
    """The metrics of one test set with the chosen systems; one metric where rows are written."""
    stores = one_testset(options.store, options.testset)
    if options.out is not None and len(stores) != 1:
        raise ReplituneError("--out takes one metric", found=", ".join(s.metric.id for s in stores))
    if options.seed < 0:
        raise ReplituneError(
            "--seed is not allowed", found=str(options.seed), expected="at least 0"
        )
    if options.systems is None:
        return stores
    chosen = []
    for store in stores:
        for name in options.systems:
            require_system(name, list(store.systems))
        systems = {name: store.systems[name] for name in options.systems}
        chosen.append(replace(store, systems=systems))
    return chosen


def replicated_pairs(
    store: SegmentStatistics, pairs: Sequence[str], fewest: int
) -> Iterator[Comparison]:
    """The pairs whose systems have so many replicas; the others are named on the terminal."""
    found = pairs_of_systems(words.pair_words(pairs), list(store.systems))
    short = {name: s.n for name, s in store.systems.items() if s.n < fewest}
    kept = [pair for pair in found if not short.keys() & set(pair)]
    if not kept:
        raise ReplituneError(
            f"no pair of systems with {fewest} replicas each",
            found=", ".join(f"{s.n} of {name}" for name, s in store.systems.items()),
            fix="tune or train each system once more",
        )
    for a, b in found:
        if (a, b) in kept:
            yield Comparison(store.metric, store.systems[a], store.systems[b], store.documents)
        else:
            few = [f"{short[name]} of {name}" for name in (a, b) if name in short]
            print(f"  {b} - {a}: left out, too few replicas ({', '.join(few)})")
