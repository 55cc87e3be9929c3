"""What a paper with fewer tuning runs could have reported, from a pool of replicas.

  replitune replication stats --sizes 1 3 5 10 --methods clark

For each pair (Clark et al. 2011, Table 2 and Fig. 2): p of single runs that luck could have
chosen, and, of small experiments drawn from the pool again and again, the p-values at the edges
of the 95% interval and the observed differences.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from replitune.cli.options import add_settings, given_settings
from replitune.cli.stores import add_store_options, chosen_stores, given_pairs, job_stores, replicated_pairs
from replitune.experiment import stages
from replitune.settings import read
from replitune.significance.settings import TestSettings
from replitune.significance.studies.settings import ReplicationSettings

if TYPE_CHECKING:
    from replitune.significance.studies.replication import ReplicationRow
    from replitune.statistics.store import SegmentStatistics

SETTINGS = ("sizes", "repeats", "methods", "samples")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser)
    add_settings(parser, ReplicationSettings, *SETTINGS)
    add_settings(parser, TestSettings, "alpha")
    parser.add_argument("--out", metavar="FILE.parquet", help="write the rows (one metric)")


def run(options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.replication import ReplicationRow

    found = rows(
        chosen_stores(options),
        given_pairs(options),
        ReplicationSettings(**given_settings(options, ReplicationSettings, *SETTINGS)),
        TestSettings(**given_settings(options, TestSettings, "alpha")),
        options.seed,
    )
    if options.out is not None:
        write_rows(options.out, found, ReplicationRow)


def job(job: stages.Replication, options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.replication import ReplicationRow

    tests = read(TestSettings, job.tests, "tests")
    settings = read(ReplicationSettings, job.settings, "replication")
    found = rows(job_stores(job), tests.pairs, settings, tests, job.seed)
    write_rows(str(job.outputs["rows"]), found, ReplicationRow)


def rows(
    stores: Sequence[SegmentStatistics],
    pairs: Any,
    settings: ReplicationSettings,
    tests: TestSettings,
    seed: int,
) -> list[ReplicationRow]:
    """What each pair could have shown, which is also said on the terminal."""
    import numpy as np

    from replitune.report.terminal import print_table
    from replitune.report.terminal_studies import small_experiments
    from replitune.results.decimals import decimals_of
    from replitune.significance.studies.calibrate import registered
    from replitune.significance.studies.replication import replicate
    from replitune.streams import stream

    methods = registered(settings.methods, settings.samples)
    rows: list[ReplicationRow] = []
    for store in stores:
        print(f"{store.metric.id} on {store.testset or 'the test set'}")
        for pair in replicated_pairs(store, pairs, 2):
            names = sorted((pair.a.name, pair.b.name))
            found = replicate(
                pair,
                list(settings.sizes),
                methods,
                repeats=settings.repeats,
                alpha=tests.alpha,
                rng=partial(stream, seed, "replication", store.testset, *names),
            )
            print(f"  {pair.b.name} - {pair.a.name} ({pair.a.n} and {pair.b.n} replicas)")
            scores = pair.scores_a, pair.scores_b
            decimals = decimals_of(
                np.concatenate(scores).tolist(), s_test=[float(np.std(s, ddof=1)) for s in scores]
            )
            print_table(small_experiments(found, decimals), indent=4)
            rows += found
    return rows
