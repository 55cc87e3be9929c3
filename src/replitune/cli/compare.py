"""Compare systems whose outputs you have; any number of runs of each.

  replitune compare --refs ref.txt --baseline base.*.txt --system new=new.*.txt --metrics bleu ter

prints for each metric the mean score, the spread over test sets (s_sel) and over runs (s_test),
the difference from the baseline, and p. With one run of a system only tests of this test set are
possible, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from replitune.backends.settings import ReplicaDesign
from replitune.cli.options import add_seed, add_settings, given_settings, safe_name, system_files
from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.replicas import replica_ids
from replitune.significance.settings import Baseline, TestSettings

SETTINGS = ("methods", "samples", "alpha", "correction", "family", "margin", "paired_replicas")

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""By default all cores that this process may use; numbers do not depend on it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--refs",
        nargs="+",
        required=True,
        metavar="R",
        help="references: text files, or one prepared test set, TSV, WMT XML or SGM",
    )
    parser.add_argument(
        "--baseline", nargs="+", metavar="H", help="outputs of the runs of the baseline"
    )
    parser.add_argument(
        "--system",
        nargs="+",
        action="append",
        default=[],
        metavar="NAME=H",
        help="a system and the outputs of its runs; may be repeated",
    )
    parser.add_argument(
        "--metrics",
        nargs="+",
        default=["bleu"],
        metavar="M",
        help="metrics, with options as METRIC:key=value,... (default: bleu)",
    )
    parser.add_argument("--docs", metavar="FILE", help="document id of each segment, one a line")
    parser.add_argument(
        "--testset",
        default="testset",
        metavar="NAME",
        help="name of the test set; it names random streams (default %(default)s)",
    )
    add_settings(parser, TestSettings, *SETTINGS)
    add_settings(parser, ReplicaDesign, "design")
    add_seed(parser)
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")
    parser.add_argument("--latex", metavar="FILE", help="write the tables as LaTeX (booktabs)")
    parser.add_argument("--html", metavar="FILE", help="write the report as one page")
    parser.add_argument(
        "--rank",
        metavar="DIR",
        help="write the outputs of the median runs, most improved and most declined first",
    )
    parser.add_argument(
        "--sentence-scores", metavar="DIR", help="write the score of every segment of every run"
    )
    parser.add_argument("--stats-dir", metavar="DIR", help="keep the segment statistics")


def run(options: argparse.Namespace) -> None:
    from replitune.corpus.reader import read_testset
    from replitune.metrics.registry import METRICS
    from replitune.report.terminal import print_comparison
    from replitune.results.comparing import compare
    from replitune.statistics.diagnosis import diagnose, find_copies
    from replitune.statistics.outputs import Outputs, read_outputs
    from replitune.statistics.scoring import Scored, Scorer
    from replitune.statistics.store import write_store

    if options.html:
        needs("plots", "--html")
    settings = TestSettings(
        pairs=Baseline(baseline="baseline") if options.baseline else "all",
        **given_settings(options, TestSettings, *SETTINGS),
    )
    safe_name(options.testset, "--testset")
    files = _files(options)
    entries = METRICS.entries(options.metrics)
    testset = read_testset(options.refs, documents=options.docs)
    scorers = [Scorer(entry, testset, options.testset) for entry in entries]
    warnings: list[str] = []
    hashes: dict[str, list[str]] = {}
    texts: dict[str, Outputs] = {}
    scored: dict[str, list[Scored]] = {scorer.metric.id: [] for scorer in scorers}
    for name, paths in files.items():
        outputs = read_outputs(paths, testset.segments, options.refs[0])
        warnings += diagnose(name, outputs, testset.references, words=0)
        hashes[name] = outputs.sha256
        texts[name] = outputs
        for scorer in scorers:
            result = scorer.score(name, replica_ids({"run": len(paths)}), outputs)
            scored[scorer.metric.id].append(result)
            if options.stats_dir is not None:
                path = Path(options.stats_dir) / scorer.metric.id / f"{name}.parquet"
                write_store(
                    path,
                    [result.system],
                    scorer.metric,
                    scorer.metadata([result]),
                    testset.documents,
                )
    stores = [scorer.statistics(scored[scorer.metric.id]) for scorer in scorers]
    comparison = compare(
        stores,
        settings,
        testset=options.testset,
        seed=options.seed,
        threads=options.threads,
        **given_settings(options, ReplicaDesign, "design"),
        warnings=[*warnings, *find_copies(hashes)],
    )
    if options.json is not None:
        from replitune.running.files import atomic_open

        with atomic_open(options.json) as handle:
            json.dump(comparison.as_json(), handle, indent=1, allow_nan=False)
            handle.write("\n")
    if options.html or options.latex or options.rank or options.sentence_scores:
        from replitune.report.comparison_files import ComparisonFiles

        baseline = "baseline" if options.baseline else None
        written = ComparisonFiles(comparison, stores, testset, texts, baseline)
        for path, write in (
            (options.html, written.html),
            (options.latex, written.latex),
            (options.rank, written.ranking),
            (options.sentence_scores, written.sentence_scores),
        ):
            if path is not None:
                write(path)
    for warning in comparison.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print_comparison(comparison)


def _files(options: argparse.Namespace) -> dict[str, list[str]]:
    """Output files by system; the baseline comes first."""
    files: dict[str, list[str]] = {}
    if options.baseline:
        files["baseline"] = options.baseline
    for given in options.system:
        name, paths = system_files(given, "--system")
        safe_name(name, "--system")
        if name in files:
            raise ReplituneError(
                f"system {name!r} is given twice",
                fix="list all runs of a system after one --system NAME=",
            )
        files[name] = paths
    if len(files) < 2:
        raise ReplituneError(
            "nothing to compare",
            found=f"{len(files)} system(s)",
            expected="--baseline and at least one --system, or two --system",
        )
    return files
