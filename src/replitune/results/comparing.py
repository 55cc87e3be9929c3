"""Scored systems -> spread, tests, and what `compare`, `test` and the workflow write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from replitune import __version__
from replitune.errors import ReplituneError
from replitune.results.looks import settle
from replitune.results.result import Overlap, Result
from replitune.significance.base import TestResult
from replitune.significance.draws import named_draws
from replitune.significance.intervals import overlap_ratio
from replitune.significance.looks.record import Record
from replitune.significance.one_system import SystemSummary, summarise
from replitune.significance.pairs import require_system
from replitune.significance.run import run_tests
from replitune.significance.settings import TestSettings
from replitune.significance.suites import TestSetScores, run_suite, summarise_suite
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
    inputs: Sequence[str] = ()
    """What looks wrong with what was given."""
    few: Sequence[str] = ()
    """That there are too few runs."""

    @property
    def warnings(self) -> list[str]:
        return [*self.inputs, *self.few]

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
    design: str = "runs",
    families: int | None = None,
    warnings: Sequence[str] = (),
    looks: Record | None = None,
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
    design
        What replicas are: runs, or samples.
    families
        How many families of pairs are corrected together; by default those of these metrics.
    looks
        Those at this test set, by which its metric has decided how many replicas there are.
    """
    first = stores[0]
    names = _names(stores, systems)
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
        families=settings.families(len(stores), 1) if families is None else families,
        design=design,
        margins=settings.margin,
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
            store.metric.id: {name: pool.submit(summary, store, name) for name in names} for store in stores
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
            tests=_with_looks(tests[id], id, looks),
            overlaps=_overlaps(summaries, tests[id], 1 - settings.alpha),
            missing={
                name: store.metadata[name].missing[name]
                for name in names
                if name in store.metadata and name in store.metadata[name].missing
            },
        )
    return Results(
        testset=testset,
        seed=seed,
        settings=settings,
        metrics=results,
        segments=len(documents),
        documents=first.n_documents,
        inputs=tuple(warnings),
        few=_few(results[first.metric.id]),
    )


def compare_suite(
    testsets: Mapping[str, Sequence[SegmentStatistics]],
    weights: Mapping[str, float],
    settings: TestSettings,
    *,
    suite: str,
    seed: int,
    systems: Sequence[str] | None = None,
    design: str = "runs",
    families: int | None = None,
    looks: Record | None = None,
) -> Results:
    """The same over all test sets of a suite: `testsets` has what each metric says of each."""
    stores = [store for found in testsets.values() for store in found]
    names = _names(stores, systems, one_testset=False)
    ids = [store.metric.id for store in next(iter(testsets.values()))]
    results = {}
    for id in ids:
        of_metric = [_of_metric(found, id, testset) for testset, found in testsets.items()]
        shares = [weights[testset] for testset in testsets]
        parts = [
            TestSetScores(store.metric, ChosenSystems(store.systems, names), store.documents)
            for store in of_metric
        ]
        tests = run_suite(
            parts,
            shares,
            settings.tests(),
            suite=suite,
            seed=seed,
            pairs=settings.pairs,
            samples=settings.samples,
            alpha=settings.alpha,
            correction=settings.correction,
            families=settings.families(len(ids), 1) if families is None else families,
            design=design,
            margins=settings.margin,
        )
        results[id] = Result(
            testset=suite,
            metric=id,
            word=next((said.metric for said in of_metric[0].metadata.values()), id),
            signature=of_metric[0].signature,
            higher_is_better=of_metric[0].metric.higher_is_better,
            alpha=settings.alpha,
            systems={name: summarise_suite(parts, shares, name, alpha=settings.alpha) for name in names},
            tests=_with_looks(tests, id, looks),
            suite=dict(weights),
        )
    return Results(
        testset=suite,
        seed=seed,
        settings=settings,
        metrics=results,
        segments=sum(found[0].segments for found in testsets.values()),
        documents=sum(found[0].n_documents for found in testsets.values()),
        few=_few(results[ids[0]]),
    )


def _with_looks(tests: Sequence[TestResult], metric: str, looks: Record | None) -> tuple[TestResult, ...]:
    if looks is None or looks.plan.metric != metric:
        return tuple(tests)
    return tuple(settle(tests, looks))


def _of_metric(stores: Sequence[SegmentStatistics], id: str, testset: str) -> SegmentStatistics:
    for store in stores:
        if store.metric.id == id:
            return store
    raise ReplituneError(f"test set {testset} of a suite has no scores of {id}")


def _names(
    stores: Sequence[SegmentStatistics], systems: Sequence[str] | None, *, one_testset: bool = True
) -> list[str]:
    """The systems to compare, which all stores must have."""
    first = stores[0]
    names = list(systems) if systems is not None else list(first.systems)
    for store in stores:
        if one_testset and not np.array_equal(store.documents, first.documents):
            raise ReplituneError(
                f"{store.metric.id} and {first.metric.id} were not scored on the same segments "
                "and documents"
            )
        for name in names:
            require_system(name, list(store.systems))
    return names


def _few(result: Result) -> list[str]:
    few = [name for name, summary in result.systems.items() if summary.n < FEW_REPLICAS]
    if not few:
        return []
    of = ", ".join(few) if len(few) <= 3 else f"{len(few)} of {len(result.systems)} systems"
    return [
        f"fewer than {FEW_REPLICAS} runs of {of}: chance in tuning or training "
        "cannot be told from a difference between systems (Clark et al. 2011)"
    ]


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
