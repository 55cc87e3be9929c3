"""What a Python program or a notebook calls; the command `compare` calls the same.

    >>> import replitune
    >>> report = replitune.compare("ref.txt", {"base": ["b1.txt", "b2.txt"], "new": ["n1.txt"]})
    >>> print(report)  # doctest: +SKIP

Texts are lists of lines or paths; tables of numbers are DataFrames or paths; what comes back is a
`Report`. Mistakes are `ReplituneError`s that say what was found, what was expected, and what to do.
The numbers are those of the command line, to the last digit, for the same seed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from replitune.settings import SEED

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import ArrayLike

    from replitune.corpus.testset import TestSet
    from replitune.registry import Entry
    from replitune.report.report import ComparisonReport, Report
    from replitune.significance.settings import TestSettings
    from replitune.statistics.outputs import Lines
    from replitune.statistics.store import SegmentStatistics

    Table: TypeAlias = pd.DataFrame | pa.Table | Mapping[str, Sequence[Any]]

METRICS = ("bleu",)
TESTSET = "testset"
"""By default."""

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""By default all cores that this process may use; numbers do not depend on it."""


def compare(
    refs: Lines | Sequence[Lines],
    systems: Mapping[str, Sequence[Lines]],
    metrics: Sequence[str | Mapping[str, Any] | Entry] = METRICS,
    *,
    baseline: str | None = None,
    documents: Lines | None = None,
    testset: str = TESTSET,
    seed: int = SEED,
    threads: int | None = None,
    design: str = "runs",
    **settings: Any,
) -> ComparisonReport:
    """Compare systems by their outputs: scores, spread, and the significance of differences.

    Parameters
    ----------
    refs
        The references: a list of lines, the path of a file (text, prepared test set, TSV, WMT XML
        or SGM), or, of several references, a list of these (paths in it as `Path`).
    systems
        By name, the outputs of each run of a system: each a list of lines or a path.
    metrics
        Names, with options as in ``"bleu:tokenize=none"`` or
        ``{"name": "ter", "id": "ter-norm", "normalized": True}``: docs/metrics.md.
    baseline
        The system that all others are compared with; by default every pair is.
    documents
        The document id of each segment.
    testset
        Name of the test set; it names random streams.
    seed
        The only source of randomness.
    threads
        By default all cores; numbers do not depend on it.
    design
        What replicas are: ``"runs"``, or ``"samples"`` that are independent for each segment.
    **settings
        Of the tests, as under `tests` in docs/configuration.md: ``methods=["crossed"]``,
        ``samples=1000``, ``alpha=0.01``, ``correction="holm"``, ``margin={"bleu": 0.5}``, ...

    Returns
    -------
    ComparisonReport
        ``print`` it; see its methods ``table``, ``verdicts``, ``to_frame``, ``to_latex``, ``plot``.
    """
    from replitune.metrics.registry import METRICS
    from replitune.replicas import replica_ids
    from replitune.statistics.diagnosis import diagnose, find_copies
    from replitune.statistics.outputs import Outputs, read_outputs
    from replitune.statistics.scoring import Scored, Scorer

    tests = _tests(baseline, settings)
    _enough(systems)
    entries = METRICS.entries(metrics)
    name, given = _read_references(refs, documents)
    scorers = [Scorer(entry, given, testset) for entry in entries]
    warnings: list[str] = []
    texts: dict[str, Outputs] = {}
    scored: dict[str, list[Scored]] = {scorer.metric.id: [] for scorer in scorers}
    for system, runs in systems.items():
        outputs = read_outputs(_runs(system, runs), given.segments, name, system=system)
        warnings += diagnose(system, outputs, given.references, words=0)
        texts[system] = outputs
        for scorer in scorers:
            result = scorer.score(system, replica_ids({"run": len(outputs)}), outputs)
            scored[scorer.metric.id].append(result)
    copies = find_copies({system: outputs.sha256 for system, outputs in texts.items()})
    return _report(
        [scorer.statistics(scored[scorer.metric.id]) for scorer in scorers],
        tests,
        baseline=baseline,
        testset=testset,
        seed=seed,
        threads=threads,
        design=design,
        warnings=[*warnings, *copies],
        texts=given,
        outputs=texts,
    )


