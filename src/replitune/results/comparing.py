"""Scored systems -> spread, tests, and what `compare`, `test` and the workflow write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune import __version__
from replitune.cli import words
from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.results.rows import (
    OverlapRow,
    SystemRow,
    write_histograms,
    write_rows,
    write_system_rows,
    write_tests,
)
from replitune.significance.base import TestResult
from replitune.significance.draws import named_draws
from replitune.significance.intervals import overlap_ratio
from replitune.significance.multiple import Ranking, rank_systems
from replitune.significance.one_system import INTERVALS, SystemSummary, summarise
from replitune.significance.run import require_system, run_tests
from replitune.statistics.lazy import ChosenSystems
from replitune.statistics.store import SegmentStatistics
from replitune.statistics.systems import SystemStatistics

FEW_REPLICAS = 3
"""Clark et al. (2011) recommend at least this many."""


@dataclass(frozen=True)
class Settings:
    """What decides the numbers of a comparison."""

    testset: str
    seed: int
    pairs: tuple[str, ...]
    methods: tuple[str, ...]
    samples: int
    alpha: float
    correction: str
    paired_replicas: bool = False
    threads: int = 1
    intervals: tuple[str, ...] = tuple(INTERVALS)


@dataclass(frozen=True)
class Compared:
    """All systems under one metric."""

    metric: Metric
    signature: str
    systems: dict[str, SystemSummary]
    tests: list[TestResult]

    def rankings(self, alpha: float) -> dict[str, Ranking]:
        """Order, wins and clusters of the systems by each method."""
        scores = {name: summary.avg for name, summary in self.systems.items()}
        return {
            method: rank_systems(
                [result for result in self.tests if result.method == method],
                scores,
                alpha=alpha,
                higher_is_better=self.metric.higher_is_better,
            )
            for method in dict.fromkeys(result.method for result in self.tests)
        }

    def overlap_rows(self, alpha: float) -> list[OverlapRow]:
        """Rows of `<metric>.overlaps.parquet`: every tested pair by every interval method."""
        rows = []
        for a, b in dict.fromkeys((result.a, result.b) for result in self.tests):
            first, second = self.systems[a].intervals, self.systems[b].intervals
            for method in first:
                x, y = first[method].distribution, second[method].distribution
                if x is None or y is None:
                    note = first[method].note or second[method].note
                    rows.append(OverlapRow(a, b, method, None, note))
                    continue
                found = overlap_ratio(x, y, 1 - alpha)
                rows.append(OverlapRow(a, b, method, found.ratio, found.note))
        return rows

    def system_rows(self) -> list[SystemRow]:
        """Rows of `<metric>.systems.parquet`."""
        rows: list[SystemRow] = []
        for name, summary in self.systems.items():
            rows.append(SystemRow(name, "avg", summary.avg, n=summary.n))
            for statistic in ("s_sel", "s_dev", "s_test"):
                rows.append(
                    SystemRow(
                        name,
                        statistic,
                        getattr(summary, statistic),
                        n=summary.n,
                        note=summary.notes.get(statistic),
                    )
                )
            rows.append(
                SystemRow(
                    name,
                    "median_replica",
                    summary.scores[summary.median_replica],
                    n=summary.n,
                    replica=summary.median_replica,
                )
            )
            for method, interval in summary.ci.items():
                low, high = interval if interval is not None else (None, None)
                rows.append(
                    SystemRow(
                        name,
                        "ci",
                        summary.avg,
                        method=method,
                        n=summary.n,
                        ci_low=low,
                        ci_high=high,
                        note=summary.notes.get(f"ci_{method}"),
                    )
                )
            for replica, score in summary.scores.items():
                rows.append(SystemRow(name, "score", score, n=1, replica=replica))
        return rows

    def write(self, out: Path, alpha: float) -> None:
        """`<metric>.parquet`, and beside it what the systems are and how the tests drew."""
        write_system_rows(out.with_suffix(".systems.parquet"), self.system_rows())
        write_histograms(out.with_suffix(".null.parquet"), self.tests)
        write_rows(out.with_suffix(".overlaps.parquet"), self.overlap_rows(alpha), OverlapRow)
        write_tests(out, self.tests)


@dataclass(frozen=True)
class ComparisonTable:
    """Everything that `compare` says."""

    settings: Settings
    metrics: dict[str, Compared]
    segments: int
    documents: int
    warnings: list[str]

    def as_json(self) -> dict[str, Any]:
        """The object described in docs/compare.schema.json, numbers unrounded."""
        return {
            "schema": 1,
            "metrics": {
                id: _metric_json(compared, self.settings.alpha)
                for id, compared in self.metrics.items()
            },
            "meta": {
                "version": __version__,
                "seed": self.settings.seed,
                "testset": self.settings.testset,
                "segments": self.segments,
                "documents": self.documents,
                "samples": self.settings.samples,
                "alpha": self.settings.alpha,
                "correction": self.settings.correction,
                "warnings": self.warnings,
            },
        }


METHOD_FIELDS = (
    "p", "p_adjusted", "p_min", "exact", "ci_low", "ci_high", "se", "df", "samples", "seed",
    "alternative", "unit", "aggregation", "pairing", "replica_a", "replica_b",
    "generalises_to", "note",
)  # fmt: skip


def _metric_json(compared: Compared, alpha: float) -> dict[str, Any]:
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    for result in compared.tests:
        pair = pairs.setdefault(
            (result.a, result.b),
            {"a": result.a, "b": result.b, "delta": None, "overlaps": {}, "methods": {}},
        )
        pair["methods"][result.method] = {
            "delta": result.delta,
            **{name: getattr(result, name) for name in METHOD_FIELDS},
        }
    for (a, b), pair in pairs.items():
        pair["delta"] = compared.systems[b].avg - compared.systems[a].avg
    for row in compared.overlap_rows(alpha):
        pairs[row.a, row.b]["overlaps"][row.method] = row.ratio
    return {
        "signature": compared.signature,
        "higher_is_better": compared.metric.higher_is_better,
        "systems": {
            name: {
                "n": summary.n,
                "avg": summary.avg,
                "scores": summary.scores,
                "s_sel": summary.s_sel,
                "s_dev": summary.s_dev,
                "s_test": summary.s_test,
                "median_replica": summary.median_replica,
                "ci": {
                    method: None if interval is None else list(interval)
                    for method, interval in summary.ci.items()
                },
                "notes": summary.notes,
            }
            for name, summary in compared.systems.items()
        },
        "pairs": list(pairs.values()),
        "rankings": {
            method: {
                "systems": list(ranking.systems),
                "wins": ranking.wins.tolist(),
                "clusters": None
                if ranking.clusters is None
                else [list(names) for names in ranking.clusters],
                "note": ranking.note,
            }
            for method, ranking in compared.rankings(alpha).items()
        },
    }


def compare(
    metrics: Mapping[str, tuple[Metric, str, Mapping[str, SystemStatistics]]],
    documents: NDArray[np.int32],
    settings: Settings,
    *,
    dev: Mapping[str, Mapping[str, SystemStatistics]] | None = None,
    warnings: Sequence[str] = (),
) -> ComparisonTable:
    """Spread of every system and tests of every pair.

    `metrics` is {id: (metric, signature, systems)}; `documents` (N,) numbers the documents;
    `dev` has the same systems on the tuning set, by metric id.
    """
    names = list(next(iter(metrics.values()))[2])
    pairs, baseline = words.pair_words(settings.pairs)
    methods: list[Any] = [words.method_word(word) for word in settings.methods]
    if settings.paired_replicas:
        methods = [_paired(method) for method in methods]
    draws = named_draws(settings.testset, settings.seed)
    tests = run_tests(
        {id: (metric, systems) for id, (metric, _, systems) in metrics.items()},
        documents,
        testset=settings.testset,
        seed=settings.seed,
        pairs=pairs,
        baseline=baseline,
        methods=methods,
        samples=settings.samples,
        alpha=settings.alpha,
        correction=settings.correction,
        threads=settings.threads,
        draws=draws,
    )
    said = list(warnings)

    def summary(id: str, name: str) -> SystemSummary:
        return summarise(
            metrics[id][0],
            metrics[id][2][name],
            documents,
            testset=settings.testset,
            seed=settings.seed,
            samples=settings.samples,
            alpha=settings.alpha,
            intervals=[words.method_word(word) for word in settings.intervals],
            dev=(dev or {}).get(id, {}).get(name),
            draws=draws,
        )

    with ThreadPoolExecutor(settings.threads) as pool:
        waiting = {
            id: {name: pool.submit(summary, id, name) for name in systems}
            for id, (_, _, systems) in metrics.items()
        }
    compared = {
        id: Compared(
            metric,
            signature,
            {name: future.result() for name, future in waiting[id].items()},
            tests[id],
        )
        for id, (metric, signature, _) in metrics.items()
    }
    few = [name for name in names if next(iter(compared.values())).systems[name].n < FEW_REPLICAS]
    if few:
        said.append(
            f"fewer than {FEW_REPLICAS} runs of {', '.join(few)}: chance in tuning or training "
            "cannot be told from a difference between systems (Clark et al. 2011)"
        )
    return ComparisonTable(
        settings=settings,
        metrics=compared,
        segments=len(documents),
        documents=int(documents.max(initial=-1)) + 1,
        warnings=said,
    )


def _paired(method: str | dict[str, Any]) -> dict[str, Any]:
    """Replica k of every system shares its seed: tests that can use it are told so."""
    given: dict[str, Any] = {"name": method} if isinstance(method, str) else dict(method)
    if given["name"] in ("crossed", "multi-bootstrap"):
        given.setdefault("paired", True)
    return given


def compare_stores(
    stores: Sequence[SegmentStatistics],
    settings: Settings,
    *,
    dev: Sequence[SegmentStatistics] = (),
    systems: Sequence[str] | None = None,
) -> ComparisonTable:
    """The same from segment statistics on disk, all of one test set."""
    first = stores[0]
    chosen = list(systems) if systems is not None else list(first.systems)
    metrics: dict[str, tuple[Metric, str, Mapping[str, SystemStatistics]]] = {}
    for store in stores:
        if not np.array_equal(store.documents, first.documents):
            raise ReplituneError(
                f"{store.metric.id} and {first.metric.id} were not scored on the same segments "
                "and documents"
            )
        for name in chosen:
            require_system(name, list(store.systems))
        metrics[store.metric.id] = (
            store.metric,
            store.signature,
            ChosenSystems(store.systems, chosen),
        )
    on_dev = {store.metric.id: store.systems for store in dev}
    return compare(metrics, first.documents, settings, dev=on_dev)
