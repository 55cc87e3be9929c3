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

from replitune.cli import words
from replitune.errors import ReplituneError
from replitune.replicas import replica_ids

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
    words.add_test_options(parser, ["crossed", "clark"])
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
    from replitune.metrics.diagnosis import diagnose, find_copies
    from replitune.metrics.registry import get_metrics
    from replitune.report.terminal import print_comparison
    from replitune.results.comparing import Settings, compare
    from replitune.statistics.scorer import Scored, Scorer, load_testset
    from replitune.statistics.scoring import Outputs, read_outputs
    from replitune.statistics.store import write_store

    words.check_test_options(options)
    words.checked_name(options.testset, "--testset")
    paths_of = _files(options)
    testset = load_testset(options.refs, options.docs)
    get_metrics(options.metrics)  # whose ids must differ: they name files
    scorers = [Scorer(word, testset, options.testset) for word in options.metrics]
    warnings: list[str] = []
    hashes: dict[str, list[str]] = {}
    texts: dict[str, Outputs] = {}
    scored: dict[str, list[Scored]] = {scorer.metric.id: [] for scorer in scorers}
    for name, paths in paths_of.items():
        outputs = read_outputs(paths, testset.segments, options.refs[0])
        warnings += diagnose(name, outputs, testset.references, words=0)
        hashes[name] = outputs.sha256
        texts[name] = outputs
        for scorer in scorers:
            result, _ = scorer.score(name, replica_ids({"run": len(paths)}), outputs)
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
    settings = Settings(
        testset=options.testset,
        seed=options.seed,
        pairs=("baseline=baseline",) if options.baseline else ("all",),
        methods=tuple(options.methods),
        samples=options.samples,
        alpha=options.alpha,
        correction=options.correction,
        paired_replicas=options.paired_replicas,
        threads=options.threads,
    )
    stores = [scorer.statistics(scored[scorer.metric.id]) for scorer in scorers]
    comparison = compare(stores, settings, warnings=[*warnings, *find_copies(hashes)])
    if options.json is not None:
        from replitune.running.files import atomic_open

        with atomic_open(options.json) as handle:
            json.dump(comparison.as_json(), handle, indent=1, allow_nan=False)
            handle.write("\n")
    if options.html or options.latex or options.rank or options.sentence_scores:
        from replitune.report.comparison_files import ComparisonFiles

        files = ComparisonFiles(
            comparison,
            stores,
            testset,
            texts,
            "baseline" if options.baseline else None,
            words.tests_by_label(options.methods),
        )
        for path, write in (
            (options.html, files.html),
            (options.latex, files.latex),
            (options.rank, files.ranking),
            (options.sentence_scores, files.sentence_scores),
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
        name, paths = words.system_files(given, "--system")
        words.checked_name(name, "--system")
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