def scores(
    table: Table | str | Path | Sequence[str | Path] | Mapping[str, Sequence[str | Path]],
    *,
    metrics: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool | Sequence[str] = False,
    allow_missing: bool = False,
    baseline: str | None = None,
    testset: str | None = None,
    seed: int = SEED,
    threads: int | None = None,
    design: str = "runs",
    **settings: Any,
) -> ComparisonReport:
    """Compare systems by scores that something else computed: no texts, any metric or task.

    Parameters
    ----------
    table
        A row for each system, run and segment: a DataFrame, a pyarrow table, a mapping of columns,
        or paths of files, told by their content: CSV, TSV, JSON lines, Parquet, and what some
        programs write (docs/api.md). Of files that name no system, by system the path of each run:
        ``{"base": ["b1.jsonl", "b2.jsonl"], "new": [...]}``. The columns are system, replica (or
        seed, run), segment (or id) and score; perhaps metric, testset, language and document.
        Without a column of segments there is one score for each run, and the test asks about new
        runs on this test set.
    metrics
        Those of the table that are wanted; by default all.
    columns
        What columns are called, where it is not clear: ``{"system": "model", "score": "acc"}``.
    lower_is_better
        True, or the names of those metrics.
    allow_missing
        Leave out segments that some run has no score of. By default they are an error.
    baseline
        The system that all others are compared with; by default every pair is.
    testset
        The one that is wanted, of a table with several; its name, of one without.
    seed, threads, design, **settings
        As of `compare`.

    Returns
    -------
    ComparisonReport
        ``print`` it; see its methods. `read_as` says what was guessed of the table.
    """
    from replitune.readers.given import arrange
    from replitune.readers.memory import rows_in_memory
    from replitune.readers.registry import read_scores
    from replitune.readers.settings import ColumnNames
    from replitune.settings import read as read_settings

    names: ColumnNames = read_settings(ColumnNames, dict(columns or {}), "columns")
    if isinstance(table, str | Path):
        table = [table]
    if isinstance(table, list | tuple):
        rows = read_scores(table, names)
    elif isinstance(table, Mapping) and all(map(_are_paths, table.values())):
        each = [(system, path) for system, paths in table.items() for path in paths]
        rows = read_scores([path for _, path in each], names, [system for system, _ in each])
    else:
        rows = [rows_in_memory(table, names)]
    given = arrange(
        rows,
        metrics=metrics,
        testset=testset,
        lower_is_better=lower_is_better,
        allow_missing=allow_missing,
    )
    tests = _tests(baseline, settings)
    _enough(given.stores[0].systems)
    read_as = given.read_as
    if given.run_level:
        tests = _of_runs_alone(tests, settings)
        read_as += ("one score for each run: the test asks about new runs on this test set",)
    return _report(
        given.stores,
        tests,
        baseline=baseline,
        testset=given.testset or testset or TESTSET,
        seed=seed,
        threads=threads,
        design=design,
        warnings=given.warnings,
        read_as=read_as,
    )


def test(
    arrays: ArrayLike | Mapping[str, ArrayLike],
    *,
    systems: Sequence[str] | None = None,
    documents: Sequence[Any] | None = None,
    metric: str = "score",
    lower_is_better: bool = False,
    baseline: str | None = None,
    testset: str = TESTSET,
    seed: int = SEED,
    threads: int | None = None,
    design: str = "runs",
    **settings: Any,
) -> ComparisonReport:
    """Compare systems by arrays of scores.

    Parameters
    ----------
    arrays
        (systems, replicas, segments), or by name (replicas, segments) of each system, which may
        have different numbers of replicas. Without the last axis, one score for each run.
    systems
        Their names; by default A, B, ...
    documents
        The document of each segment.
    metric
        What the scores are called.
    lower_is_better
        Whether a lower score is a better one.
    baseline, testset, seed, threads, design, **settings
        As of `compare`.
    """
    from replitune.readers.memory import columns_of_arrays

    return scores(
        columns_of_arrays(arrays, systems, documents, metric),
        columns={"score": metric},
        lower_is_better=lower_is_better,
        baseline=baseline,
        testset=testset,
        seed=seed,
        threads=threads,
        design=design,
        **settings,
    )


test.__test__ = False  # type: ignore[attr-defined]  # not a test case for pytest


def read(results: str | Path) -> Report:
    """What an experiment of the workflow found, from its folder ``results/<experiment>`` or an
    unpacked archive of it: all test sets, metrics, tests and studies."""
    from replitune.experiment import stages
    from replitune.ledger.manifest import experiment_of, read_manifest, unrepeatable
    from replitune.report.reading import read_material
    from replitune.report.report import Report

    folder = Path(results)
    experiment = experiment_of(read_manifest(folder), folder.absolute().parent).as_looked()
    job = experiment.stage("report")
    assert isinstance(job, stages.Report)
    return Report(read_material(job, unrepeatable(folder)))


