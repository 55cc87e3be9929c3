"""Say what difference n runs and N segments would detect, from a finished comparison.

  replitune power stats --plans 3x1000 5x1000 10x3000 --delta 0.5
  replitune power stats --delta 0.5 --manifest results/X/manifest.json

A plan is RUNSxSEGMENTS. Without --plans, all of --replicas (3, 5, 10 and 20) are combined with all of
--segments (those at hand, twice and four times as many, and any number). The brackets hold the 90%
interval, which is wide when there are few runs. With --delta and prices, the cheapest plan is
printed, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from replitune.cli.options import add_settings, given_settings
from replitune.cli.stores import add_manifest, add_store_options, chosen_stores, given_pairs, given_stores
from replitune.errors import ReplituneError
from replitune.significance.settings import TestSettings
from replitune.significance.studies.pilot import with_systems
from replitune.significance.studies.settings import PlanningSettings, PowerSettings

if TYPE_CHECKING:
    from replitune.significance.studies.cheapest import Prices
    from replitune.significance.studies.planned import Plan
    from replitune.stages.studies import Cell, PricesOf
    from replitune.statistics.segments import SegmentStatistics

SETTINGS = ("replicas", "segments", "delta", "power", "unit")
PLANNING = ("margin", "cpu_per_run", "cpu_per_segment")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser, seed=False, suite=True)
    parser.add_argument("--plans", nargs="+", metavar="NxSEGMENTS", help="RUNSxSEGMENTS of each plan")
    add_settings(parser, PowerSettings, *SETTINGS)
    add_settings(parser, TestSettings, "alpha", "paired_replicas")
    add_settings(parser, PlanningSettings, *PLANNING)
    add_manifest(parser)
    parser.add_argument("--out", metavar="FILE.parquet", help="power curves as rows")


def run(options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.power import PowerRow
    from replitune.stages.studies import power_rows

    settings = PowerSettings(**given_settings(options, PowerSettings, *SETTINGS))
    planning = PlanningSettings(**given_settings(options, PlanningSettings, *PLANNING))
    cells = _cells(options)
    ids = [cell.stores[0].metric.id for cell in cells]
    margins = {id: planning.margin for id in ids if planning.margin}
    rows = power_rows(
        cells,
        given_pairs(options),
        settings,
        TestSettings(**given_settings(options, TestSettings, "alpha", "paired_replicas"), margin=margins),
        _plans(options.plans),
        _prices(options.manifest, planning, settings),
    )
    if options.out is not None:
        write_rows(options.out, rows, PowerRow)


def _cells(options: argparse.Namespace) -> list[Cell]:
    """One cell for each metric, on one test set or a suite."""
    from replitune.stages.studies import Cell

    if options.suite is None:
        return [Cell(store.testset, [store], [1.0]) for store in chosen_stores(options)]
    every, suite = given_stores(options)
    by_metric: dict[str, list[SegmentStatistics]] = {}
    for store in every:
        chosen = store if options.systems is None else with_systems(store, options.systems)
        by_metric.setdefault(store.metric.id, []).append(chosen)
    return [Cell("suite", stores, [*suite.values()]) for stores in by_metric.values()]


def _prices(manifest: str | None, planning: PlanningSettings, settings: PowerSettings) -> PricesOf | None:
    """A function from a pair of systems to its prices; None if no prices are given."""
    from replitune.ledger.prices import prices_of

    run, segment = planning.cpu_per_run, planning.cpu_per_segment
    if manifest is None and run is None and segment is None:
        return None
    if settings.delta is None:
        raise ReplituneError(
            "prices are for the cheapest plan that finds a difference",
            fix="give the difference with --delta",
        )

    def prices_of_pair(systems: Sequence[str], testset: str) -> Prices:
        return prices_of(manifest, systems, testset, run=run, segment=segment)

    return prices_of_pair


def _plans(words: Sequence[str] | None) -> list[Plan] | None:
    from replitune.significance.studies.planned import Plan

    if words is None:
        return None
    chosen = []
    for word in words:
        n, _, N = word.partition("x")
        if not (n.isdigit() and N.isdigit()):
            raise ReplituneError(
                f"--plans: {word!r} is not a plan", expected="RUNSxSEGMENTS, such as 5x1000"
            )
        chosen.append(Plan(int(n), int(n), int(N)))
    return chosen
