"""All tests of all pairs on one test set, or on all test sets of a suite.

Random streams are keyed by names, never by the order of work: those of a test by (test set, sorted
pair, method), draws of segments and documents by the test set alone, and draws from one system's
outputs by test set and system. None depends on the metric: all metrics see the same draws. A pair
is tested in the order of its names, and the result is reversed if the other order was asked for, so
that swapping A and B changes no p.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import codes
from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.notes import Note, note, without_none
from replitune.registry import Entry
from replitune.replicas import Design, sampled_runs
from replitune.significance.base import Comparison, TestResult
from replitune.significance.draws import Draws, named_draws
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.next_run import next_runs
from replitune.significance.registry import LEAD, TESTS
from replitune.significance.settings import Correction, Pairs, TestSettings, pairs_of_systems
from replitune.significance.system_parts import Analyses, has_documents, same_replicas
from replitune.statistics.systems import SystemStatistics
from replitune.streams import stream

if TYPE_CHECKING:
    from replitune.significance.noise_ratio import BoundedFamily
    from replitune.significance.simultaneous import Largest

Compared = Mapping[str, Sequence[Comparison]]
"""A pair on each test set, by metric id."""

REACHES = ("reach_twice_runs", "reach_twice_units")
"""Details that widen by the same factor as simultaneous intervals."""
PAIRS = 8
"""Pairs of systems that are in memory together, for each thread."""


@dataclass(frozen=True)
class TestSetScores:
    """All systems on one test set, which may be one of a suite, under each metric."""

    __test__ = False  # not a test case for pytest

    metrics: Mapping[str, tuple[Metric, Mapping[str, SystemStatistics]]]
    """{id: (metric, {system: statistics})}: the same systems and segments for each metric."""
    documents: NDArray[np.int32]
    """(N,) document number of each segment."""

    def comparison(self, id: str, a: str, b: str) -> Comparison:
        metric, systems = self.metrics[id]
        return scored_by_both(Comparison(metric, systems[a], systems[b], self.documents))


def tests_on(
    testsets: int, methods: Sequence[str | Mapping[str, Any] | Entry], design: Design
) -> list[Entry]:
    """The tests that can be made on this number of test sets together: on a suite those that account
    for what its test sets share, or `LEAD` if none of these was asked for. Of samples of runs, the default
    tests are those that do not count each sample as a run; any other is refused."""
    entries = TESTS.entries(methods)
    if design == "nested":
        if refused := counting_samples(entries):
            raise ReplituneError(
                f"{', '.join(refused)} would count each sample as a run",
                found="`design: nested`",
                expected="`crossed`, which counts the samples of a run as one",
                fix="leave `methods` out",
            )
        entries = [entry for entry in entries if TESTS[entry.name].takes_design]
    if testsets == 1:
        return entries
    return [entry for entry in entries if TESTS[entry.name].on_suite] or [Entry(LEAD)]


def counting_samples(entries: Sequence[Entry]) -> list[str]:
    """Tests that would count each sample of a run as a run; the default ones are not asked for."""
    if [entry.name for entry in entries] == [entry.name for entry in TestSettings().methods]:
        return []
    return [entry.name for entry in entries if not TESTS[entry.name].takes_design]


def run_tests(
    testsets: Sequence[TestSetScores],
    weights: Sequence[float] = (1.0,),
    *,
    testset: str,
    seed: int,
    pairs: Pairs = "all",
    methods: Sequence[str | Mapping[str, Any] | Entry] = ("clark",),
    samples: int = 10_000,
    alpha: float = 0.05,
    correction: Correction = "max-t",
    families: int = 1,
    design: Design = "runs",
    margins: Mapping[str, float] | None = None,
    threads: int = 1,
    draws: Draws | None = None,
) -> dict[str, list[TestResult]]:
    """Rows of results by metric id, pair by pair and, within a pair, method by method.

    Parameters
    ----------
    testsets
        The test sets of a suite, or one. The rows of a metric are the same whichever other metrics
        are given.
    weights
        Of the test sets.
    testset
        Name of the test set or the suite.
    methods
        On a suite only those that can test one: `tests_on`.
    correction : {"max-t", "holm", "bh", "none"}
        For p_adjusted; the family is all pairs within one (metric, method).
    families
        How many such families are read as one; p is corrected for their number, too.
    design : {"runs", "samples", "nested"}
        What replicas are.
    margins : {metric id: difference}
        What counts as the same.
    draws : optional
        `draws.named_draws(testset, seed)`, to share what was drawn with `one_system.summarise`.
    """
    metrics = testsets[0].metrics
    chosen = tests_on(len(testsets), methods, design)
    names = list(next(iter(metrics.values()))[1])
    segments = sum(len(scores.documents) for scores in testsets)
    wanted = pairs_of_systems(pairs, names)
    if design == "nested":
        _, systems = next(iter(metrics.values()))
        for name in dict.fromkeys(name for pair in wanted for name in pair):
            sampled_runs(name, systems[name].replicas, systems[name].groups)
    tests = {entry.id: TESTS[entry.name](**entry.options) for entry in chosen}
    shared = named_draws(testset, seed) if draws is None else draws
    analyses = Analyses(lambda id: [run_scores(testsets, weights, id, name) for name in names], seed)

    def run(job: tuple[Compared, tuple[str, str], str]) -> dict[str, TestResult]:
        """The results of one test of one pair, by metric id."""
        compared, pair, id = job
        test, (first, second) = tests[id], sorted(pair)
        contexts = {
            metric: Context(
                comparisons,
                weights,
                samples=samples,
                alpha=alpha,
                design=design,
                margin=(margins or {}).get(metric),
                stream=partial(stream, seed, "test", testset, first, second, test.name),
                shared=shared,
                analyses=analyses,
            )
            for metric, comparisons in compared.items()
        }
        if pair == (first, second):
            return _rows(test, id, contexts, segments, seed)
        rows = _rows(test.turned(), id, contexts, segments, seed)
        return {metric: row.swapped() for metric, row in rows.items()}

    # only pairs that are being tested are in memory, so many pairs need no more than a few
    done: list[dict[str, TestResult]] = []
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(wanted), PAIRS * threads):
            jobs = [
                (compared, pair, method)
                for pair in wanted[start : start + PAIRS * threads]
                for compared in [
                    {id: [t.comparison(id, *sorted(pair)) for t in testsets] for id in metrics}
                ]
                for method in tests
            ]
            done += pool.map(run, jobs) if threads > 1 else map(run, jobs)
            del jobs
    return {
        id: adjusted(
            [results[id] for results in done],
            alpha=alpha,
            correction=correction,
            families=families,
            samples=samples,
            seed=seed,
        )
        for id in metrics
    }


def run_scores(
    testsets: Sequence[TestSetScores], weights: Sequence[float], id: str, system: str
) -> NDArray[np.float64]:
    """(n,) weighted mean scores of a system's runs, which are the same on all test sets."""
    metric = testsets[0].metrics[id][0]
    statistics = [testset.metrics[id][1][system] for testset in testsets]
    same_replicas(system, [one.replicas for one in statistics])
    scores = [weight * metric.score(one.sums) for weight, one in zip(weights, statistics, strict=True)]
    summed: NDArray[np.float64] = np.sum(scores, axis=0)
    return summed