def _tests(baseline: str | None, given: Mapping[str, Any]) -> TestSettings:
    """The settings of the tests, checked."""
    from replitune.errors import ReplituneError
    from replitune.settings import read as read_settings
    from replitune.significance.settings import Baseline, TestSettings

    if baseline is not None and "pairs" in given:
        raise ReplituneError("`baseline` and `pairs` together", fix="give one of them")
    checked: TestSettings = read_settings(TestSettings, dict(given), "tests")
    if baseline is None:
        return checked
    import msgspec

    return msgspec.structs.replace(checked, pairs=Baseline(baseline=baseline))


def _are_paths(column: Any) -> bool:
    """Whether it is a list of names of files; some column of a table holds numbers."""
    listed = isinstance(column, list | tuple) and len(column) > 0
    return listed and all(isinstance(item, str | Path) for item in column)


RUNS_ALONE = ("crossed", "replica-permutation", "fu-ar", "fu-bootstrap")
"""Tests that need no segments."""


def _of_runs_alone(tests: TestSettings, given: Mapping[str, Any]) -> TestSettings:
    """The tests of systems of which there is one score for each run."""
    import msgspec

    from replitune.errors import ReplituneError
    from replitune.registry import Entry

    methods = []
    for entry in tests.methods:
        scope = entry.options.get("scope", "runs")
        if entry.name == "crossed" and scope == "runs":
            methods.append(Entry(entry.name, {**entry.options, "scope": "runs"}, entry.id))
        elif entry.name in RUNS_ALONE[1:]:
            methods.append(entry)
        elif "methods" in given:
            raise ReplituneError(
                f"test {entry.word} needs scores of segments",
                found="one score for each run", expected=", ".join(RUNS_ALONE),
            )  # fmt: skip
    intervals = tuple(entry for entry in tests.intervals if entry.name == "fu")
    return msgspec.structs.replace(tests, methods=tuple(methods), intervals=intervals)


def _enough(systems: Mapping[str, Any]) -> None:
    from replitune.errors import ReplituneError

    if len(systems) < 2:
        raise ReplituneError(
            "nothing to compare", found=f"{len(systems)} system(s)",
            expected="two systems or more",
        )  # fmt: skip


def _runs(system: str, runs: Sequence[Lines]) -> Sequence[Lines]:
    """The runs of a system, where they can be."""
    from replitune.errors import ReplituneError

    if isinstance(runs, str | Path) or not len(runs):
        raise ReplituneError(
            f"the runs of {system} are not a list", found=repr(runs),
            expected="a list of runs, each a list of lines or a path",
        )  # fmt: skip
    for run in runs:
        if isinstance(run, str) and not Path(run).exists():
            raise ReplituneError(
                "no such file", file=run,
                expected="a path, or a list of lines; one run of lines is a list in the list",
                fix=f"check the path; a relative one starts at {Path.cwd()}",
            )  # fmt: skip
    return runs


def _read_references(refs: Lines | Sequence[Lines], documents: Lines | None) -> tuple[str, TestSet]:
    """What the references are called in messages, and the test set."""
    from replitune.corpus.reader import read_testset
    from replitune.corpus.testset import TestSet, require_contiguous
    from replitune.statistics.outputs import lines_of

    streams: list[Any] = [refs]
    if not isinstance(refs, str | Path) and not all(isinstance(text, str) for text in refs):
        streams = list(refs)
    if all(isinstance(text, str | Path) for text in streams):
        in_file = documents if isinstance(documents, str | Path) else None
        testset = read_testset(streams, documents=in_file)
        name = str(streams[0])
    else:
        named = [lines_of(text, f"reference {r + 1}") for r, text in enumerate(streams)]
        testset = TestSet(references=tuple(lines for _, lines in named))
        name = str(named[0][0])
    if documents is not None and testset.documents is None:
        place, ids = lines_of(documents, "documents")
        require_contiguous(ids, place)
        testset = TestSet(testset.references, testset.source, ids)
    return name, testset


def _report(
    stores: Sequence[SegmentStatistics],
    tests: TestSettings,
    *,
    baseline: str | None,
    testset: str,
    seed: int,
    threads: int | None,
    design: str,
    warnings: Sequence[str],
    **more: Any,
) -> ComparisonReport:
    """`more`: what the report has beside results and statistics."""
    from replitune.report.report import ComparisonReport
    from replitune.results.comparing import compare
    from replitune.running.blas import one_thread

    with one_thread():
        comparison = compare(
            stores,
            tests,
            testset=testset,
            seed=seed,
            threads=threads or THREADS,
            design=design,
            warnings=warnings,
        )
    return ComparisonReport(comparison, stores, baseline, **more)
