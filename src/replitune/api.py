"""The functions for Python programs and notebooks; the command `compare` calls the same ones.

    >>> import replitune
    >>> report = replitune.compare("ref.txt", {"base": ["b1.txt", "b2.txt"], "new": ["n1.txt"]})
    >>> print(report)  # doctest: +SKIP

Texts are lists of lines or paths; tables of numbers are DataFrames or paths; the result is a
`Report`. Mistakes are raised as `ReplituneError`, which says what was found, what was expected, and
what to do. For the same seed, the numbers equal those of the command line to the last digit.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec.structs import replace as with_fields

from replitune.errors import ReplituneError, did_you_mean, option
from replitune.extras import needs
from replitune.readers.names import listed, named_outputs
from replitune.readers.settings import ColumnNames
from replitune.registry import Entry
from replitune.replicas import Design
from replitune.settings import SEED, about, explained, fits, settings_of
from replitune.settings import read as read_settings
from replitune.significance.registry import TESTS
from replitune.significance.settings import Baseline, TestSettings, pairs_of_systems

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import ArrayLike

    from replitune.corpus.testset import TestSet
    from replitune.report.report import ComparisonReport, Report
    from replitune.statistics.outputs import Lines
    from replitune.statistics.segments import SegmentStatistics

    Table: TypeAlias = pd.DataFrame | pa.Table | Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]
else:  # the parameters are settings, so their types are looked at
    ArrayLike = ComparisonReport = Report = Table = Any
    Lines = str | Path | Sequence[str]

METRICS = ("bleu",)
TESTSET = "testset"
"""The name of the test set where none is given."""

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""The default: all cores that this process may use. The results do not depend on it."""


# ---- what several functions take; options of `replitune compare`, with these sentences

BaselineName = Annotated[
    str | None, about("The system that all others are compared with; by default every pair is compared.")
]
Seed = Annotated[int, about("The only source of randomness.", ge=0)]
Threads = Annotated[int | None, about("Threads to use; by default all cores. They change no result.")]
Judgements = Annotated[
    str | Path | None,
    about("People's judgements; their ranking is reported beside the metrics' (docs/meta.md)."),
]
Controls = Annotated[
    Sequence[str],
    about("Metrics whose scores of all segments sharpen the judgements of some (docs/judging.md)."),
]
FirstSegment = Annotated[
    Literal[0, 1] | None,
    about(
        "Number of the first segment in the judgements; by default 1 if their last number is the number "
        "of segments, else 0."
    ),
]