def _rows(
    test: SignificanceTest, id: str, contexts: Mapping[str, Context], segments: int, seed: int
) -> dict[str, TestResult]:
    """The results of a test of one pair, by metric id; segments: of all test sets, scored or not."""
    rows: dict[str, TestResult] = {}
    for metrics in _alike(contexts):
        group = [contexts[metric] for metric in metrics]
        results = test.run_together(group)
        used = seed if any(context.drew for context in group) else None
        for metric, context, row in zip(metrics, group, results, strict=True):
            notes = (*row.notes, *_notes(row, context.comparisons, segments))
            rows[metric] = replace(row, method=id, seed=used, notes=notes)
    return rows


def scored_by_both(comparison: Comparison) -> Comparison:
    """The comparison without segments for which some replica of either system has no score."""
    a, b = comparison.a, comparison.b
    of_a, of_b = (comparison.metric.missing(system.statistics) for system in (a, b))
    if of_a is None or of_b is None or not (of_a.any() or of_b.any()):
        return comparison
    known = ~(of_a.any(axis=0) | of_b.any(axis=0))
    if not known.any():
        raise ReplituneError(
            f"no segment has scores of {comparison.metric.id} from all runs of {a.name} and {b.name}"
        )
    return replace(
        comparison,
        a=replace(a, statistics=np.ascontiguousarray(a.statistics[:, known])),
        b=replace(b, statistics=np.ascontiguousarray(b.statistics[:, known])),
        documents=codes(comparison.documents[known].tolist()),
    )


