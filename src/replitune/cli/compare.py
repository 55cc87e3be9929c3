"""Compare systems whose outputs you have; any number of runs of each.

  replitune compare --refs ref.txt --baseline base.*.txt --system new=new.*.txt --metrics bleu ter

This prints for each metric the mean score, the spread over test sets (s_sel) and over runs
(s_test), the difference from the baseline, and p. With only one run of a system, nothing can be said
about other runs, and the answer says so. To compare scores computed elsewhere, without texts:

  replitune compare --scores scores.csv --baseline base

A table has a row for each (system, run, segment) and a column with the score. Other columns may
name the metric, the document or the test set (docs/compare.md).
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from replitune import api
from replitune.api import THREADS as THREADS
from replitune.cli.options import (
    TEST_SETTINGS,
    add_settings,
    given_settings,
    matches,
    metric_words,
    option_of,
    pairs_of,
    safe_name,
    system_files,
    whole,
)
from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.notes import NOTES
from replitune.registry import SystemName
from replitune.report.contents import LATEX_TABLES
from replitune.running.files import atomic_open
from replitune.settings import settings_of
from replitune.significance.looks.settings import SCHEDULE
from replitune.significance.settings import ReplicaDesign, Rule, TestSettings

if TYPE_CHECKING:
    from replitune.report.report import ComparisonReport
    from replitune.significance.looks.record import Record

NOT_SO = 3
"""The exit code if `--fail-unless` is not met; for a mistake it is 2."""

OURS = ("baseline", "threads")
"""Parameters whose options are another matter than the parameters."""
OF_TEXTS, OF_TABLES = (
    [name for name in settings_of(one) if name not in settings_of(other)]
    for one, other in ((api.compare, api.scores), (api.scores, api.compare))
)
OUTPUTS = (
    ("--json", "FILE", "write everything as JSON"),
    ("--latex", "FILE", "write the tables as LaTeX (booktabs)"),
    ("--figures", "DIR", "write the figures as PDF and SVG"),
    ("--methods-paragraph", "FILE", "write what was done, with references, for a paper"),
    ("--html", "FILE", "write the report as one page"),
    ("--rank", "DIR", "write the outputs of the median runs, most improved and most declined first"),
    ("--sentence-scores", "DIR", "write the score of every segment of every run"),
    ("--stats-dir", "DIR", "keep the segment statistics"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--refs",
        nargs="+",
        metavar="R",
        help="references: text files, or one prepared test set, TSV, WMT XML or SGM",
    )
    parser.add_argument(
        "--scores",
        nargs="+",
        metavar="FILE",
        help="files of scores instead of texts, recognised by content: CSV, TSV, JSON lines, "
        "Parquet, and others; NAME=FILE FILE ... where files name no system",
    )
    parser.add_argument(
        "--baseline",
        nargs="+",
        metavar="H",
        help="outputs of the runs of the baseline, NAME=H to name it; with --scores, its name in the table",
    )
    parser.add_argument(
        "--system",
        nargs="+",
        action="append",
        default=[],
        metavar="NAME=H",
        help="a system and the outputs of its runs; may be repeated",
    )
    texts, tables = settings_of(api.compare), settings_of(api.scores)
    with_scores = {
        name: f"With --scores: {one.description[0].lower()}{one.description[1:]}"
        for name, one in tables.items()
    }
    more = {name: text for name, text in with_scores.items() if name in ("metrics", "testset")}
    add_settings(parser, api.compare, *(name for name in texts if name not in OURS), more=more)
    add_settings(parser, api.scores, *OF_TABLES, help=with_scores)
    parser.add_argument(
        "--judge-next",
        metavar="FILE",
        help="write a CSV of outputs to judge, with more segments where the metrics of --with differ more",
    )
    parser.add_argument(
        "--budget",
        type=whole,
        metavar="N",
        help="segments in it (default: as many as the margin needs, estimated from the judgements so far)",
    )
    parser.add_argument(
        "--pairs",
        nargs="+",
        metavar="PAIR",
        help="all, or A:B ... (default: all, or with --baseline every system against that one)",
    )
    parser.add_argument(
        "--scope",
        metavar="both|runs|segments",
        help="what a small p generalises to, for tests with this option (default both; for single "
        "outputs segments)",
    )
    parser.add_argument(
        "--unit",
        metavar="auto|segment|document",
        help="what is drawn anew in a new test set, for tests with this option (default auto)",
    )
    add_settings(parser, TestSettings, *TEST_SETTINGS)
    add_settings(parser, ReplicaDesign, "design")
    parser.add_argument(
        "--fail-unless",
        choices=get_args(Rule),
        help="exit with 3 unless every system is this against the baseline, or the second of two "
        "against the first, under every metric; the last line of output is the decision as JSON",
    )
    parser.add_argument(
        "--junit",
        metavar="FILE",
        help="write what --fail-unless decides as JUnit XML, a test for each pair",
    )
    for gate in (kind.gate for kind in NOTES.values() if kind.gate is not None):
        parser.add_argument(
            f"--allow-{gate.name}",
            action="append_const",
            const=gate.name,
            dest="allow",
            help=f"let --fail-unless decide even if {gate.when}",
        )
    parser.add_argument(
        "--looks",
        nargs="*",
        type=int,
        metavar="N",
        help="take the runs in order, with a look at each of these numbers (default "
        f"{' '.join(map(str, SCHEDULE))}), and say whether fewer would have done, by the first "
        "metric: docs/adaptive.md",
    )
    parser.add_argument(
        "--latex-style",
        choices=tuple(LATEX_TABLES),
        default=next(iter(LATEX_TABLES)),
        help="papers: mean ± s, best bold, daggers, and the differences; multeval: metric by "
        "system with score, s_sel, s_test and p (default papers)",
    )
    for option, value, text in OUTPUTS:
        parser.add_argument(option, metavar=value, help=text)


def run(options: argparse.Namespace) -> int:
    from replitune.report.terminal import print_comparison

    if options.judge_next and not options.controls:
        raise ReplituneError("no metrics to choose segments by", fix="name them with --with")
    if options.controls and not options.human and not options.judge_next:
        raise ReplituneError("--with needs judgements", fix="give them (--human FILE)")
    for option in ("html", "figures"):
        if getattr(options, option):
            needs("plots", f"--{option}")
    if options.junit and options.fail_unless is None:
        raise ReplituneError(
            "--junit writes a decision, but none is asked for",
            fix="say what must hold: --fail-unless better, not-worse or same",
        )
    if options.fail_unless and not options.baseline and options.pairs in (None, ["all"]):
        raise ReplituneError(
            "--fail-unless needs a baseline, or pairs",
            fix="name the system that the others are compared with as --baseline",
        )
    report = (_compare_scores if options.scores else _compare_texts)(options)
    report = replace(report, comparison=replace(report.comparison, command=shlex.join(options.line)))
    if options.fail_unless and report.comparison.undirected:
        (name, *_) = report.comparison.undirected
        raise ReplituneError(
            f"it is not known whether higher or lower {name} is better",
            found="--fail-unless, and a name that does not say it",
            fix=f"say --higher-is-better {name}, or --lower-is-better {name}",
        )
    record = None if options.looks is None else report.looks(options.looks or SCHEDULE)
    for path, write in (
        (options.stats_dir, report.write_store),
        (options.json, report.write_json),
        (options.html, report.write_html),
        (options.latex, partial(report.write_latex, style=options.latex_style)),
        (options.figures, report.write_figures),
        (options.methods_paragraph, report.write_methods_paragraph),
        (options.rank, report.write_ranking),
        (options.sentence_scores, report.write_sentence_scores),
    ):
        if path is not None:
            write(path)
    for note in report.read_as:
        print(f"note: {note}", file=sys.stderr)
    print_comparison(report.comparison)
    if options.judge_next is not None:
        told = report.write_judging_sheet(
            options.judge_next,
            options.controls,
            budget=options.budget,
            human=options.human,
            **given_settings(options, api.compare, "first_segment"),
        )
        print(f"\n{told}")
    if record is not None:
        _print_looks(report, record)
    if options.fail_unless is None:
        return 0
    from replitune.results.decision import decide, junit

    decision = decide(report.results, options.fail_unless, options.allow or ())
    if options.junit is not None:
        with atomic_open(options.junit) as handle:
            handle.write(junit(decision))
    print(json.dumps(decision.as_json(), allow_nan=False))
    return 0 if decision.ok else NOT_SO


def _print_looks(report: ComparisonReport, record: Record) -> None:
    from replitune.report.terminal_looks import PLANNED, look_table, savings

    cell = report.results[0]
    print(f"\nlooks by {cell.name}, p adjusted for looks and pairs\n")
    print(look_table(record, cell.decimals))
    print(f"\n{savings(record)}")
    if record.drift:
        print(record.drift)
    print(f"note: {PLANNED}", file=sys.stderr)


def _compare_texts(options: argparse.Namespace) -> ComparisonReport:
    """Compare outputs with references."""
    for name in OF_TABLES:
        if getattr(options, name) not in (None, False):
            raise ReplituneError(f"{option_of(name)} is for tables of scores", fix="give --scores FILE")
    if not options.refs:
        raise ReplituneError("no references", expected="--refs, or --scores with a table of scores")
    if not options.baseline and not options.system:
        raise ReplituneError(
            "no outputs to compare",
            found=f"--refs {' '.join(options.refs)}",
            expected="--refs FILE --baseline FILE ... --system NAME=FILE ...",
        )
    report: ComparisonReport = api.compare(
        [Path(path) for path in options.refs],
        _files(options),
        metric_words(options.metrics) or api.METRICS,
        baseline=_baseline(options.baseline)[0] if options.baseline else None,
        **_given(options, api.compare),
    )
    return report


def _compare_scores(options: argparse.Namespace) -> ComparisonReport:
    """Compare by a table of scores."""
    for name in ("refs", "system", *OF_TEXTS):
        if getattr(options, name):
            raise ReplituneError(
                f"{option_of(name)} and --scores together",
                fix="a table of scores needs no texts; to compare its scores beside metrics of texts: "
                f"--metrics bleu external:file={options.scores[0]}",
            )
    if options.baseline and len(options.baseline) > 1:
        raise ReplituneError(
            "--baseline takes the name of one system of the table", found=" ".join(options.baseline)
        )
    report: ComparisonReport = api.scores(
        _score_files(options.scores),
        metrics=metric_words(options.metrics),
        baseline=options.baseline[0] if options.baseline else None,
        **_given(options, api.scores),
    )
    return report


def _score_files(words: list[str]) -> list[str] | dict[str, list[str]]:
    """``FILE ...``, or ``NAME=FILE FILE ... NAME=FILE ...``: the runs of each system."""
    if "=" not in words[0] or Path(words[0]).exists():
        return [path for word in words for path in matches(word)]
    files: dict[str, list[str]] = {}
    system = ""
    for word in words:
        name, equals, path = word.partition("=")
        if equals and not Path(word).exists():
            system = name
        else:
            path = word
        files.setdefault(system, []).extend(matches(path))
    return files


def _given(options: argparse.Namespace, function: Any) -> dict[str, Any]:
    """The arguments of `compare` or `scores` that are given by options of their names."""
    names = [name for name in settings_of(function) if name not in (*OURS, "metrics")]
    given = given_settings(options, function, *names)
    if "testset" in given and not options.scores:
        safe_name(given["testset"], "--testset")
    if not options.human:
        given.pop("controls", None)  # they choose what to judge next
    if options.pairs is not None:
        given["pairs"] = pairs_of(options.pairs)
    return {
        **given,
        "threads": options.threads,
        "scope": options.scope,
        "unit": options.unit,
        **given_settings(options, ReplicaDesign, "design"),
        **given_settings(options, TestSettings, *TEST_SETTINGS),
    }


def _baseline(words: list[str]) -> tuple[str, list[str]]:
    """The name of the baseline, and its files: ``H H ...`` or ``NAME=H H ...``."""
    name, equals, _ = words[0].partition("=")
    if not equals or Path(words[0]).exists() or "/" in name:
        return "baseline", [file for word in words for file in matches(word)]
    return safe_name(name, "--baseline", SystemName), system_files(words, "--baseline")[1]


def _files(options: argparse.Namespace) -> dict[str, list[str]]:
    """Output files by system; the baseline comes first."""
    files: dict[str, list[str]] = {}
    if options.baseline:
        name, paths = _baseline(options.baseline)
        files[name] = paths
    for given in options.system:
        name, paths = system_files(given, "--system")
        safe_name(name, "--system", SystemName)
        if name in files:
            raise ReplituneError(
                f"system {name!r} is given twice", fix="list all runs of a system after one --system NAME="
            )
        files[name] = paths
    return files
