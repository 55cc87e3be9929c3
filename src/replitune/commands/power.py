"""What n replicas and N segments would detect, from the variances of a finished comparison.

  replitune power stats --plans 3x1000 5x1000 10x3000 --delta 0.5

A plan is REPLICASxSEGMENTS. Without --plans: 3, 5, 10 and 20 replicas on the segments at hand and
on twice as many.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from replitune import words
from replitune.errors import ReplituneError

if TYPE_CHECKING:
    from replitune.significance.power import Plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE")
    parser.add_argument(
        "--pairs", nargs="+", default=["all"], metavar="A:B", help="all, baseline=NAME, or pairs"
    )
    parser.add_argument("--testset", metavar="NAME", help="only this test set")
    parser.add_argument("--plans", nargs="+", metavar="NxSEGMENTS")
    parser.add_argument("--delta", type=float, metavar="D", help="a difference to be found")
    parser.add_argument("--power", type=float, default=0.8, help="wanted (default %(default)s)")
    parser.add_argument("--alpha", type=float, default=0.05, help="level (default %(default)s)")
    parser.add_argument("--paired-replicas", action="store_true", help="seeds are shared")
    parser.add_argument("--seed", type=int, default=2011)
    parser.add_argument("--out", metavar="FILE.parquet", help="power curves as rows")


def run(options: argparse.Namespace) -> None:
    from replitune.commands.stores import one_testset, write_rows
    from replitune.significance.base import Comparison
    from replitune.significance.power import PowerRow, fit, power_curve, sentence
    from replitune.significance.run import pairs_iv
    from replitune.streams import stream

    for name in ("power", "alpha"):
        if not 0 < getattr(options, name) < 1:
            raise ReplituneError(
                f"--{name} is not allowed", found=str(getattr(options, name)),
                expected="between 0 and 1",
            )  # fmt: skip
    stores = one_testset(options.store, options.testset)
    if options.out is not None and len(stores) != 1:
        raise ReplituneError("--out takes one metric", found=", ".join(s.metric.id for s in stores))
    rows: list[PowerRow] = []
    for store in stores:
        pairs, baseline = words.pair_words(options.pairs)
        print(f"{store.metric.id} on {store.testset or 'the test set'}")
        for a, b in pairs_iv(list(store.systems), pairs, baseline):
            comparison = Comparison(
                store.metric, store.systems[a], store.systems[b], store.documents
            )
            model = fit(comparison, paired=options.paired_replicas)
            plans = _plans(options.plans, comparison.segments)
            names = (store.testset, *sorted((a, b)))
            print(f"  {b} - {a}")
            for plan in plans:
                said = sentence(
                    model, plan, delta=options.delta, power=options.power, alpha=options.alpha,
                    rng=stream(options.seed, "power", *names, plan.n_a, plan.segments),
                )  # fmt: skip
                print(f"    {said}")
            if options.out is not None:
                rows += power_curve(
                    comparison, model, plans, alpha=options.alpha, power=options.power,
                    rng=stream(options.seed, "power", *names, "curve"),
                )  # fmt: skip
    if options.out is not None:
        write_rows(options.out, rows, PowerRow)


def _plans(given: list[str] | None, segments: int) -> list[Plan]:
    from replitune.significance.power import Plan

    if given is None:
        return [Plan(n, n, N) for N in (segments, 2 * segments) for n in (3, 5, 10, 20)]
    plans = []
    for word in given:
        n, _, N = word.partition("x")
        if not (n.isdigit() and N.isdigit()):
            raise ReplituneError(
                f"--plans: {word!r} is not a plan", expected="REPLICASxSEGMENTS, such as 5x1000"
            )
        plans.append(Plan(int(n), int(n), int(N)))
    return plans