def _notes(row: TestResult, comparisons: Sequence[Comparison], segments: int) -> Iterator[Note]:
    """What is said of any test: that segments have no score, and that it ignores documents, unless it
    says so itself, as tests on suites do."""
    dropped = segments - sum(comparison.segments for comparison in comparisons)
    if dropped:
        yield note("segments-dropped", segments=f"{dropped} segment{'s' if dropped > 1 else ''}")
    first, *others = comparisons
    says_so = others or any(one.code == "documents-ignored" for one in row.notes)
    if row.unit == "segment" and not says_so and has_documents(first.documents):
        documents = f"{first.n_documents} documents"
        yield note("documents-ignored", documents=documents, cost=" (see `unit: document`)")


def _alike(contexts: Mapping[str, Context]) -> list[list[str]]:
    """Groups of metrics with the same replicas, whose exchanges can be made in one pass."""
    groups: dict[Any, list[str]] = {}
    for metric, context in contexts.items():
        a, b = context.comparison.a, context.comparison.b
        groups.setdefault((a.replicas, a.groups, b.replicas, b.groups), []).append(metric)
    return list(groups.values())


def adjusted(
    results: Sequence[TestResult],
    *,
    alpha: float = 0.05,
    correction: str = "max-t",
    families: int = 1,
    samples: int = 10_000,
    seed: int | None = None,
) -> list[TestResult]:
    """Fill p_adjusted within each method, add what the next runs would show, and note where a test
    could not have reached alpha.

    `max-t` needs a seed, and tests that know what pairs share (`TestResult.analysis`); other tests
    are corrected by Holm. Its draws depend on the seed alone, so that the same scores have the same
    p, whatever the test set is called. families: how many such families are read together, with
    Bonferroni's correction for their number.
    """
    rows = list(results)
    for method in dict.fromkeys(r.method for r in rows):
        family = [i for i, r in enumerate(rows) if r.method == method]
        corrected, used = _corrected([rows[i] for i in family], alpha / families, correction, samples, seed)
        tests = families * sum(rows[i].p is not None for i in family)
        if correction != "none":
            corrected = _same_adjusted(corrected, "bh" if correction == "bh" else "holm", families)
        following = next_runs(corrected)
        for i, row, next_run in zip(family, corrected, following, strict=True):
            p = row.p_adjusted
            if p is not None and used != "none":
                p = min(1.0, families * p)
            notes = without_none(*row.notes, out_of_reach(row, alpha, used, tests))
            details = {**row.details, **next_run}
            rows[i] = replace(row, p_adjusted=p, correction=used, notes=notes, details=details)
    return rows


