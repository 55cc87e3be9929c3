"""Scored systems -> spread, tests, and what `compare`, `test` and the workflow write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from replitune import __version__
from replitune.errors import ReplituneError
from replitune.replicas import Design
from replitune.results.document import SCHEMA, Document, Meta, builtins
from replitune.results.result import Overlap, Result
from replitune.results.settling import settle
from replitune.results.summary import Provenance, Summary, summarise_answers
from replitune.results.wording import with_names
from replitune.settings import plain
from replitune.significance.base import TestResult
from replitune.significance.draws import named_draws
from replitune.significance.intervals import overlap_ratio
from replitune.significance.looks.record import Record
from replitune.significance.one_system import SystemSummary, summarise, summarise_suite
from replitune.significance.registry import leading
from replitune.significance.run import TestSetScores, run_tests, tests_on
from replitune.significance.settings import TestSettings, require_system
from replitune.statistics.findings import Finding, copies, matter_to
from replitune.statistics.lazy import ChosenSystems
from replitune.statistics.segments import SegmentStatistics


@dataclass(frozen=True)
class Results:
    """All results of `compare`: one test set or suite under each metric."""

    testset: str
    seed: int
    settings: TestSettings
    metrics: dict[str, Result]
    """By metric id."""
    segments: int
    documents: int
    inputs: Sequence[str] = ()
    """What looks wrong with the inputs."""
    design: Design = "runs"
    """What replicas are."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """Hashes of what was compared, by what it is."""
    people: Sequence[str] = ()
    """Metrics that are judgements of people."""
    undirected: Sequence[str] = ()
    """Metrics for which nothing says whether more or less is better."""
    command: str = ""
    """The command that compares; empty in Python."""

    @property
    def warnings(self) -> list[str]:
        """What changes how the answers are read."""
        return [note.text for note in self.summary.grave]

    @cached_property
    def summary(self) -> Summary:
        settings = {**plain(self.settings), "design": self.design}
        return summarise_answers(
            [*self.metrics.values()],
            Provenance(__version__, self.seed, settings, {**self.sha256}, self.command),
            baseline=getattr(self.settings.pairs, "baseline", None),
            people=self.people,
            given=self.inputs,
            undirected=self.undirected,
        )

    @property
    def document(self) -> Document:
        """What is written as JSON."""
        return Document(
            schema=SCHEMA,
            summary=self.summary,
            answers=tuple(one for result in self.metrics.values() for one in result.answers),
            metrics={id: result.cell for id, result in self.metrics.items()},
            meta=Meta(
                __version__,
                self.seed,
                self.testset,
                self.segments,
                self.documents,
                self.settings.samples,
                self.settings.alpha,
                self.settings.correction,
                self.warnings,
            ),
        )

    def as_json(self) -> dict[str, Any]:
        """The object described in docs/compare.schema.json, numbers unrounded."""
        return builtins(self.document)


def compare(
    stores: Sequence[SegmentStatistics],
    settings: TestSettings,
    *,
    testset: str,
    seed: int,
    suite: Mapping[str, float] = MappingProxyType({}),
    threads: int = 1,
    dev: Sequence[SegmentStatistics] = (),
    systems: Sequence[str] | None = None,
    design: Design = "runs",
    families: int | None = None,
    warnings: Sequence[str] = (),
    looks: Record | None = None,
    summaries: bool = True,
) -> Results:
    """Spread of every system and tests of every pair: the one way from statistics to results.

    Parameters
    ----------
    stores
        The statistics of each metric on the test set, or on each test set of the suite.
    testset
        Name of the test set or of the suite.
    suite
        Weights of the test sets of the suite; empty if there is one test set.
    dev
        The same systems on the tuning set; suites have none.
    systems
        Only these, in this order.
    design
        What replicas are: runs, or samples.
    families
        How many families of pairs are corrected together; by default those of these metrics.
    looks
        The looks at this test set, which decided by one metric how many replicas there are.
    summaries
        Whether to compute the spread of every system; a look needs only the tests.
    """
    ids = list(dict.fromkeys(store.metric.id for store in stores))
    by_metric = {id: _stores_of_metric(stores, id, suite) for id in ids}
    weights = [*suite.values()] or [1.0]
    names = list(stores[0].systems) if systems is None else list(systems)
    testsets = [_testset(own, names) for own in zip(*by_metric.values(), strict=True)]
    methods = tests_on(len(testsets), settings.tests(), design)
    draws = named_draws(testset, seed)
    tests = run_tests(
        testsets,
        weights,
        testset=testset,
        seed=seed,
        pairs=settings.pairs,
        methods=methods,
        samples=settings.samples,
        alpha=settings.alpha,
        correction=settings.correction,
        families=settings.families(len(ids), 1) if families is None else families,
        design=design,
        margins=settings.margin,
        threads=threads,
        draws=draws,
    )
    on_dev = {store.metric.id: store.systems for store in dev}

    def summary(id: str, name: str) -> SystemSummary:
        if len(testsets) > 1:
            return summarise_suite(testsets, weights, id, name, alpha=settings.alpha, design=design)
        metric, chosen = testsets[0].metrics[id]
        return summarise(
            metric,
            chosen[name],
            testsets[0].documents,
            testset=testset,
            seed=seed,
            samples=settings.samples,
            alpha=settings.alpha,
            intervals=settings.intervals,
            design=design,
            dev=on_dev.get(id, {}).get(name),
            draws=draws,
        )

    with ThreadPoolExecutor(threads) as pool:
        waiting = {id: {name: pool.submit(summary, id, name) for name in names if summaries} for id in ids}
    results = []
    for id, (store, *others) in by_metric.items():
        spread = {name: future.result() for name, future in waiting[id].items()}
        results.append(
            Result(
                testset=testset,
                metric=id,
                word=next((metadata.metric for metadata in store.metadata.values()), id),
                signature=store.signature,
                direction=store.metric.direction,
                alpha=settings.alpha,
                lead_method=leading(methods).id,
                systems=spread,
                tests=_with_looks(tests[id], id, looks),
                overlaps=_overlaps(spread, tests[id], 1 - settings.alpha)
                if not others and summaries
                else (),
                suite=dict(suite),
                missing={} if others else _missing(store, names),
                findings=tuple(_findings((store, *others), names, "" if others else testset)),
            )
        )
    return Results(
        testset=testset,
        seed=seed,
        settings=settings,
        metrics={result.metric: result for result in with_names(results)},
        segments=sum(store.segments for store in by_metric[ids[0]]),
        documents=sum(store.n_documents for store in by_metric[ids[0]]),
        inputs=tuple(warnings),
        design=design,
        sha256=sha256_of(by_metric[ids[0]]),
    )


def _stores_of_metric(
    stores: Sequence[SegmentStatistics], id: str, suite: Mapping[str, float]
) -> list[SegmentStatistics]:
    """The statistics of a metric on the test set, or on each test set of the suite."""
    own = [store for store in stores if store.metric.id == id]
    if not suite:
        return own
    by_name = {store.testset: store for store in own}
    for testset in suite:
        if testset not in by_name:
            raise ReplituneError(f"test set {testset} of a suite has no scores of {id}")
    return [by_name[testset] for testset in suite]


def _testset(stores: Sequence[SegmentStatistics], names: Sequence[str]) -> TestSetScores:
    """These systems on one test set, which all metrics must have."""
    first = stores[0]
    for store in stores:
        if not np.array_equal(store.documents, first.documents):
            raise ReplituneError(
                f"{store.metric.id} and {first.metric.id} were not scored on the same segments "
                "and documents"
            )
        for name in names:
            require_system(name, list(store.systems))
    return TestSetScores(
        {store.metric.id: (store.metric, ChosenSystems(store.systems, names)) for store in stores},
        first.documents,
    )


def _missing(store: SegmentStatistics, names: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """Why replicas of systems are missing."""
    return {
        name: store.metadata[name].missing[name]
        for name in names
        if name in store.metadata and name in store.metadata[name].missing
    }


def _findings(stores: Sequence[SegmentStatistics], names: Sequence[str], testset: str) -> Iterator[Finding]:
    """What is wrong with the texts of these systems, and matters to the metric. `testset`: what the test
    set is called, if there is only one."""
    for store in stores:
        known = {name: store.metadata[name] for name in names if name in store.metadata}
        of_texts = [one for name, own in known.items() for one in own.texts if one.system == name]
        same = copies({name: own.decode_sha256.get(name, {}) for name, own in known.items()})
        word = next((own.metric for own in known.values()), store.metric.id)
        for one in matter_to(store.metric, word, [*of_texts, *same]):
            yield msgspec.structs.replace(one, testset=testset or store.testset)


def _with_looks(tests: Sequence[TestResult], metric: str, looks: Record | None) -> tuple[TestResult, ...]:
    if looks is None or looks.plan.metric != metric:
        return tuple(tests)
    return tuple(settle(tests, looks))


def sha256_of(stores: Sequence[SegmentStatistics]) -> dict[str, str]:
    """Hashes of references and outputs, where known; a table of scores has neither."""
    known: dict[str, str] = {}
    for store in stores:
        for name, metadata in store.metadata.items():
            for replica, sha256 in metadata.decode_sha256.get(name, {}).items():
                known[f"references of {metadata.testset}"] = metadata.reference_sha256
                known[f"{name} {replica} on {metadata.testset}"] = sha256
    return {what: sha256 for what, sha256 in known.items() if sha256}


def _overlaps(
    systems: Mapping[str, SystemSummary], tests: Sequence[TestResult], confidence: float
) -> tuple[Overlap, ...]:
    """The overlap of every tested pair by every interval method."""
    overlaps = []
    for a, b in dict.fromkeys((result.a, result.b) for result in tests):
        first, second = systems[a].intervals, systems[b].intervals
        for method in first:
            x, y = first[method].distribution, second[method].distribution
            if x is None or y is None:
                notes = first[method].notes or second[method].notes
                overlaps.append(Overlap(a, b, method, None, notes))
            else:
                ratio, notes = overlap_ratio(x, y, confidence)
                overlaps.append(Overlap(a, b, method, ratio, notes))
    return tuple(overlaps)