@explained
def compare(
    refs: Lines | Sequence[Lines],
    systems: Mapping[str, Iterable[Lines] | Mapping[str, Iterable[Lines]]],
    metrics: Annotated[
        Sequence[str | Mapping[str, Any] | Entry],
        about("Metrics, with options as METRIC:key=value,... (docs/metrics.md).", min_length=1),
    ] = METRICS,
    *,
    baseline: BaselineName = None,
    documents: Annotated[Lines | None, about("The document id of each segment, one a line.")] = None,
    source: Annotated[Lines | None, about("The source text, for metrics that read it.")] = None,
    testset: Annotated[str, about("Name of the test set, on which random numbers depend.")] = TESTSET,
    seed: Seed = SEED,
    threads: Threads = None,
    design: Design | None = None,
    human: Judgements = None,
    controls: Controls = (),
    first_segment: FirstSegment = None,
    **settings: Any,
) -> ComparisonReport:
    """Compare systems by their outputs: scores, spread, and the significance of differences.

    Parameters
    ----------
    refs
        The references: a list of lines, the path of a file (text, prepared test set, TSV, WMT XML
        or SGM), or, for several references, a list of these (with paths as `Path`).
    systems
        From the name of a system to the outputs of its runs, each a list of lines or a path (or
        ``Path.glob()``, in natural order); or to a mapping from each run to the outputs of its
        samples: ``{"prompt1": [...], "prompt2": [...]}``.
    design
        What replicas are: ``"runs"``; ``"samples"`` that are independent for each segment; or
        ``"nested"``, samples of runs. By default ``"runs"``, unless the files or the columns of the
        table say that they are samples.
    **settings
        Settings of the tests, as under `tests` in docs/configuration.md: ``methods=["crossed"]``,
        ``samples=1000``, ``alpha=0.01``, ``correction="holm"``, ``margin={"bleu": 0.5}`` or a
        number, ...; and `scope` and `unit`, for the tests that have them.

    Returns
    -------
    ComparisonReport
        ``print`` it; see its ``summary``, ``answers``, ``table``, ``to_frame``, ``to_latex``, ``plot``.
    """
    from replitune.metrics.registry import METRICS
    from replitune.statistics.outputs import Outputs, read_outputs
    from replitune.statistics.scoring import Scored, Scorer
    from replitune.statistics.texts import TextChecks, exchanged

    entries = METRICS.entries(metrics)
    tests = _tests(baseline, settings, [entry.id for entry in entries], human)
    refs = listed(refs)
    if not isinstance(refs, str | Path):
        refs = [listed(text) for text in refs]
    name, given = _read_references(refs, documents, source)
    scorers = [Scorer(entry, given, testset) for entry in entries]
    checks = TextChecks(given.references, given.source)
    texts: dict[str, Outputs] = {}
    scored: dict[str, list[Scored]] = {scorer.metric.id: [] for scorer in scorers}
    kinds: set[Design] = set()
    files: list[Lines] = []
    for system, runs in systems.items():
        runs, of = _runs(system, runs)
        files += runs
        each = [_texts_of_run(run, given) for run in runs]
        replicas, kind = named_outputs(system, runs, [len(one) for one in each], of, design)
        kinds.add(kind)
        read = [lines for one in each for lines in one]
        outputs = read_outputs(read, given.segments, name, system=system)
        texts[system] = outputs
        found = checks.findings(system, [replica.id for replica in replicas], outputs)
        for scorer in scorers:
            result = replace(scorer.score(system, replicas, outputs), texts=found)
            scored[scorer.metric.id].append(result)
    runs_of = {system: len(outputs) for system, outputs in texts.items()}
    design, read_as = _design_of(design, kinds)
    if design == "runs":
        tests, read_as = _tests_of_single_outputs(tests, settings, runs_of)
    named = [refs] if isinstance(refs, str | Path) else refs
    return _report(
        [scorer.statistics(scored[scorer.metric.id]) for scorer in scorers],
        tests,
        baseline=baseline,
        testset=testset,
        seed=seed,
        threads=threads,
        design=design,
        warnings=exchanged(
            [file for file in named if isinstance(file, Path)],
            [Path(file) for file in files if isinstance(file, str | Path)],
        ),
        human=human,
        controls=controls,
        first_segment=first_segment,
        texts=given,
        outputs=texts,
        read_as=read_as,
    )


@explained
def scores(
    table: Table | str | Path | Iterable[str | Path] | Mapping[str, Iterable[str | Path]],
    *,
    metrics: Annotated[
        Sequence[str] | None, about("The metrics of the table to compare by; by default all.")
    ] = None,
    columns: Annotated[
        Mapping[str, str] | None,
        about(
            "What columns that are not recognised are called: "
            f"{', '.join(settings_of(ColumnNames))}. By default guessed."
        ),
    ] = None,
    lower_is_better: Annotated[
        bool | Sequence[str] | None,
        about(
            "Lower is better for these metrics, or for all. By default the name of a metric decides: "
            "for TER, wer, loss or latency, lower is better."
        ),
    ] = None,
    higher_is_better: Annotated[
        Sequence[str], about("Higher is better for these metrics, whatever their names say.")
    ] = (),
    allow_missing: Annotated[
        bool, about("Leave out segments for which some run has no score. By default that is an error.")
    ] = False,
    baseline: BaselineName = None,
    testset: Annotated[
        str | None,
        about("Which test set to use, if the table has several; the name to give it, if it has none."),
    ] = None,
    seed: Seed = SEED,
    threads: Threads = None,
    design: Design | None = None,
    human: Judgements = None,
    controls: Controls = (),
    first_segment: FirstSegment = None,
    **settings: Any,
) -> ComparisonReport:
    """Compare systems by scores computed elsewhere: without texts, for any metric or task.

    Parameters
    ----------
    table
        A row for each system, run and segment: a DataFrame, a pyarrow table, a mapping of columns,
        records (mappings, a row each), or paths of files, as ``Path.glob()`` gives them, recognised
        by their content: CSV, TSV, JSON lines, Parquet, and what some programs write
        (docs/compare.md). If the files do not name their systems, a mapping from each system to the
        paths of its runs: ``{"base": ["b1.jsonl", "b2.jsonl"], "new": [...]}``. The columns are
        system, replica (or seed, run), segment (or id) and score; perhaps prompt, sample, metric,
        testset, language and document. Without a column of segments there is one score for each
        run, and the test asks about new runs on this test set.
    design, **settings
        As in `compare`.

    Returns
    -------
    ComparisonReport
        ``print`` it; see its methods. `read_as` says what was guessed about the table.
    """
    needs("tables", "tables of scores")
    from replitune.readers.memory import rows_in_memory
    from replitune.readers.registry import read_scores
    from replitune.running.files import sha256_file
    from replitune.statistics.given import arrange
    from replitune.tuners import TUNERS

    names: ColumnNames = read_settings(ColumnNames, dict(columns or {}), "columns")
    wanted = metrics or ()
    content: Any = [table] if isinstance(table, str | Path) else listed(table)
    if isinstance(content, Mapping):
        content = {name: listed(column) for name, column in content.items()}
    if _are_paths(content):
        rows = read_scores(content, names, metrics=wanted)
    elif isinstance(content, Mapping) and all(map(_are_paths, content.values())):
        each = [(system, path) for system, paths in content.items() for path in paths]
        systems, paths = zip(*each, strict=True)
        rows = read_scores(paths, names, systems, wanted)
    else:
        rows = [rows_in_memory(content, names, wanted)]
    given = arrange(
        rows,
        metrics=metrics,
        testset=testset,
        directions=_directions(lower_is_better, higher_is_better),
        allow_missing=allow_missing,
        tuners=TUNERS.names,
    )
    tests = _tests(baseline, settings, [store.metric.id for store in given.stores], human)
    read_as = given.read_as
    design = design or given.design
    if given.run_level:
        tests = _tests_of_runs_alone(tests, settings)
        kind = "sample" if design == "samples" else "run"
        read_as += (f"one score for each {kind}: the test asks about new {kind}s on this test set",)
    elif design == "runs":
        runs = {name: system.n for name, system in given.stores[0].systems.items()}
        tests, notes = _tests_of_single_outputs(tests, settings, runs)
        read_as += notes
    return _report(
        given.stores,
        tests,
        baseline=baseline,
        testset=given.testset or testset or TESTSET,
        seed=seed,
        threads=threads,
        design=design,
        warnings=given.warnings,
        human=human,
        controls=controls,
        first_segment=first_segment,
        read_as=read_as,
        undirected=given.undirected,
        sha256={
            str(file): sha256_file(file)
            for one in rows
            if one.is_file
            for file in ([one.name] if Path(one.name).is_file() else sorted(Path(one.name).rglob("*")))
            if Path(file).is_file()
        },
    )