def _corrected(
    rows: list[TestResult], alpha: float, correction: str, samples: int, seed: int | None
) -> tuple[list[TestResult], str]:
    """The rows of one family with p_adjusted, and the correction that was used."""
    from replitune.significance.multiple import adjust

    p = [row.p for row in rows]
    if correction == "none":
        return [replace(row, p_adjusted=row.p) for row in rows], "none"
    if correction == "max-t":
        known = [row for row in rows if row.analysis is not None and row.p is not None]
        left = [row for row in rows if row.p is not None and row.analysis is None]
        if seed is not None and len(known) == 1 and not left:
            return [replace(row, p_adjusted=row.p) for row in rows], "max-t"
        # a pair without variance has p = 1, and takes no part
        if seed is not None and known and all(row.p == 1 for row in left):
            from replitune.significance.simultaneous import jointly

            joint = jointly(
                [row.analysis for row in known if row.analysis],
                [row.p for row in known if row.p is not None],
                alpha=alpha,
                samples=samples,
                rng=stream(seed, "simultaneous"),
            )
            if joint is not None:
                return [_simultaneous(row, joint, alpha) for row in rows], "max-t"
        correction = "holm"
    adjusted_p = adjust(p, correction)
    return [replace(row, p_adjusted=value) for row, value in zip(rows, adjusted_p, strict=True)], correction


def _same_adjusted(rows: list[TestResult], correction: str, families: int) -> list[TestResult]:
    """The rows with their p of equivalence corrected, too, if they have one."""
    from replitune.significance.multiple import adjust

    adjusted_p = adjust([row.details.get("p_same") for row in rows], correction)
    return [
        row
        if p is None
        else replace(row, details={**row.details, "p_same_adjusted": min(1.0, families * p)})
        for row, p in zip(rows, adjusted_p, strict=True)
    ]


def _simultaneous(row: TestResult, joint: Largest | BoundedFamily, alpha: float) -> TestResult:
    if row.p is None or row.analysis is None:
        return replace(row, p_adjusted=row.p)
    level = joint.level(row.analysis, alpha)
    low, high = row.analysis.interval(level)
    if row.a != row.analysis.a:  # the row was reversed, to the order in which the pair was given
        low, high = -high, -low
    p, error = joint.adjusted(row.analysis, row.p)
    before = row.ci_low, row.ci_high
    wider = 1.0 if before[0] is None or before[1] is None else (high - low) / (before[1] - before[0])
    reaches = {name: wider * row.details[name] for name in REACHES if name in row.details}
    details = {**row.details, **reaches, "p_adjusted_error": error}
    return replace(row, p_adjusted=p, ci_low=low, ci_high=high, ci_level=1 - level, details=details)


def out_of_reach(result: TestResult, alpha: float, correction: str, tests: int) -> Note | None:
    """A note if even the smallest p of this test is above alpha, or above alpha / tests, which Holm
    requires of the smallest p of a family."""
    if result.p is None or result.p_min is None:
        return None
    # p comes in steps of 1/(R + 1), so rounding alone must not put it above alpha.
    smallest = result.p_min * (1 - 1e-12)
    if smallest > alpha:
        return note("out-of-reach", level=f"{alpha:g}", p=result.p_min)
    if correction == "holm" and tests > 1 and smallest > alpha / tests:
        level = f"{alpha:g}/{tests} (Holm, first of {tests} pairs)"
        return note("out-of-reach", level=level, p=result.p_min)
    return None


def histogram(result: TestResult, bins: int = 200) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Counts (bins,) and edges (bins + 1,) of a result's distribution, over a range that includes delta.

    Empty arrays if the result has no distribution.
    """
    if result.distribution is None or len(result.distribution) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0)
    low = min(float(result.distribution.min()), result.delta)
    high = max(float(result.distribution.max()), result.delta)
    if not math.isfinite(high - low) or high == low:
        high = low + max(abs(low), 1.0) * 1e-9
    counts, edges = np.histogram(result.distribution, bins=bins, range=(low, high))
    return counts.astype(np.int64), edges
