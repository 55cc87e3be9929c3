"""How well metrics agree with people, and which metric agrees better.

  replitune meta stats --human da.csv --testset newstest2021

STORE is what `replitune score` wrote, for several systems and metrics. FILE has a header with
system, segment and score (CSV, TSV, or WMT's own), or a system and a score on each line in the
order of the segments. Correlations have bootstrap intervals; metrics are compared by Williams'
test and PERM-BOTH; tests of pairs of systems by how often people find the same.
"""

from __future__ import annotations

import argparse
import json

from replitune.cli import words
from replitune.errors import ReplituneError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "store", metavar="STORE", help="segment statistics: a file, or a folder of any depth"
    )
    parser.add_argument(
        "--human", required=True, metavar="FILE", help="judgements: of adequacy, or of both"
    )
    parser.add_argument("--fluency", metavar="FILE", help="judgements of fluency")
    parser.add_argument("--score-column", metavar="NAME", help="column of the judgements")
    parser.add_argument(
        "--standardise", action="store_true",
        help="judgements minus their annotator's mean, by their annotator's spread",
    )  # fmt: skip
    parser.add_argument(
        "--first-segment", type=int, default=0, choices=(0, 1), metavar="{0,1}",
        help="number of the first segment in the judgements (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="only these")
    parser.add_argument(
        "--exclude", nargs="+", default=[], metavar="NAME", help="not these systems"
    )
    parser.add_argument("--metrics", nargs="+", metavar="ID", help="only these, in this order")
    parser.add_argument("--testset", metavar="NAME", help="only this test set")
    parser.add_argument(
        "--methods", nargs="+", default=["koehn", "graham", "riezler"], metavar="TEST",
        help="tests of pairs of systems, with options as TEST:key=value,... (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--samples", type=int, default=10_000, metavar="R",
        help="resamples of each test (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--resample", default="both", choices=("systems", "segments", "both"),
        help="what intervals of correlations draw (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--ci-samples", type=int, default=1_000, metavar="R",
        help="resamples of these intervals (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--alphas", type=float, nargs="+", default=[0.05, 0.01, 0.001], metavar="A",
        help="levels at which outcomes are compared (default .05 .01 .001)",
    )  # fmt: skip
    parser.add_argument(
        "--human-alpha", type=float, metavar="A", help="level for people (default: the metric's)"
    )
    parser.add_argument(
        "--correction", default="none", choices=("holm", "bh", "none"),
        help="for all pairs within one metric and test (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=2011, help="the only source of randomness (default 2011)"
    )
    parser.add_argument("--out", metavar="FILE.parquet", help="write rows for the workflow")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")


def run(options: argparse.Namespace) -> None:
    from replitune.meta.analysis import evaluate
    from replitune.meta.human import read_human
    from replitune.meta.human_cells import standardised
    from replitune.meta.loading import load
    from replitune.meta.rows import MetaRow, MetaSettings
    from replitune.report.terminal_meta import print_meta
    from replitune.results.rows import write_rows
    from replitune.statistics.store import read_stores

    _check(options)
    stores = read_stores(options.store)
    if options.testset is not None and any(store.testset for store in stores):
        stores = [store for store in stores if store.testset in (options.testset, "")]
    testsets = {store.testset for store in stores}
    if not stores or len(testsets) > 1:
        raise ReplituneError(
            "metrics are compared on exactly one test set", file=options.store,
            found=", ".join(sorted(testsets)) or "none", fix="choose one with --testset",
        )  # fmt: skip
    if options.metrics is not None:
        known = {store.metric.id: store for store in stores}
        for id in options.metrics:
            if id not in known:
                raise ReplituneError(
                    f"no metric is called {id!r}", file=options.store, expected=", ".join(known)
                )
        stores = [known[id] for id in dict.fromkeys(options.metrics)]
    criterion = "adequacy" if options.fluency else None
    judgements = [read_human(options.human, criterion=criterion, score=options.score_column)]
    if options.fluency:
        judgements.append(
            read_human(options.fluency, criterion="fluency", score=options.score_column)
        )
    if options.standardise:
        judgements = [standardised(given) for given in judgements]
    data = load(
        stores,
        judgements,
        systems=options.systems,
        exclude=options.exclude,
        first_segment=options.first_segment,
    )
    study = evaluate(
        data.metrics,
        data.humans,
        data.documents,
        MetaSettings(
            testset=options.testset or stores[0].testset or "testset",
            seed=options.seed,
            methods=tuple(words.method_word(word) for word in options.methods),
            samples=options.samples,
            ci_samples=options.ci_samples,
            resample=options.resample,
            alphas=tuple(dict.fromkeys(options.alphas)),
            human_alpha=options.human_alpha,
            correction=options.correction,
            threads=options.threads,
        ),
        data.notes,
    )
    if options.out is not None:
        write_rows(options.out, study.rows, MetaRow)
    if options.json is not None:
        from replitune.running.files import atomic_open

        with atomic_open(options.json) as handle:
            json.dump(study.as_json(), handle, indent=1, allow_nan=False)
            handle.write("\n")
    print_meta(study)


def _check(options: argparse.Namespace) -> None:
    for name in ("samples", "ci_samples"):
        if getattr(options, name) < 1:
            raise ReplituneError(
                f"--{name.replace('_', '-')} is not allowed",
                found=str(getattr(options, name)), expected="at least 1",
            )  # fmt: skip
    for alpha in (*options.alphas, *([] if options.human_alpha is None else [options.human_alpha])):
        if not 0 < alpha < 1:
            raise ReplituneError(
                "a level is not allowed", found=str(alpha), expected="between 0 and 1"
            )
    if options.seed < 0:
        raise ReplituneError(
            "--seed is not allowed", found=str(options.seed), expected="at least 0"
        )
