"""Scored systems -> spread, tests, and what `compare`, `test` and the workflow write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from replitune import __version__
from replitune.errors import ReplituneError
from replitune.results.result import Overlap, Result
from replitune.significance.base import TestResult
from replitune.significance.draws import named_draws
from replitune.significance.intervals import overlap_ratio
from replitune.significance.one_system import SystemSummary, summarise
from replitune.significance.pairs import require_system
from replitune.significance.run import run_tests
from replitune.significance.settings import TestSettings
from replitune.statistics.lazy import ChosenSystems
from replitune.statistics.store import SegmentStatistics

FEW_REPLICAS = 3
"""Clark et al. (2011) recommend at least this many."""


@dataclass(frozen=True)
class Results:
    """Everything that `compare` says: one test set under each metric."""

    testset: str
    seed: int
    settings: TestSettings
    metrics: dict[str, Result]
    """By metric id."""
    segments: int
    documents: int
    warnings: list[str]

    def as_json(self) -> dict[str, Any]:
        """The object described in docs/compare.schema.json, numbers unrounded."""
        return {
            "schema": 1,
            "metrics": {id: result.as_json() for id, result in self.metrics.items()},
            "meta": {
                "version": __version__,
                "seed": self.seed,
                "testset": self.testset,
                "segments": self.segments,
                "documents": self.documents,
                "samples": self.settings.samples,
                "alpha": self.settings.alpha,
                "correction": self.settings.correction,
                "warnings": self.warnings,
            },
        }


def compare(
    stores: Sequence[SegmentStatistics],
    settings: TestSettings,
    *,
    testset: str,
    seed: int,
    threads: int = 1,
    dev: Sequence[SegmentStatistics] = (),
    systems: Sequence[str] | None = None,
    warnings: Sequence[str] = (),
) -> Results:
    """Spread of every system and tests of every pair.

    Parameters
    ----------
    stores
        What each metric says of one test set.
    dev
        The same systems on the tuning set.
    systems
        Only these, in this order.
    """
    first = stores[0]
    names = list(systems) if systems is not None else list(first.systems)
    for store in stores:
        if not np.array_equal(store.documents, first.documents):
            raise ReplituneError(
                f"{store.metric.id} and {first.metric.id} were not scored on the same segments "
                "and documents"
            )
        for name in names:
            require_system(name, list(store.systems))
    chosen = {store.metric.id: ChosenSystems(store.systems, names) for store in stores}
    on_dev = {store.metric.id: store.systems for store in dev}
    documents = first.documents
    draws = named_draws(testset, seed)
    tests = run_tests(
        {store.metric.id: (store.metric, chosen[store.metric.id]) for store in stores},
        documents,
        testset=testset,
        seed=seed,
        pairs=settings.pairs,
        methods=settings.tests(),
        samples=settings.samples,
        alpha=settings.alpha,
        correction=settings.correction,
        threads=threads,
        draws=draws,
    )

    def summary(store: SegmentStatistics, name: str) -> SystemSummary:
        id = store.metric.id
        return summarise(
            store.metric,
            chosen[id][name],
            documents,
            testset=testset,
            seed=seed,
            samples=settings.samples,
            alpha=settings.alpha,
            intervals=settings.intervals,
            dev=on_dev.get(id, {}).get(name),
            draws=draws,
        )

    with ThreadPoolExecutor(threads) as pool:
        waiting = {
            store.metric.id: {name: pool.submit(summary, store, name) for name in names}
            for store in stores
        }
    results = {}
    for store in stores:
        id = store.metric.id
        summaries = {name: future.result() for name, future in waiting[id].items()}
        results[id] = Result(
            testset=testset,
            metric=id,
            word=next((said.metric for said in store.metadata.values()), id),
            signature=store.signature,
            higher_is_better=store.metric.higher_is_better,
            alpha=settings.alpha,
            systems=summaries,
            tests=tuple(tests[id]),
            overlaps=_overlaps(summaries, tests[id], 1 - settings.alpha),
            missing={
                name: store.metadata[name].missing[name]
                for name in names
                if name in store.metadata and name in store.metadata[name].missing
            },
        )
    said = list(warnings)
    few = [name for name, summary in results[first.metric.id].systems.items()
           if summary.n < FEW_REPLICAS]  # fmt: skip
    if few:
        said.append(
            f"fewer than {FEW_REPLICAS} runs of {', '.join(few)}: chance in tuning or training "
            "cannot be told from a difference between systems (Clark et al. 2011)"
        )
    return Results(
        testset=testset,
        seed=seed,
        settings=settings,
        metrics=results,
        segments=len(documents),
        documents=int(documents.max(initial=-1)) + 1,
        warnings=said,
    )


def _overlaps(
    systems: Mapping[str, SystemSummary], tests: Sequence[TestResult], confidence: float
) -> tuple[Overlap, ...]:
    """Every tested pair by every interval method."""
    found = []
    for a, b in dict.fromkeys((result.a, result.b) for result in tests):
        first, second = systems[a].intervals, systems[b].intervals
        for method in first:
            x, y = first[method].distribution, second[method].distribution
            if x is None or y is None:
                notes = first[method].notes or second[method].notes
                found.append(Overlap(a, b, method, None, notes))
            else:
                ratio, notes = overlap_ratio(x, y, confidence)
                found.append(Overlap(a, b, method, ratio, notes))
    return tuple(found)
