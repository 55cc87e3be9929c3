"""Significance tests on segment statistics: every pair by every test.

  replitune test stats --pairs all --methods crossed clark

STORE is what `replitune score` wrote: a file, or a folder of any depth. With --out FILE.parquet
the rows, the systems' spread, the overlaps of
their intervals and the distributions are written (one metric); without it a table
is printed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from replitune.cli import words
from replitune.errors import ReplituneError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "store", metavar="STORE", help="segment statistics: a file, or a folder of any depth"
    )
    parser.add_argument("--dev", metavar="STORE", help="the same systems on the tuning set")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="only these, in this order")
    parser.add_argument(
        "--pairs", nargs="+", default=["all"], metavar="A:B", help="all, baseline=NAME, or pairs"
    )
    parser.add_argument("--testset", metavar="NAME", help="only this test set")
    words.add_test_options(parser, ["crossed", "clark"])
    parser.add_argument(
        "--intervals", nargs="+", default=["riezler", "clark", "fu"], metavar="NAME",
        help="intervals of each system's score, with options like tests (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE.parquet", help="write rows for the workflow")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")


def inputs(options: argparse.Namespace) -> list[Path]:
    """What it reads: of the workflow's folders, the systems that are tested."""
    stores = [Path(store) for store in (options.store, options.dev) if store]
    if options.systems is None:
        return stores
    return [store / f"{name}.parquet" for store in stores for name in options.systems]


def run(options: argparse.Namespace) -> None:
    from replitune.cli.stores import one_testset
    from replitune.report.terminal import print_comparison
    from replitune.results.comparing import compare
    from replitune.significance.registry import INTERVALS
    from replitune.statistics.store import read_stores

    words.check_test_options(options)
    stores = one_testset(options.store, options.testset)
    dev = read_stores(options.dev) if options.dev else []
    comparison = compare(
        stores,
        words.test_settings(
            options,
            pairs=words.pair_words(options.pairs),
            intervals=tuple(INTERVALS.entries(options.intervals)),
        ),
        testset=options.testset or stores[0].testset or "testset",
        seed=options.seed,
        threads=options.threads,
        dev=dev,
        systems=options.systems,
    )
    if options.out is not None:
        if len(comparison.metrics) != 1:
            raise ReplituneError("--out takes one metric", found=", ".join(comparison.metrics))
        out = Path(options.out)
        (result,) = comparison.metrics.values()
        result.write(out.parent, out.stem)
        return
    if options.json is not None:
        from replitune.running.files import atomic_open

        with atomic_open(options.json) as handle:
            json.dump(comparison.as_json(), handle, indent=1, allow_nan=False)
            handle.write("\n")
    print_comparison(comparison)
