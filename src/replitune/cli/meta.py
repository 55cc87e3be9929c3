"""How well metrics agree with people, and which metric agrees better.

  replitune meta stats --human da.csv --testset newstest2021

STORE is what `replitune score` wrote for several systems and metrics. FILE has a header with system,
segment and score (CSV, TSV or WMT's own format), or a system and a score on each line, in the order
of the segments. Correlations have bootstrap intervals. Metrics are compared by Williams' test and
PERM-BOTH, and tests of pairs of systems by how often people come to the same result.
"""

from __future__ import annotations

import argparse

from replitune.cli.options import add_seed, add_settings, given_settings
from replitune.errors import ReplituneError
from replitune.meta.settings import MetaSettings
from replitune.running.files import write_ascii_json

SETTINGS = (
    "human",
    "fluency",
    "score_column",
    "standardise",
    "first_segment",
    "exclude",
    "segments",
    "human_tests",
    "methods",
    "samples",
    "resample",
    "ci_samples",
    "alphas",
    "human_alpha",
    "correction",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "store", metavar="STORE", help="segment statistics: a file, or a folder of any depth"
    )
    texts = {"human": "judgements: of adequacy, or of both", "fluency": "judgements of fluency"}
    add_settings(parser, MetaSettings, *SETTINGS, help=texts)
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--metrics", nargs="+", metavar="ID", help="only these, in this order")
    parser.add_argument("--testset", metavar="NAME", help="only this test set")
    add_seed(parser)
    parser.add_argument("--out", metavar="FILE.parquet", help="write rows for the workflow")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")


def run(options: argparse.Namespace) -> None:
    from replitune.cli.stores import one_testset
    from replitune.meta.rows import MetaRow
    from replitune.results.rows import write_rows
    from replitune.stages.meta import study_metrics

    given = given_settings(options, MetaSettings, *SETTINGS)
    if "human" not in given:
        raise ReplituneError("judgements are needed", fix="name their file as --human")
    settings = MetaSettings(**given)
    files = {"human": given["human"]} | ({"fluency": given["fluency"]} if "fluency" in given else {})
    stores = one_testset(options.store, options.testset)
    if options.metrics is not None:
        known = {store.metric.id: store for store in stores}
        for id in options.metrics:
            if id not in known:
                raise ReplituneError(
                    f"no metric is called {id!r}", file=options.store, expected=", ".join(known)
                )
        stores = [known[id] for id in dict.fromkeys(options.metrics)]
    study = study_metrics(
        stores,
        settings,
        files,
        systems=options.systems,
        testset=options.testset or stores[0].testset or "testset",
        seed=options.seed,
        threads=options.threads,
    )
    if options.out is not None:
        write_rows(options.out, study.rows, MetaRow)
    if options.json is not None:
        write_ascii_json(options.json, study.as_json())
