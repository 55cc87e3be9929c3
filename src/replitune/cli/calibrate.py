"""How often each test finds a difference where there is none, on your own replicas.

  replitune calibrate stats --methods crossed clark fu-ar --ns 3 5

Three studies, wherever the pools of replicas are large enough: a system against itself (A/A); two
systems whose outputs are swapped by a coin for each segment (the next test set); and simulation
from the variance components of each pair.
"""

from __future__ import annotations

import argparse

from replitune.cli import words
from replitune.errors import ReplituneError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words.add_store_options(parser, pairs=False)
    parser.add_argument(
        "--methods",
        nargs="+",
        default=["crossed", "clark", "riezler", "fu-ar"],
        metavar="TEST",
        help="tests to calibrate (default: %(default)s)",
    )
    parser.add_argument("--ns", nargs="+", type=int, default=[3, 5], metavar="N", help="replicas")
    parser.add_argument(
        "--trials",
        type=int,
        default=300,
        metavar="T",
        help="trials of each kind and size (default %(default)s)",
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=999,
        metavar="R",
        help="resamples of each resampling test (default %(default)s)",
    )
    parser.add_argument(
        "--unit", default="segment", choices=("segment", "document"),
        help="what the coin of the next test set is thrown for (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE.parquet", help="write the rows (one metric)")


def run(options: argparse.Namespace) -> None:
    from replitune.cli.stores import studied
    from replitune.report.terminal import print_table
    from replitune.report.terminal_studies import rejections
    from replitune.results.rows import write_rows
    from replitune.significance.studies.calibrate import CalibrationRow, calibrate, registered

    stores = studied(options)
    tests = registered([words.method_word(word) for word in options.methods], options.samples)
    for store in stores:
        rows = calibrate(
            store.metric, store.systems, store.documents, tests,
            ns=options.ns, trials=options.trials, unit=options.unit, seed=options.seed,
        )  # fmt: skip
        if not rows:
            raise ReplituneError(
                "no study is possible with so few replicas",
                found=", ".join(f"{s.n} of {name}" for name, s in store.systems.items()),
                expected=f"at least {2 * min(options.ns)} of one system",
            )
        print(f"{store.metric.id} on {store.testset or 'the test set'}: share of p <= alpha\n")
        print_table(rejections(rows), indent=0)
        print()
        if options.out is not None:
            write_rows(options.out, rows, CalibrationRow)
