"""Test the differences between systems: every pair by every test.

  replitune test stats --pairs all --methods crossed clark

STORE is what `replitune score` wrote: a file, or a folder of any depth. A table is printed. With
--out FOLDER the tests, the systems' spread, the overlaps of their intervals and the distributions
are also written, as in an experiment.
"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

from replitune.cli.options import TEST_SETTINGS, add_settings, given_settings
from replitune.cli.stores import add_store_options, given_pairs, given_stores
from replitune.running.files import write_ascii_json
from replitune.significance.settings import ReplicaDesign, TestSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser, suite=True)
    parser.add_argument("--dev", metavar="STORE", help="the same systems on the tuning set")
    add_settings(parser, TestSettings, *TEST_SETTINGS)
    add_settings(parser, ReplicaDesign, "design")
    parser.add_argument("--out", metavar="FOLDER", help="write the results, as an experiment does")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")


def run(options: argparse.Namespace) -> None:
    from replitune.report.terminal import print_comparison
    from replitune.results.comparing import compare
    from replitune.statistics.store import read_stores

    settings = TestSettings(
        pairs=given_pairs(options), **given_settings(options, TestSettings, *TEST_SETTINGS)
    )
    stores, suite = given_stores(options)
    comparison = compare(
        stores,
        settings,
        testset=options.testset or ("suite" if suite else stores[0].testset or "testset"),
        suite=suite,
        seed=options.seed,
        threads=options.threads,
        dev=read_stores(options.dev) if options.dev else [],
        systems=options.systems,
        **given_settings(options, ReplicaDesign, "design"),
    )
    comparison = replace(comparison, command=shlex.join(options.line))
    if options.out is not None:
        for result in comparison.metrics.values():
            result.write(Path(options.out))
    if options.json is not None:
        write_ascii_json(options.json, comparison.as_json())
    print_comparison(comparison)