@explained
def test(
    arrays: ArrayLike | Mapping[str, ArrayLike],
    *,
    systems: Sequence[str] | None = None,
    documents: Annotated[Sequence[Any] | None, about("The document of each segment.")] = None,
    metric: Annotated[str, about("The name of the scores.")] = "score",
    lower_is_better: Annotated[
        bool | None, about("Whether lower scores are better; by default the metric's name decides.")
    ] = None,
    baseline: BaselineName = None,
    testset: Annotated[str, about("Name of the test set, on which random numbers depend.")] = TESTSET,
    seed: Seed = SEED,
    threads: Threads = None,
    design: Design | None = None,
    **settings: Any,
) -> ComparisonReport:
    """Compare systems by arrays of scores.

    Parameters
    ----------
    arrays
        An array (systems, replicas, segments), or a mapping from each system's name to an array
        (replicas, segments); the numbers of replicas may differ. Without the axis of segments, one
        score for each run. Samples of runs: (systems, runs, samples, segments), or (runs, samples,
        segments) by name.
    systems
        Their names; by default A, B, ...
    design, **settings
        As in `compare`.
    """
    needs("tables", "arrays of scores")
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
    """The results of a workflow experiment, from its folder ``results/<experiment>`` or an unpacked
    archive of it: all test sets, metrics, tests and studies."""
    from replitune.report.report import Report
    from replitune.stages.material import with_texts
    from replitune.stages.report import report_of

    job = report_of(Path(results))
    return Report(with_texts(job, job.results))


def _tests(
    baseline: str | None, given: Mapping[str, Any], metrics: Sequence[str], human: str | Path | None
) -> TestSettings:
    """The settings of the tests, checked. `scope` and `unit` apply to every test that has them, and a
    margin given as a number applies to every metric."""
    if baseline is not None and "pairs" in given:
        raise ReplituneError("`baseline` and `pairs` together", fix="give one of them")

    own = {name: given[name] for name in OF_TESTS if given.get(name) is not None}
    rest = {name: value for name, value in given.items() if name not in OF_TESTS}
    if fits(float, rest.get("margin")):
        rest["margin"] = dict.fromkeys(metrics, rest["margin"])
    checked: TestSettings = read_settings(TestSettings, rest, "tests")
    for name in checked.margin:
        if name not in (*metrics, *(CRITERIA if human else ())):
            raise ReplituneError(
                f"a margin of {name}, which is not compared",
                expected=", ".join(metrics),
                fix=did_you_mean(name, metrics, "{}"),
            )
    if own:
        checked = with_fields(checked, methods=_with_options(checked.methods, own))
    if baseline is None:
        return checked
    return with_fields(checked, pairs=Baseline(baseline=baseline))


