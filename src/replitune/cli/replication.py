"""Say what a paper with fewer runs could have reported, by draws from those you have.

  replitune replication stats --sizes 1 3 5 10 --methods clark

For each pair, after Clark et al. (2011, Table 2 and Fig. 2): p of single runs that could have been
picked by chance; and, for many small experiments drawn from all runs, the range of 95% of the
p-values and of the observed differences.
"""

from __future__ import annotations

import argparse

from replitune.cli.options import add_settings, given_settings
from replitune.cli.stores import add_store_options, chosen_stores, given_pairs
from replitune.significance.settings import TestSettings
from replitune.significance.studies.settings import ReplicationSettings

SETTINGS = ("sizes", "repeats", "methods", "samples")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser)
    add_settings(parser, ReplicationSettings, *SETTINGS)
    add_settings(parser, TestSettings, "alpha")
    parser.add_argument("--out", metavar="FILE.parquet", help="write the rows (one metric)")


def run(options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.replication import ReplicationRow
    from replitune.stages.studies import replication_rows

    rows = replication_rows(
        chosen_stores(options),
        given_pairs(options),
        ReplicationSettings(**given_settings(options, ReplicationSettings, *SETTINGS)),
        TestSettings(**given_settings(options, TestSettings, "alpha")),
        options.seed,
    )
    if options.out is not None:
        write_rows(options.out, rows, ReplicationRow)
