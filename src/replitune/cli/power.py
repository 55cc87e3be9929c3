"""What n replicas and N segments would detect, from the variances of a finished comparison.

  replitune power stats --plans 3x1000 5x1000 10x3000 --delta 0.5

A plan is REPLICASxSEGMENTS. Without --plans: --replicas (3, 5, 10 and 20) on --segments (those at
hand, twice and four times as many, and any number).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from replitune.cli.options import add_settings, given_settings
from replitune.cli.stores import (
    add_store_options,
    chosen_stores,
    given_pairs,
    job_stores,
    replicated_pairs,
)
from replitune.errors import ReplituneError
from replitune.experiment import stages
from replitune.settings import read
from replitune.significance.settings import TestSettings
from replitune.significance.studies.settings import PowerSettings

if TYPE_CHECKING:
    import numpy as np

    from replitune.significance.base import Comparison
    from replitune.significance.studies.power import Plan, PowerRow
    from replitune.statistics.store import SegmentStatistics

SETTINGS = ("replicas", "segments", "delta", "power")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser)
    parser.add_argument(
        "--plans", nargs="+", metavar="NxSEGMENTS", help="REPLICASxSEGMENTS of each plan"
    )
    add_settings(parser, PowerSettings, *SETTINGS)
    add_settings(parser, TestSettings, "alpha", "paired_replicas")
    parser.add_argument("--out", metavar="FILE.parquet", help="power curves as rows")


def run(options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.power import PowerRow

    found = rows(
        chosen_stores(options),
        given_pairs(options),
        PowerSettings(**given_settings(options, PowerSettings, *SETTINGS)),
        TestSettings(**given_settings(options, TestSettings, "alpha", "paired_replicas")),
        options.seed,
        options.plans,
    )
    if options.out is not None:
        write_rows(options.out, found, PowerRow)


def job(job: stages.Power, options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.power import PowerRow

    tests = read(TestSettings, job.tests, "tests")
    settings = read(PowerSettings, job.settings, "power")
    found = rows(job_stores(job), tests.pairs, settings, tests, job.seed)
    write_rows(str(job.outputs["rows"]), found, PowerRow)


def rows(
    stores: Sequence[SegmentStatistics],
    pairs: Any,
    settings: PowerSettings,
    tests: TestSettings,
    seed: int,
    plans: Sequence[str] | None = None,
) -> list[PowerRow]:
    """Power curves of every pair, which are also said on the terminal."""
    from replitune.significance.studies import power

    rows: list[power.PowerRow] = []
    for store in stores:
        print(f"{store.metric.id} on {store.testset or 'the test set'}")
        for pair in replicated_pairs(store, pairs, 2):
            names = sorted((pair.a.name, pair.b.name))
            found = power.power_curve(
                pair,
                power.fit(pair, paired=tests.paired_replicas),
                _plans(settings, plans, pair),
                rng=partial(_stream, seed, (store.testset, *names)),
                alpha=tests.alpha,
                power=settings.power,
                asked=settings.delta,
            )
            print(f"  {pair.b.name} - {pair.a.name}")
            for said in dict.fromkeys(map(power.sentence, found)):
                print(f"    {said}")
            rows += found
    return rows


def _stream(seed: int, names: Sequence[str], plan: Plan) -> np.random.Generator:
    from replitune.streams import stream

    return stream(seed, "power", *names, plan.n_a, plan.n_b, plan.tuners, plan.segments)


def _plans(settings: PowerSettings, words: Sequence[str] | None, pair: Comparison) -> list[Plan]:
    from replitune.significance.studies.power import Plan, plans

    if words is None:
        return plans(pair, list(settings.replicas), list(settings.segments))
    chosen = []
    for word in words:
        n, _, N = word.partition("x")
        if not (n.isdigit() and N.isdigit()):
            raise ReplituneError(
                f"--plans: {word!r} is not a plan", expected="REPLICASxSEGMENTS, such as 5x1000"
            )
        chosen.append(Plan(int(n), int(n), int(N)))
    return chosen
