"""What a paper with fewer tuning runs could have reported, from a pool of replicas.

  replitune replication stats --sizes 1 3 5 10 --methods clark

For each pair (Clark et al. 2011, Table 2 and Fig. 2): p of single runs that luck could have
chosen, and, of small experiments drawn from the pool again and again, the p-values at the edges
of the 95% interval and the observed differences.
"""

from __future__ import annotations

import argparse
from functools import partial

from replitune.cli import words
from replitune.errors import ReplituneError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words.add_store_options(parser)
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[1, 3, 5, 10, 50], metavar="N",
        help="replicas of a small experiment, as far as the pool goes (default 1 3 5 10 50)",
    )  # fmt: skip
    parser.add_argument(
        "--repeats", type=int, default=250, metavar="K",
        help="small experiments of each size (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--methods",
        nargs="+",
        default=["clark"],
        metavar="TEST",
        help="tests of each small experiment (default: clark)",
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=1000,
        metavar="R",
        help="resamples of each test (default %(default)s)",
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="level (default %(default)s)")
    parser.add_argument("--out", metavar="FILE.parquet", help="write the rows (one metric)")


def run(options: argparse.Namespace) -> None:
    from replitune.cli.stores import replicated_pairs, studied
    from replitune.report.terminal import print_table
    from replitune.report.terminal_studies import small_experiments
    from replitune.results.rows import write_rows
    from replitune.significance.studies.calibrate import registered
    from replitune.significance.studies.replication import ReplicationRow, replicate
    from replitune.streams import stream

    if not 0 < options.alpha < 1:
        raise ReplituneError(
            "--alpha is not allowed", found=str(options.alpha), expected="between 0 and 1"
        )
    if min(options.sizes) < 1:
        raise ReplituneError(
            "--sizes: not a number of replicas", found=str(min(options.sizes)), expected="1 or more"
        )
    tests = registered([words.method_word(word) for word in options.methods], options.samples)
    rows: list[ReplicationRow] = []
    for store in studied(options):
        print(f"{store.metric.id} on {store.testset or 'the test set'}")
        for pair in replicated_pairs(store, options.pairs, 2):
            names = sorted((pair.a.name, pair.b.name))
            found = replicate(
                pair,
                options.sizes,
                tests,
                repeats=options.repeats,
                alpha=options.alpha,
                rng=partial(stream, options.seed, "replication", store.testset, *names),
            )
            print(f"  {pair.b.name} - {pair.a.name} ({pair.a.n} and {pair.b.n} replicas)")
            print_table(small_experiments(found), indent=4)
            rows += found
    if options.out is not None:
        write_rows(options.out, rows, ReplicationRow)