def _controls(names: Sequence[str], stores: Sequence[SegmentStatistics]) -> list[SegmentStatistics]:
    """The stores of the metrics that sharpen judgements."""
    known = {store.metric.id: store for store in stores}
    for name in names:
        if name not in known:
            raise ReplituneError(
                f"no metric {name!r} to sharpen the judgements",
                expected=", ".join(known),
                fix=did_you_mean(name, known, "{}") or "name it among the metrics, too",
            )
    return [known[name] for name in dict.fromkeys(names)]


def _tests_of_people(tests: TestSettings) -> TestSettings:
    """The test of judgements alone: one run of each system, all pairs, new segments."""
    methods = (Entry("crossed", {"scope": "segments"}),)
    return with_fields(tests, methods=methods, pairs="all", margin={}, intervals=())


CRITERIA = ("human", "adequacy", "fluency")
"""Names of kinds of judgement; which of them a file has is known only after reading it."""

OF_TESTS = ("scope", "unit")
"""Options of single tests that may be given beside the settings of all tests."""


def _with_options(methods: Sequence[Entry], own: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The tests, each with the options of `own` that it has and does not set itself."""
    known = {entry.name: TESTS.settings(entry.name) for entry in methods}
    for name in own:
        if not any(name in settings for settings in known.values()):
            raise ReplituneError(
                f"none of these tests has the option {name}",
                found=", ".join(known),
                expected="a test that has it, such as crossed",
            )
    changed = []
    for entry in methods:
        options = {name: value for name, value in own.items() if name in known[entry.name]}
        options |= entry.options
        changed.append(Entry(entry.name, TESTS.entry({"name": entry.name, **options}).options, entry.id))
    return tuple(changed)


def _tests_of_single_outputs(
    tests: TestSettings, given: Mapping[str, Any], runs: Mapping[str, int]
) -> tuple[TestSettings, tuple[str, ...]]:
    """The tests, and notes. Where no tested pair has several runs on both sides and the user chose
    no test, this is the test that asks about new segments only."""
    pairs = pairs_of_systems(tests.pairs, list(runs))
    asked = {name for name, value in given.items() if value is not None}
    if not pairs or asked & {"methods", "scope"} or any(min(runs[a], runs[b]) > 1 for a, b in pairs):
        return tests, ()
    options = {"scope": "segments", **({"unit": given["unit"]} if given.get("unit") else {})}
    methods = (Entry("crossed", options),)
    note = "pairs with one run of a system: the test asks about new segments, from these runs"
    return with_fields(tests, methods=methods), (note,)


def _directions(lower: bool | Sequence[str] | None, higher: Sequence[str]) -> bool | dict[str, bool]:
    """Whether higher is better: for all metrics, or for each one that the user named."""
    if isinstance(lower, bool):
        return not lower
    if both := sorted({*(lower or ())} & {*higher}):
        raise ReplituneError("both lower and higher are said to be better", found=", ".join(both))
    return {**dict.fromkeys(lower or (), False), **dict.fromkeys(higher, True)}


def _are_paths(column: Any) -> bool:
    """Whether this is a list of file names. (In a table, at least one column holds numbers.)"""
    listed = isinstance(column, list | tuple) and len(column) > 0
    return listed and all(isinstance(item, str | Path) for item in column)


RUNS_ALONE = ("crossed", "replica-permutation", "fu-ar", "fu-bootstrap")
"""Tests that need no segments."""


def _tests_of_runs_alone(tests: TestSettings, given: Mapping[str, Any]) -> TestSettings:
    """The tests that can be made with one score for each run."""
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
                found="one score for each run",
                expected=", ".join(RUNS_ALONE),
            )
    intervals = tuple(entry for entry in tests.intervals if entry.name == "fu")
    return with_fields(tests, methods=tuple(methods), intervals=intervals)


def _design_of(said: Design | None, kinds: Collection[Design]) -> tuple[Design, tuple[str, ...]]:
    """What replicas are, as the user said or as the files of all systems show; and what to tell."""
    if said is not None or "runs" in kinds or not kinds:
        return said or "runs", ()
    if "nested" in kinds:
        return "nested", ("the outputs of a run are its samples",)
    return "samples", (f"the outputs in a file are samples (if they are runs: {option('design', 'runs')})",)


def _runs(
    system: str, runs: Iterable[Lines] | Mapping[str, Iterable[Lines]]
) -> tuple[Sequence[Lines], Sequence[str]]:
    """The outputs of a system, checked; and the run that each is a sample of, if they are named."""
    if isinstance(runs, Mapping):
        each = {name: _runs(system, own)[0] for name, own in runs.items()}
        return [run for own in each.values() for run in own], [name for name in each for _ in each[name]]
    runs = runs if isinstance(runs, str | Path) else [listed(run) for run in listed(runs)]
    if isinstance(runs, str | Path) or not runs:
        raise ReplituneError(
            f"the runs of {system} are not a list",
            found=repr(runs),
            expected="a list of runs, each a list of lines or a path",
        )
    for run in runs:
        if isinstance(run, str) and not Path(run.partition("#")[0]).exists():
            raise ReplituneError(
                "no such file",
                file=run,
                expected="a path, or a list of lines; one run of lines is a list in the list",
                fix=f"check the path; a relative one starts at {Path.cwd()}",
            )
    paths = [Path(run).resolve() for run in runs if isinstance(run, str | Path)]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise ReplituneError(
            f"{twice.name} is given as {paths.count(twice)} runs of {system}",
            expected="each run from a tuning or training of its own",
        )
    return runs, ()


def _texts_of_run(run: Lines, testset: TestSet) -> list[Lines]:
    """The outputs in a file, as lines of text. A file of JSON lines may hold several samples; in a file
    of WMT, one system of it is a run."""
    from replitune.corpus.documents_jsonl import read_json_outputs
    from replitune.corpus.outputs import read_output
    from replitune.corpus.reader import recognise
    from replitune.readers.names import split_part

    if not isinstance(run, str | Path) or recognise(run) == "text":
        return [run]
    if recognise(run) == "jsonl":
        return [*read_json_outputs(run, testset.documents)]
    return [read_output(*split_part(run))]


def _read_references(
    refs: Lines | Sequence[Lines], documents: Lines | None, source: Lines | None
) -> tuple[str, TestSet]:
    """The name of the references in messages, and the test set."""
    from replitune.corpus.reader import read_testset
    from replitune.corpus.testset import TestSet, require_ids
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
    ids, text = testset.documents, testset.source
    if documents is not None and ids is None:
        place, ids = lines_of(documents, "documents")
        require_ids(ids, place)
    if source is not None:
        _, text = lines_of(source, "source")
    if (ids, text) != (testset.documents, testset.source):
        testset = TestSet(testset.references, text, ids)
    return name, testset


def _report(
    stores: Sequence[SegmentStatistics],
    tests: TestSettings,
    *,
    baseline: str | None,
    testset: str,
    seed: int,
    threads: int | None,
    design: Design,
    warnings: Sequence[str],
    human: str | Path | None = None,
    controls: Sequence[str] = (),
    first_segment: int | None = None,
    undirected: Sequence[str] = (),
    sha256: Mapping[str, str] = MappingProxyType({}),
    **more: Any,
) -> ComparisonReport:
    """`sha256`: hashes of files that are not in the stores. `more`: other fields of the report."""
    from threadpoolctl import threadpool_limits

    from replitune.report.report import ComparisonReport
    from replitune.results.comparing import compare

    if controls and human is None:
        raise ReplituneError("metrics to sharpen judgements, but no judgements", fix="give `human`, too")
    # the last digit of a BLAS sum depends on its threads; in a notebook it would use every core
    with threadpool_limits(1, user_api="blas"):
        judged: dict[str, Any] = {}
        if human is not None:
            from replitune.meta.judged import human_statistics

            sharpening = _controls(controls, stores)
            judged_stores, notes = human_statistics(
                human, stores[0], sharpening, first_segment=first_segment
            )
            more["read_as"] = (*more.get("read_as", ()), *notes)
            for store in judged_stores:
                people_tests = tests.of_people([*store.systems]) if controls else _tests_of_people(tests)
                one = compare([store], people_tests, testset=testset, seed=seed, threads=1)
                judged |= {id: replace(result, judged=True) for id, result in one.metrics.items()}
            stores = [*stores, *judged_stores]
        comparison = compare(
            stores[: len(stores) - len(judged)],
            tests,
            testset=testset,
            seed=seed,
            threads=threads or THREADS,
            design=design,
            warnings=warnings,
        )
    metrics = {**comparison.metrics, **judged}
    comparison = replace(
        comparison,
        metrics=metrics,
        people=tuple(judged),
        undirected=undirected,
        sha256={**comparison.sha256, **sha256},
    )
    return ComparisonReport(comparison, stores, baseline, **more)
