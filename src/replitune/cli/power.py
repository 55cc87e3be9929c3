"""What n replicas and N segments would detect, from the variances of a finished comparison.

  replitune power stats --plans 3x1000 5x1000 10x3000 --delta 0.5

A plan is REPLICASxSEGMENTS. Without --plans: --replicas (3, 5, 10 and 20) on --segments (those at
hand, twice and four times as many, and any number).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from replitune.cli import words
from replitune.errors import ReplituneError

if TYPE_CHECKING:
    import numpy as np

    from replitune.significance.base import Comparison
    from replitune.significance.studies.power import Plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words.add_store_options(parser)
    parser.add_argument(
        "--plans", nargs="+", metavar="NxSEGMENTS", help="REPLICASxSEGMENTS of each plan"
    )
    parser.add_argument(
        "--replicas", nargs="+", type=int, default=[3, 5, 10, 20], metavar="N",
        help="of each system (default 3 5 10 20)",
    )  # fmt: skip
    parser.add_argument(
        "--segments",
        nargs="+",
        type=int,
        default=[],
        metavar="N",
        help="numbers of segments of the curves",
    )
    parser.add_argument("--delta", type=float, metavar="D", help="a difference to be found")
    parser.add_argument("--power", type=float, default=0.8, help="wanted (default %(default)s)")
    parser.add_argument("--alpha", type=float, default=0.05, help="level (default %(default)s)")
    parser.add_argument("--paired-replicas", action="store_true", help="seeds are shared")
    parser.add_argument("--out", metavar="FILE.parquet", help="power curves as rows")


def run(options: argparse.Namespace) -> None:
    from replitune.cli.stores import replicated_pairs, studied
    from replitune.results.rows import write_rows
    from replitune.significance.studies import power

    for name in ("power", "alpha"):
        if not 0 < getattr(options, name) < 1:
            raise ReplituneError(
                f"--{name} is not allowed", found=str(getattr(options, name)),
                expected="between 0 and 1",
            )  # fmt: skip
    rows: list[power.PowerRow] = []
    for store in studied(options):
        print(f"{store.metric.id} on {store.testset or 'the test set'}")
        for pair in replicated_pairs(store, options.pairs, 2):
            names = sorted((pair.a.name, pair.b.name))

            found = power.power_curve(
                pair,
                power.fit(pair, paired=options.paired_replicas),
                _plans(options, pair),
                rng=partial(_stream, options.seed, (store.testset, *names)),
                alpha=options.alpha,
                power=options.power,
                asked=None if options.delta is None else abs(options.delta),
            )
            print(f"  {pair.b.name} - {pair.a.name}")
            for said in dict.fromkeys(map(power.sentence, found)):
                print(f"    {said}")
            rows += found
    if options.out is not None:
        write_rows(options.out, rows, power.PowerRow)


def _stream(seed: int, names: Sequence[str], plan: Plan) -> np.random.Generator:
    from replitune.streams import stream

    return stream(seed, "power", *names, plan.n_a, plan.n_b, plan.tuners, plan.segments)


def _plans(options: argparse.Namespace, pair: Comparison) -> list[Plan]:
    from replitune.significance.studies.power import Plan, plans

    if options.plans is None:
        return plans(pair, options.replicas, options.segments)
    made = []
    for word in options.plans:
        n, _, N = word.partition("x")
        if not (n.isdigit() and N.isdigit()):
            raise ReplituneError(
                f"--plans: {word!r} is not a plan", expected="REPLICASxSEGMENTS, such as 5x1000"
            )
        made.append(Plan(int(n), int(n), int(N)))
    return made
